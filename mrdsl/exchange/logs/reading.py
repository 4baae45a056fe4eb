"""Logs wherever they lie: files, folders, globs, standard input; each told apart by its content, not by its name."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass

from mrdsl.exchange.logs.expanding import MissingLibraryError, Piece, UnreadableLogError
from mrdsl.exchange.logs.finding import STANDARD_INPUT, Log
from mrdsl.exchange.logs.formats import OpenedLog
from mrdsl.exchange.logs.opening import EXPANDED_AT_MOST, Readable, chunks, open_log
from mrdsl.exchange.logs.records import MapReduceJob, Run
from mrdsl.exchange.logs.telling import Telling
from mrdsl.exchange.registry import LOGS

_HEAD = 65536


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
