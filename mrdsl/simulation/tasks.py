"""Jobs as a simulation sees them: two stages of tasks whose times are drawn when a task starts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import repeat
from math import inf

Draw = Callable[[], float]
MAP, REDUCE = 0, 1


@dataclass(frozen=True, slots=True)
class Work:
    """What the jobs of one class do: how many tasks, and where their times [s] come from, one call per task.

    The time of a reduce task contains its shuffle: ``first_reduce_time`` is drawn for tasks that start before any
    reduce task of their job has ended, the first wave, whose shuffle runs beside the map phase in part. No more than
    ``map_limit`` map tasks and ``reduce_limit`` reduce tasks of one job run at once.
    """

    map_tasks: int
    reduce_tasks: int
    map_time: Draw
    first_reduce_time: Draw
    reduce_time: Draw
    map_limit: float = inf
    reduce_limit: float = inf

    @classmethod
    def of_times(cls, maps: Iterable[float], reduces: Iterable[float] = ()) -> Work:
        """One job whose task times are known, in the order in which its tasks start."""
        first, second = list(maps), list(reduces)
        later = iter(second).__next__
        return cls(len(first), len(second), iter(first).__next__, later, later)

    @classmethod
    def of_equal_tasks(cls, map_tasks: int, map_time: float, reduce_tasks: int = 0, reduce_time: float = 0.0) -> Work:
        """Jobs whose tasks of one stage all last equally long."""
        later = repeat(reduce_time).__next__
        return cls(map_tasks, reduce_tasks, repeat(map_time).__next__, later, later)


class Job:
    """One job on its way: what waits, what runs, what is left of its current stage; a handful of numbers, no tasks.

    ``kind`` is its class's index and ``user`` its user's, -1 without one; ``limit`` is how many of its tasks may run at
    once now. ``number`` is its place in the order of submission. ``master`` is the slot that its application master
    holds, -1 for none, None while it waits for one.
    """

    __slots__ = (
        "ended",
        "kind",
        "left",
        "limit",
        "map_ended",
        "master",
        "number",
        "pending",
        "queued",
        "redo",
        "running",
        "stage",
        "started",
        "submitted",
        "time",
        "user",
        "work",
    )

    def __init__(self, kind: int, work: Work, submitted: float, user: int = -1) -> None:
        self.kind = kind
        self.work = work
        self.submitted = submitted
        self.user = user
        self.limit = work.map_limit
        self.number = -1
        self.master: int | None = -1
        self.started = self.map_ended = self.ended = -1.0
        self.running = 0
        self.redo: list[float] = []
        self.queued: set[int] = set()
        self.stage = MAP
        self.pending = self.left = work.map_tasks
        self.time = work.map_time

    def begin_reduce(self, now: float) -> bool:
        """Turns to the reduce stage when the last map task has ended; False where there is none."""
        self.map_ended = now
        work = self.work
        if work.reduce_tasks == 0:
            return False
        self.stage = REDUCE
        self.limit = work.reduce_limit
        self.pending = self.left = work.reduce_tasks
        self.time = work.first_reduce_time
        return True


@dataclass(frozen=True, slots=True)
class TaskRun:
    """One run of a task on a slot, times in seconds; ``killed`` where preemption cut it short."""

    job: int
    kind: int
    stage: int
    pool: int
    slot: int
    start: float
    end: float
    killed: bool = False


def in_order(jobs: Iterable[Job]) -> Iterator[Job]:
    """Jobs by submission, for those that come from a list."""
    return iter(sorted(jobs, key=lambda job: job.submitted))
