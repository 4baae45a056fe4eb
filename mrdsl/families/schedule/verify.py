"""Verification of a schedule: its record of late jobs, hours and money.

Jobs and spot prices are drawn or read anew from the input data and the seed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from math import ceil

from mrdsl.core.diagnostics import Diagnostic, error
from mrdsl.core.rounding import FEASIBILITY, ROUNDING
from mrdsl.core.units import HOUR
from mrdsl.exchange.job_traces import SwimJob
from mrdsl.exchange.registry import JOBS, SPOT_PRICES, named
from mrdsl.exchange.spot_history import price_steps
from mrdsl.families.schedule.facts import Arrivals, JobClass, ScheduleFacts, Vm
from mrdsl.families.schedule.plan import SchedulePlan
from mrdsl.simulation.sampling import series, stream
from mrdsl.spec.schema import Distribution
from mrdsl.spec.spec import Spec

MOST_PRICES = 1_000_000
"""Most drawn prices that are checked."""


@dataclass(frozen=True)
class Written:
    """One job: its arrival and due time [s], tasks and seconds of a task of each phase."""

    submit: float
    due: float
    maps: int
    map_time: float
    reduces: int
    reduce_time: float

    @property
    def shortest_end(self) -> float:
        """The end of the job if all its tasks run concurrently, (4.4) [s]."""
        return self.submit + self.map_time + (self.reduce_time if self.reduces else 0.0)

    @property
    def is_late(self) -> bool:
        """True if no schedule ends the job on time."""
        return self.shortest_end > self.due + ROUNDING * (1.0 + self.due - self.submit)


def jobs_of(facts: ScheduleFacts, seed: int) -> Iterator[Written]:
    """Read and draw all jobs, class by class."""
    if facts.arrivals is not None:
        yield from _from_file(facts.arrivals, seed)
    for kind in facts.classes:
        yield from _from_class(kind, facts.horizon or 0.0, seed)


def spot_prices(vm: Vm, seed: int, until: float) -> tuple[float, float] | None:
    """Find the lowest and the highest spot price up to a moment, per second; None without a market."""
    spot = vm.spot
    if spot is None:
        return None
    if spot.history is not None:
        records = SPOT_PRICES[0].read(spot.history.path, [])
        by_name = any(record.instance_type == vm.name for record in records)
        steps = price_steps(records, spot.zone, spot.instance_type or (vm.name if by_name else None), spot.product)
        return None if isinstance(steps, str) else (min(steps.prices), max(steps.prices))
    if not isinstance(spot.price, Distribution):
        return (spot.price, spot.price) if spot.price is not None else None
    count = min(int(until / spot.every) + 2, MOST_PRICES)
    drawn = list(islice(series(spot.price, stream(seed, "spot price")), count))
    return min(drawn), max(drawn)


def _from_file(facts: Arrivals, seed: int) -> Iterator[Written]:
    assert facts.source is not None
    reader = named(JOBS, facts.source.reader)
    assert reader is not None
    factors = series(facts.deadline_factor, stream(seed, "deadline", "arrivals"), low=0.0)
    for line in reader.read(facts.source.path, []):
        if facts.end is not None and line.submit >= facts.end:
            return
        if line.submit < facts.begin:
            continue
        came = line.submit - facts.begin
        if isinstance(line, SwimJob):
            yield _of_bytes(line, facts, came, next(factors))
            continue
        reducing = line.shuffle_time + line.reduce_time
        deadline = line.deadline
        if deadline is None:
            deadline = next(factors) * (line.map_time + (reducing if line.reduce_tasks else 0.0))
        yield Written(came, came + deadline, line.map_tasks, line.map_time, line.reduce_tasks, reducing)


def _of_bytes(line: SwimJob, facts: Arrivals, came: float, factor: float) -> Written:
    """Turn bytes into tasks, as few as hold them in blocks, which share them equally."""
    maps = max(ceil(line.input_bytes / (facts.block or 1.0)), 1)
    reading = line.input_bytes / (maps * (facts.map_speed or 1.0)) if line.input_bytes else 1.0
    reduces = ceil(line.shuffle_bytes / (facts.reduce_input or 1.0))
    per_byte = 1.0 / (facts.shuffle_speed or 1.0) + 1.0 / (facts.reduce_speed or 1.0)
    reducing = line.shuffle_bytes / reduces * per_byte + facts.task_overhead if reduces else 0.0
    map_time = reading + facts.task_overhead
    return Written(came, came + factor * (map_time + reducing), maps, map_time, reduces, reducing)


def _from_class(kind: JobClass, horizon: float, seed: int) -> Iterator[Written]:
    gaps = series(Distribution("exponential", (1.0 / kind.rate,)), stream(seed, "gaps", kind.name))
    factors = series(kind.deadline_factor, stream(seed, "deadline", kind.name), low=0.0)
    reduces = kind.reduce.tasks if kind.reduce is not None else 0
    shuffling = kind.shuffle.avg if kind.shuffle is not None else 0.0
    reducing = shuffling + kind.reduce.avg if kind.reduce is not None and reduces else 0.0
    came = next(gaps)
    while came < horizon:
        deadline = kind.deadline if kind.deadline is not None else next(factors) * (kind.map.avg + reducing)
        yield Written(came, came + deadline, kind.map.tasks, kind.map.avg, reduces, reducing)
        came += next(gaps)


@dataclass(frozen=True)
class Asked:
    """Totals of the jobs: their number, slot seconds of each phase, and bounds on every schedule.

    ``late`` jobs end late on any cluster, ``latest`` is the least lateness of the last one, and ``end`` the least end
    of all [s].
    """

    jobs: int
    work: tuple[float, float]
    late: int
    latest: float
    end: float


def verify(spec: Spec, plan: SchedulePlan, relax: bool) -> Iterator[Diagnostic]:
    """Check that every job has ended, late ones are counted, the bill adds up, and the slots hold all the work.

    A plan does not record which slot ran which task, and so which jobs are late. Tests
    audit the event-by-event rules on a run's log: no slot runs two tasks, no task runs outside a paid hour. For a mean
    of several runs with random seeds, only sums are checked.
    """
    facts: ScheduleFacts = spec.facts
    several = bool(getattr(plan, "runs", 0))
    problems = [*_bill(facts.vms[0], plan), *_rented(facts, plan)]
    if not several or not facts.classes:
        asked = _asked(facts, spec.seed or 0)
        problems += _slots(facts.vms[0], plan, asked)
        if not several:
            problems += [*_late(plan, asked), *_at_work(facts.vms[0], plan, asked)]
            problems += _spot(facts.vms[0], plan, spec.seed or 0)
            problems += () if relax else _periods(facts.vms[0], plan)
    hint = "this is a fault in mrdsl: please report it with the spec"
    yield from (error("broken-schedule", problem, spec.span, hint) for problem in problems)


def measure(spec: Spec, plan: SchedulePlan) -> float:
    """Compute the cost of the VMs over the trace; :func:`verify` holds both parts to hours and prices."""
    return plan.cost.on_demand + plan.cost.spot


def _asked(facts: ScheduleFacts, seed: int) -> Asked:
    count = late = 0
    maps = reduces = latest = end = 0.0
    for job in jobs_of(facts, seed):
        count += 1
        maps += job.maps * job.map_time
        reduces += job.reduces * job.reduce_time
        end = max(end, job.shortest_end)
        if job.is_late:
            late += 1
            latest = max(latest, job.shortest_end - job.due)
    return Asked(count, (maps, reduces), late, latest, end)


def _there(plan: SchedulePlan) -> float:
    """Return seconds of VMs, paid or broken off."""
    return (plan.vm_hours.on_demand + plan.vm_hours.spot + plan.vm_hours.broken) * HOUR


def _bill(vm: Vm, plan: SchedulePlan) -> Iterator[str]:
    cost, hours = plan.cost, plan.vm_hours
    if not _same(cost.on_demand, hours.on_demand * HOUR * vm.on_demand.price):
        yield "the on-demand cost is not hours times price"
    if not _same(cost.total, cost.on_demand + cost.spot):
        yield "the total is not on-demand plus spot cost"
    if not min(cost.on_demand, cost.spot, hours.on_demand, hours.spot, hours.broken) >= 0.0:
        yield "hours or money below 0"


def _rented(facts: ScheduleFacts, plan: SchedulePlan) -> Iterator[str]:
    hours, vm = plan.vm_hours, facts.vms[0]
    if facts.policy.instances == "on_demand" and (hours.spot or hours.broken or plan.cost.spot):
        yield "spot VMs were rented where only on-demand ones may be"
    if facts.policy.instances == "spot" and hours.on_demand:
        yield "on-demand VMs were rented where only spot ones may be"
    broken_period = vm.billing.broken_period if vm.billing is not None else "free"
    if hours.broken and broken_period == "paid":
        yield "hours went unpaid that the market broke off, where they are paid"


def _slots(vm: Vm, plan: SchedulePlan, asked: Asked) -> Iterator[str]:
    if plan.jobs.count != asked.jobs:
        yield f"{plan.jobs.count} jobs ended, {asked.jobs} arrived"
    for work, slots, phase in zip(asked.work, (vm.slots.map, vm.slots.reduce), ("map", "reduce"), strict=True):
        if work > _there(plan) * slots * (1 + FEASIBILITY):
            yield f"{work:g} s of {phase} work in {_there(plan) * slots:g} s of slots"


def _late(plan: SchedulePlan, asked: Asked) -> Iterator[str]:
    """Compare late jobs with those that no schedule ends on time, and check their lateness for consistency."""
    jobs, late = plan.jobs, plan.tardiness
    if not asked.late <= jobs.tardy <= jobs.count:
        yield f"{jobs.tardy} of {jobs.count} jobs are late; at least {asked.late} are, whatever is rented"
    if not _same(jobs.tardy_share, jobs.tardy / jobs.count if jobs.count else 0.0):
        yield f"the share of late jobs is {jobs.tardy_share:g}, and {jobs.tardy} of {jobs.count} are late"
    largest = late.max * (1.0 + 0.02) + FEASIBILITY  # quantiles are right to a hundredth
    if not (0.0 <= late.p50 <= late.p95 * 1.02 <= largest * 1.02 and 0.0 <= late.mean <= largest):
        yield "the quantiles of lateness are out of order"
    if not late.max >= asked.latest * (1.0 - FEASIBILITY) or bool(late.max > 0.0) != bool(jobs.tardy):
        yield f"{jobs.tardy} jobs are late by at most {late.max:g} s; one is by {asked.latest:g} s, whatever is rented"
    if not plan.finished >= asked.end * (1.0 - FEASIBILITY):
        yield f"the last job ends after {plan.finished:g} s; none can end all before {asked.end:g} s"


def _at_work(vm: Vm, plan: SchedulePlan, asked: Asked) -> Iterator[str]:
    """Compare the share of slot time at work with the work that there was; lost tasks add to it."""
    slots = _there(plan) * (vm.slots.map + vm.slots.reduce)
    least = sum(asked.work) / slots if slots else 0.0
    if plan.lost_tasks == 0 and not _same(plan.utilization, least):
        yield f"slots are at work {plan.utilization:.6%} of their time; the tasks take {least:.6%}"
    if not least - FEASIBILITY <= plan.utilization <= 1.0 + FEASIBILITY:
        yield f"slots are at work {plan.utilization:.6%} of their time; the tasks take {least:.6%} at least"
    if plan.lost_tasks and not plan.evictions:
        yield "tasks were lost without an eviction"


def _spot(vm: Vm, plan: SchedulePlan, seed: int) -> Iterator[str]:
    """Compare what spot VMs cost with the lowest and the highest price that there was."""
    hours = plan.vm_hours.spot
    if not hours:
        if abs(plan.cost.spot) > FEASIBILITY * plan.cost.total:  # what a broken period gives back leaves a rounding
            yield "spot VMs cost money in no time"
        return
    prices = spot_prices(vm, seed, plan.finished)
    if prices is None:
        yield "spot VMs were rented, and there is no market"
        return
    low, high = (hours * HOUR * price for price in prices)
    if not low * (1.0 - FEASIBILITY) <= plan.cost.spot <= high * (1.0 + FEASIBILITY):
        yield f"spot VMs cost {plan.cost.spot:g}; by the prices that there were it is {low:g} to {high:g}"


def _periods(vm: Vm, plan: SchedulePlan) -> Iterator[str]:
    """Yield every started billing period is paid in full."""
    period = vm.billing.period if vm.billing is not None else HOUR
    for kind, hours in (("on-demand", plan.vm_hours.on_demand), ("spot", plan.vm_hours.spot)):
        periods = hours * HOUR / period
        if abs(periods - round(periods)) > FEASIBILITY * max(1.0, periods):
            yield f"{hours:g} h of {kind} VMs are {periods:g} billing periods, a part of one among them"


def _same(a: float, b: float) -> bool:
    return abs(a - b) <= FEASIBILITY * max(1.0, abs(a), abs(b))
