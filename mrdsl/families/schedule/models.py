"""The offline optimum: the cost of the cheapest schedule if every job and price were known (a MILP).

A yardstick for small instances: no policy, however clever, pays less with as few late jobs. Time has steps that divide
every time of the instance, so the model is exact. In some optimal schedule every start is an exact sum of durations
after an arrival or a price move, since any other start can move earlier.

VMs that start at the same step and are paid for equally many periods are one whole number. Tasks of a phase that start
at the same step on such VMs are another. Tasks that are intervals fit on the slots of alike VMs exactly if no step has
more of them than slots, so that counting is exact. A spot VM pays the market price at the start of each of its periods.
A bid costs no money, so it is lost only if that saves money. If broken periods are free, bid just below a price that
the market has not reached since the VM's start. The VM then pays full periods alone for the time until that price.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import ceil, gcd
from typing import Any

import pyomo.environ as pyo

from mrdsl.core.diagnostics import MrdslError, one_error
from mrdsl.core.rounding import FEASIBILITY, floor
from mrdsl.core.units import HOUR
from mrdsl.families.schedule.facts import ScheduleFacts
from mrdsl.families.schedule.plan import Cost, Jobs, SchedulePlan, Tardiness, VmHours
from mrdsl.families.schedule.trace import jobs, machine_type, price_process
from mrdsl.simulation.fleet import Job
from mrdsl.simulation.sampling import PricePath, path
from mrdsl.spec.schema import Distribution
from mrdsl.spec.spec import Spec

TICK = 1e-3
OFF_TICK = 1e-7
"""Largest distance of a time from a tick [s]."""
JUST_AFTER = 1e-9
"""Seconds after a price has changed, at which the new one holds."""
MOST_JOBS, MOST_STARTS, MOST_MOVES = 500, 200_000, 1_000_000

#: A VM's first step and the step at which it is given back or taken.
Lease = tuple[int, int]


@dataclass(frozen=True)
class Instance:
    """A small schedule in whole steps of ``step`` seconds; ``late`` jobs may be late."""

    jobs: tuple[Job, ...]
    slots: tuple[int, int]
    step: float
    period: int
    boot: int
    on_demand: float
    prices: PricePath | None
    kind: str
    late: int
    broken_free: bool = True

    def steps(self, time: float) -> int:
        """Return a time of the instance in steps."""
        return round(time / self.step)

    @cached_property
    def horizon(self) -> int:
        """Last step of the model: the last due time, then, if jobs may be late, all late work in a row.

        On demand, longer waiting has no benefit; on the spot market late jobs could wait for a lower price.
        """
        latest = max(int(floor(job.punctual_until / self.step)) for job in self.jobs)
        if not self.late:
            return latest
        latest = max(latest, *(self.steps(job.submit) for job in self.jobs))
        works = sorted((self.steps(job.work) for job in self.jobs), reverse=True)
        return latest + self.boot + sum(works[: self.late])

    @cached_property
    def leases(self) -> dict[Lease, tuple[float, bool]]:
        """Cost of a VM between two steps, and whether it is a spot VM, the cheaper kind if allowed."""
        first = min(self.steps(job.submit) for job in self.jobs)
        leases = {}
        for start in range(first, self.horizon):
            most = ceil((self.horizon - start) / self.period)
            for periods in range(1, most + 1):
                leases[start, start + periods * self.period] = self._price(start, periods)
            for end in self._taken(start):
                if (end - start) % self.period:
                    leases[start, end] = self._price(start, (end - start) // self.period, spot_only=True)
        return leases

    def periods(self, lease: Lease) -> int:
        """Paid periods of a lease: the whole ones."""
        return (lease[1] - lease[0]) // self.period

    def _taken(self, start: int) -> Iterator[int]:
        """Yield the steps at which the market can take a VM that starts at a step: a new highest price since then.

        Steps are up to the horizon, and only if the period that is broken off is free.
        """
        if self.kind == "on_demand" or self.prices is None or not self.broken_free:
            return
        highest = self.prices.at(start * self.step + JUST_AFTER)
        for time, price in zip(self.prices.times, self.prices.prices, strict=True):
            move = self.steps(time)
            if move > start and price > highest:
                highest = price
                yield move

    def starts(self, job: Job, phase: int) -> range:
        """Return the steps at which a task of a job may start."""
        map_steps = self.steps(job.map_time)
        first = self.steps(job.submit) + (map_steps if phase else 0)
        return range(first, self.horizon - self.steps(job.durations[phase]) + 1)

    def _price(self, start: int, periods: int, spot_only: bool = False) -> tuple[float, bool]:
        length = self.period * self.step
        on_demand = periods * length * self.on_demand
        if self.kind == "on_demand" or self.prices is None:
            return on_demand, False
        spot = sum(length * self.prices.at((start + i * self.period) * self.step + JUST_AFTER) for i in range(periods))
        return (spot, True) if spot_only or self.kind == "spot" or spot < on_demand else (on_demand, False)


def instance_of(spec: Spec) -> Instance:
    """Return the instance of a spec; raises ``too-large``, ``off-grid`` or ``empty-trace`` if it has none."""
    facts: ScheduleFacts = spec.facts
    machine = machine_type(facts.vms[0])
    offline_jobs = []
    for job in jobs(facts, spec.seed or 0):
        offline_jobs.append(job)
        if len(offline_jobs) > MOST_JOBS:
            raise _too_large(spec)
    if not offline_jobs:
        raise one_error(
            "empty-trace",
            "no job arrives in the horizon",
            spec.span,
            "write a longer `horizon`, or a higher rate of arrivals",
        )
    latest = max(job.punctual_until for job in offline_jobs)
    until = latest + sum(job.work for job in offline_jobs) + machine.boot
    spot = facts.vms[0].spot
    process = price_process(facts.vms[0], spec.seed or 0) if facts.policy.instances != "on_demand" else None
    moves = (
        until / spot.every if process is not None and spot is not None and isinstance(spot.price, Distribution) else 0
    )
    if latest / machine.billing > MOST_STARTS or moves > MOST_MOVES:
        raise _too_large(spec)
    prices = path(process, until) if process is not None else None
    times = [machine.billing, machine.boot, *(prices.times if prices is not None else ())]
    for job in offline_jobs:
        times += [job.submit, *(d for d, n in zip(job.durations, job.tasks, strict=True) if n)]
    step = _step(times, spec)
    late = int(floor(facts.policy.tardy_share * len(offline_jobs)))
    instance = Instance(
        tuple(offline_jobs),
        machine.slots,
        step,
        round(machine.billing / step),
        round(machine.boot / step),
        machine.price,
        prices,
        facts.policy.instances,
        late,
        machine.broken_free,
    )
    taken = len(prices.times) if prices is not None and machine.broken_free else 0
    ends = instance.horizon / max(instance.period / 2, 1) + min(taken, instance.horizon)
    if instance.horizon * ends * len(offline_jobs) > MOST_STARTS:
        raise _too_large(spec)
    return instance


def build(spec: Spec, relax: bool) -> pyo.ConcreteModel:
    """Least cost of leases such that every task runs on one and no more jobs are late than may be."""
    one = instance_of(spec)
    whole = pyo.NonNegativeReals if relax else pyo.NonNegativeIntegers
    model = pyo.ConcreteModel("schedule_offline")
    model.lease = pyo.Var(list(one.leases), domain=whole)
    places = _places(one)
    model.start = pyo.Var([key for keys in places.values() for key in keys], domain=whole)
    numbers = range(len(one.jobs))
    yes = pyo.UnitInterval if relax else pyo.Binary
    model.late = pyo.Var(numbers, domain=yes)
    model.maps_done = pyo.Var(
        [(i, t) for i in numbers if one.jobs[i].reduce_tasks for t in one.starts(one.jobs[i], 1)], domain=yes
    )
    model.rows = pyo.ConstraintList()
    for i, job in enumerate(one.jobs):
        _add_job(model, one, places, i, job)
    _add_slots(model, one)
    if len(one.jobs):
        model.rows.add(sum(model.late[i] for i in numbers) <= one.late)
    model.cost = pyo.Objective(expr=sum(cost * model.lease[lease] for lease, (cost, _) in one.leases.items()))
    model.plan_quantities = {}
    return model


def decode(spec: Spec, model: pyo.ConcreteModel, relax: bool) -> SchedulePlan:
    """Return the plan of an optimal schedule; lateness from the starts."""
    one = instance_of(spec)
    ends: dict[int, int] = {}
    work = 0.0
    for (i, phase, start, *_), variable in model.start.items():
        if (variable.value or 0.0) > FEASIBILITY:
            job = one.jobs[i]
            work += variable.value * job.durations[phase]
            ends[i] = max(ends.get(i, 0), start + one.steps(job.durations[phase]))
    late = [end * one.step - one.jobs[i].due for i, end in ends.items() if end * one.step > one.jobs[i].punctual_until]
    cost, hours, broken = [0.0, 0.0], [0.0, 0.0], 0.0
    for lease, variable in model.lease.items():
        price, spot = one.leases[lease]
        cost[spot] += price * (variable.value or 0.0)
        count = variable.value or 0.0
        hours[spot] += one.periods(lease) * one.period * one.step / HOUR * count
        broken += (lease[1] - lease[0]) % one.period * one.step / HOUR * count
    late.sort()
    there = (sum(hours) + broken) * HOUR * sum(one.slots)
    count = len(one.jobs)
    return SchedulePlan(
        Jobs(count, len(late), len(late) / count),
        Cost(cost[0], cost[1], sum(cost)),
        VmHours(hours[0], hours[1], broken),
        0,
        tardiness=Tardiness(sum(late) / len(late), late[(len(late) - 1) // 2], late[-1], late[-1])
        if late
        else Tardiness(),
        utilization=work / there if there else 0.0,
        rented=round(sum(variable.value or 0.0 for variable in model.lease.values())),
        finished=max(ends.values(), default=0) * one.step,
    )


#: Job and phase, to (job, phase, start, the lease's two numbers).
Places = dict[tuple[int, int], list[tuple[int, int, int, int, int]]]


def _places(one: Instance) -> Places:
    """For every job and phase the keys at which a task of it may run."""
    places: Places = {}
    for i, job in enumerate(one.jobs):
        for phase in (0, 1):
            if not job.tasks[phase]:
                continue
            length = one.steps(job.durations[phase])
            places[i, phase] = [
                (i, phase, start, *lease)
                for start in one.starts(job, phase)
                for lease in one.leases
                if lease[0] + one.boot <= start and start + length <= lease[1]
            ]
    return places


def _add_job(model: Any, one: Instance, places: Places, i: int, job: Job) -> None:
    """Run all tasks, reduce tasks after the last map task, on time unless the job is late."""
    for phase in (0, 1):
        if job.tasks[phase]:
            model.rows.add(sum(model.start[key] for key in places[i, phase]) == job.tasks[phase])
    last = 1 if job.reduce_tasks else 0
    latest = int(floor(job.punctual_until / one.step)) - one.steps(job.durations[last])
    in_time = [model.start[key] for key in places[i, last] if key[2] <= latest]
    model.rows.add(sum(in_time) + job.tasks[last] * model.late[i] >= job.tasks[last])
    if not job.reduce_tasks:
        return
    length = one.steps(job.map_time)
    for t in one.starts(job, 1):
        ended = sum(model.start[key] for key in places[i, 0] if key[2] + length <= t)
        model.rows.add(job.map_tasks * model.maps_done[i, t] <= ended)
        begun = [model.start[key] for key in places[i, 1] if key[2] == t]
        if begun:
            model.rows.add(sum(begun) <= job.reduce_tasks * model.maps_done[i, t])


def _add_slots(model: Any, one: Instance) -> None:
    """On the VMs of one lease no step has more running tasks of a phase than slots."""
    running: dict[tuple[int, Lease, int], list[Any]] = {}
    for (i, phase, start, *lease), variable in model.start.items():
        for t in range(start, start + one.steps(one.jobs[i].durations[phase])):
            running.setdefault((phase, (lease[0], lease[1]), t), []).append(variable)
    for (phase, lease, _), variables in running.items():
        model.rows.add(sum(variables) <= one.slots[phase] * model.lease[lease])


def _step(times: list[float], spec: Spec) -> float:
    """Return the greatest step that divides all times, in whole milliseconds."""
    ticks = [round(time / TICK) for time in times]
    if any(abs(tick * TICK - time) > OFF_TICK for tick, time in zip(ticks, times, strict=True)):
        raise one_error(
            "off-grid",
            "the offline optimum needs times in whole milliseconds, and some are not",
            spec.span,
            "round the task times, or simulate a policy instead: --solver policy",
        )
    return gcd(*ticks) * TICK


def _too_large(spec: Spec) -> MrdslError:
    return one_error(
        "too-large",
        "the offline optimum is for small instances: a few jobs over some hundred steps of time",
        spec.span,
        "simulate a policy: pass `--solver policy`",
    )
