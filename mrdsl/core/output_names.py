"""Targets of output names: a file, folder, device, pipe or open descriptor, after all links."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path

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


def same_output(first: Path, second: Path) -> bool:
    """Return True if two names are one file, even if it does not exist yet; devices and pipes are never the
    same file.
    """
    return not identities(first).isdisjoint(identities(second))


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
