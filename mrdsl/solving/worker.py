"""Worker processes that run a solver's function and can be ended at any time.

The worker is forked if that is safe (one thread, Linux) and otherwise started as a new process. It leads its own
process group: a Ctrl-C in the terminal reaches only mrdsl, and ending the worker ends its children too. Incumbents that
it reports are stored, so that the last plan of a killed worker is not lost.

A worker that answered is used for the next question of the same thread, so that repeated solves need no new process.
One that did not answer in time is ended.
"""

from __future__ import annotations

import atexit
import contextlib
import faulthandler
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, suppress
from math import inf
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, Any

from mrdsl.core.answer import Reply
from mrdsl.core.diagnostics import MrdslError, one_error
from mrdsl.core.guarded import forget_group, guarded, nameless_file, watch_group
from mrdsl.core.result import Termination
from mrdsl.core.watching import GLANCE, counted, is_stoppable, is_stopped, is_watched, tell, work
from mrdsl.solving.claims import CRASHED
from mrdsl.solving.processes import begin_as_child, die_with_parent, end_group, is_kept, signals_deferred
from mrdsl.solving.request import Request, Solve

if TYPE_CHECKING:
    from mrdsl.simulation.engine.scenario import Scenario, Seen
    from mrdsl.simulation.settings import Settings


GRACE = 0.5
USES = 500
_LARGEST_MESSAGE = 1 << 31
_LAST_WORDS = 0.05
_here = threading.local()


Report = Callable[[Any, float, float | None], None]
Call = Callable[[Any, Report], Any]
"""Task of a worker: a function of a module, which a new process imports."""


def run_in_worker(call: Solve, request: Request, seconds: float | None, *, fresh: bool = False) -> Reply:
    """Return the reply of ``call``; end it ``GRACE`` seconds after its own time limit.

    ``fresh`` starts a process without any modules: OR-tools cannot be loaded together with highspy.
    """
    workers = _workers()
    worker = workers.pop(call, None)
    try:
        if worker is None or not worker.usable():
            with signals_deferred():
                worker = Worker(call, fresh)
        reply = worker.ask(request, seconds)
    except BaseException as cause:
        if worker is not None:
            worker.close()
        if not (isinstance(cause, KeyboardInterrupt) and is_kept()):
            raise
        return Reply(Termination.INTERRUPTED)
    if worker.usable():
        workers[call] = worker
    return reply


def close_all() -> None:
    """End the idle workers of this thread."""
    workers = _workers()
    while workers:
        workers.popitem()[1].close()


def _workers() -> dict[Call, Worker]:
    if getattr(_here, "owner", None) != os.getpid():
        _here.owner, _here.workers = os.getpid(), {}
    found: dict[Call, Worker] = _here.workers
    return found


atexit.register(close_all)


def _may_fork() -> bool:
    return sys.platform == "linux" and threading.active_count() == 1


class Worker:
    """One process that runs one function, again and again."""

    def __init__(self, call: Call, fresh: bool = False) -> None:
        self.output = nameless_file()
        self.uses = 0
        guarded()
        start = _fork if _may_fork() and not fresh else _spawn
        self.pid, self.requests, self.replies, self._reap = start(call, self.output.fileno())
        self.alive, self.code = True, 0
        watch_group(self.pid)

    def usable(self) -> bool:
        """Return True if it may be asked once more."""
        if self.alive and (self.uses >= USES or self.replies.poll(0)):
            self.close()
        return self.alive

    def ask(self, request: Request, seconds: float | None) -> Reply:
        """Return the reply; the worker is closed unless it answered as it should."""
        self.uses += 1
        self.output.truncate(0)
        inbox = _Inbox(self.replies)
        try:
            self.requests.send(request)
            with work("solving"):
                reply = inbox.reply(None if seconds is None else seconds + GRACE)
            if reply.termination is not Termination.ERROR:
                return reply
        except _LateError:
            reply = inbox.stopped(Termination.TIME_LIMIT)
        except KeyboardInterrupt:
            if not is_kept():
                raise
            reply = inbox.stopped(Termination.INTERRUPTED)
        except (EOFError, OSError) as cause:
            if not _of_the_pipe(cause):
                raise
            reply = Reply(Termination.ERROR)
        except GarbageError as cause:
            reply = Reply(Termination.ERROR, message=f"it answered with garbage ({cause})")
        code = self.close()
        return _explained(reply, code, self.printed()) if reply.termination is Termination.ERROR else reply

    def printed(self) -> str:
        """Return what the process printed since it was asked."""
        self.output.seek(0)
        text: str = self.output.read().decode("utf-8", "replace")
        return text

    def close(self) -> int:
        """End the process and everything that it started; its exit code."""
        if not self.alive:
            return self.code
        with signals_deferred():
            self.alive = False
            end_group(self.pid)
            for pipe in (self.requests, self.replies):
                with contextlib.suppress(OSError):
                    pipe.close()
            self.code = self._reap()
            forget_group(self.pid)
        return self.code


_GARBAGE = (
    pickle.UnpicklingError,
    AttributeError,
    ImportError,
    IndexError,
    KeyError,
    TypeError,
    ValueError,
    UnicodeDecodeError,
    OverflowError,
    MemoryError,
)


_LONGEST_WAIT = 86400.0
"""Seconds of one wait: the system counts them in milliseconds that must fit 31 bits."""


def _of_the_pipe(cause: BaseException) -> bool:
    """Return True if an exception is the pipe's own, and not of a signal handler of the caller, such as
    TimeoutError.
    """
    return type(cause) in (EOFError, OSError, BrokenPipeError, ConnectionResetError)


class _LateError(Exception):
    """The worker did not answer in time."""


class GarbageError(Exception):
    """An error for bytes that are not a message of a worker."""


def _unpickled(received: bytes) -> tuple[str, Any]:
    try:
        kind, content = pickle.loads(received)
    except (*_GARBAGE, EOFError) as cause:
        raise GarbageError(type(cause).__name__) from None
    return kind, content


class _Inbox:
    """The messages of the worker so far: its last incumbent, and at the end its reply."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.last: tuple[Any, float, float | None] | None = None

    def reply(self, seconds: float | None) -> Reply:
        """Wait for the reply. Raises _LateError after some seconds, and KeyboardInterrupt if the work was stopped."""
        ends = inf if seconds is None else time.monotonic() + seconds
        longest = GLANCE if is_watched() or is_stoppable() else _LONGEST_WAIT
        while not is_stopped():
            left = max(0.0, ends - time.monotonic())
            if self.connection.poll(min(left, longest)):
                reply = self.next()
                if reply is not None:
                    return reply
            else:
                tell()
                if left <= longest:
                    raise _LateError
        raise KeyboardInterrupt

    def next(self) -> Reply | None:
        """Take one message; the reply, if it is that."""
        with signals_deferred():  # a Ctrl-C would lose the message that is being read
            kind, content = _unpickled(self.connection.recv_bytes(_LARGEST_MESSAGE))
            if kind == "incumbent":
                self.last = content
        if kind == "incumbent":
            tell(value=content[1], bound=content[2])
            return None
        if kind == "failure":
            return Reply(Termination.ERROR, message=str(content))
        if not isinstance(content, Reply):
            raise GarbageError(type(content).__name__)
        return content

    def stopped(self, termination: Termination) -> Reply:
        """Return the last incumbent of a worker that is not waited for any longer."""
        with contextlib.suppress(Exception):
            while self.connection.poll(_LAST_WORDS) and self.next() is None:
                pass
        return Reply(termination) if self.last is None else Reply(termination, *self.last)


def _explained(reply: Reply, code: int, printed: str) -> Reply:
    """Return an error with its message, or else with the signal or exit code, and the last printed lines."""
    if reply.message:
        return reply
    if code == -signal.SIGKILL:
        reason = "it was killed"
    elif code < 0:
        reason = f"{CRASHED} ({signal.Signals(-code).name})"
    else:
        reason = f"it ended without an answer (exit code {code})"
    return Reply(
        Termination.ERROR, message="; ".join([reason, *filter(None, [" / ".join(printed.strip().splitlines()[-5:])])])
    )


_Started = tuple[int, Connection, Connection, Callable[[], int]]


def _fork(call: Call, output: int) -> _Started:
    from_parent, to_child = os.pipe()
    from_child, to_parent = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    parent = os.getpid()
    _end_threads_of_highs()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            os.close(to_child)
            os.close(from_child)
            begin_as_child(parent)
            faulthandler.disable()
            os.dup2(output, 1)
            os.dup2(output, 2)
            _serve(call, Connection(from_parent, writable=False), Connection(to_parent, readable=False))
        finally:
            os._exit(0)
    os.close(from_parent)
    os.close(to_parent)
    with contextlib.suppress(OSError):
        os.setpgid(child, child)

    def reap() -> int:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    return child, Connection(to_child, readable=False), Connection(from_child, writable=False), reap


def _end_threads_of_highs() -> None:
    """End the threads that HiGHS keeps once it ran in this process: in a fork, HiGHS would wait for them for ever."""
    highspy = sys.modules.get("highspy")
    if highspy is not None:
        highspy.Highs.resetGlobalScheduler(True)


def _spawn(call: Call, output: int) -> _Started:
    from_parent, to_child = os.pipe()
    from_child, to_parent = os.pipe()
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "from mrdsl.solving.worker import serve_pipes; serve_pipes()",
            str(from_parent),
            str(to_parent),
            str(os.getpid()),
        ],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        pass_fds=(from_parent, to_parent),
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    os.close(from_parent)
    os.close(to_parent)
    requests = Connection(to_child, readable=False)
    with contextlib.suppress(OSError):  # a worker that is dead already is found out when it is asked
        requests.send(call)
    return process.pid, requests, Connection(from_child, writable=False), process.wait


def serve_pipes() -> None:
    """Run a worker that was started as a new process.

    Its arguments are its pipes and its parent; the first message names its function by module and name.
    """
    die_with_parent(int(sys.argv[3]))
    requests = Connection(int(sys.argv[1]), writable=False)
    _serve(requests.recv(), requests, Connection(int(sys.argv[2]), readable=False))


def _place(call: Call, cause: BaseException) -> str:
    """Return the place at which a plug-in's function failed, in brackets, or "" for functions of mrdsl."""
    from mrdsl.core.plugins import plugin_of

    plugin = plugin_of("", call.__module__)
    place = plugin.place(cause) if plugin is not None else None
    return "" if place is None else f" ({place.file}:{place.line})"


def _serve(call: Call, requests: Connection, replies: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def report(values: Any, value: float, bound: float | None) -> None:
        replies.send(("incumbent", (values, value, bound)))

    with contextlib.suppress(EOFError, OSError):
        while True:
            request = requests.recv()
            try:
                message = ("reply", call(request, report))
            except MemoryError:
                message = ("failure", "it ran out of memory")
            except MrdslError as refused:
                message = ("failure", "; ".join(each.message for each in refused.diagnostics))
            except BaseException as cause:
                message = ("failure", f"{type(cause).__name__}: {cause}{_place(call, cause)}")
            replies.send(message)


def in_processes(
    call: Callable[[Any, object], Any], requests: Sequence[Any], processes: int, what: str = "simulating"
) -> list[Any]:
    """Return ``call(request, None)`` of every request; with one process everything runs in this one.

    ``call`` is a function of a module; watchers get the progress under the name ``what``. An interruption ends the
    processes. Raises MrdslError if one of them dies.
    """
    if processes <= 1 or len(requests) <= 1:
        return [call(request, None) for request in counted(what, requests)]
    found: list[Any] = [None] * len(requests)
    with work(what, len(requests)), closing(answers(call, requests, processes)) as answered:
        for number, answer, failure in answered:
            if failure is not None:
                raise one_error("internal", f"a process of the simulation failed: {failure}", exit_code=3)
            found[number] = answer
            tell(done=1)
    return found


def answers(
    call: Callable[[Any, Any], Any], requests: Sequence[Any], processes: int
) -> Generator[tuple[int, Any, str | None], None, None]:
    """Yield the number of a request, its answer, and the failure if it has none, as workers answer.

    A worker that dies is replaced. An interruption ends the workers.
    """
    waiting = iter(range(len(requests)))
    busy: dict[Any, tuple[Worker, int]] = {}

    def hand_over(worker: Worker | None) -> None:
        with signals_deferred():
            if worker is not None:
                del busy[worker.replies]
            number = next(waiting, None)
            if number is None:
                if worker is not None:
                    worker.close()
                return
            if worker is None or not worker.alive:
                worker = Worker(call)
            busy[worker.replies] = worker, number
        with suppress(BrokenPipeError):  # a dead worker has no answer: found out when it is asked for
            worker.requests.send(requests[number])

    try:
        for _ in range(min(processes, len(requests))):
            hand_over(None)
        while busy:
            if is_stopped():
                raise KeyboardInterrupt
            answered = wait(list(busy), GLANCE if is_watched() or is_stoppable() else None)
            if not answered:
                tell()
            for pipe in answered:
                worker, number = busy[pipe]
                yield number, *_answer(worker)
                hand_over(worker)
    finally:
        for worker, _ in busy.values():
            worker.close()


def _answer(worker: Worker) -> tuple[Any, str | None]:
    try:
        kind, content = worker.replies.recv()
    except (EOFError, OSError):
        worker.close()
        return None, "the process of this run ended unexpectedly"
    return (content, None) if kind == "reply" else (None, str(content))


def run_scenarios(scenarios: Sequence[Scenario], settings: Settings, apart: bool = False) -> list[list[Seen]]:
    """Return the outcome of every run of every scenario, which does not depend on the number of processes.

    Scenarios have the same jobs in the same run, unless they are ``apart``.
    """
    from mrdsl.simulation.engine.scenario import note_simulated

    for at, scenario in enumerate(scenarios):
        note_simulated(scenario, settings.seed, at * settings.runs * apart)
    requests = [
        (scenario, settings.seed, run + at * settings.runs * apart)
        for at, scenario in enumerate(scenarios)
        for run in range(settings.runs)
    ]
    seen: list[Seen] = in_processes(_run, requests, settings.processes)
    return [seen[at * settings.runs : (at + 1) * settings.runs] for at in range(len(scenarios))]


def _run(request: tuple[Scenario, int, int], report: object) -> Seen:
    from mrdsl.simulation.engine.scenario import run_once

    return run_once(*request)
