"""A joint plan against its spec, from the facts alone: whoever found it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

import numpy as np

from mrdsl.contracts.hosting import hosting_vms, told_of_hosting
from mrdsl.contracts.soft_deadlines import told_of_soft_deadlines
from mrdsl.contracts.wholeness import OF_A_MODEL, RELAXED, where_fractions_are_meant
from mrdsl.core.diagnostics import Diagnostic, error
from mrdsl.core.tolerances import FEASIBILITY
from mrdsl.core.whole_numbers import ceiling
from mrdsl.families.joint.facts import NO, JointFacts
from mrdsl.families.joint.plan import JointPlan, columns_of, cost_of
from mrdsl.families.joint.soft_deadlines import price, upper_times
from mrdsl.families.joint.whole_slots import WHOLENESS, as_planned
from mrdsl.families.joint.workload import Workload, parts, workload
from mrdsl.spec.spec import Spec

MOST_TURNS = 100_000
"""Turns in a period, or periods of a turn, up to which they are played through."""


def verify(spec: Spec, plan: JointPlan, relax: bool = False) -> Iterable[Diagnostic]:
    """Demand bounds (8), (9), deadlines (3), slots on VMs (4), response times (5), cluster size (7), whole VMs.

    Warnings say where whole slots would need more VMs than the plan holds, and where deadlines are kept on average.
    """
    yield from _wholeness(spec, plan, relax)
    spec = as_planned(spec, plan.whole)
    work = workload(spec)
    yield from _demand(spec, work, plan)
    yield from _deadlines(spec, work, plan, relax)
    yield from _responses(spec, work, plan)
    yield from _cluster(spec, work, plan, relax)
    yield from _whole_slots(spec, work, plan)
    if not relax and plan.whole == NO:
        run, got = work.execution, plan.classes
        needed = hosting_vms(got.map_slots, got.reduce_slots, run.map_slots, run.reduce_slots)
        yield from told_of_hosting(work.class_names, needed, got.vms, spec.facts.cluster.span)
    upper = upper_times(spec, plan)
    yield from told_of_soft_deadlines(spec, upper, plan.stages, partial(price, spec, plan, relax))


def measure(spec: Spec, plan: JointPlan) -> float:
    """The cost of all periods, from what the plan admits and the VMs that it holds."""
    return cost_of(workload(spec), plan)


def _demand(spec: Spec, work: Workload, plan: JointPlan) -> Iterator[Diagnostic]:
    _, served = columns_of(plan)
    scale = FEASIBILITY * np.maximum(1.0, work.high)
    for t, u in np.argwhere((served < work.low - scale) | (served > work.high + scale)):
        low, high = work.low[t, u], work.high[t, u]
        yield _broken(spec, work, int(u), f"gets {served[t, u]:.6g} in period {t}, not {low:.6g} to {high:.6g}")


def _deadlines(spec: Spec, work: Workload, plan: JointPlan, relax: bool) -> Iterator[Diagnostic]:
    """(3) and (4) for each job on its own slots, within the range of the estimates, and the jobs' turns in a period."""
    run, got = work.execution, plan.classes
    busy = got.admitted > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        each_map, each_reduce = got.map_slots / got.at_once, got.reduce_slots / got.at_once
        time = np.where(run.A > 0, run.A / each_map, 0.0) + np.where(run.B > 0, run.B / each_reduce, 0.0) + run.C
    for t, i in np.argwhere(busy & ~(time <= run.deadline * (1 + FEASIBILITY))):
        yield _broken(spec, work, int(i), f"takes {time[t, i]:.6g} s in period {t}, past its {run.deadline[i]:.6g} s")
    for kind, each, least, most in (
        ("map", each_map, run.limits.map_least, run.limits.map_most),
        ("reduce", each_reduce, run.limits.reduce_least, run.limits.reduce_most),
    ):
        outside = (each < least * (1 - FEASIBILITY)) | (each > most * (1 + FEASIBILITY) + FEASIBILITY)
        for t, i in np.argwhere(busy & outside):
            yield _broken(
                spec,
                work,
                int(i),
                f"has {each[t, i]:.6g} {'task' if run.stages[i] else kind} slots per job in period {t}, "
                f"not {least[i]:g} to {most[i]:g}",
            )
    needed = got.map_slots / run.map_slots + got.reduce_slots / run.reduce_slots
    for t, i in np.argwhere(needed > got.vms + FEASIBILITY * np.maximum(1.0, got.vms)):
        yield _broken(spec, work, int(i), f"needs {needed[t, i]:.6g} VMs in period {t} and has {got.vms[t, i]:.6g}")
    yield from _turns(spec, work, plan, relax)


def _wholeness(spec: Spec, plan: JointPlan, relax: bool) -> Iterator[Diagnostic]:
    """Whether the plan's slots are as whole as the spec asks for; what is implied where it leaves that open."""
    facts: JointFacts = spec.facts
    mistake = WHOLENESS.mistake(facts, plan.whole, relax)
    if mistake:
        yield error("broken-plan", mistake, facts.span)
    why, hint = RELAXED if relax else OF_A_MODEL, where_fractions_are_meant("P2 and greedy")
    yield from WHOLENESS.implied(facts, plan.whole, facts.cluster.span, why, hint)


def _whole_slots(spec: Spec, work: Workload, plan: JointPlan) -> Iterator[Diagnostic]:
    """Whole slots of every job at once, and VMs of the class that hold them: of one class, as many as they add up to.

    See :func:`mrdsl.formulas.packing.of_one_class`.
    """
    if plan.whole == NO:
        return
    got, run = plan.classes, work.execution
    for kind, slots in (("map", got.map_slots), ("reduce", got.reduce_slots)):
        each = np.divide(slots, got.at_once, out=np.zeros_like(slots), where=got.at_once > 0)
        for t, i in np.argwhere(np.abs(each - np.rint(each)) > FEASIBILITY):
            yield _broken(spec, work, int(i), f"has {each[t, i]:.6g} {kind} slots per job in period {t}, not whole")
    hosted = run.map_slots, np.nan_to_num(run.reduce_slots, nan=1.0)
    if len(plan.per_vm) != 2 or not all(map(np.array_equal, plan.per_vm, hosted)):
        yield error("broken-plan", "the slots that a VM hosts are not those of the spec", spec.facts.cluster.span)
        return
    packed = ceiling(got.map_slots / hosted[0] + got.reduce_slots / hosted[1])
    for t, i in np.argwhere(packed > got.vms + FEASIBILITY):
        yield _broken(spec, work, int(i), f"has slots in period {t} that its {got.vms[t, i]:g} VMs do not hold")


def _turns(spec: Spec, work: Workload, plan: JointPlan, relax: bool) -> Iterator[Diagnostic]:
    """Whether the jobs that are admitted find a place: each place takes a job, and the next one a deadline later.

    With whole jobs at once there are whole places, and no job starts so late that it ends in the next period; one that
    outlasts the period keeps its place until a period begins.
    """
    got, period = plan.classes, spec.facts.cluster.period
    whole = work.whole and not relax
    if whole:
        for t, i in np.argwhere(np.abs(got.at_once - np.rint(got.at_once)) > FEASIBILITY):
            yield _broken(spec, work, int(i), f"runs {got.at_once[t, i]:.6g} jobs at once in period {t}, no whole jobs")
    for i, deadline in enumerate(work.execution.deadline.tolist()):
        turns = _turns_of(period, deadline) if whole else float(work.execution.reuse[i])
        room = turns * got.at_once[:, i]
        for t in np.flatnonzero(got.admitted[:, i] > room * (1 + FEASIBILITY) + FEASIBILITY**2):
            yield _broken(
                spec,
                work,
                i,
                f"admits {got.admitted[t, i]:.6g} jobs in period {t}, for which there are {room[t]:.6g} turns",
            )


def _turns_of(period: float, deadline: float) -> float:
    """The jobs that one place takes in a period, played through."""
    if deadline <= period * (1 + FEASIBILITY):
        starts, now = 0, 0.0
        while now + deadline <= period * (1 + FEASIBILITY) and starts < MOST_TURNS:
            starts += 1
            now = starts * deadline
        return float(starts) if starts < MOST_TURNS else period // deadline
    periods = 1
    while periods * period < deadline * (1 - FEASIBILITY) and periods < MOST_TURNS:
        periods += 1
    return 1.0 / periods if periods < MOST_TURNS else period / deadline


def _responses(spec: Spec, work: Workload, plan: JointPlan) -> Iterator[Diagnostic]:
    queues, got = work.queues, plan.services
    response = queues.mean_response(got.rate, got.vms)
    late = (response > queues.response * (1 + FEASIBILITY)) | (got.rate >= queues.service_rate * got.vms)
    for t, k in np.argwhere(late & (got.rate > 0)):
        said = f"answers in {response[t, k]:.6g} s in period {t}, past its {queues.response[k]:.6g} s"
        yield _broken(spec, work, work.classes + int(k), said)


def _cluster(spec: Spec, work: Workload, plan: JointPlan, relax: bool) -> Iterator[Diagnostic]:
    vms, _ = columns_of(plan)
    for part, size in parts(work):
        for t in np.flatnonzero(vms[:, part].sum(axis=1) > size * (1 + FEASIBILITY)):
            used = vms[t, part].sum()
            yield error("broken-plan", f"period {t} uses {used:.6g} VMs of {size:.6g}", spec.facts.cluster.span)
    if not relax:
        for t, u in np.argwhere(np.abs(vms - np.round(vms)) > FEASIBILITY):
            yield _broken(spec, work, int(u), f"has {vms[t, u]:.6g} VMs in period {t}, not a whole number")


def _broken(spec: Spec, work: Workload, unit: int, what: str) -> Diagnostic:
    facts = spec.facts
    node = facts.classes[unit] if unit < work.classes else facts.services[unit - work.classes]
    return error("broken-plan", f"the plan breaks the spec: {node.name} {what}", node.span)
