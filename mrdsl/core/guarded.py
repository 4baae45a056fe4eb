"""Things that must not outlive this process: the pipe to the guard, and temporary files.

One guard (:mod:`mrdsl.core.guard`) for all children of a process ends the process groups, and removes the temporary
folders, that a killed process leaves.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mrdsl.core.diagnostics import MrdslError, one_error


def temporary_place() -> str:
    """Return the folder for temporary files as ``tempfile`` chooses it, without writing a test file there.

    A process that is killed at that moment would leave the test file.
    """
    if not tempfile.tempdir:
        named = [os.environ.get(name) for name in ("TMPDIR", "TEMP", "TMP")]
        for place in (*named, *(("/tmp", "/var/tmp") if os.name == "posix" else ())):
            if place and os.path.isdir(place) and os.access(place, os.W_OK | os.X_OK):
                return str(os.path.abspath(place))
    try:
        return str(os.path.abspath(tempfile.gettempdir()))
    except FileNotFoundError:
        hint = "set TMPDIR to a folder that can be written"
        message = "no folder for temporary files is writable: check TMPDIR"
        raise one_error("system-refuses", message, None, hint, exit_code=3) from None


def nameless_file() -> Any:
    """Return a temporary file without a name if the system has such files, or a buffer in memory if no folder can be
    written.
    """
    try:
        return tempfile.TemporaryFile(dir=temporary_place())
    except (MrdslError, OSError):
        if not hasattr(os, "memfd_create"):
            raise
        return os.fdopen(os.memfd_create("mrdsl"), "w+b")


@contextlib.contextmanager
def scratch_folder() -> Iterator[Path]:
    """Yield a folder for temporary files that is removed whatever becomes of this process.

    The guard knows it before it is made and until it is gone.
    """
    folder = Path(temporary_place(), f"mrdsl-{os.urandom(16).hex()}")
    _tell(f"+d {folder}")
    try:
        folder.mkdir(mode=0o700)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        _tell(f"-d {folder}")


def watch_group(leader: int) -> None:
    """Let the guard end a process group that this process leaves."""
    _tell(f"+g {leader}")


def forget_group(leader: int) -> None:
    """Take back :func:`watch_group`, once the group has ended."""
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


def share_guard() -> None:
    """Called in a forked child: its parent's guard is its own."""
    _Guard.owner = os.getpid()


def _tell(line: str) -> None:
    with contextlib.suppress(OSError):
        os.write(guarded(), os.fsencode(line) + b"\n")


def _start_guard() -> int:
    """Return the end of the pipe to write to; nothing reads it if there can be no guard."""
    if os.name != "posix" or not sys.executable:
        return os.open(os.devnull, os.O_WRONLY)
    from_parent, to_guard = os.pipe()
    try:
        _Guard.process = subprocess.Popen(
            [sys.executable, "-I", "-S", *_program(), str(from_parent), str(os.getpid())],
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


def _program() -> list[str]:
    """Return the file of the guard, or its text if the package runs from a zip file."""
    from mrdsl.core import guard

    path = os.path.abspath(str(guard.__file__))
    if os.path.isfile(path):
        return [path]
    import inspect

    return ["-c", inspect.getsource(guard)]
