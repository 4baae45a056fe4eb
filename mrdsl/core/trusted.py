"""Which files and folders that the user named may be read and imported: what they say is run, so nobody else may have
written them."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import all_suffixes
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


def make_importable(folder: Path, module: str) -> None:
    """Lets a module of a folder that the user named be imported, after everything that is installed.

    The same rule as for files holds for all that can be imported from there: the folder's modules, and all that its
    packages hold, whichever is asked for; a virtual environment is no package. Does nothing where the folder has no
    such module. Raises PermissionError and OSError with the reason.
    """
    first = module.partition(".")[0]
    if not ((folder / first).is_dir() or (folder / f"{first}.py").is_file()):
        return
    if os.name == "posix":
        for path in _code_of(folder, first):
            _refuse_strangers(path.stat(), f"`{path}`", sticky=False)
    if str(folder) not in sys.path:
        sys.path.append(str(folder))


@contextmanager
def leaving_no_bytecode() -> Iterator[None]:
    """While it lasts, what is imported leaves no ``__pycache__`` in folders that are the user's."""
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        yield
    finally:
        sys.dont_write_bytecode = before


def _code_of(folder: Path, named: str) -> Iterator[Path]:
    """The folder, its modules and packages; the named one is a package whatever it holds."""
    yield folder
    for path in sorted(folder.iterdir()):
        if path.is_dir():
            if path.name in (named, "__pycache__") or _is_package(path):
                yield path
                yield from path.rglob("*")
        elif _is_module(path.name):
            yield path


def _is_package(folder: Path) -> bool:
    """Whether Python would find a module below it, however deep; what cannot be read, it does not find either."""
    if not folder.name.isidentifier() or (folder / "pyvenv.cfg").exists():
        return False
    for _, inner, files in os.walk(folder):
        inner[:] = [name for name in inner if name.isidentifier()]
        if any(map(_is_module, files)):
            return True
    return False


def _is_module(name: str) -> bool:
    return name.endswith(tuple(all_suffixes()))


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
