"""Which logs there are: files, folders with all below them, globs, standard input."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mrdsl.core.regular_files import kind_of, reason
from mrdsl.exchange.logs.telling import Telling

STANDARD_INPUT = "-"
_PART = re.compile(r"^events_(\d+)_")
_IGNORED_STARTS = ".", "appstatus_"
_IGNORED_ENDS = "_conf.xml", ".crc", ".summary"


@dataclass(frozen=True, slots=True)
class Log:
    """One log: its parts in order, one but for rolled event logs, and the name that it goes by."""

    name: str
    parts: tuple[str, ...]

    @property
    def size(self) -> int:
        """Bytes as they lie there; 0 for standard input, and for what is not there any more."""
        return sum(Path(part).stat().st_size for part in self.parts if Path(part).is_file())


def find_logs(paths: Sequence[str | Path], telling: Telling, allow_outside: bool = False) -> tuple[Log, ...]:
    """The logs that ``paths`` name: files, folders with all below them, globs, ``-``; in the order of their names.

    Links below a folder are followed within it, each folder is looked at once. A link that leads outside, unless
    ``allow_outside``, and whatever is not a file are left out with a warning; a folder that cannot be read is an error.
    """
    found: list[Log] = []
    for each in paths:
        text = str(each)
        if text == STANDARD_INPUT:
            found.append(Log(STANDARD_INPUT, (STANDARD_INPUT,)))
            continue
        places = [text] if os.path.exists(text) else sorted(glob.glob(text, recursive=True))
        if not places:
            telling.fail("no-logs", f"there is nothing at `{text}`", text, 1, "name a file, a folder or a glob")
        for place in places:
            found.extend(_at(place, telling, allow_outside))
    return tuple(dict.fromkeys(found))


def _at(place: str, telling: Telling, allow_outside: bool) -> list[Log]:
    if not os.path.isdir(place):
        return [Log(place, (place,))]
    before = telling.lost
    inside = _below(place, telling, allow_outside)
    if not inside and telling.lost == before:
        telling.fail("no-logs", f"the folder `{place}` holds no file", place, 1, "name a folder of logs")
    return inside


def _below(folder: str, telling: Telling, allow_outside: bool) -> list[Log]:
    logs: list[Log] = []
    for home, names in _folders(folder, telling, allow_outside):
        rolled: list[tuple[int, str]] = []
        for name in names:
            path = os.path.join(home, name)
            part = _PART.match(name)
            if part and os.path.basename(home).startswith("eventlog_v2_"):
                rolled.append((int(part[1]), path))
            else:
                logs.append(Log(path, (path,)))
        if rolled:
            logs.append(Log(home, tuple(path for _, path in sorted(rolled))))
    return sorted(logs, key=lambda log: log.name)


def _folders(folder: str, telling: Telling, allow_outside: bool) -> Iterator[tuple[str, list[str]]]:
    """Every folder below, itself included, with the regular files in it; each once, however many links lead to it."""

    def refused(cause: OSError) -> None:
        place = str(cause.filename)
        telling.fail("unreadable-log", f"the folder cannot be read: {cause.strerror or cause}", place)

    root = None if allow_outside else os.path.realpath(folder)
    seen: set[tuple[int, int]] = set()
    for home, inside, names in os.walk(folder, onerror=refused, followlinks=True):
        if not _is_new(home, seen):
            inside.clear()
            continue
        inside[:] = [
            name for name in sorted(inside) if root is None or _is_within(os.path.join(home, name), root, telling)
        ]
        yield (
            home,
            [name for name in names if not _is_ignored(name) and _is_log(os.path.join(home, name), root, telling)],
        )


def _is_ignored(name: str) -> bool:
    return name.startswith(_IGNORED_STARTS) or name.endswith(_IGNORED_ENDS)


def _is_log(path: str, root: str | None, telling: Telling) -> bool:
    """Whether a path is a file that may be read; a warning says why it is not."""
    if root is not None and not _is_within(path, root, telling):
        return False
    try:
        kind = kind_of(os.stat(path))
    except OSError as cause:
        kind = reason(cause)
    if kind:
        telling.warn("unreadable-log", f"it is left out: {kind}", path)
    return not kind


def _is_within(path: str, root: str, telling: Telling) -> bool:
    """Whether a path lies below ``root``, links followed; a warning says that it does not."""
    if not os.path.islink(path) or Path(os.path.realpath(path)).is_relative_to(root):
        return True
    hint = "name the file or folder that it leads to, or allow it with `--allow-outside`"
    telling.warn("file-outside", "this link leads outside the folder of logs and is left out", path, 1, hint)
    return False


def _is_new(folder: str, seen: set[tuple[int, int]]) -> bool:
    try:
        about = os.stat(folder)
    except OSError:
        return False
    key = about.st_dev, about.st_ino
    if key in seen:
        return False
    seen.add(key)
    return True
