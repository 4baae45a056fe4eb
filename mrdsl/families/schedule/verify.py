"""A finished schedule checked from the facts alone, and its goal's value."""

from __future__ import annotations

from collections.abc import Iterable

from mrdsl.core.diagnostics import Diagnostic, error
from mrdsl.core.tolerances import FEASIBILITY
from mrdsl.core.units import HOUR
from mrdsl.families.schedule.plan import SchedulePlan
from mrdsl.families.schedule.stream import jobs
from mrdsl.spec.spec import Spec


def verify(spec: Spec, plan: SchedulePlan, relax: bool) -> Iterable[Diagnostic]:
    """Every job of the facts has ended, the bill adds up, and the slots hold all the work that there was.

    The event-by-event rules (no slot runs two tasks, no task outside a paid hour) are checked on a run's log by
    :mod:`mrdsl.simulation.audit`.
    """
    facts, cost, hours = spec.facts, plan.cost, plan.vm_hours
    vm = facts.vms[0]
    count, work = 0, [0.0, 0.0]
    for job in jobs(facts, spec.seed or 0):
        count += 1
        for phase in (0, 1):
            work[phase] += job.tasks[phase] * job.durations[phase]
    if plan.jobs.count != count:
        yield _broken(f"{plan.jobs.count} jobs ended, {count} arrived", spec)
    if not 0 <= plan.jobs.tardy <= count:
        yield _broken(f"{plan.jobs.tardy} of {count} jobs are late", spec)
    if not _same(cost.on_demand, hours.on_demand * HOUR * vm.on_demand.price):
        yield _broken("the on-demand cost is not hours times price", spec)
    if not _same(cost.total, cost.on_demand + cost.spot):
        yield _broken("the total is not on-demand plus spot cost", spec)
    if facts.policy.instances == "on_demand" and hours.spot:
        yield _broken("spot VMs were rented where only on-demand ones may be", spec)
    if hours.broken and vm.paid_by.broken_period == "paid":
        yield _broken("hours went unpaid that the market broke off, where they are paid", spec)
    there = (hours.on_demand + hours.spot + hours.broken) * HOUR
    for phase, slots in enumerate((vm.slots.map, vm.slots.reduce)):
        if work[phase] > there * slots * (1 + FEASIBILITY):
            yield _broken(f"{work[phase]:g} s of {('map', 'reduce')[phase]} work in {there * slots:g} s of slots", spec)


def measure(spec: Spec, plan: SchedulePlan) -> float:
    """What the VMs cost over the trace."""
    return plan.cost.total


def quantity(spec: Spec, plan: SchedulePlan, name: str, argument: str) -> float:
    """The schedule family offers no quantity to ``subject to``."""
    raise KeyError(name)


def _same(a: float, b: float) -> bool:
    return abs(a - b) <= FEASIBILITY * max(1.0, abs(a), abs(b))


def _broken(what: str, spec: Spec) -> Diagnostic:
    return error("broken-schedule", what, spec.span, "this is a fault in mrdsl: please report it with the spec")
