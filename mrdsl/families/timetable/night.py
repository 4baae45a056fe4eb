"""Input of timetable planning: runs with windows, their stages in whole ticks, and the machine's slots.

Times are whole numbers of ticks (nanoseconds), so that sums of them are exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import floor
from types import MappingProxyType
from typing import Any

from mrdsl.core.units import TICK as TICK
from mrdsl.core.units import ticks_of
from mrdsl.families.timetable.facts import Billing, JobClass, TimetableFacts, VmType
from mrdsl.families.timetable.releases import calendar_of, due_of, releases_of
from mrdsl.formulas.stages import parents_of
from mrdsl.formulas.type_checks import left_of
from mrdsl.model.ledger import ON_DEMAND, RESERVED
from mrdsl.model.market import offers_of
from mrdsl.spec.schema import PERCENTILES

SPOT = " (spot)"
"""End of the names of spot machines."""


@dataclass(frozen=True)
class Stage:
    """Alike tasks of a run: the slots that all take, how long each takes, and the stages that must have ended before.

    If a slot holds several tasks of a stage, these count as one. Otherwise a task takes ``parts`` slots of one VM.
    """

    name: str
    tasks: int
    ticks: int
    after: tuple[int, ...]
    parts: int = 1


@dataclass(frozen=True)
class Job:
    """The stages of each run of a class; ``order`` lists them so that each can be inserted in turn."""

    name: str
    stages: tuple[Stage, ...]
    order: tuple[int, ...]
    tail: tuple[int, ...]

    def path(self, slots: int | None = None) -> int:
        """Return the least ticks from the first task to the last on ``slots`` slots; None is a slot for every task."""
        return max(self.ends(slots or max(stage.tasks for stage in self.stages)))

    def ends(self, slots: int) -> list[int]:
        """Return the least ticks until each stage ends, if no other run takes slots."""
        ends = [0] * len(self.stages)
        for index in self.order:
            stage = self.stages[index]
            begin = max((ends[before] for before in stage.after), default=0)
            ends[index] = begin + -(-stage.tasks // slots) * stage.ticks
        return ends

    def tails(self, slots: int) -> list[int]:
        """Return the least ticks from the end of each stage to the end of the run."""
        tails = [0] * len(self.stages)
        for index in reversed(self.order):
            stage = self.stages[index]
            for before in stage.after:
                tails[before] = max(tails[before], tails[index] + -(-stage.tasks // slots) * stage.ticks)
        return tails

    @property
    def most_at_once(self) -> int:
        """The most tasks at once, if each starts as soon as the stages before it have ended."""
        ends = self.ends(max(stage.tasks for stage in self.stages))
        spans = [(end - stage.ticks, end, stage.tasks) for stage, end in zip(self.stages, ends, strict=True)]
        return max(sum(tasks for begin, end, tasks in spans if begin <= at < end) for at, _, _ in spans)

    @property
    def is_chain(self) -> bool:
        """True if no two stages may run at the same time; list schedules are then shortest."""
        before: list[set[int]] = [set() for _ in self.stages]
        for position, index in enumerate(self.order):
            for parent in self.stages[index].after:
                before[index] |= {parent, *before[parent]}
            if len(before[index]) < position:
                return False
        return True

    @property
    def work(self) -> int:
        """Slot ticks of one run."""
        return sum(stage.tasks * stage.ticks for stage in self.stages)


@dataclass(frozen=True)
class Run:
    """One run: its job, its number within the class, and its window; ``ready`` is when its first task may start.

    ``latest`` is the latest start of the run, ``start_by`` that of its first task, if it has one.
    """

    job: int
    number: int
    release: int
    ready: int
    due: int
    start_by: int | None
    latest: int | None


@dataclass(frozen=True)
class Masters:
    """The masters of a VM type: its index, how many, the price of each [1/s], and how they are paid."""

    vm: int
    count: int
    price: float
    period: int
    minimum: int

    def billed(self, ticks: int) -> int:
        """Return the ticks that a rental is paid for."""
        return billed(ticks, self.period, self.minimum)


def billed(ticks: int, period: int, minimum: int) -> int:
    """Return the ticks that are paid: whole periods, at least the minimum."""
    return max(-(-ticks // period) * period, minimum)


@dataclass(frozen=True)
class Machine:
    """The VM type: slots, price [1/s], boot time, and how it is paid.

    ``available`` is the most at once without other types. ``reserved`` VMs of those available have the price
    ``reserved_price``, which is lower. ``masters`` are those of all types: they are there while any VM is.
    The provider takes back each ``spot`` VM at the rate ``interruptions`` [1/s].
    """

    name: str
    slots: int
    price: float
    boot: int
    period: int
    minimum: int
    available: int | None
    masters: tuple[Masters, ...] = ()
    reserved: int = 0
    reserved_price: float = 0.0
    spot: bool = False
    interruptions: float = 0.0

    @property
    def vm(self) -> str:
        """The name of the VM type."""
        return self.name.removesuffix(SPOT) if self.spot else self.name

    def billed(self, ticks: int) -> int:
        """Return the ticks that a rental is paid for."""
        return billed(ticks, self.period, self.minimum)

    def cost(self, machines: int, ticks: int) -> float:
        """Return the cost of ``machines`` machines, reserved ones first, and the masters for ``ticks`` ticks."""
        reserved = min(machines, self.reserved)
        price = (machines - reserved) * self.price + reserved * self.reserved_price
        return price * self.billed(ticks) / TICK + self.cost_of_masters(ticks)

    def cost_of_masters(self, ticks: int) -> float:
        """Return the cost of all masters for ``ticks`` ticks."""
        return sum(each.count * each.price * each.billed(ticks) for each in self.masters) / TICK

    def price_of(self, reserved: bool) -> float:
        """Return the price of a reserved VM, or of another VM [1/s]."""
        return self.reserved_price if reserved else self.price

    @property
    def least_price(self) -> float:
        """The price of the cheapest VM [1/s]."""
        return min(self.price, self.reserved_price) if self.reserved else self.price


@dataclass(frozen=True)
class Second:
    """A second attempt of a run on VMs on demand: its time from their request to its end [ticks], VMs, and cost."""

    ticks: int
    machines: int
    cost: float


@dataclass(frozen=True)
class Night:
    """Everything that is planned; ``startups`` and ``penalties`` are those of the jobs.

    On spot VMs, ``seconds`` are the second attempts of each job, the fastest first, and runs are due as much earlier as
    that takes. In bounds, each run of a job costs ``extra`` there.
    """

    jobs: tuple[Job, ...]
    runs: tuple[Run, ...]
    machine: Machine
    startups: tuple[int, ...]
    penalties: tuple[float | None, ...]
    seconds: tuple[tuple[Second, ...], ...] = ()
    extra: tuple[float, ...] = ()

    def second(self, job: int, left: int) -> Second:
        """Return the cheapest second attempt of a job that ends within the time that is left, or the fastest one."""
        return next((each for each in reversed(self.seconds[job]) if each.ticks <= left), self.seconds[job][0])

    @property
    def has_parts(self) -> bool:
        """True if some tasks take several slots of a VM."""
        return any(stage.parts > 1 for job in self.jobs for stage in job.stages)

    @property
    def first(self) -> int:
        """Release of the first run."""
        return min(run.release for run in self.runs)


def runs_of(facts: TimetableFacts) -> tuple[Run, ...]:
    """Return the runs of all classes, in their order."""
    calendar = calendar_of(facts)
    runs = []
    for index, node in enumerate(facts.classes):
        startup = ticks_of(node.startup)
        for number, release in enumerate(releases_of(node, calendar)):
            at, due = ticks_of(release), ticks_of(due_of(node, number, release, calendar))
            latest = None if node.start_within is None else at + ticks_of(node.start_within)
            runs.append(Run(index, number, at, at + startup, due, None if startup else latest, latest))
    return tuple(runs)


def machine_of(facts: TimetableFacts, vm: VmType, classes: Sequence[JobClass]) -> Machine:
    """Return the machine of a VM type, with its slots for these classes, as they run there."""
    paid = vm.billing or facts.billing or Billing()
    offers = {each.way: each for each in offers_of(vm)}
    price, base = offers[ON_DEMAND].price, offers.get(RESERVED)
    count = 0 if base is None or base.price >= price else int(base.available)
    return Machine(
        name=vm.name,
        slots=min((slots_on(vm, node) for node in classes), default=1),
        price=price,
        boot=ticks_of(vm.boot),
        period=ticks_of(paid.period),
        minimum=ticks_of(paid.minimum),
        available=vm.available,
        masters=tuple(_masters(facts)),
        reserved=count,
        reserved_price=0.0 if base is None else base.price,
    )


def _masters(facts: TimetableFacts) -> Iterator[Masters]:
    for index, vm in enumerate(facts.vms):
        if vm.masters:
            paid = vm.billing or facts.billing or Billing()
            price = offers_of(vm)[0].price
            yield Masters(index, vm.masters, price, ticks_of(paid.period), ticks_of(paid.minimum))


def slots_on(vm: VmType, node: JobClass) -> int:
    """Return the tasks of a class that a VM hosts, the fewer of map and reduce tasks; 0 if not known."""
    return min(slots_by_kind(vm, node).values())


def slots_by_kind(vm: VmType, node: JobClass) -> dict[str, int]:
    """Return the tasks that a VM hosts by kind, 0 if not known: `task` for stages, `map` and `reduce` otherwise.

    Executors count in place of the tasks in them.
    """
    kinds = ("task",) if node.stages else ("map", "reduce") if node.reduce is not None else ("map",)
    if node.container is not None:
        executor = node.container.executor if node.stages else None
        return {kind: _hosted(vm, executor or node.container.of(kind)) for kind in kinds}
    return {kind: getattr(node.slots, kind, None) or 0 for kind in kinds}


def tasks_in_executor(node: JobClass) -> int:
    """Return the tasks of a stage that an executor runs side by side; 1 if the class has no executors."""
    executor = None if node.container is None or not node.stages else node.container.executor
    return 1 if executor is None else executor.tasks


def tasks_in_slot(vm: VmType, node: JobClass, slots: int) -> dict[str, int]:
    """Return the tasks of one stage of a run that a slot holds by kind, if a VM has ``slots`` slots."""
    inside = tasks_in_executor(node)
    return {kind: max(count // slots, 1) * inside for kind, count in slots_by_kind(vm, node).items()}


def _hosted(vm: VmType, taken: Any) -> int:
    if taken is None:
        return 0
    fits = [
        floor(left_of(vm, resource) / each + 1e-9)
        for resource in ("cores", "memory")
        if (each := getattr(taken, resource)) is not None and getattr(vm, resource) is not None
    ]
    return min(fits, default=0)


SEARCHED = MappingProxyType({"mean": 1.0} | {word: level / 100.0 for word, level in PERCENTILES.items()})
"""Guarantees that simulations confirm, with the share of the runs that is on time; of each run's mean time all are."""


def job_of(node: JobClass, counted: Callable[[str, int], tuple[int, int]] = lambda kind, tasks: (tasks, 1)) -> Job:
    """Return one run of a class, with its task times for planning.

    Args:
        node: The class.
        counted: The slots that tasks of a kind take, all and each; default: one each.
    """

    def stage(name: str, kind: str, tasks: int, seconds: float, after: tuple[int, ...]) -> Stage:
        slots, parts = counted(kind, tasks)
        return Stage(name, slots, ticks_of(seconds), after, parts)

    time = "max" if node.guarantee == "upper" else "avg"
    if node.stages:
        parents = parents_of(node.stages)
        stages = [
            stage(each.name, "task", each.width, getattr(each, time), tuple(parents[index]))
            for index, each in enumerate(node.stages)
        ]
        return _ordered(node.name, stages)
    assert node.map is not None
    stages = [stage("map", "map", node.map.tasks, getattr(node.map, time), ())]
    if node.reduce is not None and node.reduce.tasks:
        each_task = getattr(node.reduce, time) + shuffle_of(node, time)
        stages.append(stage("reduce", "reduce", node.reduce.tasks, each_task, (0,)))
    return _ordered(node.name, stages)


def shuffle_of(node: JobClass, time: str) -> float:
    """Return the time in which a reduce task fetches its input: the longer of a first and of a typical shuffle."""
    if node.shuffle is None:
        return 0.0
    first = getattr(node.shuffle, f"first_{time}")
    return float(max(getattr(node.shuffle, time), node.shuffle.first_max if first is None else first))


def with_times(job: Job, by: float) -> Job:
    """Return a job whose tasks take ``by`` times as long."""
    return (
        job if by == 1.0 else _ordered(job.name, [replace(each, ticks=round(each.ticks * by)) for each in job.stages])
    )


def _ordered(name: str, stages: Sequence[Stage]) -> Job:
    """Return the job with its stages in order: each after its predecessors, the longest path first."""
    children: list[list[int]] = [[] for _ in stages]
    for index, stage in enumerate(stages):
        for before in stage.after:
            children[before].append(index)
    waiting = [len(children[index]) for index in range(len(stages))]
    tail = [stage.ticks for stage in stages]
    ready = [index for index, count in enumerate(waiting) if not count]
    while ready:
        index = ready.pop()
        for before in stages[index].after:
            tail[before] = max(tail[before], stages[before].ticks + tail[index])
            waiting[before] -= 1
            if not waiting[before]:
                ready.append(before)
    missing = [len(stage.after) for stage in stages]
    free = [index for index, count in enumerate(missing) if not count]
    order: list[int] = []
    while free:
        index = max(free, key=lambda each: (tail[each], -each))
        free.remove(index)
        order.append(index)
        for child in children[index]:
            missing[child] -= 1
            if not missing[child]:
                free.append(child)
    return Job(name, tuple(stages), tuple(order), tuple(tail))
