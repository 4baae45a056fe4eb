"""What a plan comes to for whoever runs it: machines to have, and what each class of jobs runs on them.

Every family that can be exported says its plans so; every target is written from it. Sizes are SI: bytes, seconds, and
money a second.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

FIRM = "firm"
SPOT = "spot"


class TargetError(ValueError):
    """A target cannot take the plan: the reason, and what to write instead."""

    def __init__(self, reason: str, hint: str = "") -> None:
        super().__init__(reason)
        self.hint = hint


@dataclass(frozen=True)
class Origin:
    """Where an export comes from: the spec's file and title, the plan's fingerprint, and the version of mrdsl."""

    spec: str = ""
    title: str = ""
    problem: str = ""
    plan: str = ""
    version: str = ""

    def lines(self) -> tuple[str, ...]:
        """As comments say it."""
        title = f' "{self.title}"' if self.title else ""
        return (f"spec: {self.spec or 'none'}{title} ({self.problem})", f"plan: {self.plan}", f"mrdsl: {self.version}")


@dataclass(frozen=True)
class MachineType:
    """A type of machines: what tasks may use of one, None where the spec does not say it, and its price on demand."""

    name: str
    cores: float | None = None
    memory: float | None = None
    price: float | None = None


@dataclass(frozen=True)
class Group:
    """``count`` machines of one type that run tasks, ``FIRM`` or ``SPOT``; ``price`` is what the plan pays for one."""

    vm: str
    lane: str
    count: int
    price: float | None = None


@dataclass(frozen=True)
class Tasks:
    """Tasks of one kind: ``of_job`` in each job, ``at_once`` in all jobs of the share, ``per_vm`` on one machine.

    ``cores`` and ``memory`` of one task are None where the spec does not say them; ``seconds`` is what a task takes.
    """

    kind: str
    of_job: int
    at_once: int
    per_vm: int
    cores: float | None = None
    memory: float | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class Share:
    """So many jobs of a class that run together on machines of one type, ``FIRM`` or ``SPOT``."""

    vm: str
    lane: str
    jobs: int
    tasks: tuple[Tasks, ...]


@dataclass(frozen=True)
class Workload:
    """One class of jobs: where its jobs run, and its part of the cluster.

    ``partitions``: into how many tasks what is shuffled is parted, at most; None where nothing is, or it is not known.
    ``starts``: when each job is submitted; empty where all are there at once.
    """

    name: str
    weight: float
    shares: tuple[Share, ...] = ()
    partitions: int | None = None
    starts: tuple[float, ...] = ()

    @property
    def jobs(self) -> int:
        """How many jobs of it run at the same time."""
        return sum(share.jobs for share in self.shares)


@dataclass(frozen=True)
class Deployment:
    """One cluster. ``part`` tells several of one plan apart: a period, a job; "" where there is one.

    ``masters`` counts machines of each type that run no tasks. ``notes`` say what of the plan no target has.
    """

    types: tuple[MachineType, ...]
    groups: tuple[Group, ...]
    workloads: tuple[Workload, ...]
    masters: Mapping[str, int] = field(default_factory=dict)
    currency: str = "USD"
    part: str = ""
    notes: tuple[str, ...] = ()
    origin: Origin = field(default_factory=Origin)

    def type_of(self, name: str) -> MachineType:
        """The type of that name."""
        return next(each for each in self.types if each.name == name)


@dataclass(frozen=True)
class Wishes:
    """What the user asks for besides the plan: the master's type, and what types are called where they are rented.

    ``cores`` and ``memory`` are what tasks may use of a machine whose type does not say it. ``fleets``: the service may
    choose among the plan's types.
    """

    master: str = ""
    names: Mapping[str, str] = field(default_factory=dict)
    cores: float | None = None
    memory: float | None = None
    fleets: bool = False


@dataclass(frozen=True)
class Exported:
    """Texts by file names, and what of the plan they do not say."""

    files: Mapping[str, str]
    notes: tuple[str, ...] = ()
