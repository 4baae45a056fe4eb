"""Runs a solver's function in a process of its own, so that it can be ended whatever it does.

The worker is forked where that is safe (one thread, Linux) and started afresh elsewhere. It leads a process group of
its own: a Ctrl-C in the terminal reaches mrdsl only, and ending the worker ends its children too. Incumbents that it
reports on the way are kept, so that a killed worker's last plan is not lost.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from importlib import import_module
from multiprocessing.connection import Connection
from typing import Any

from mrdsl.outcome import Termination
from mrdsl.solving.processes import die_with_parent, end_group
from mrdsl.solving.request import Reply, Request

GRACE = 1.0
_LARGEST_MESSAGE = 1 << 31
_LAST_WORDS = 0.05


def function(reference: str) -> Any:
    """The object behind ``"package.module:name"``."""
    module, _, name = reference.partition(":")
    return getattr(import_module(module), name)


def run_in_worker(call: str, request: Request, seconds: float | None, *, fresh: bool = False) -> Reply:
    """The reply of ``call`` (``"module:function"``); ended ``GRACE`` seconds after its own time limit has passed.

    ``fresh`` asks for a process that has loaded nothing yet: OR-tools cannot be loaded where highspy is.
    """
    try:
        function(call)
    except (ImportError, AttributeError) as cause:
        return Reply(Termination.ERROR, message=f"its solver file names a function that cannot be loaded: {cause}")
    with tempfile.TemporaryFile() as output:
        start = _fork if _may_fork() and not fresh else _spawn
        process_id, connection, reap = start(call, request, output.fileno())
        try:
            reply = _listen(connection, None if seconds is None else seconds + GRACE)
        finally:
            end_group(process_id)
            connection.close()
            code = reap()
        if reply is None or reply.termination is Termination.ERROR:
            reply = _explained(reply, code, output)
    return reply


def _may_fork() -> bool:
    return sys.platform == "linux" and threading.active_count() == 1


def _listen(connection: Connection, seconds: float | None) -> Reply | None:
    """The reply, or what is known when the worker overruns or Ctrl-C comes; None where it dies without a word."""
    inbox = _Inbox(connection)
    deadline = None if seconds is None else time.monotonic() + seconds
    try:
        while True:
            if not connection.poll(None if deadline is None else max(0.0, deadline - time.monotonic())):
                return inbox.stopped(Termination.TIME_LIMIT)
            reply = inbox.next()
            if reply is not None:
                return reply
    except KeyboardInterrupt:
        return inbox.stopped(Termination.INTERRUPTED)
    except (EOFError, OSError):
        return inbox.stopped(Termination.ERROR) if inbox.last else None
    except Exception as cause:
        return Reply(Termination.ERROR, message=f"it answered with garbage ({type(cause).__name__})")


class _Inbox:
    """What has come from the worker so far: its last incumbent, and at the end its reply."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.last: tuple[Any, float, float | None] | None = None

    def next(self) -> Reply | None:
        """Takes one message; the reply, if it is that."""
        kind, content = pickle.loads(self.connection.recv_bytes(_LARGEST_MESSAGE))
        if kind == "incumbent":
            self.last = content
            return None
        if kind == "failure":
            return Reply(Termination.ERROR, message=str(content))
        if not isinstance(content, Reply):
            raise TypeError(type(content).__name__)
        return content

    def stopped(self, termination: Termination) -> Reply:
        """The last incumbent, where the worker is not waited for any longer."""
        with contextlib.suppress(Exception):
            while self.connection.poll(_LAST_WORDS) and self.next() is None:
                pass
        return Reply(termination) if self.last is None else Reply(termination, *self.last)


def _explained(reply: Reply | None, code: int, output: Any) -> Reply:
    """An error with what is known of it: the signal or exit code, and the last lines that were printed."""
    reply = reply or Reply(Termination.ERROR)
    output.seek(0)
    printed = output.read().decode("utf-8", "replace").strip().splitlines()[-5:]
    if code < 0 and not reply.message and code != -signal.SIGKILL:
        reason = f"it crashed ({signal.Signals(-code).name})"
    elif not reply.message:
        reason = "it was killed" if code == -signal.SIGKILL else f"it ended without an answer (exit code {code})"
    else:
        reason = reply.message
    from dataclasses import replace

    return replace(reply, message="; ".join([reason, *filter(None, [" / ".join(printed)])]))


def _fork(call: str, request: Request, output: int) -> tuple[int, Connection, Callable[[], int]]:
    reader, writer = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    parent = os.getpid()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            os.close(reader)
            os.setpgid(0, 0)
            die_with_parent(parent)
            faulthandler.disable()
            os.dup2(output, 1)
            os.dup2(output, 2)
            _serve(call, request, Connection(writer, readable=False))
        finally:
            os._exit(0)
    os.close(writer)
    with contextlib.suppress(OSError):
        os.setpgid(child, child)

    def reap() -> int:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    return child, Connection(reader, writable=False), reap


def _spawn(call: str, request: Request, output: int) -> tuple[int, Connection, Callable[[], int]]:
    reader, writer = os.pipe()
    os.set_inheritable(writer, True)
    program = "import sys; from mrdsl.solving.worker import serve_standard_input; serve_standard_input()"
    paths = os.pathsep.join(filter(None, sys.path))
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(writer)],
        stdin=subprocess.PIPE,
        stdout=output,
        stderr=output,
        pass_fds=(writer,) if os.name == "posix" else (),
        close_fds=os.name == "posix",
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": paths},
    )
    os.close(writer)
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError), process.stdin as stream:
        pickle.dump((call, request), stream)
    return process.pid, Connection(reader, writable=False), process.wait


def serve_standard_input() -> None:
    """The whole life of a worker that was started afresh: one request from standard input."""
    call, request = pickle.load(sys.stdin.buffer)
    _serve(call, request, Connection(int(sys.argv[1]), readable=False))


def _serve(call: str, request: Request, connection: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def report(values: Any, value: float, bound: float | None) -> None:
        connection.send(("incumbent", (values, value, bound)))

    try:
        message = ("reply", function(call)(request, report))
    except MemoryError:
        message = ("failure", "it ran out of memory")
    except BaseException as cause:
        message = ("failure", f"{type(cause).__name__}: {cause}")
    connection.send(message)
