"""Child processes that end when they must: with their group, with their parent, and after Ctrl-C.

Three mechanisms ensure that. Every child leads its own process group, so that ending the group ends its children. On
Linux the kernel ends a child whose parent dies. One guard (:mod:`mrdsl.core.guarded`) for all children ends the groups
that a killed process leaves.

Ctrl-C is an exception for a program that embeds mrdsl, and a result with the best plan for users of the commands.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import FrameType
from typing import IO, Any

from mrdsl.core.ctrl_c import importer
from mrdsl.core.guarded import forget_group, guarded, share_guard, watch_group
from mrdsl.core.watching import LateError, is_stoppable, is_stopped, setting, shared_time, stopped_by

MARK = "MRDSL_PROGRAM"
"""The variable by which a program's children are known, whatever session they are in."""
MOST_ROUNDS = 50
PAUSE = 0.01
_SET_PARENT_DEATH_SIGNAL = 1
_DEFERRED = tuple(
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGALRM", "SIGUSR1", "SIGUSR2")
    if hasattr(signal, name)
)
_LAUNCHER = (
    "import ctypes, os, sys; ctypes.CDLL(None).prctl(1, 9); guard = int(sys.argv[2]); "
    "os.write(guard, b'+g %d\\n' % os.getpid()); os.set_inheritable(guard, False); "
    "os.getppid() == int(sys.argv[1]) or os._exit(1); os.execv(sys.argv[3], sys.argv[3:])"
)


def _load_libc() -> Any:
    if sys.platform != "linux":
        return None
    import ctypes

    return ctypes.CDLL(None)


_LIBC = _load_libc()


def die_with_parent(parent: int) -> None:
    """Called in a child: the kernel ends it when its parent dies, however that happens (Linux only)."""
    if _LIBC is not None:
        _LIBC.prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)


def begin_as_child(parent: int) -> None:
    """Prepare a forked child: its own group, no signal handlers of the parent, and an end with the parent."""
    os.setpgid(0, 0)
    for number in _DEFERRED:
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    share_guard()
    die_with_parent(parent)


def end_later(seconds: float) -> None:
    """Called in a child: after a time it prints where it is, innermost first, and ends by SIGALRM. It counts anew."""
    if hasattr(signal, "setitimer"):
        faulthandler.unregister(signal.SIGALRM)  # a parent's registration is inherited, but not its handler
        faulthandler.register(signal.SIGALRM, file=2, chain=True)
        signal.setitimer(signal.ITIMER_REAL, seconds)


def ended_itself(code: int) -> bool:
    """Return True if a child has the exit code of :func:`end_later`."""
    return hasattr(signal, "SIGALRM") and code == -signal.SIGALRM


def start(
    line: Sequence[str], environment: Mapping[str, str], output: IO[bytes] | int, folder: str | None = None
) -> subprocess.Popen[bytes]:
    """Start a program in its own session with its output in ``output``; the guard knows it and :func:`end` ends it."""
    parent, guard = os.getpid(), guarded()
    prepare, started = None, list(line)
    passed: tuple[int, ...] = ()
    if _LIBC is not None and threading.active_count() == 1:

        def prepare() -> None:
            os.write(guard, b"+g %d\n" % os.getpid())
            die_with_parent(parent)
    elif _LIBC is not None:  # a function between fork and exec is not safe beside other threads
        started = [sys.executable, "-I", "-S", "-c", _LAUNCHER, str(parent), str(guard), *line]
        passed = (guard,)
    mark = f"{os.getpid()}-{secrets.token_hex(16)}"
    process = _Program(
        started,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        cwd=folder,
        env={**os.environ, **environment, MARK: mark},
        start_new_session=True,
        preexec_fn=prepare,
        pass_fds=passed,
    )
    process.mark = mark
    watch_group(process.pid)
    return process


class _Program(subprocess.Popen[bytes]):
    """A program that registers with the guard before it runs, so that this process cannot end without ending it."""

    pid = 0
    mark = ""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        try:
            super().__init__(*arguments, **more)
        except OSError:
            if self.pid:
                forget_group(self.pid)
            raise


def end(process: subprocess.Popen[bytes]) -> int:
    """End a program that :func:`start` started, with all its children; its exit code."""
    end_group(process.pid)
    if isinstance(process, _Program):
        _end_marked(process.mark)
    code = process.wait()
    forget_group(process.pid)
    return code


def _end_marked(mark: str) -> None:
    """End the processes that a program started in other sessions (Linux only).

    Children inherit the environment: a process with the mark was started by the program. A process can start another
    one before its end, so the search is repeated until there are none.
    """
    for _ in range(MOST_ROUNDS if mark and sys.platform == "linux" else 0):
        found = list(_marked(f"{MARK}={mark}".encode()))
        if not found:
            return
        for pid in found:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(PAUSE)


def _marked(wanted: bytes) -> Iterator[int]:
    """Yield processes that run with a word in their environment; one that has ended has none."""
    for entry in os.scandir("/proc"):
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with contextlib.suppress(OSError):
                words = Path(entry.path, "environ").read_bytes().split(b"\0")
                if wanted in words:
                    yield int(entry.name)


def end_group(leader: int) -> None:
    """End a process that leads its own group, and everything that it started."""
    if os.name == "posix":
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(leader, signal.SIGKILL)
    else:
        with contextlib.suppress(OSError):
            os.kill(leader, signal.SIGTERM)


@contextlib.contextmanager
def signals_deferred() -> Iterator[None]:
    """Delay Python signal handlers until the end of the ``with`` block.

    It protects the start of a child: an exception of a handler would lose the child before it is registered.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    handlers = {number: signal.getsignal(number) for number in _DEFERRED}
    held = {number: handler for number, handler in handlers.items() if callable(handler)}
    for number in held:
        signal.signal(number, lambda number, _: came.append(number))
    try:
        yield
    finally:
        for number, handler in held.items():
            signal.signal(number, handler)
        for number in came:
            signal.raise_signal(number)


_KEPT: ContextVar[bool] = ContextVar("_KEPT", default=False)


@contextmanager
def kept() -> Iterator[None]:
    """Make a Ctrl-C in the ``with`` block end the solve with its best plan; elsewhere KeyboardInterrupt reaches the
    caller.
    """
    with _keeping(True):
        yield


@contextmanager
def stopped_by_interrupt() -> Iterator[None]:
    """Make the first Ctrl-C within :func:`kept` stop the work in the ``with`` block, which looks at the clock.

    Its best plan is not lost then. The second Ctrl-C is a KeyboardInterrupt.
    """
    if not _KEPT.get() or is_stoppable() or threading.current_thread() is not threading.main_thread():
        yield
        return
    event, before = threading.Event(), signal.getsignal(signal.SIGINT)

    def stop(*_: object) -> None:
        signal.signal(signal.SIGINT, before)
        event.set()

    signal.signal(signal.SIGINT, stop)
    try:
        with stopped_by(event):
            yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def ended_late() -> Iterator[None]:
    """Raise LateError in the ``with`` block, wherever it is, once it has computed for the rest of the shared time.

    It is for work of libraries that do not look at the clock, in the main thread. Python prints and forgets a LateError
    within a callback of the garbage collector; here it is not printed, and the next tick raises another one.
    """
    left = shared_time()
    if left is None or threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    is_reporting, report, before = False, sys.unraisablehook, signal.getsignal(signal.SIGPROF)

    def lost(forgotten: Any) -> None:
        nonlocal is_reporting
        is_reporting = True
        if not isinstance(forgotten.exc_value, LateError):
            report(forgotten)
        is_reporting = False

    def end(_: int, frame: FrameType | None) -> None:
        in_report = is_reporting or (frame is not None and frame.f_code is lost.__code__)
        if not in_report and importer(frame) is None:
            raise LateError

    sys.unraisablehook = lost
    signal.signal(signal.SIGPROF, end)
    signal.setitimer(signal.ITIMER_PROF, max(left, PAUSE), PAUSE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)
        sys.unraisablehook = report


@contextmanager
def passed_on() -> Iterator[None]:
    """Pass a Ctrl-C in the ``with`` block to the caller, even within :func:`kept`: the answer to a question is not the
    plan.
    """
    with _keeping(False):
        yield


def _keeping(whether: bool) -> AbstractContextManager[bool]:
    return setting(_KEPT, whether)


def is_kept() -> bool:
    """Return True if a KeyboardInterrupt makes a result; otherwise it is raised again after the started work has ended.

    It is also True if another thread stopped the work.
    """
    return _KEPT.get() or is_stopped()
