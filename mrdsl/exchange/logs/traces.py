"""Traces of Rumen and job files of YARN's load simulator (SLS): consecutive JSON objects.

A small scanner finds the end of each object, so a file of any size needs the memory of its largest object only. In
Rumen's traces, which TraceBuilder and Folder write, -1 is an unknown value. SLS has only a start and an end for each
container, so the shuffle of a reduce task cannot be separated from its work.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import repeat
from sys import intern
from typing import Any

from mrdsl.core.json_text import json_value
from mrdsl.exchange.logs.formats import LogFormat, Pieces, Telling
from mrdsl.exchange.logs.opening import Piece
from mrdsl.exchange.logs.records import Attempt, AttemptEnd, MapReduceJob, TaskKind, machine, moment

LARGEST = 512 * 2**20
_LONGEST_STRAY = 2**16
_BETWEEN = b" \t\r\n\x0b\x0c\x00,\xef\xbb\xbf"
_OPENING = re.compile(rb"[{\[]")
_BRACKET = re.compile(rb'(?:[^"{}\[\]]++|"[^"\\]*+(?:\\.[^"\\]*+)*+")*+([{}\[\]])', re.DOTALL)
_IN_STRING = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)


def objects(chunks: Pieces, source: str, telling: Telling) -> Iterator[tuple[int, Any]]:
    """Yield each object with its first line; lists at the top are split. Broken objects are reported."""
    scanner = _Scanner()
    for chunk in chunks:
        for start, text in scanner.feed(chunk):
            _tell(scanner.strays, source, telling)
            yield from _parsed(start, text, source, telling)
        _tell(scanner.strays, source, telling)
        if len(scanner.held) > LARGEST:
            telling.fail("broken-log", f"one object is larger than {LARGEST:,} bytes", source, scanner.line)
            return
    scanner.end()
    _tell(scanner.strays, source, telling)
    if scanner.depth:
        telling.warn("cut-log", "the last object is cut", source, scanner.line, "what came before it is used")


def _tell(strays: list[int], source: str, telling: Telling) -> None:
    for line in strays:
        telling.warn("broken-log", "this text is in no object", source, line, "the objects around it are used")
    strays.clear()


def _parsed(line: int, text: bytes, source: str, telling: Telling) -> Iterator[tuple[int, Any]]:
    try:
        document = json_value(text)
    except (ValueError, RecursionError) as cause:
        telling.warn("broken-log", f"this object is not JSON: {cause}", source, line)
        return
    for each in document if isinstance(document, list) else [document]:
        yield line, each


class _Scanner:
    """A scanner for the begin and end of top-level objects, which respects strings and escapes.

    ``held`` begins with the open object, on ``line``. ``strays`` are the lines of other texts outside of all objects.
    """

    def __init__(self) -> None:
        self.held = bytearray()
        self.position = 0
        self.depth = 0
        self.in_string = False
        self.line = 1
        self.strays: list[int] = []
        self._within_stray = False

    def feed(self, chunk: Piece) -> Iterator[tuple[int, bytes]]:
        self.held += chunk
        while (at := self._next_bracket()) is not None:
            self.position = at + 1
            if self.held[at] in b"{[":
                if self.depth == 0:
                    self._outside(at)
                    self._within_stray = False
                self.depth += 1
                continue
            self.depth -= 1
            if self.depth == 0:
                yield self.line, bytes(self.held[: self.position])
                self._drop(self.position)
        if not self.depth and len(self.held) > _LONGEST_STRAY:
            self._outside(len(self.held))

    def end(self) -> None:
        """Nothing follows."""
        if not self.depth:
            self._outside(len(self.held))

    def _outside(self, upto: int) -> None:
        """Drop text before a place that belongs to no object."""
        text = bytes(self.held[:upto])
        if stray := text.strip(_BETWEEN):
            if not self._within_stray:
                self.strays.append(self.line + text.count(b"\n", 0, text.index(stray)))
            self._within_stray = True
        self._drop(upto)

    def _next_bracket(self) -> int | None:
        """Return the next bracket outside strings that opens, or closes the open one, or None."""
        if self.depth == 0:
            found = _OPENING.search(self.held, self.position)
        else:
            if self.in_string:
                self._to_the_end_of_the_string()
            found = None if self.in_string else _BRACKET.match(self.held, self.position)
        if found is not None:
            return found.end() - 1
        if self.depth > 0 and not self.in_string:
            self._to_the_last_string()
        elif self.depth == 0:
            self.position = len(self.held)
        return None

    def _to_the_end_of_the_string(self) -> None:
        """Move after the quote that ends the string; if there is none yet, to a place that cuts no escape."""
        found = _IN_STRING.match(self.held, self.position)
        assert found is not None, "it may be empty"
        self.position = found.end()
        if self.held[self.position : self.position + 1] == b'"':
            self.position += 1
            self.in_string = False

    def _to_the_last_string(self) -> None:
        """Move after text without brackets outside strings: to the end, or into the string that has no end yet."""
        while (quote := self.held.find(b'"', self.position)) >= 0:
            self.position, self.in_string = quote + 1, True
            self._to_the_end_of_the_string()
            if self.in_string:
                return
        self.position = len(self.held)

    def _drop(self, upto: int) -> None:
        """Drop text before a place."""
        self.line += self.held.count(b"\n", 0, upto)
        del self.held[:upto]
        self.position -= upto


_ENDS = {
    "SUCCESS": AttemptEnd.SUCCEEDED,
    "SUCCEEDED": AttemptEnd.SUCCEEDED,
    "FAILED": AttemptEnd.FAILED,
    "KILLED": AttemptEnd.KILLED,
}


def read_rumen(chunks: Pieces, source: str, telling: Telling) -> Iterator[MapReduceJob]:
    """Yield every job of the trace; a job that did not end has the status UNFINISHED."""
    for line, document in objects(chunks, source, telling):
        if not isinstance(document, dict) or not isinstance(document.get("jobID"), str):
            telling.warn("broken-log", "this object is not a Rumen job", source, line)
            continue
        finished = moment(document.get("finishTime"))
        status = _text(document.get("outcome"))
        if finished is None:
            message = f"{document['jobID']} has no end"
            telling.warn("cut-log", message, source, line, "its finished attempts are not used")
            status = "UNFINISHED"
        yield MapReduceJob(
            source,
            document["jobID"],
            status,
            _text(document.get("jobName")),
            _text(document.get("user")),
            _text(document.get("queue")),
            moment(document.get("submitTime")),
            moment(document.get("launchTime")),
            finished,
            moment(document.get("totalMaps")),
            moment(document.get("totalReduces")),
            tuple(_rumen_attempts(document)),
            input_bytes=_input(document),
        )


def _rumen_attempts(document: dict[str, Any]) -> Iterator[Attempt]:
    for key, kind in (("mapTasks", TaskKind.MAP), ("reduceTasks", TaskKind.REDUCE)):
        for task in _dicts(document.get(key)):
            for attempt in _dicts(task.get("attempts")):
                yield Attempt(
                    kind,
                    _ENDS.get(str(attempt.get("result")), AttemptEnd.UNFINISHED),
                    moment(attempt.get("startTime")),
                    moment(attempt.get("finishTime")),
                    moment(attempt.get("shuffleFinished")),
                    moment(attempt.get("sortFinished")),
                    machine(attempt.get("hostName")),
                )


def _input(document: dict[str, Any]) -> int | None:
    read = [moment(task.get("inputBytes")) for task in _dicts(document.get("mapTasks"))]
    known = [each for each in read if each is not None]
    return sum(known) if known else None


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _text(value: Any) -> str:
    return intern(value) if isinstance(value, str) else ""


_OF_RUMEN = re.compile(rb'"(?:map|reduce|other)Tasks"\s*:\s*\[|"jobProperties"\s*:|"computonsPer')
"""Lists of tasks, and the fields that can be before them in a trace."""
RUMEN = LogFormat(
    lambda head: _OF_RUMEN.search(head) is not None,
    lambda log, telling: read_rumen(log.pieces(), log.name, telling),
    b'{"jobID": "job_1", "mapTasks": [',
)


MOST_ALIKE = 100_000
"""Most jobs or containers of one entry; a larger count is a mistake."""
MOST_SHOWN = 10**15
"""Counts from here on are not printed."""
MOST_REPEATED = 1_000_000
"""Containers of a file that no entry of their own has: those of repeated jobs, and repeated ones."""


@dataclass
class _Repeats:
    """The containers that counts may still add to a file."""

    left: int = MOST_REPEATED

    def granted(self, count: int, containers: int) -> int:
        """Return the number of ``count`` equal items, with that many containers each, within the budget, and
        reduce it.
        """
        used = max(1, min(count, MOST_ALIKE, 1 + self.left // max(containers, 1)))
        self.left -= (used - 1) * containers
        return used

    def used(
        self, item: dict[str, Any], key: str, containers: int, name: str, telling: Telling, at: tuple[str, int]
    ) -> int:
        """Return the granted number of copies that ``key`` of an item named ``name`` states, 1 by default."""
        count = item.get(key, 1)
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            telling.warn("broken-log", f"`{key}` of {name} must be a whole number of at least 1", *at, "mrdsl reads 1")
            return 1
        used = self.granted(count, containers)
        if count > used:
            times = f"{count:,}" if count < MOST_SHOWN else "too many"
            telling.warn("broken-log", f"{name} has {times} copies", *at, f"mrdsl reads {used:,}")
        return used


def read_sls(chunks: Pieces, source: str, telling: Telling) -> Iterator[MapReduceJob]:
    """Yield every job of the file; ``job.count`` repeats one under other ids, ``count`` a container."""
    repeats = _Repeats()
    for number, (line, document) in enumerate(objects(chunks, source, telling), 1):
        if not isinstance(document, dict) or not isinstance(document.get("job.tasks"), list):
            telling.warn("broken-log", "this object is not an SLS job", source, line)
            continue
        name = str(document.get("job.id") or f"job_{number}")
        job = MapReduceJob(
            source,
            name,
            "FINISHED",
            name,
            str(document.get("job.user") or ""),
            str(document.get("job.queue.name") or ""),
            _known(document.get("job.start.ms")),
            None,
            _known(document.get("job.end.ms")),
            attempts=tuple(_sls_attempts(document["job.tasks"], line, source, telling, repeats)),
            phases_known=False,
        )
        yield job
        used = repeats.used(document, "job.count", len(job.attempts), name, telling, (source, line))
        yield from (replace(job, job=f"{name}_{again}") for again in range(2, used + 1))


def _sls_attempts(tasks: list[Any], line: int, source: str, telling: Telling, repeats: _Repeats) -> Iterator[Attempt]:
    for position, task in enumerate(tasks):
        kind = task.get("container.type", "map") if isinstance(task, dict) else None
        if kind not in ("map", "reduce"):
            telling.warn("broken-log", f"container {position + 1} is neither map nor reduce", source, line)
            continue
        start, finish = _known(task.get("container.start.ms")), _known(task.get("container.end.ms"))
        duration = _known(task.get("container.duration.ms", task.get("duration.ms")))
        if start is None or finish is None:
            start, finish = (0, duration) if duration is not None else (start, finish)
        used = repeats.used(task, "count", 1, f"container {position + 1}", telling, (source, line))
        host = machine(task.get("container.host"))
        yield from repeat(Attempt(TaskKind(kind), AttemptEnd.SUCCEEDED, start, finish, host=host), used)


def _known(value: Any) -> int | None:
    try:
        return moment(int(value))
    except (TypeError, ValueError, OverflowError):
        return None


SLS = LogFormat(
    lambda head: any(key in head for key in (b'"job.tasks"', b'"container.type"', b'"am.type"')),
    lambda log, telling: read_sls(log.pieces(), log.name, telling),
    b'{"job.tasks": [],',
)
