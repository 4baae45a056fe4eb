"""Child processes that end when they must: with their group, with their parent, and whatever becomes of it.

Three things hold that together. Every child leads a process group of its own, so that ending it ends what it started.
On Linux the kernel ends a child whose parent dies. And one guard (:mod:`mrdsl.solving.guard`) for all of a process's
children and theirs ends the groups, and removes the temporary folders, that a killed process leaves behind.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

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
    """Called in a forked child: a group of its own, none of the parent's signal handlers, an end with the parent."""
    os.setpgid(0, 0)
    for number in _DEFERRED:
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _Guard.owner = os.getpid()
    die_with_parent(parent)


def start(
    line: Sequence[str], environment: Mapping[str, str], output: IO[bytes] | int, folder: str | None = None
) -> subprocess.Popen[bytes]:
    """A program in a session of its own, its output in ``output``, which the guard knows and :func:`end` ends."""
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
    process = _Program(
        started,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        cwd=folder,
        env={**os.environ, **environment},
        start_new_session=True,
        preexec_fn=prepare,
        pass_fds=passed,
    )
    watch_group(process.pid)
    return process


class _Program(subprocess.Popen[bytes]):
    """A program that tells the guard of itself before it runs, so that no moment of this process's end loses it."""

    pid = 0

    def __init__(self, *arguments: Any, **more: Any) -> None:
        try:
            super().__init__(*arguments, **more)
        except OSError:
            if self.pid:
                forget_group(self.pid)
            raise


def end(process: subprocess.Popen[bytes]) -> int:
    """Ends a program that :func:`start` started, with all its children; its exit code."""
    end_group(process.pid)
    code = process.wait()
    forget_group(process.pid)
    return code


def end_group(leader: int) -> None:
    """Ends a process that leads its own group, and everything that it started."""
    if os.name == "posix":
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(leader, signal.SIGKILL)
    else:
        with contextlib.suppress(OSError):
            os.kill(leader, signal.SIGTERM)


@contextlib.contextmanager
def signals_deferred() -> Iterator[None]:
    """Lets no signal handler written in Python interrupt the block; what came meanwhile comes at its end.

    Around the start of a child: else an exception out of a handler would lose the child before anyone knows it.
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


def temporary_place() -> str:
    """Where temporary files go: as ``tempfile`` chooses, but without the file that it writes there to try the place.

    A process that is killed at that moment would leave that file behind, and nobody would know it.
    """
    if not tempfile.tempdir:
        named = [os.environ.get(name) for name in ("TMPDIR", "TEMP", "TMP")]
        for place in (*named, *(("/tmp", "/var/tmp") if os.name == "posix" else ())):
            if place and os.path.isdir(place) and os.access(place, os.W_OK | os.X_OK):
                return str(os.path.abspath(place))
    return str(os.path.abspath(tempfile.gettempdir()))


@contextlib.contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder for temporary files that is removed whatever becomes of this process.

    The guard knows it before it is made and until it is gone.
    """
    folder = Path(temporary_place(), f"mrdsl-{secrets.token_hex(16)}")
    _tell(f"+d {folder}")
    try:
        folder.mkdir(mode=0o700)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        _tell(f"-d {folder}")


def watch_group(leader: int) -> None:
    """Has the guard end a process group that this process leaves behind."""
    _tell(f"+g {leader}")


def forget_group(leader: int) -> None:
    """Takes back :func:`watch_group`, once the group has ended."""
    _tell(f"-g {leader}")


class _Guard:
    """The pipe to the guard, and the process that owns it; mrdsl's own forked children write to the same one."""

    pipe: int | None = None
    owner: int = 0
    process: subprocess.Popen[bytes] | None = None
    lock = threading.Lock()


def guarded() -> int:
    """Sees to it that there is a guard before a child is forked, which then writes to the same one; its pipe."""
    with _Guard.lock:
        if _Guard.pipe is None or _Guard.owner != os.getpid():
            _Guard.pipe, _Guard.owner = _start_guard(), os.getpid()
        return _Guard.pipe


def _tell(line: str) -> None:
    with contextlib.suppress(OSError):
        os.write(guarded(), os.fsencode(line) + b"\n")


def _start_guard() -> int:
    """The pipe's end to write to; it leads nowhere where there can be no guard."""
    if os.name != "posix" or not sys.executable:
        return os.open(os.devnull, os.O_WRONLY)
    from mrdsl.solving import guard

    from_parent, to_guard = os.pipe()
    try:
        _Guard.process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(guard.__file__), str(from_parent), str(os.getpid())],
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(from_parent,),
            start_new_session=True,
        )
    except OSError:
        os.close(to_guard)
        return os.open(os.devnull, os.O_WRONLY)
    finally:
        os.close(from_parent)
    return to_guard
