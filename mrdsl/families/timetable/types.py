"""VM types of a timetable: which classes may run on which, how they run there, and the night on each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import gcd, lcm
from typing import TYPE_CHECKING, Any

from mrdsl.core.lazy import kept
from mrdsl.core.units import TICK, ticks_of
from mrdsl.families.timetable.arrivals import filled
from mrdsl.families.timetable.facts import JobClass, TimetableFacts, VmType
from mrdsl.families.timetable.limits import Limit, limit_of, limits_of
from mrdsl.families.timetable.night import (
    SPOT,
    Job,
    Machine,
    Night,
    Run,
    job_of,
    machine_of,
    runs_of,
    slots_by_kind,
    tasks_in_executor,
    tasks_in_slot,
    with_times,
)
from mrdsl.families.timetable.releases import calendar_of, horizon_of
from mrdsl.families.timetable.spot import seconds_of
from mrdsl.formulas.type_checks import may_use
from mrdsl.model.market import offers_of, prepaid_price
from mrdsl.spec.blocks import ONE
from mrdsl.spec.rented import described_on

if TYPE_CHECKING:
    from mrdsl.families.timetable.plan import TimetablePlan

PARTS = 1 << 20
"""Parts of a VM at most: with more, tasks take less than they do, which relaxes the bound."""


@dataclass(frozen=True)
class Market:
    """The nights of a spec, one for each VM type: all runs, with the times and slots of that type.

    Spot VMs are a type of their own here: runs on them are due so early that a second attempt ends on time.

    Attributes:
        nights: The night on each type, those on spot VMs last.
        allowed: Whether a job may run on a type, by type and job.
        one: Jobs all of whose runs are on one type, on spot or not.
        limits: Limits on VMs at once. Machines have the most of their type alone, with its masters.
        prepaid: Price of prepaid VMs over the horizon, used or not. The cost of a plan does not include it.
    """

    nights: tuple[Night, ...]
    allowed: tuple[tuple[bool, ...], ...]
    one: tuple[int, ...] = ()
    limits: tuple[Limit, ...] = ()
    prepaid: float = 0.0

    @property
    def runs(self) -> tuple[Run, ...]:
        """All runs."""
        return self.nights[0].runs

    @property
    def jobs(self) -> tuple[Job, ...]:
        """The jobs, with the times of the first type."""
        return self.nights[0].jobs

    @property
    def penalties(self) -> tuple[float | None, ...]:
        """Penalties of the jobs."""
        return self.nights[0].penalties

    @property
    def machines(self) -> tuple[Machine, ...]:
        """The machine of each type."""
        return tuple(night.machine for night in self.nights)

    @cached_property
    def vms_on_demand(self) -> tuple[int, ...]:
        """Of each type the same on demand."""
        names = [machine.vm for machine in self.machines]
        return tuple(map(names.index, names))

    def room(self, vm: int, run: int) -> tuple[int, int, int]:
        """Return the VMs that a run on spot VMs keeps free of each limit for its second attempt: from, to, how many."""
        window, night = self.nights[self.vms_on_demand[vm]].runs[run], self.nights[vm]
        return window.release, window.due, -(-night.jobs[window.job].most_at_once // night.machine.slots)

    def types_of(self, job: int) -> list[int]:
        """Return the types that a job may run on."""
        return [index for index, allowed in enumerate(self.allowed) if allowed[job]]

    def vms_of(self, job: int) -> list[str]:
        """Return the names of the types that a job may run on, of each once more if it may be on spot."""
        return [self.machines[index].vm for index in self.types_of(job)]

    def fits(self, index: int, run: int) -> bool:
        """Return True if a run may be on a type, and ends in its window there on all VMs that are available."""
        return run in self._fitting[index]

    @cached_property
    def _fitting(self) -> tuple[Mapping[int, None], ...]:
        found = []
        for night, allowed in zip(self.nights, self.allowed, strict=True):
            most = night.machine.available
            paths = [job.path(None if most is None else most * night.machine.slots) for job in night.jobs]
            found.append(
                {
                    number: None
                    for number, run in enumerate(night.runs)
                    if allowed[run.job] and most != 0 and run.ready + paths[run.job] <= run.due
                }
            )
        return tuple(found)

    def part(self, index: int, runs: Sequence[int] | None = None) -> tuple[Sequence[int], Night]:
        """Return some runs, by default all that end in their windows there, and the night of these runs on a type."""
        night = self.nights[index]
        if runs is None:
            runs = list(self._fitting[index])
        return runs, replace(night, runs=tuple(night.runs[each] for each in runs))


def alone(night: Night) -> Market:
    """Return a market with one type."""
    limit = limit_of(night.machine)
    return Market((night,), ((True,) * len(night.jobs),), limits=() if limit is None else (limit,))


def market_of(facts: TimetableFacts) -> Market:
    """Return the market of a spec, cached with it."""
    return markets_of(facts)[0]


def markets_of(facts: TimetableFacts) -> Sequence[Market]:
    """Return the markets of a spec: with the fewest slots on a VM, and with parts of it if tasks take unequal ones.

    A VM with 6 map and 4 reduce tasks has 4 slots of one task each, or 12 slots of which a map task takes 2 and a
    reduce task 3. If these are too many, it has 2 slots of 3 map or 2 reduce tasks.
    """
    return kept(facts, "markets", lambda: _markets(filled(facts)))


def _markets(facts: TimetableFacts) -> Sequence[Market]:
    small = _market(facts)
    if _is_exact(facts) or (parts := _market(facts, lcm)).machines == small.machines:
        return [small]
    return [small, parts if max(machine.slots for machine in parts.machines) <= PARTS else _market(facts, gcd)]


def market_in_parts(facts: TimetableFacts) -> Market | None:
    """Return a market of which every plan of a spec is a plan too; None if all plans are as cheap in the spec's market.

    Each task takes some slots on any machines. Those of an executor do not have to be of one stage of a run.
    """
    return kept(facts, "parts", lambda: None if _is_exact(filled(facts)) else _market(filled(facts), _relaxed))


def _relaxed(*counts: int) -> int:
    """Return the slots of a VM of which all its tasks take whole ones, or a large number, of which they take fewer."""
    return min(lcm(*counts), max(PARTS, *counts))


def _is_exact(facts: TimetableFacts) -> bool:
    """Return True if a VM hosts equally many tasks of all kinds, or executors with stages one after the other."""
    for vm in facts.vms:
        nodes = [node_on(node, vm) for node in facts.classes if may_use(node, vm)]
        if len({count for node in nodes for count in slots_by_kind(vm, node).values()}) > 1:
            return False
        if any(tasks_in_executor(node) > 1 and not job_of(node).is_chain for node in nodes):
            return False
    return True


def market_of_plan(facts: TimetableFacts, plan: TimetablePlan, in_parts: bool = False) -> Market:
    """Return the market of a spec, or that in parts, with the times of tasks that a plan was made with."""
    used = {each.vm: each.slots for each in plan.uses}
    alike = (
        each for each in markets_of(facts) if all(used.get(one.name, one.slots) == one.slots for one in each.machines)
    )
    market = (market_in_parts(facts) if in_parts else None) or next(alike, market_of(facts))
    return stretched(market, [plan.factors.get(job.name, 1.0) for job in market.jobs]) if plan.factors else market


def stretched(market: Market, factors: Sequence[float]) -> Market:
    """Return a market in which the tasks of each job take a multiple of their time, in second attempts too."""
    nights = [
        replace(night, jobs=tuple(with_times(job, by) for job, by in zip(night.jobs, factors, strict=True)))
        for night in market.nights
    ]
    for vm, night in enumerate(nights):
        if night.machine.spot:
            nights[vm] = _twice(night, nights[market.vms_on_demand[vm]])
    return replace(market, nights=tuple(nights))


def without_spot(market: Market) -> Market:
    """Return a market without spot VMs, which are its last types."""
    bought = sum(not machine.spot for machine in market.machines)
    return replace(market, nights=market.nights[:bought], allowed=market.allowed[:bought])


def night_of(facts: TimetableFacts) -> Night:
    """Return the night of a spec on its first VM type."""
    return market_of(facts).nights[0]


def _market(facts: TimetableFacts, divided: Callable[..., int] = min) -> Market:
    """Return a market whose slots are the fewest tasks on a VM, their divisor, or parts of executors or of tasks."""
    runs = runs_of(facts)
    startups = tuple(ticks_of(node.startup) for node in facts.classes)
    penalties = tuple(node.penalty for node in facts.classes)
    nights = []
    for vm in facts.vms:
        nodes = [node_on(node, vm) for node in facts.classes]
        usable = [there for node, there in zip(facts.classes, nodes, strict=True) if may_use(node, vm)]
        machine = machine_of(facts, vm, usable)
        hosted = [(count, tasks_in_executor(node)) for node in usable for count in slots_by_kind(vm, node).values()]
        if divided is not min:
            each = [count * (inside if divided is _relaxed else 1) for count, inside in hosted]
            machine = replace(machine, slots=divided(*each) if each else 1)
        jobs = tuple(_job_on(vm, node, machine.slots, divided) for node in nodes)
        nights.append(Night(jobs, runs, machine, startups, penalties))
    every = [*facts.vms]
    for vm, night in zip(facts.vms, list(nights), strict=True):
        if vm.spot is not None:
            nights.append(_on_spot(night, offers_of(vm)[-1].price, vm.spot.interruptions))
            every.append(vm)
    allowed = tuple(
        tuple(may_use(node, vm) and (not night.machine.spot or node.spot != 0.0) for node in facts.classes)
        for vm, night in zip(every, nights, strict=True)
    )
    one = () if len(nights) == 1 else tuple(i for i, node in enumerate(facts.classes) if node.types == (ONE,))
    limits = limits_of(facts, [(vm, night.machine.spot) for vm, night in zip(every, nights, strict=True)])
    market = Market(tuple(nights), allowed, one, limits, _prepaid(facts, runs))
    return replace(market, nights=tuple(_limited(market, vm) for vm in range(len(nights)))) if limits else market


def _job_on(vm: VmType, node: JobClass, slots: int, divided: Callable[..., int]) -> Job:
    """Return a run with its tasks as the slots that they take, at most, of a VM with ``slots`` slots."""
    held, hosted = tasks_in_slot(vm, node, slots), slots_by_kind(vm, node)
    if divided is _relaxed:
        inside = tasks_in_executor(node)
        return job_of(node, lambda kind, tasks: (tasks * max(slots // max(hosted[kind] * inside, 1), 1), 1))
    parts = {kind: max(slots // max(each, 1), 1) for kind, each in hosted.items()}
    return job_of(node, lambda kind, tasks: (-(-tasks // held[kind]) * parts[kind], parts[kind]))


def _limited(market: Market, vm: int) -> Night:
    """Return the night on a type with the most VMs that the limits allow."""
    night = market.nights[vm]
    machine = night.machine
    most = [each.available(vm, machine) for each in market.limits]
    available = min((each for each in most if each is not None), default=None)
    reserved = machine.reserved if available is None else min(machine.reserved, available)
    return replace(night, machine=replace(machine, available=available, reserved=reserved))


def _on_spot(night: Night, price: float, rate: float) -> Night:
    """Return the night on spot VMs.

    A run ends so early there that another attempt, which begins at its end, ends on time on new VMs on demand: after
    their boot and the startup of the run, with a slot for every task.
    """
    name = f"{night.machine.name}{SPOT}"
    machine = replace(night.machine, name=name, price=price, reserved=0, spot=True, interruptions=rate)
    return _twice(replace(night, machine=machine), night)


def _twice(night: Night, on_demand: Night) -> Night:
    seconds = seconds_of(replace(on_demand, jobs=night.jobs))
    runs = tuple(replace(run, due=run.due - seconds[run.job][0].ticks) for run in on_demand.runs)
    return replace(night, runs=runs, seconds=seconds)


def _prepaid(facts: TimetableFacts, runs: Sequence[Run]) -> float:
    """Return the price of prepaid VMs from a boot before the first release to the horizon, or to the last deadline."""
    calendar = calendar_of(facts)
    first = min(run.release for run in runs) / TICK
    last = horizon_of(facts, calendar, max(run.release for run in runs) / TICK)
    end = max(run.due for run in runs) / TICK if last is None else last
    return sum(prepaid_price(vm) * (end - first + vm.boot) for vm in facts.vms)


def node_on(node: JobClass, vm: VmType) -> JobClass:
    """Return a class as it runs on a VM type: its block ``on`` replaces slots, phases and stages, and scales times."""
    row = next((each for each in node.on if each.name == vm.name), None)
    if row is None:
        return node
    if row.slots is not None:
        node = replace(node, slots=row.slots, container=None)
    if row.described:
        node = described_on(node, row)
    if row.speed == 1.0:
        return node
    return replace(
        node,
        map=None if node.map is None else _faster(node.map, row.speed),
        reduce=None if node.reduce is None else _faster(node.reduce, row.speed),
        stages=tuple(_faster(each, row.speed) for each in node.stages),
    )


def _faster(phase: Any, speed: float) -> Any:
    times = {name: value / speed for name in ("avg", "max", "min") if (value := getattr(phase, name, None)) is not None}
    return replace(phase, **times)
