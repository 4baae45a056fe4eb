"""What the engine is told: stages of jobs, machines with their slots, and what may go wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any

from mrdsl.simulation.queues import Queue


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of a job: ``tasks`` alike ones in the pool of slots numbered ``pool``.

    It starts when all tasks of the stages in ``after`` (by index, all smaller than its own) have ended. With
    ``slowstart`` below 1 its tasks may take slots as soon as that share of each such stage's tasks has ended and none
    of them that needs the same slots waits for one; they then hold their slots until the last has ended, and shuffle
    from there. No more than ``limit`` tasks of one job run at once in the stage's pool.
    """

    name: str
    tasks: int
    after: tuple[int, ...] = ()
    pool: int = 0
    slowstart: float = 1.0
    limit: float = inf


@dataclass(frozen=True, slots=True)
class JobKind:
    """What the jobs of one class do. ``children`` are the stages that come after each stage; ``watched``: one of them
    may start before it has ended.

    ``queue`` is where they stand in a pool of several queues; None: in that of the class's own number.
    """

    name: str
    stages: tuple[Stage, ...]
    queue: int | None = None
    children: tuple[tuple[int, ...], ...] = field(init=False)
    watched: tuple[bool, ...] = field(init=False)

    def __post_init__(self) -> None:
        """Raises ValueError where a stage has no tasks or does not come after its parents."""
        for index, stage in enumerate(self.stages):
            if stage.tasks < 1 or any(not 0 <= parent < index for parent in stage.after):
                raise ValueError(f"stage {stage.name} of {self.name} has no tasks or comes before its parents")
        found = [
            tuple(child for child, stage in enumerate(self.stages) if index in stage.after)
            for index in range(len(self.stages))
        ]
        object.__setattr__(self, "children", tuple(found))
        watched = tuple(any(self.stages[child].slowstart < 1.0 for child in children) for children in found)
        object.__setattr__(self, "watched", watched)


@dataclass(frozen=True, slots=True)
class Machines:
    """``vms`` alike machines with ``slots`` slots each in one pool. A task's work takes 1/``speed`` of its time.

    ``beside``: these slots stand on the machines of the entry before, which have slots in several pools and go with all
    of them. ``interruptions``: how often a second each of them goes at random, whatever else does.
    """

    vms: int
    slots: int
    pool: int = 0
    speed: float = 1.0
    beside: bool = False
    interruptions: float = 0.0


def count_vms(machines: Sequence[Machines]) -> int:
    """Machines of all entries, those with several of them counted once."""
    return sum(each.vms for each in machines if not each.beside)


@dataclass(frozen=True, slots=True)
class Sharing:
    """Who gets a free slot of a pool: a queue for every class, or one for all."""

    queues: Sequence[Queue[Any]]


@dataclass(frozen=True, slots=True)
class Speculation:
    """Copies of tasks that take long.

    Once the share ``quantile`` of a stage's tasks has ended, a task that has run for more than ``factor`` times the
    median of the ended ones' times gets one copy; what ends first counts, and the other is stopped. (The rule of
    Spark's ``spark.speculation``.)
    """

    quantile: float = 0.75
    factor: float = 1.5


@dataclass(frozen=True, slots=True)
class Faults:
    """What may go wrong while tasks run.

    An attempt fails with the probability ``share``, at a moment that is uniform over its time; a job is given up when
    a task of it has failed ``retries`` + 1 times. ``patience`` is how long a queue (a job, where there is one queue)
    waits below its share before tasks of others are killed; None: for ever. A machine that is lost takes its running
    tasks with it and, without a ``shuffle_service``, the output of its ended tasks that is still needed.
    """

    share: float = 0.0
    retries: int = 3
    shuffle_service: bool = False
    speculation: Speculation | None = None
    patience: float | None = None


@dataclass(frozen=True, slots=True)
class Loss:
    """At ``time`` the machine ``vm`` (counted through all :class:`Machines`) goes; another stands there at ``back``."""

    time: float
    vm: int
    back: float


@dataclass(frozen=True, slots=True)
class Attempt:
    """One run of a task on a slot, as it is recorded; times in seconds.

    ``outcome`` is ``done``, ``failed``, ``killed`` (by preemption, with its job, or as the slower of two copies) or
    ``lost`` (with its machine).
    """

    job: int
    kind: int
    stage: int
    task: int
    slot: int
    vm: int
    start: float
    end: float
    outcome: str
