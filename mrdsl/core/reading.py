"""Targets of output names, and reading of files of a bearable size and of code that only its owner may change."""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.machinery import all_suffixes
from pathlib import Path

from mrdsl.core import budgets
from mrdsl.core.diagnostics import shortened

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
    """Return the reason why a file cannot be read, or "", without opening it."""
    try:
        status = os.stat(path)
    except (OSError, ValueError) as failure:
        return reason(failure)
    refused = "" if os.access(path, os.R_OK) else "permission denied"
    return kind_of(status) or refused or _too_large(status.st_size, limit)


def reason(failure: Exception) -> str:
    """Return the reason of a system error in words."""
    if isinstance(failure, FileNotFoundError):
        return MISSING
    if isinstance(failure, OSError):
        if failure.errno == errno.ELOOP:
            return "its symbolic links form a cycle"
        return (failure.strerror or "the system refuses").lower()
    return "its name is not a valid file name"


def read_bytes(path: str | Path, limit: int = budgets.TABLE_BYTES, own_descriptors: bool = False) -> bytes:
    """Return the bytes of a regular file, or with ``own_descriptors`` of standard input and other open descriptors.

    Raises UnreadableError for folders, pipes, devices, files of more than ``limit`` bytes, and errors of the system.
    """
    own = own_descriptors and os.path.normpath(path).startswith(_OWN_DESCRIPTORS)
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
    """Return True if a regular file begins as a JSON object does: a saved plan, and no spec."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return False
        with open(path, "rb") as file:
            return file.read(_PEEKED).removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{"
    except (OSError, ValueError):
        return False


def walked(folder: str, refused: Callable[[OSError], None], links: bool) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield each folder below with the names of its folders and files, as os.walk does, which calls itself for each.

    Folders behind links only with ``links``; the caller can remove folders from the list.
    """
    left = [folder]
    while left:
        home, inside, names = left.pop(), list[str](), list[str]()
        try:
            with os.scandir(home) as entries:
                for entry in entries:
                    is_folder = os.path.isdir(entry.path) if links else entry.is_dir(follow_symlinks=False)
                    (inside if is_folder else names).append(entry.name)
        except OSError as cause:
            refused(cause)
            continue
        yield home, inside, names
        left += (os.path.join(home, name) for name in reversed(inside))


def shown_name(written: str) -> str:
    """Return a file's name in a message, in short where it is long."""
    return shortened(written, 80)


def kind_of(status: os.stat_result) -> str:
    """Return the kind of a path that mrdsl does not read: a folder, pipe, device or file of /proc; "" for a file."""
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


_LARGEST = 1 << 20


def read_trusted(path: Path) -> str:
    """Return the text of a regular file that only the user or root can have written.

    File and folder must belong to the running user or to root, and no other user can have write access to either. There
    are two exceptions: a folder with the sticky bit, and the user's own group. Raises PermissionError and OSError with
    the reason.
    """
    with open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), encoding="utf-8") as stream:
        status = os.fstat(stream.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise OSError("it is not a regular file")
        if status.st_size > _LARGEST:
            raise OSError("it is larger than 1 MB")
        if os.name == "posix":
            _refuse_strangers(status, "it", sticky=False)
            _refuse_strangers(path.resolve().parent.stat(), "its folder", sticky=True)
        return stream.read()


def make_importable(folder: Path, module: str) -> None:
    """Make a module of a folder that the user named importable, after all installed modules.

    The rule of :func:`read_trusted` applies to all modules of the folder and to all files of its packages, except
    virtual environments. Does nothing if the folder has no such module. Raises PermissionError and OSError with the
    reason.
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
    """Import without writing ``__pycache__`` folders."""
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        yield
    finally:
        sys.dont_write_bytecode = before


def _code_of(folder: Path, named: str) -> Iterator[Path]:
    """Yield the folder, its modules and packages; the named one is a package whatever it holds."""
    yield folder
    for path in sorted(folder.iterdir()):
        if path.is_dir():
            if path.name in (named, "__pycache__") or _is_package(path):
                yield path
                yield from path.rglob("*")
        elif _is_module(path.name):
            yield path


def _is_package(folder: Path) -> bool:
    """Return True if Python can find a module at any depth below a folder."""
    if not folder.name.isidentifier() or (folder / "pyvenv.cfg").exists():
        return False
    for _, inner, files in walked(str(folder), lambda _: None, links=False):
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
    """Return True if a group is root's, or the one that has the running user's name."""
    import grp
    import pwd

    try:
        return group == 0 or grp.getgrgid(group).gr_name == pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return False


STANDARD_OUTPUT = Path("-")
_DESCRIPTOR = re.compile(r"/dev/fd/([0-9]+)|/proc/self/fd/([0-9]+)|/dev/std(out|err)")
_LINKS = 40


def unwritable(path: Path) -> str:
    """Return the reason why the system does not let a file be written, or ""."""
    try:
        place = target_of(path)
        if place.through:
            return "" if place.descriptor is not None or may(place.path, os.W_OK) else "permission denied"
        if place.before is not None:
            if stat.S_ISDIR(place.before.st_mode):
                return "it is a folder"
            if not stat.S_ISREG(place.before.st_mode):
                return "it is a link to a device" if os.path.islink(path) else "it is not a regular file"
            return "" if may(place.path, os.W_OK) else "permission denied"
        folder = place.path.parent
        if not folder.is_dir():
            return f"`{folder}` is not a folder" if folder.exists() else f"the folder `{folder}` does not exist"
        return "" if may(folder, os.W_OK | os.X_OK) else f"{str(folder)!r} is not writable"
    except OSError as problem:
        return problem.strerror or "the system refuses"


def may(path: Path, mode: int) -> bool:
    """Return True if the effective user has the access ``mode``; ``os.access`` checks only the real user."""
    return os.access(path, mode, effective_ids=os.access in os.supports_effective_ids)


def is_standard_output(path: Path) -> bool:
    """Return True if a name is that of standard output: ``-``, ``/dev/stdout``, ``/dev/fd/1``."""
    try:
        return target_of(path).descriptor == 1
    except OSError:
        return False


def is_through(path: Path) -> bool:
    """Return True if a name is a device, a pipe or an open descriptor, so that writing makes no file."""
    try:
        return target_of(path).through
    except OSError:
        return False


def identities(path: Path) -> frozenset[object]:
    """Return what two names of one file share: its place, and its number if it exists; nothing of devices and pipes."""
    try:
        target = target_of(path)
    except OSError:
        return frozenset()
    if target.descriptor == 1:
        return frozenset({STANDARD_OUTPUT})
    if target.through:
        return frozenset()
    before = target.before
    return frozenset({target.path} if before is None else {target.path, (before.st_dev, before.st_ino)})


@dataclass(frozen=True)
class Target:
    """The path that a name leads to through all links, and its status if it exists; ``linked``: the name is a link."""

    path: Path
    before: os.stat_result | None
    descriptor: int | None = None
    linked: bool = False

    @property
    def through(self) -> bool:
        """True for a device, a pipe or a descriptor; False for block devices, which must not be overwritten by
        accident.
        """
        if self.descriptor is not None:
            return True
        mode = 0 if self.before is None else self.before.st_mode
        return stat.S_ISFIFO(mode) or (stat.S_ISCHR(mode) and not self.linked)


def target_of(path: Path) -> Target:
    if "\0" in str(path):
        raise OSError(0, "a name has no null character")
    descriptor = 1 if path == STANDARD_OUTPUT else _descriptor(path)
    if descriptor is not None:
        return Target(path, None, descriptor)
    target = Path(os.path.realpath(path))
    try:
        before = os.stat(path)
    except FileNotFoundError:
        return Target(target, None)
    return Target(target, before, None, os.path.islink(path))


def _descriptor(path: Path) -> int | None:
    """Return the open descriptor of a name such as ``/dev/stdout``, after all links."""
    name = os.path.abspath(path)
    for _ in range(_LINKS):
        match = _DESCRIPTOR.fullmatch(name.replace(f"/proc/{os.getpid()}/", "/proc/self/"))
        if match is not None:
            number = match[1] or match[2]
            return int(number) if number else 1 if match[3] == "out" else 2
        if not os.path.islink(name):
            return None
        name = os.path.normpath(os.path.join(os.path.dirname(name), os.readlink(name)))
    return None
