"""Checks of a joint spec beyond its schema, and constraints that no plan can meet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import inf
from typing import TYPE_CHECKING

from mrdsl.contracts.wholeness import means_in_fractions, needs_fractions
from mrdsl.core.diagnostics import (
    Diagnostic,
    Related,
    error,
    has_errors,
    impossible,
    never_admitted,
    note,
    number_of,
    warning,
)
from mrdsl.core.rounding import ROUNDING, ceiling
from mrdsl.core.units import show
from mrdsl.families.joint.facts import NO, SLOTS, as_planned, wholeness_of
from mrdsl.families.joint.fleet_checks import check_fleet, check_one_kind, unreachable_in_fleet, unused_in_fleet
from mrdsl.formulas.profiles import check_descriptions, check_few_tasks, check_profiles
from mrdsl.formulas.stage_checks import (
    check_few_tasks_of_stages,
    check_kinds_of_slots,
    check_several_slots,
    check_stages,
    check_upper_of_stages,
    path_of,
    too_late,
)
from mrdsl.simulation.recordings import check_recordings
from mrdsl.spec.columns import column, names_of, words
from mrdsl.spec.estimates import PAPER
from mrdsl.spec.rented import check_demand

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from mrdsl.families.joint.facts import Cluster, JobClass, JointFacts, Service
    from mrdsl.families.joint.workload import Floats, Workload
from mrdsl.spec.spec import Spec

MOST_TOLD = 24
MOST_PERIODS = 110_000
"""Periods of a plan: a year of five minutes has 105,120."""
MOST_CELLS = 2_000_000
"""Periods times classes and services of a plan."""
MOST_WARNED = 5


def check(spec: Spec) -> Iterator[Diagnostic]:
    """Yield mistakes and warnings, those of the demand table included."""
    facts: JointFacts = spec.facts
    diagnostics = [
        *_anything(spec),
        *check_descriptions(facts.classes),
        *check_profiles(facts.classes),
        *check_stages(facts.classes),
        *check_several_slots(facts.classes, False),
        *check_kinds_of_slots(facts.classes),
        *check_recordings(facts.classes),
        *_names(facts),
        *_demand_given(spec),
        *_shifts(facts),
        *_whole_slots(facts),
        *_too_many(facts),
        *(check_fleet(spec) if len(facts.vms) else check_one_kind(facts)),
    ]
    if not has_errors(diagnostics):
        diagnostics += _table(spec)
    yield from diagnostics
    if not has_errors(diagnostics):
        paper = facts.estimates == PAPER
        if paper:
            yield from check_few_tasks(facts.classes)
            yield from check_few_tasks_of_stages(facts.classes)
        yield from check_upper_of_stages(facts.classes, paper)
        yield from _concurrency(facts.cluster)
        yield from _reuse(facts)
        if len(facts.vms):
            yield from unused_in_fleet(spec)
            return
        yield from _idle_in_goal(spec)
        if not has_errors(_unreachable(spec)):
            yield from _worthless(spec)


def find_impossible(spec: Spec) -> Iterable[Diagnostic]:
    """Yield deadlines, response bounds and least demands that this cluster cannot meet, even with fractional VMs.

    The search for whole VMs reports least demands that only whole VMs cannot meet. A class or service that misses its
    bound but has no least demand is rejected, with a warning.
    """
    from mrdsl.families.joint.workload import workload

    if len(spec.facts.vms):
        return unreachable_in_fleet(spec)
    unreachable = _unreachable(spec)
    if has_errors(unreachable):
        return unreachable
    work = workload(as_planned(spec, NO))
    whole = work if spec.facts.estimates == PAPER else workload(spec)
    fractional = all(list(too_small(spec, each, relax=True)) for each in (work, whole))
    return [*unreachable, *(too_small(spec, whole, relax=False) if fractional else ())]


def _anything(spec: Spec) -> Iterator[Diagnostic]:
    if not spec.facts.classes and not spec.facts.services:
        yield error(
            "missing-block",
            "there is neither a class nor a service to plan for",
            spec.span,
            "add `class NAME { ... }` or `service NAME { ... }`",
        )


def _names(facts: JointFacts) -> Iterator[Diagnostic]:
    services = list(names_of(facts.services))
    both = set(services).intersection(names_of(facts.classes)) if services else set()
    for name in sorted(both):
        service = facts.services[services.index(name)]
        one = facts.classes[list(names_of(facts.classes)).index(name)]
        yield error(
            "duplicate",
            f"`{name}` is a service and a class",
            service.span,
            "give each its own name: plans and demand tables identify them by name",
            Related(f"class {name} is here", one.span),
        )


def _demand_given(spec: Spec) -> Iterator[Diagnostic]:
    facts: JointFacts = spec.facts
    from_table = facts.demand is not None and facts.demand.from_ is not None
    for word, item, example, nodes in (
        ("class", "jobs", "jobs = 8 .. 10", facts.classes),
        ("service", "rate", "rate = 800/s .. 1000/s", facts.services),
    ):
        high, low = column(nodes, f"{item}.high"), column(nodes, f"{item}.low")
        for index in _indices((high != high) & (not from_table)):
            node = nodes[index]
            yield error(
                "missing-item",
                f"{word} {node.name} has no `{item}`",
                node.span,
                f"add `{item} = ...`, such as `{example}`, or a demand table with a column `{node.name}`",
            )
        for index in _indices(low > high):
            node = nodes[index]
            yield error(
                "reversed-range",
                f"`{item}` of {word} {node.name} is {low[index]:g} .. {high[index]:g}",
                node.span_of(item),
                "write the lower end first",
            )
    if facts.demand is not None:
        yield from check_demand(facts.demand, spec.seed)


def _shifts(facts: JointFacts) -> Iterator[Diagnostic]:
    """Yield a shift moves a typical day at will, and a table by whole rows."""
    period = facts.cluster.period
    for nodes in (facts.classes, facts.services):
        shift = column(nodes, "shift")
        moved = shift / period
        if facts.demand is None or (facts.demand.from_ is None and facts.demand.day == "flat"):
            for index in _indices(shift != 0):
                yield warning(
                    "unused",
                    f"the shift of {nodes[index].name} has no effect: its demand is the same in every period",
                    nodes[index].span_of("shift"),
                    "leave it out, or add a demand table",
                )
        elif facts.demand.from_ is not None:
            for index in _indices(abs(moved - moved.round()) > ROUNDING):
                near = show(float(moved[index].round()) * period, "time")
                yield error(
                    "uneven-shift",
                    f"the shift of {nodes[index].name} is {show(float(shift[index]), 'time')}, "
                    f"but the table has one row per {show(period, 'time')}",
                    nodes[index].span_of("shift"),
                    f"write a multiple of the period, such as {near}",
                )


def _table(spec: Spec) -> Iterable[Diagnostic]:
    facts: JointFacts = spec.facts
    if facts.demand is None or facts.demand.from_ is None:
        return ()
    from mrdsl.families.joint.workload import read_table

    return read_table(spec)[1]


def _too_many(facts: JointFacts) -> Iterator[Diagnostic]:
    """Yield an error if the plan would be too large: time and memory grow with periods times classes and services."""
    demand = facts.demand
    if demand is None:
        return
    units = len(facts.classes) + len(facts.services)
    most = max(1, min(MOST_PERIODS, MOST_CELLS // max(1, units)))
    if demand.periods > most:
        yield error(
            "too-many-periods",
            f"{number_of(demand.periods, 'period')} of {units} classes and services are more than "
            f"the {most} that a plan may have",
            demand.span_of("periods"),
            f"plan {number_of(most, 'period')} or fewer at a time: they are independent",
        )


def _whole_slots(facts: JointFacts) -> Iterator[Diagnostic]:
    if facts.whole == SLOTS and facts.cluster.concurrency == "fractional":
        yield needs_fractions(facts, "`concurrency = fractional` has fractions of jobs at once")
    if wholeness_of(facts) == NO:
        yield from means_in_fractions(facts, "its slots are fractions")


def _concurrency(cluster: Cluster) -> Iterator[Diagnostic]:
    if cluster.concurrency == "fractional":
        yield warning(
            "fractional-concurrency",
            "with `concurrency = fractional`, as in the paper, a class has slots for a share of its jobs at "
            "once, which may be less than one job: jobs may miss their deadlines",
            cluster.span_of("concurrency"),
            "leave it out: whole jobs at once keep every deadline",
        )
    elif cluster.reuse in ("exact", "floor"):
        yield warning(
            "unused",
            "`reuse` has no effect without `concurrency = fractional`, because whole jobs run in whole rounds",
            cluster.span_of("reuse"),
            "leave it out",
        )


def _reuse(facts: JointFacts) -> Iterator[Diagnostic]:
    cluster = facts.cluster
    for index in _indices(column(facts.classes, "deadline") > cluster.period * (1 + ROUNDING)):
        node = facts.classes[index]
        held = node.deadline / cluster.period
        exact = f"each of its jobs holds its VMs for {number_of(held, 'period', '.3g')}, and pays for as many"
        if cluster.concurrency == "whole" or cluster.reuse == "floor":
            exact = f"each of its jobs holds its VMs for {number_of(int(ceiling(held)), 'whole period')}"
        yield note(
            "deadline-beyond-period",
            f"class {node.name} may take {show(node.deadline, 'time')}, longer than a period of "
            f"{show(cluster.period, 'time')}: {exact}",
            node.span_of("deadline"),
            "use a period of at least the deadline to let VMs serve new jobs within it",
        )


def _idle_in_goal(spec: Spec) -> Iterator[Diagnostic]:
    """Yield an error for each service in the objective that may answer no request, and has no response time then."""
    from mrdsl.families.joint.quantities import services_in_goal

    named = services_in_goal(spec)
    if not named:
        return
    import numpy as np

    from mrdsl.families.joint.workload import expected_demand

    low, high = (each[:, len(spec.facts.classes) :] for each in expected_demand(spec))
    idle = np.any((low <= 0.0) & (high > 0.0), axis=0) | np.all(high <= 0.0, axis=0)
    for index in np.flatnonzero(idle).tolist():
        service = spec.facts.services[index]
        if service.name in named:
            yield error(
                "needs-minimum",
                f"`response({service.name})` is in the objective, but the least rate of {service.name} is 0: without "
                "requests, it has no response time",
                None if spec.goal is None else spec.goal.span,
                f"write a least rate above 0 in `rate` or `floor`, or the limit `response({service.name}) <= 1 s` in "
                "`subject to` and another objective",
                Related(f"service {service.name} is here", service.span),
            )


def _worthless(spec: Spec) -> Iterator[Diagnostic]:
    from mrdsl.families.joint.workload import workload

    work = workload(spec)
    facts: JointFacts = spec.facts
    cheap = _indices((work.most_worth < work.vm_cost) & ~work.never)
    for index in cheap[:MOST_WARNED]:
        node: JobClass | Service = (
            facts.classes[index] if index < work.classes else facts.services[index - work.classes]
        )
        least = work.vm_cost * work.vms_per_demand[index]
        penalty = work.penalty[index]
        times = f"{least / penalty:.3g} times its penalty" if penalty else "more than no penalty at all"
        more = len(cheap) - MOST_WARNED
        tail = f" ({more} more alike)" if more > 0 and index == cheap[MOST_WARNED - 1] else ""
        enough = least if index < work.classes else least / facts.cluster.period
        stays = "gets no VM beyond those of its minimum" if work.whole else "stays at its minimum"
        yield warning(
            "penalty-below-cost",
            f"turning {node.name} away costs less than serving it: the VMs for one more cost {times}; it {stays}{tail}",
            node.span_of("penalty"),
            f"it pays to serve from a penalty of {show(enough, 'money', spec.currency)}",
        )


def _unreachable(spec: Spec) -> list[Diagnostic]:
    """List constraints that no VMs meet: warnings if everything may be rejected in all periods."""
    from mrdsl.families.joint.workload import expected_demand

    classes = list(names_of(spec.facts.classes))
    free = _indices(expected_demand(spec)[0].max(axis=0) <= 0.0)
    found = []
    for unit, each in (*_deadlines(spec.facts), *_responses(spec)):
        if unit not in free:
            found.append(each)
        elif unit < len(classes):
            found.append(never_admitted(each, "jobs", f"class {classes[unit]}"))
        else:
            found.append(never_admitted(each, "requests", f"service {spec.facts.services[unit - len(classes)].name}"))
    return found


def _deadlines(facts: JointFacts) -> Iterator[tuple[int, Diagnostic]]:
    from mrdsl.formulas.estimates import earliest, estimates_of, guaranteed, kept, slot_limits
    from mrdsl.simulation.simulated_means import time_model

    model, limits = time_model(facts, wholeness_of(facts) == SLOTS), slot_limits(facts.classes)
    work = guaranteed(words(facts.classes, "guarantee", model.default), estimates_of(facts.classes, model=model))
    least = earliest(work, limits.map_most, limits.reduce_most)
    for index in _indices(~kept(work, column(facts.classes, "deadline"), limits)):
        node, earliest_end = facts.classes[index], float(least[index])
        by, how = node.guarantee or model.default, "even with a slot for every task"
        how = how if limits.map_most[index] < inf else "whatever slots it gets"
        times = node.deadline, earliest_end, path_of(node, by)
        hint = f"write deadline = {round(earliest_end * 1.05 + 1):g} s or more"
        yield index, too_late(facts, node, by, times, how, node.span_of("deadline"), hint)


def _responses(spec: Spec) -> Iterator[tuple[int, Diagnostic]]:
    from mrdsl.families.joint.workload import service_queues

    services, queues = spec.facts.services, service_queues(spec.facts.services, spec.constraints)
    delay, bound = queues.delay, queues.response
    least = delay + 1.0 / queues.service_rate
    for index in _indices(bound <= least):
        node = services[index]
        found = impossible(
            "impossible-response",
            f"service {node.name} cannot answer within {bound[index]:g} s on any number of VMs: its "
            f"network delay of {delay[index]:g} s and {least[index] - delay[index]:g} s of service are "
            f"{least[index]:g} s already",
            node.span_of("response"),
            f"write response = {1.05 * least[index]:.4g} s or more; the nearer to {least[index]:g} s, the "
            "more VMs it takes",
        )
        yield len(spec.facts.classes) + index, found


def too_small(spec: Spec, work: Workload, relax: bool) -> Iterator[Diagnostic]:
    """Yield an error for each period whose least demand exceeds the cluster, or its part, with the missing VMs.

    A plan with fractional VMs may exist without one with whole VMs: the message adds its need.
    """
    from mrdsl.families.joint.workload import parts, workload

    for part, size in parts(work):
        least = (work.need_low if relax else work.whole_vms(work.low))[:, part].sum(axis=1)
        short = _indices(least > size + ROUNDING * size)
        if short:
            relaxed = (work if relax else workload(as_planned(spec, NO))).need_low[:, part].sum(axis=1)
            yield _shortage(spec, work, part, size, least, relaxed, short)


def _shortage(
    spec: Spec, work: Workload, part: slice, size: float, least: Floats, relaxed: Floats, short: list[int]
) -> Diagnostic:
    cluster = spec.facts.cluster
    worst = max(short, key=lambda t: least[t])
    whole = part == slice(0, len(work.worth))
    name = "the cluster" if whole else f"the part for the {'classes' if part.start == 0 else 'services'}"
    said = f"the least demand does not fit: {name} has {number_of(size, 'VM', 'g')} and needs {least[worst]:g}"
    said += f" ({relaxed[worst]:.3g} with `--relax`)" if relaxed[worst] < least[worst] * (1.0 - ROUNDING) else ""
    if work.periods > 1:
        told = ", ".join(f"{t} ({least[t] - size:g})" for t in short[:MOST_TOLD])
        said += f" in period {worst}; VMs are missing in periods (how many) {told}"
        said += ", ..." if len(short) > MOST_TOLD else ""
    missing = number_of(float(least[worst] - size), "VM", "g")
    enough, enough_relaxed = ceiling(least[worst]), ceiling(relaxed.max())
    also = f" ({enough_relaxed:g} with `--relax`)" if enough_relaxed < enough else ""
    hint = f"take size = {enough:g} vms or more{also}, or lower what must be served by {missing}"
    if not whole:
        hint = f"take a larger cluster, lower what must be served by {missing}, or share the cluster"
    return impossible("too-small-cluster", said, cluster.span_of("size"), hint)


def _indices(flags: NDArray[np.bool_]) -> list[int]:
    return [int(index) for index in flags.nonzero()[0]]
