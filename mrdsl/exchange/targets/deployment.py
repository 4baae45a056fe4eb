"""A deployment: the machines of a plan and what each class runs on them, with its master, its tags and its names.

Every family that can be exported returns one, and every target is written from it. Sizes are SI: bytes, seconds, and
money per second. Tags and names use letters that every service accepts; each name of a file appears once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from math import inf

from mrdsl.core.diagnostics import Diagnostic
from mrdsl.core.rounding import ceiling

GIB = 2.0**30
FIRM = "firm"
SPOT = "spot"


class TargetError(ValueError):
    """A target cannot take the plan: the reason, and what to write instead."""

    def __init__(self, reason: str, hint: str = "") -> None:
        super().__init__(reason)
        self.hint = hint


@dataclass(frozen=True)
class Origin:
    """The origin of an export: the spec's file and title, the plan's hash, and the version of mrdsl."""

    spec: str = ""
    title: str = ""
    problem: str = ""
    plan: str = ""
    version: str = ""

    def lines(self) -> tuple[str, ...]:
        """Return the lines for comments."""
        title = f' "{self.title}"' if self.title else ""
        return (f"spec: {self.spec or 'none'}{title} ({self.problem})", f"plan: {self.plan}", f"mrdsl: {self.version}")


@dataclass(frozen=True)
class MachineType:
    """A type of machines: its resources, None if the spec does not give them, and the price on demand.

    ``system`` are the cores and the memory of them that the plan leaves to the system; None if it leaves none. ``spot``
    is the price on spot, None if the spec has none. ``disk`` is the size of its disk [B], None if it is not given, and
    ``disk_paid`` is True if the disk has a price of its own.
    """

    name: str
    cores: float | None = None
    memory: float | None = None
    price: float | None = None
    system: tuple[float, float] | None = None
    spot: float | None = None
    disk: float | None = None
    disk_paid: bool = False

    @property
    def for_containers(self) -> tuple[float, float] | None:
        """The cores and the memory for containers by the plan; None if the spec does not give them."""
        if self.cores is None or self.memory is None:
            return None
        cores, memory = self.system or (0.0, 0.0)
        return self.cores - cores, self.memory - memory


@dataclass(frozen=True)
class Group:
    """``count`` machines of one type that run tasks, ``FIRM`` or ``SPOT``; ``price`` is the price of one in the
    plan.
    """

    vm: str
    lane: str
    count: int
    price: float | None = None


@dataclass(frozen=True)
class Tasks:
    """Tasks of one kind: ``of_job`` in each job, ``at_once`` in all jobs of the share, ``per_vm`` on one machine.

    ``cores`` and ``memory`` of one task are None if the spec does not give them; ``seconds`` is the time of a task.
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
class Container:
    """An executor that runs ``tasks`` of a class, or the driver of one of its jobs.

    ``overhead`` and ``off_heap`` are parts of its ``memory``; the default overhead is Spark's own.
    """

    cores: float
    memory: float
    overhead: float | None = None
    off_heap: float = 0.0
    tasks: int = 1


@dataclass(frozen=True)
class Workload:
    """One class of jobs: its machines, and its part of the cluster.

    ``executor`` and ``driver`` are those of the plan, None if it has none. ``partitions``: the tasks of
    the widest stage that shuffles, None if there is none. ``starts``: the submission time of each job; empty if all are
    submitted at once. ``idle``: the longest planned time of a job without tasks [s].
    """

    name: str
    weight: float
    shares: tuple[Share, ...] = ()
    partitions: int | None = None
    starts: tuple[float, ...] = ()
    executor: Container | None = None
    driver: Container | None = None
    idle: float = 0.0

    @property
    def jobs(self) -> int:
        """The number of its concurrent jobs."""
        return sum(share.jobs for share in self.shares)


@dataclass(frozen=True)
class Deployment:
    """One cluster. ``part`` names one of several in a plan: a period, a job; "" for a single one.

    ``masters`` counts machines of each type that run no tasks. ``notes`` are parts of the plan that no target has.
    ``steps`` are jobs that run one after another, after which the cluster ends. It ends too when it has been ``idle``
    for that time [s]; None for never.
    """

    types: tuple[MachineType, ...]
    groups: tuple[Group, ...]
    workloads: tuple[Workload, ...]
    masters: Mapping[str, int] = field(default_factory=dict)
    currency: str = "USD"
    part: str = ""
    notes: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    idle: int | None = None
    origin: Origin = field(default_factory=Origin)

    def type_of(self, name: str) -> MachineType:
        """Return the type of that name."""
        return next(each for each in self.types if each.name == name)

    def disk_of(self, name: str) -> float | None:
        """Return the size of the disk of a type [GiB], rounded up; None if there is no such type, or no size."""
        found = next((each.disk for each in self.types if each.name == name), None)
        return None if found is None else float(ceiling(found / GIB))


@dataclass(frozen=True)
class Wishes:
    """The user's options in addition to the plan: the type of the master, and names of types at the provider.

    ``cores`` and ``memory`` are the resources for tasks of a machine whose type has none. ``fleets``: the service can
    choose among the types of the plan. ``log_uri``: the address of the service's logs. ``spot_strategy``: how the
    service chooses among spot types, and ``candidates`` how many types it may take beyond those of the plan.
    ``capacity_reservation``: the reservations of the account that machines on demand use first: ``open``, ``none``, or
    the address of a resource group.
    """

    master: str = ""
    names: Mapping[str, str] = field(default_factory=dict)
    cores: float | None = None
    memory: float | None = None
    fleets: bool = False
    log_uri: str = ""
    spot_strategy: str = ""
    candidates: int = 0
    capacity_reservation: str = ""


@dataclass(frozen=True)
class Setting:
    """A setting of the jobs of the class ``of``, with the reason and the number that it follows from."""

    of: str
    name: str
    value: str
    why: str


@dataclass(frozen=True)
class Exported:
    """Texts by file name, the parts of the plan that they lack, warnings, and the settings of Spark in the texts."""

    files: Mapping[str, str]
    notes: tuple[str, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    settings: tuple[Setting, ...] = ()


def master_of(deployment: Deployment, wishes: Wishes, usual: str = "") -> tuple[str, int, str]:
    """Return the type of the master, the number of masters, and a note if it is not the plan's own.

    ``usual`` is the type if none is given; without it, the cheapest of the plan.
    Raises TargetError if masters are of several types, or of another type than the requested one.
    """
    masters = deployment.masters
    if len(masters) > 1:
        raise TargetError(
            f"the spec has masters of several types: {', '.join(masters)}", "keep the masters of one type"
        )
    if masters:
        ((name, count),) = masters.items()
        if wishes.master and wishes.master != name:
            raise TargetError(
                f"the spec's masters are of type {name}, and `--master` asks for {wishes.master}",
                "leave one of them out",
            )
        return name, count, ""
    if wishes.master:
        return wishes.master, 1, f"the master is one {wishes.master}, in addition to the plan and its cost"
    if usual:
        told = "in addition to the plan and its cost - `masters = 1` in a vm of that type adds it to both"
        return usual, 1, f"the master is one {usual}, {told}"
    held = [deployment.type_of(group.vm) for group in deployment.groups]
    cheapest = min(held, key=lambda each: inf if each.price is None else each.price)
    return (
        cheapest.name,
        1,
        f"the master is one {cheapest.name}, the cheapest type, in addition to the plan and its cost",
    )


KEY_LENGTH = 128
VALUE_LENGTH = 256
MOST = 50
"""Tags of one resource on AWS: docs.aws.amazon.com/tag-editor/latest/userguide/best-practices-and-strats.html."""
PLAIN = re.compile(r"[A-Za-z0-9 _.:/=+@-]*")
"""Characters that tags of all AWS services accept."""
PREFIX = "mrdsl"


def plain(text: str) -> str:
    """Return the text in the signs that tags may hold; every other one is a `_`."""
    return re.sub(r"[^A-Za-z0-9 _.:/=+@-]", "_", text.replace(",", " /"))


def tags(origin: Origin, notes: Iterable[str]) -> dict[str, str]:
    """Return tags by key: spec, plan, version, and one per note up to the limit; the last then counts the
    omitted ones.
    """
    found = {
        f"{PREFIX}:spec": f"{origin.spec} {origin.title}".strip(),
        f"{PREFIX}:problem": origin.problem,
        f"{PREFIX}:plan": origin.plan,
        f"{PREFIX}:version": origin.version,
    }
    told = list(notes)
    room = MOST - len(found)
    if len(told) > room:
        told = [*told[: room - 1], f"and {len(told) - room + 1} notes more"]
    found |= {f"{PREFIX}:note-{number}": text for number, text in enumerate(told, 1)}
    return {key: plain(value)[:VALUE_LENGTH] for key, value in found.items() if value}


def mistakes_of_tags(found: Iterable[tuple[str, str]]) -> Iterable[str]:
    """Yield errors in tags that AWS rejects."""
    pairs = list(found)
    if len(pairs) > MOST:
        yield f"there are {len(pairs)} tags, and a resource takes {MOST}"
    for key, value in pairs:
        if not 1 <= len(key) <= KEY_LENGTH or key.lower().startswith("aws:") or not PLAIN.fullmatch(key):
            yield f"the tag key {key!r} is not of 1 to {KEY_LENGTH} letters, digits and _.:/=+@-, or begins with aws:"
        if len(value) > VALUE_LENGTH or not PLAIN.fullmatch(value):
            yield f"the tag {key} has a value beyond {VALUE_LENGTH} letters, digits, spaces and _.:/=+@-"
    keys = [key for key, _ in pairs]
    if len(set(keys)) < len(keys):
        yield "two tags have one key"


LONGEST = 100
"""Characters of a class's part of a file's name: file systems take 255 bytes with all else."""


def distinct(
    names: Iterable[str],
    plain: Callable[[str], str],
    between: str = "_",
    longest: int | None = None,
    same: Callable[[str], str] = str,
) -> list[str]:
    """Return every name as ``plain`` makes it, cut to ``longest`` characters; a second one that is the same gets a
    number.

    Two names are the same if ``same`` makes one text of them.
    """
    chosen: dict[str, str] = {}
    for name in names:
        word = plain(name)[:longest]
        free, number = word, 2
        while same(free) in chosen:
            end = f"{between}{number}"
            free, number = (word if longest is None else word[: longest - len(end)]) + end, number + 1
        chosen[same(free)] = free
    return list(chosen.values())


def queue_names(names: Iterable[str]) -> list[str]:
    """Return names that YARN takes: letters, digits, - and _."""
    return distinct(names, lambda name: re.sub(r"[^A-Za-z0-9_-]", "_", name))


def file_words(names: Iterable[str]) -> list[str]:
    """Return parts of file names: letters, digits, -, _ and dots within, so that none leads to another folder.

    They differ also on disks that ignore case.
    """
    return distinct(names, lambda name: re.sub(r"[^A-Za-z0-9_.-]|^\.+", "_", name), longest=LONGEST, same=str.lower)
