"""Logs in files, folders, globs and standard input, each recognized by its content, not by its name."""

from __future__ import annotations

import glob
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from mrdsl.core.reading import kind_of, reason, walked
from mrdsl.exchange.logs.formats import Archive, OpenedLog, Telling, archive, is_archive
from mrdsl.exchange.logs.opening import (
    EXPANDED_AT_MOST,
    MissingLibraryError,
    Piece,
    Readable,
    UnreadableLogError,
    chunks,
    open_log,
)
from mrdsl.exchange.logs.records import Run
from mrdsl.exchange.registry import LOGS

STANDARD_INPUT = "-"
_PART = re.compile(r"^events_([0-9]+)_")
_COMPACTED = ".compact"
_DATED = re.compile(r"^eventlog(?:-([0-9]{4}-[0-9]{2}-[0-9]{2}--[0-9]{2}-[0-9]{2})(?:\.\w+)?)?$")
"""Parts of a log of Databricks; that without a date is the last one."""
_LAST = "eventlog"
_IGNORED_STARTS = ".", "appstatus_"
SETTINGS = "_conf.xml"
_IGNORED_ENDS = SETTINGS, ".crc", ".summary"


@dataclass(frozen=True, slots=True)
class Log:
    """One log: its parts in order, one but for rolled event logs, its name, and the number of its missing parts.

    The parts of a log in an ``archive`` are the names of its files there.
    """

    name: str
    parts: tuple[str, ...]
    missing: int = 0
    archive: Archive | None = None

    @property
    def size(self) -> int:
        """The stored bytes; 0 for standard input, and for files that do not exist any more."""
        return sum(Path(part).stat().st_size for part in self.parts if Path(part).is_file())


def find_logs(paths: Sequence[str | Path], telling: Telling, allow_outside: bool = False) -> tuple[Log, ...]:
    """Return the logs that ``paths`` name: files, folders with all below them, globs, ``-``; in the order of their
    names.

    Links below a folder are followed within it, each folder is looked at once. A link that leads outside, unless
    ``allow_outside``, and whatever is not a file are left out with a warning; a folder that cannot be read is an error.
    """
    found: list[Log] = []
    for each in paths:
        text = str(each)
        if text == STANDARD_INPUT:
            found.append(Log(STANDARD_INPUT, (STANDARD_INPUT,)))
            continue
        try:
            places = [text] if os.path.exists(text) else sorted(glob.glob(text, recursive=True))
        except RecursionError:
            message = f"the folders of `{text}` are nested too deeply"
            telling.fail("unreadable-log", message, text, 1, "name the folder instead of a glob")
            continue
        if not places:
            telling.fail("no-logs", f"there is no file at `{text}`", text, 1, "name a file, a folder or a glob")
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
        logs += _logs_in(home, [os.path.join(home, name) for name in names], telling)
    return sorted(logs, key=lambda log: log.name)


def _logs_in(home: str, paths: Iterable[str], telling: Telling) -> list[Log]:
    """Return the logs of the files of one folder, whose names are after the last separator."""
    logs: list[Log] = []
    numbered: list[tuple[int, str]] = []
    dated: list[tuple[str, str]] = []
    for path in paths:
        name = path.replace(os.sep, "/").rpartition("/")[2]
        part, of_databricks = _PART.match(name), _DATED.match(name)
        if part and os.path.basename(home).startswith("eventlog_v2_"):
            numbered.append((int(part[1]), path))
        elif of_databricks:
            dated.append((of_databricks[1] or _LAST, path))
        else:
            logs.append(Log(path, (path,)))
    if numbered:
        logs.append(_rolled(home, sorted(numbered), telling))
    if dated:
        parts = tuple(path for _, path in sorted(dated))
        logs.append(Log(home if len(parts) > 1 else parts[0], parts))
    return logs


def _rolled(home: str, parts: list[tuple[int, str]], telling: Telling) -> Log:
    """Return a rolled log; missing files are reported. A compacted file replaces those before it."""
    compacted = max((place for place, (_, path) in enumerate(parts) if path.endswith(_COMPACTED)), default=0)
    parts = parts[compacted:]
    if parts[0][1].endswith(_COMPACTED):
        message = "Spark compacted this log, which removes the events of finished jobs"
        telling.warn(
            "cut-log", message, parts[0][1], 1, "set `spark.history.fs.eventLog.rolling.maxFilesToRetain` higher"
        )
        return Log(home, tuple(path for _, path in parts), parts[0][0])
    numbers = {number for number, _ in parts}
    missing = [number for number in range(1, max(numbers) + 1) if number not in numbers]
    if missing:
        shown = ", ".join(f"events_{number}" for number in missing[:3]) + (", ..." if len(missing) > 3 else "")
        message = f"{len(missing)} of {max(numbers)} files of this rolled log are missing: {shown}"
        telling.warn("cut-log", message, parts[0][1], 1, "copy the whole folder")
    return Log(home, tuple(path for _, path in parts), len(missing))


def _folders(folder: str, telling: Telling, allow_outside: bool) -> Iterator[tuple[str, list[str]]]:
    """Yield every folder below, itself included, with the regular files in it; each once, however many links lead to
    it.
    """

    def refused(cause: OSError) -> None:
        place = str(cause.filename)
        telling.fail("unreadable-log", f"the folder cannot be read: {cause.strerror or cause}", place)

    root = None if allow_outside else os.path.realpath(folder)
    seen: set[tuple[int, int]] = set()
    for home, inside, names in walked(folder, refused, links=True):
        if not _is_new(home, seen):
            inside.clear()
            continue
        inside[:] = [
            name for name in sorted(inside) if root is None or _is_within(os.path.join(home, name), root, telling)
        ]
        for name in names:
            if name.endswith(SETTINGS) and root is not None:
                _is_within(os.path.join(home, name), root, telling)
        yield (
            home,
            [name for name in names if not _is_ignored(name) and _is_log(os.path.join(home, name), root, telling)],
        )


def _is_ignored(name: str) -> bool:
    return name.startswith(_IGNORED_STARTS) or name.endswith(_IGNORED_ENDS)


def _is_log(path: str, root: str | None, telling: Telling) -> bool:
    """Return True if a path is a file that can be read; otherwise a warning has the reason."""
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
    """Return True if a path is below ``root``, after all links; otherwise report a warning."""
    if not os.path.islink(path) or Path(os.path.realpath(path)).is_relative_to(root):
        return True
    hint = "name the file or folder that it leads to, or allow it with `--allow-outside`"
    telling.warn("file-outside", "this link leads outside the folder of logs and is left out", path, 0, hint)
    telling.left_out.add(os.path.normpath(path))
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


_HEAD = 65536


def read_logs(
    logs: Iterable[Log],
    telling: Telling,
    *,
    limit: int = EXPANDED_AT_MOST,
    progress: Callable[[int], None] | None = None,
) -> Iterator[Run]:
    """Yield every job and application of the logs, one after the other; unreadable parts are reported and left out.

    ``progress`` is called with the number of stored bytes after each read.
    """
    for log in logs:
        found = False
        for run in _explained(log, telling, limit, progress):
            found = True
            yield run
        telling.barren += not found


def _explained(log: Log, telling: Telling, limit: int, progress: Callable[[int], None] | None) -> Iterator[Run]:
    """Yield the runs of a log; what cannot be read is reported."""
    try:
        yield from _read(log, telling, limit, progress)
    except MissingLibraryError as cause:
        telling.fail("missing-extra", str(cause), log.name, 1, "install the extra `logs`")
    except UnreadableLogError as cause:
        telling.fail("broken-log", str(cause), log.name, 1, "take the whole file")
    except OSError as cause:
        telling.fail("unreadable-log", f"it cannot be read: {cause.strerror or cause}", log.name)


def _read(log: Log, telling: Telling, limit: int, progress: Callable[[int], None] | None) -> Iterator[Run]:
    with ExitStack() as opened:
        opening = _Opening(log, opened, limit, progress)
        source, kept = opening.chunks(log.parts[0]), _Kept()
        head = kept.first(source)
        if not head.strip():
            telling.fail("empty-log", "this file is empty", log.name, 1, "take another file")
            return
        if is_archive(head):
            yield from _inside(log, opened, telling, limit, progress)
            return
        for reader in LOGS:
            log_format = reader.load()
            if log_format.recognizes(head):
                parts = opening.parts(kept.all(source))
                yield from log_format.read(OpenedLog(log.name, parts, log.missing), telling)
                return
        other, hint = next((words for mark, *words in _OTHERS if mark.search(head)), ("", ""))
        message = (
            f"this is {other}, which mrdsl does not read" if other else "this is not a log format that mrdsl reads"
        )
        hint = hint or "it reads " + "; ".join(reader.doc for reader in LOGS)
        telling.fail("unknown-log", message, log.name, 1, hint)


_OTHERS = (
    (
        re.compile(rb'TEZ_|"dagName"'),
        "history of Tez",
        "write a class with a `stage` for each vertex: its tasks, and their average and longest time",
    ),
    (
        re.compile(rb"\AZV[\x00\x01]"),
        "compressed with LZF",
        "expand it first, or let Spark write new logs with `spark.eventLog.compression.codec=zstd`",
    ),
)
"""The beginnings of other files, what they are, and what to do."""


def _inside(
    log: Log, opened: ExitStack, telling: Telling, limit: int, progress: Callable[[int], None] | None
) -> Iterator[Run]:
    """Yield the runs of the logs in an archive."""
    if log.archive is not None or log.name == STANDARD_INPUT:
        place = "in another one" if log.archive is not None else "on standard input"
        telling.fail("unreadable-log", f"this is an archive {place}", log.name, 1, "unpack it first")
        return
    held = opened.enter_context(archive(log.parts[0]))
    names = [name for name in held.names() if not _is_ignored(name.rpartition("/")[2])]
    homes = groupby(sorted(names, key=_home), _home)
    logs = [each for home, inside in homes for each in _logs_in(home.rstrip("/"), inside, telling)]
    for each in sorted(logs, key=lambda log: log.name):
        inner = replace(each, name="/".join(filter(None, (log.name, each.name))), archive=held)
        yield from _explained(inner, telling, limit, progress)


def _home(name: str) -> str:
    return name.rpartition("/")[0]


@dataclass(frozen=True)
class _Opening:
    """The parts of one log, opened when they are read."""

    log: Log
    opened: ExitStack
    limit: int
    progress: Callable[[int], None] | None

    def chunks(self, part: str) -> Iterator[Piece]:
        return chunks(self._open(part), self.limit)

    def parts(self, first: Iterator[Piece]) -> Iterator[tuple[str, Iterator[Piece]]]:
        """Yield the name and bytes of each part, of which the first one is open."""
        yield self._name(self.log.parts[0]), first
        for part in self.log.parts[1:]:
            yield self._name(part), self.chunks(part)

    def _name(self, part: str) -> str:
        if self.log.archive is None:
            return part
        return self.log.name if len(self.log.parts) == 1 else f"{self.log.name}/{part.rpartition('/')[2]}"

    def _open(self, part: str) -> Readable:
        if self.log.archive is not None:
            if self.progress is not None:
                self.progress(self.log.archive.size(part))
            return self.opened.enter_context(self.log.archive.open(part, self.limit))
        stream = sys.stdin.buffer if part == STANDARD_INPUT else self.opened.enter_context(open_log(part))
        return stream if self.progress is None else _Watched(stream, self.progress)


@dataclass(frozen=True)
class _Watched:
    stream: Readable
    progress: Callable[[int], None]

    def read(self, size: int) -> bytes:
        found = self.stream.read(size)
        self.progress(len(found))
        return found


class _Kept:
    """A stream that gives the bytes used for detection first."""

    def __init__(self) -> None:
        self.chunks: list[Piece] = []
        self.broken: UnreadableLogError | None = None

    def first(self, source: Iterator[Piece]) -> bytes:
        """Return enough of the beginning to detect the format; errors of the stream come when it is read on."""
        size = 0
        try:
            for chunk in source:
                self.chunks.append(chunk)
                size += len(chunk)
                if size >= _HEAD:
                    break
        except UnreadableLogError as cause:
            if not size:
                raise
            self.broken = cause
        return b"".join(self.chunks)[:_HEAD]

    def all(self, source: Iterator[Piece]) -> Iterator[Piece]:
        yield from self.chunks
        self.chunks = []
        if self.broken is not None:
            raise self.broken
        yield from source
