"""Reading what lies on a disk: a regular file of a bearable size, never a pipe, a socket or a device that blocks.

Only what the user names on the command line may be the standard input or one of the command's own descriptors.
"""

from __future__ import annotations

import errno
import os
import stat
from functools import cache
from pathlib import Path

from mrdsl.core import budgets
from mrdsl.core.printable import shortened

FOLDER = "it is a folder"
MISSING = "there is no such file"
SYSTEM_FILE = "it belongs to the system (`/proc`), not to a disk"
_OWN_DESCRIPTORS = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")
_PEEKED = 4096
_KINDS = (
    (stat.S_ISDIR, FOLDER),
    (stat.S_ISFIFO, "it is a pipe, not a file"),
    (stat.S_ISSOCK, "it is a socket, not a file"),
    (stat.S_ISCHR, "it is a device, not a file"),
    (stat.S_ISBLK, "it is a device, not a file"),
)


class UnreadableError(Exception):
    """A file that is not read, with the reason in words."""


def problem_of(path: str | Path, limit: int = budgets.TABLE_BYTES) -> str:
    """Why a file would not be read, in words; "" where nothing is known against it. It is not opened."""
    try:
        status = os.stat(path)
    except (OSError, ValueError) as failure:
        return reason(failure)
    refused = "" if os.access(path, os.R_OK) else "permission denied"
    return kind_of(status) or refused or _too_large(status.st_size, limit)


def reason(failure: Exception) -> str:
    """What the system says, in words."""
    if isinstance(failure, FileNotFoundError):
        return MISSING
    if isinstance(failure, OSError):
        if failure.errno == errno.ELOOP:
            return "its links lead round in a circle"
        return (failure.strerror or "the system refuses").lower()
    return "its name is no file name"


def read_bytes(path: str | Path, limit: int = budgets.TABLE_BYTES, own_descriptors: bool = False) -> bytes:
    """The bytes of a regular file. ``own_descriptors``: or of the standard input and its like.

    Raises UnreadableError for a folder, a pipe, a device, for more than ``limit`` bytes, and where the system refuses.
    """
    own = own_descriptors and str(path).startswith(_OWN_DESCRIPTORS)
    try:
        # A pipe without a writer would block on opening; a regular file does not know the flag.
        handle = os.open(path, os.O_RDONLY | (0 if own else getattr(os, "O_NONBLOCK", 0)) | getattr(os, "O_BINARY", 0))
    except (OSError, ValueError) as failure:
        raise UnreadableError(reason(failure)) from None
    status = os.fstat(handle)
    kind = FOLDER if stat.S_ISDIR(status.st_mode) else "" if own else kind_of(status)
    if kind:  # before a stream is made of it, which a folder refuses in words of its own
        os.close(handle)
        raise UnreadableError(kind)
    with os.fdopen(handle, "rb") as file:
        if status.st_size > limit:
            raise UnreadableError(_too_large(status.st_size, limit))
        try:
            data = file.read(limit + 1)
            if data is None:  # nothing is there yet, and a wait for it may never end
                raise UnreadableError(SYSTEM_FILE)
        except OSError as failure:
            raise UnreadableError(reason(failure)) from None
    if len(data) > limit:
        raise UnreadableError(_too_large(len(data), limit))
    return data


def is_json_object(path: str | Path) -> bool:
    """Whether a regular file begins as a JSON object does: a saved plan, and no spec."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return False
        with open(path, "rb") as file:
            return file.read(_PEEKED).removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{"
    except (OSError, ValueError):
        return False


def shown_name(written: str) -> str:
    """A file's name in a message, in short where it is long."""
    return shortened(written, 80)


def kind_of(status: os.stat_result) -> str:
    """What is not read because it is a folder, a pipe, a device or a file of /proc, in words; "" for a file."""
    words = next((words for is_kind, words in _KINDS if is_kind(status.st_mode)), "")
    return words or (SYSTEM_FILE if status.st_dev == _device_of_proc() else "")


@cache
def _device_of_proc() -> int | None:
    try:
        return os.stat("/proc").st_dev if os.path.ismount("/proc") else None
    except OSError:
        return None


def _too_large(size: int, limit: int) -> str:
    return f"it has more than {limit >> 20} MB, the most that is read" if size > limit else ""
