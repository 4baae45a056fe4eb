"""What a run knows of its jobs: counts of what waits and runs, and times; no task has an object before it starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf

from mrdsl.simulation.engine.draws import Block
from mrdsl.simulation.engine.world import JobKind, Stage
from mrdsl.simulation.queues import Queue


@dataclass(eq=False, slots=True)
class Presence:
    """A job in one pool of slots: what runs there, what may start now. The orders of :mod:`queues` look at it.

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
    """A job's stage on its way.

    ``fresh`` tasks have never started (the next is number ``begun``), ``again`` wait for another attempt and ``copies``
    for a second one beside the first; ``left`` have not ended. ``waiting`` counts parents that are not done; ``open``:
    tasks may start; ``early`` holds those that did before all parents were done; ``watched``: a stage after this one
    may be next to do so. The last six are kept only where faults need them: running attempts in the order of their
    start, sorted times of ended ones, tasks ended on each VM, tasks whose output went with a VM, failures by task, and
    the moment at which running tasks are looked at.
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
    """A task that is to run once more, with times of its own (work, shuffle, luck) or, where None, those it had.

    ``twin`` is the attempt that it copies, if it is a copy.
    """

    task: int
    times: tuple[float, float, float] | None = None
    twin: Running | None = None


@dataclass(eq=False, slots=True)
class Running:
    """``count`` alike tasks that hold slots of one group of machines from ``start`` and work from ``since`` on.

    More than one only where nothing asks for single tasks. ``later`` are the ends of others that started with it, the
    next one last: events that come when it is their turn; it holds their slots too. ``number`` is their place in the
    order of starts. ``fails``: the attempt ends in a failure; ``dead``: it was stopped. ``redo`` is what it came from,
    None for a first attempt; ``twin`` the other of two copies that run, ``copy`` a copy that waits.
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
