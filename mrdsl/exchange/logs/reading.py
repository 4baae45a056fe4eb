"""Logs wherever they lie: files, folders, globs, standard input; each told apart by its content, not by its name."""

from __future__ import annotations

import glob
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from mrdsl.exchange.logs.expanding import MissingLibraryError, Piece, UnreadableLogError
from mrdsl.exchange.logs.formats import OpenedLog
from mrdsl.exchange.logs.opening import EXPANDED_AT_MOST, Readable, chunks, open_log
from mrdsl.exchange.logs.records import MapReduceJob, Run
from mrdsl.exchange.logs.telling import Telling
from mrdsl.exchange.registry import LOGS

STANDARD_INPUT = "-"
_PART = re.compile(r"^events_(\d+)_")
_HEAD = 65536
_IGNORED = ("_conf.xml", ".crc", ".summary")


@dataclass(frozen=True)
class Log:
    """One log: its parts in order, one but for rolled event logs, and the name that it goes by."""

    name: str
    parts: tuple[str, ...]

    @property
    def size(self) -> int:
        """Bytes as they lie there; 0 for standard input, and for what is not there any more."""
        return sum(Path(part).stat().st_size for part in self.parts if Path(part).is_file())


def find_logs(paths: Sequence[str | Path], telling: Telling) -> tuple[Log, ...]:
    """The logs that ``paths`` name: files, folders with all below them, globs, ``-``; in the order of their names."""
    found: list[Log] = []
    for each in paths:
        text = str(each)
        if text == STANDARD_INPUT:
            found.append(Log(STANDARD_INPUT, (STANDARD_INPUT,)))
            continue
        places = [text] if Path(text).exists() else sorted(glob.glob(text, recursive=True))
        if not places:
            telling.fail("no-logs", f"there is nothing at `{text}`", text, 1, "name a file, a folder or a glob")
        for place in places:
            inside = _below(Path(place)) if Path(place).is_dir() else [Log(place, (place,))]
            if not inside:
                telling.fail("no-logs", f"the folder `{place}` holds no file", place, 1, "name a folder of logs")
            found.extend(inside)
    return tuple(dict.fromkeys(found))


def _below(folder: Path) -> list[Log]:
    logs: list[Log] = []
    rolled: dict[Path, list[tuple[int, Path]]] = {}
    for path in sorted(each for each in folder.rglob("*") if each.is_file()):
        part = _PART.match(path.name)
        if part and path.parent.name.startswith("eventlog_v2_"):
            rolled.setdefault(path.parent, []).append((int(part[1]), path))
        elif not path.name.startswith((".", "appstatus_")) and not path.name.endswith(_IGNORED):
            logs.append(Log(str(path), (str(path),)))
    logs += [Log(str(home), tuple(str(path) for _, path in sorted(parts))) for home, parts in rolled.items()]
    return sorted(logs, key=lambda log: log.name)


def read_logs(
    logs: Iterable[Log],
    telling: Telling,
    *,
    limit: int = EXPANDED_AT_MOST,
    progress: Callable[[int], None] | None = None,
) -> Iterator[Run]:
    """Every job and application of the logs, one after the other; what cannot be read is told and left out.

    ``progress`` is called with the number of bytes whenever some were read, as they lie in the file.
    """
    for log in logs:
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
        source, kept = chunks(_open(log.parts[0], opened, progress), limit), _Kept()
        head = kept.first(source)
        if not head.strip():
            telling.fail("empty-log", "this file is empty", log.name, 1, "take another file")
            return
        for reader in LOGS:
            log_format = reader.load()
            if log_format.recognizes(head):
                parts = _parts(log, kept.all(source), limit, opened, progress)
                yield from log_format.read(OpenedLog(log.name, parts), telling)
                return
        hint = "it reads " + "; ".join(reader.doc for reader in LOGS)
        telling.fail("unknown-log", "this is no log that mrdsl knows", log.name, 1, hint)


def _open(path: str, opened: ExitStack, progress: Callable[[int], None] | None) -> Readable:
    stream = sys.stdin.buffer if path == STANDARD_INPUT else opened.enter_context(open_log(path))
    return stream if progress is None else _Watched(stream, progress)


@dataclass(frozen=True)
class _Watched:
    stream: Readable
    progress: Callable[[int], None]

    def read(self, size: int) -> bytes:
        found = self.stream.read(size)
        self.progress(len(found))
        return found


class _Kept:
    """What was looked at to tell the kind, handed on first."""

    def __init__(self) -> None:
        self.chunks: list[Piece] = []
        self.broken: UnreadableLogError | None = None

    def first(self, source: Iterator[Piece]) -> bytes:
        """Enough of the beginning to tell what it is; a stream that breaks there says so when it is read on."""
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


def _parts(
    log: Log, first: Iterator[Piece], limit: int, opened: ExitStack, progress: Callable[[int], None] | None
) -> Iterator[tuple[str, Iterator[Piece]]]:
    yield log.parts[0], first
    for path in log.parts[1:]:
        yield path, chunks(_open(path, opened, progress), limit)


def is_mapreduce(run: Run) -> bool:
    """Whether a run is a job of MapReduce, not an application of Spark."""
    return isinstance(run, MapReduceJob)
