"""Input and state of the engine: stages of jobs, machines with slots and faults; and the jobs of a run.

The state of a job is counts of waiting and running tasks, and times. A task has no object before it starts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any

from mrdsl.simulation.engine.draws import Block
from mrdsl.simulation.queues import Queue


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of a job: ``tasks`` equal ones in the pool of slots numbered ``pool``.

    It starts when all tasks of the stages in ``after`` (by index, all smaller than its own) have ended. With
    ``slowstart`` below 1 its tasks can take slots when that share of each such stage's tasks has ended and none of them
    waits for the same slots. They then hold their slots until the last has ended, and shuffle from there. At most
    ``limit`` tasks of one job run at once in the pool of the stage. ``delay`` [s] passes before the stage starts, from
    the end of the stages before it, or the start of its job.
    """

    name: str
    tasks: int
    after: tuple[int, ...] = ()
    pool: int = 0
    slowstart: float = 1.0
    limit: float = inf
    delay: float = 0.0


@dataclass(frozen=True, slots=True)
class JobKind:
    """The stages of the jobs of one class. ``children`` are the stages after each stage; ``watched``: one of them can
    start early.

    ``queue`` is their queue in a pool of several; None is the queue with the number of the class.
    """

    name: str
    stages: tuple[Stage, ...]
    queue: int | None = None
    children: tuple[tuple[int, ...], ...] = field(init=False)
    watched: tuple[bool, ...] = field(init=False)

    def __post_init__(self) -> None:
        """Raise ValueError if a stage has no tasks or does not come after its parents."""
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
    """``vms`` equal machines with ``slots`` slots each in one pool. The work of a task takes 1/``speed`` of its time.

    ``beside``: these slots are on the machines of the previous entry, which have slots in several pools and lose all of
    them together. ``interruptions``: the rate per second at which each of them is lost at random, independent of other
    losses.
    """

    vms: int
    slots: int
    pool: int = 0
    speed: float = 1.0
    beside: bool = False
    interruptions: float = 0.0


def count_vms(machines: Sequence[Machines]) -> int:
    """Return machines of all entries, those with several of them counted once."""
    return sum(each.vms for each in machines if not each.beside)


@dataclass(frozen=True, slots=True)
class Sharing:
    """The queues for free slots of a pool: one for every class, or one for all."""

    queues: Sequence[Queue[Any]]


@dataclass(frozen=True, slots=True)
class Speculation:
    """Copies of slow tasks.

    After the share ``quantile`` of a stage's tasks has ended, a task that has run for more than ``factor`` times the
    median of the ended ones' times gets one copy. The first one that ends counts, and the other is stopped. (The rule
    of Spark's ``spark.speculation``.)
    """

    quantile: float = 0.75
    factor: float = 1.5


@dataclass(frozen=True, slots=True)
class Faults:
    """Faults of tasks.

    An attempt fails with the probability ``share``, at a moment that is uniform over its time; a job is given up after
    a task of it has failed ``retries`` + 1 times. ``patience`` is the time that a queue (or a job, if there is one
    queue) waits below its share before tasks of others are stopped; None for ever. A machine that is lost loses its
    running tasks and, without a ``shuffle_service``, the output of its ended tasks that is still needed.
    """

    share: float = 0.0
    retries: int = 3
    shuffle_service: bool = False
    speculation: Speculation | None = None
    patience: float | None = None


@dataclass(frozen=True, slots=True)
class Loss:
    """The loss of machine ``vm`` (counted through all :class:`Machines`) at ``time``; its replacement starts at
    ``back``.
    """

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


@dataclass(eq=False, slots=True)
class Presence:
    """A job in one pool of slots: its running tasks, and those that can start. The orders of :mod:`queues` read it.

    ``ready`` are its stages that have tasks to start, in their order.
    """

    job: Job
    pool: Pool
    queue: Queue[Presence]
    number: int
    kind: int
    limit: float = inf
    running: int = 0
    pending: int = 0
    stage: int = 0
    queued: set[int] = field(default_factory=set)
    ready: list[StageRun] = field(default_factory=list)

    def __lt__(self, other: Presence) -> bool:
        return self.number < other.number


@dataclass(eq=False, slots=True)
class StageRun:
    """The state of a stage of a job.

    ``fresh`` tasks have never started (the next is number ``begun``), ``again`` wait for another attempt, ``copies``
    for a second one; ``left`` have not ended. ``waiting`` counts parents that are not done; ``open``: tasks can start;
    ``early`` holds those that did before all parents were done; ``watched``: a stage after this one may be the next to
    do so. The last six are used only with faults: running attempts in the order of their start, sorted times of ended
    ones, tasks ended on each VM, tasks whose output was lost with a VM, failures by task, and the moment of the next
    check of running tasks.
    """

    job: Job
    index: int
    stage: Stage
    presence: Presence
    waiting: int
    fresh: int
    left: int
    block: Block | None = None
    begun: int = 0
    open: bool = False
    watched: bool = False
    ended: bool = False
    again: list[Redo] = field(default_factory=list)
    copies: list[Redo] = field(default_factory=list)
    early: list[Running] = field(default_factory=list)
    attempts: dict[Running, None] = field(default_factory=dict)
    ended_times: list[float] = field(default_factory=list)
    outputs: dict[int, list[int]] = field(default_factory=dict)
    missing: list[int] = field(default_factory=list)
    failures: dict[int, int] = field(default_factory=dict)
    checked: float = inf

    @property
    def startable(self) -> int:
        """Tasks that may start once the stage is open."""
        return self.fresh + len(self.again) + len(self.copies)


@dataclass(frozen=True, eq=False, slots=True)
class Redo:
    """A task that runs once more, with new times (work, shuffle, luck) or, if None, the old ones.

    ``twin`` is the attempt that it copies, if it is a copy.
    """

    task: int
    times: tuple[float, float, float] | None = None
    twin: Running | None = None


@dataclass(eq=False, slots=True)
class Running:
    """``count`` equal tasks that hold slots of one group of machines from ``start`` and work from ``since`` on.

    It is more than one only if single tasks are not needed. ``later`` are the ends of others that started with it, the
    next one last: they become events in their turn, and it holds their slots too. ``number`` is their place in the
    order of starts. ``fails``: the attempt ends in a failure; ``dead``: it was stopped. ``redo`` is its origin, None
    for a first attempt; ``twin`` the other of two copies that run, ``copy`` a copy that waits.
    """

    run: StageRun
    group: int
    slots: list[int]
    task: int
    start: float
    count: int = 1
    number: int = 0
    since: float = 0.0
    duration: float = inf
    later: list[tuple[float, int, int, Running]] | None = None
    fails: bool = False
    dead: bool = False
    redo: Redo | None = None
    twin: Running | None = None
    copy: Redo | None = None


@dataclass(eq=False, slots=True)
class Job:
    """One job: ``number`` in the order of submission, ``nth`` among those of its class; ``ended`` is -1 before.

    ``master`` is the group of machines and the slot that its application master holds.
    """

    kind: int
    nth: int
    number: int
    submitted: float
    user: int
    what: JobKind
    runs: list[StageRun] = field(default_factory=list)
    presences: dict[int, Presence] = field(default_factory=dict)
    left: int = 0
    started: float = -1.0
    ended: float = -1.0
    failed: bool = False
    master: tuple[int, int] | None = None


@dataclass(eq=False, slots=True)
class Pool:
    """A pool of slots: its groups of machines in the order in which they are taken, and how many slots are idle."""

    index: int
    queues: Sequence[Queue[Presence]]
    groups: list[int] = field(default_factory=list)
    idle: int = 0
    slots: int = 0
