"""Which solver files may be read: what one declares is run as a program, so nobody else may have written it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

_LARGEST = 1 << 20


def read_trusted(path: Path) -> str:
    """The text of a regular file that only its user or root can have written.

    File and folder must belong to the running user or to root, and nobody else may write to either (a folder with the
    sticky bit excepted, in which nobody can replace another's file; a group that is the user's own counts as the user).
    Raises PermissionError and OSError with the reason.
    """
    with open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), encoding="utf-8") as stream:
        status = os.fstat(stream.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise OSError("it is no regular file")
        if status.st_size > _LARGEST:
            raise OSError("it is larger than 1 MB")
        if os.name == "posix":
            _refuse_strangers(status, "it", sticky=False)
            _refuse_strangers(path.resolve().parent.stat(), "its folder", sticky=True)
        return stream.read()


def _refuse_strangers(status: os.stat_result, what: str, sticky: bool) -> None:
    if status.st_uid not in (0, os.geteuid()):
        raise PermissionError(f"{what} belongs to another user (uid {status.st_uid}); own it, or ask its owner")
    if sticky and status.st_mode & stat.S_ISVTX:
        return
    if status.st_mode & stat.S_IWOTH or (status.st_mode & stat.S_IWGRP and not _own_group(status.st_gid)):
        raise PermissionError(f"{what} can be written by others; run chmod go-w on it")


def _own_group(group: int) -> bool:
    """Whether a group is root's, or the one that has the running user's name."""
    import grp
    import pwd

    try:
        return group == 0 or grp.getgrgid(group).gr_name == pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return False
