"""Job files of YARN's load simulator: jobs as JSON objects one behind the other, with a container a task.

A container's start and end are all that they tell, so a reduce's shuffle cannot be told from its work.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any

from mrdsl.exchange.logs.attempts import Attempt, AttemptEnd, TaskKind
from mrdsl.exchange.logs.concatenated import objects
from mrdsl.exchange.logs.formats import LogFormat, Pieces
from mrdsl.exchange.logs.records import MapReduceJob, machine, moment
from mrdsl.exchange.logs.telling import Telling

MOST_ALIKE = 100_000
"""Jobs or containers that one entry stands for at most; a larger count is a mistake."""
MOST_REPEATED = 1_000_000
"""Containers of a file that no entry of their own has: those of repeated jobs, and repeated ones."""


@dataclass
class _Repeats:
    """The containers that counts may still add to a file."""

    left: int = MOST_REPEATED

    def granted(self, count: int, containers: int) -> int:
        """Return how many of ``count`` alike, with as many containers each, are used; take them off what is left."""
        used = max(1, min(count, MOST_ALIKE, 1 + self.left // max(containers, 1)))
        self.left -= (used - 1) * containers
        return used


def read_sls(chunks: Pieces, source: str, telling: Telling) -> Iterator[MapReduceJob]:
    """Every job of the file; ``job.count`` repeats one under other ids, ``count`` a container."""
    repeats = _Repeats()
    for number, (line, document) in enumerate(objects(chunks, source, telling), 1):
        if not isinstance(document, dict) or not isinstance(document.get("job.tasks"), list):
            telling.warn("broken-log", "this object is no job of SLS", source, line)
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
            attempts=tuple(_attempts(document["job.tasks"], line, source, telling, repeats)),
            phases_known=False,
        )
        yield job
        count = _known(document.get("job.count")) or 1
        used = repeats.granted(count, len(job.attempts))
        if count > used:
            telling.warn("broken-log", f"{name} is there {count:,} times", source, line, f"{used:,} are used")
        yield from (replace(job, job=f"{name}_{again}") for again in range(2, used + 1))


def _attempts(tasks: list[Any], line: int, source: str, telling: Telling, repeats: _Repeats) -> Iterator[Attempt]:
    for position, task in enumerate(tasks):
        kind = task.get("container.type") if isinstance(task, dict) else None
        if kind not in ("map", "reduce"):
            telling.warn("broken-log", f"container {position + 1} is neither map nor reduce", source, line)
            continue
        start, finish = _known(task.get("container.start.ms")), _known(task.get("container.end.ms"))
        duration = _known(task.get("duration.ms"))
        if start is None or finish is None:
            start, finish = (0, duration) if duration is not None else (start, finish)
        count = _known(task.get("count")) or 1
        used = repeats.granted(count, 1)
        if count > used:
            message = f"container {position + 1} is there {count:,} times"
            telling.warn("broken-log", message, source, line, f"{used:,} are used")
        host = machine(task.get("container.host"))
        yield from repeat(Attempt(TaskKind(kind), AttemptEnd.SUCCEEDED, start, finish, host=host), used)


def _known(value: Any) -> int | None:
    try:
        return moment(int(value))
    except (TypeError, ValueError, OverflowError):
        return None


FORMAT = LogFormat(
    lambda head: any(key in head for key in (b'"job.tasks"', b'"container.type"', b'"am.type"')),
    lambda log, telling: read_sls(log.pieces(), log.name, telling),
    b'{"job.tasks": [],',
)
