"""Verification of a joint plan from the input data alone, without the code that builds plans.

It recomputes demand, times, slots per VM and parts of the cluster.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from math import ceil, floor

import numpy as np
from numpy.typing import NDArray

from mrdsl.checking.exact import Exact
from mrdsl.checking.rows import Rows
from mrdsl.checking.scheduled import mean_of
from mrdsl.checking.work import fewest_vms
from mrdsl.core.diagnostics import Diagnostic, error
from mrdsl.core.rounding import FEASIBILITY, ceiling
from mrdsl.families.joint.facts import NO, SLOTS, JointFacts
from mrdsl.families.joint.plan import JointPlan
from mrdsl.families.joint.verify_fleet import (
    MOST_TURNS,
    misfit,
    most_vms,
    operation,
    room_of_types,
    verify_fleet,
    vms_by_type,
    with_types,
    worst_response,
)
from mrdsl.formulas.workloads import typical_demand
from mrdsl.simulation.sampling import stream
from mrdsl.simulation.stated import stated_jobs
from mrdsl.spec.columns import column, names_of
from mrdsl.spec.spec import Spec

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Facts:
    """A joint spec, whose slots are ``whole`` or not; units are its classes, then its services."""

    spec: Spec
    whole: bool

    @property
    def facts(self) -> JointFacts:
        facts: JointFacts = self.spec.facts
        return facts

    @property
    def classes(self) -> int:
        return len(self.facts.classes)

    @cached_property
    def rows(self) -> Rows:
        """The classes on the first VM type, the only one of a cluster of one kind."""
        first = np.zeros(self.classes, dtype=np.int64)
        return Rows(self.facts, np.arange(self.classes), first, mean_of(stated_jobs) if self.whole else None)

    @property
    def hosted(self) -> tuple[Floats, Floats]:
        """Map and reduce slots per VM; those of map tasks if reduce slots are left out."""
        maps, reduces = self.rows.per_vm
        return maps, np.where(reduces > 0.0, reduces, maps)

    @cached_property
    def demand(self) -> tuple[Floats, Floats]:
        """The least and the expected demand, (periods, units)."""
        facts = self.facts
        low, high = (
            np.concatenate([column(facts.classes, f"jobs.{end}"), column(facts.services, f"rate.{end}")])[None, :]
            for end in ("low", "high")
        )
        demand = facts.demand
        if demand is None:
            return low, high
        part = np.where(high > 0.0, low / np.where(high > 0.0, high, 1.0), 1.0)
        part = np.where(np.isnan(part), 1.0, part) if demand.floor is None else np.full_like(part, demand.floor)
        shifts = np.concatenate([column(facts.classes, "shift"), column(facts.services, "shift")])
        if demand.from_ is not None:
            table = _table(self.spec)
            steps = [int(np.rint(shift / facts.cluster.period)) for shift in shifts.tolist()]
            expected = np.stack([np.roll(table[:, unit], -step) for unit, step in enumerate(steps)], axis=1)
        elif demand.day == "bimodal":
            drawn = stream(self.spec.seed or 0, "bimodal day")
            units = [f"class {each.name}" for each in facts.classes]
            units += [f"service {each.name}" for each in facts.services]
            expected = high * typical_demand(drawn, units, shifts, demand.periods, facts.cluster.period, demand.noise)
        else:
            expected = np.repeat(high, demand.periods, axis=0)
        return expected * part, expected

    @cached_property
    def turns(self) -> Floats:
        """The jobs that one place of each class takes in a period."""
        cluster, deadlines = self.facts.cluster, column(self.facts.classes, "deadline")
        if cluster.concurrency != "whole" and cluster.reuse != "floor":
            return cluster.period / deadlines
        known = {each: _turns_of(cluster.period, each) for each in set(deadlines.tolist())}
        return np.array([known[each] for each in deadlines.tolist()])

    @property
    def penalties(self) -> Floats:
        """Money for each job that is turned away, and for each request per second over a period."""
        facts = self.facts
        per_rate = facts.cluster.period * column(facts.services, "penalty")
        return np.concatenate([column(facts.classes, "penalty"), per_rate])

    @cached_property
    def parts(self) -> tuple[tuple[slice, float], ...]:
        """The units that share VMs, and how many: all, or classes and services apart, split by their daily peaks."""
        cluster, units = self.facts.cluster, self.classes + len(self.facts.services)
        if cluster.size is None:
            return ()
        if cluster.sharing == "shared" or self.classes in (0, units):
            return ((slice(0, units), float(cluster.size)),)
        first, second = (float(part.sum(axis=1).max()) for part in self._needs())
        share = first / (first + second) if first + second > 0.0 else 0.5
        held = float(np.floor(cluster.size * share + 0.5))
        return (slice(0, self.classes), held), (slice(self.classes, units), cluster.size - held)

    def _needs(self) -> tuple[Floats, Floats]:
        """Return the VMs for all expected demand, of classes and of services, (periods, classes or services).

        The number is 0 for those whose constraints no VMs meet: all of it is rejected.
        """
        high, services = self.demand[1], self.facts.services
        whole = self.facts.cluster.concurrency == "whole"
        spare = column(services, "response") - column(services, "delay")
        for number, service in enumerate(services):
            spare[number] = self.response_limit(service.name, service.response) - service.delay
        sojourn = np.divide(1.0, spare, out=np.full_like(spare, np.inf), where=spare > 0.0)
        per_vm = column(services, "service_rate") - sojourn
        rates = np.where(per_vm > 0.0, high[:, self.classes :] / np.where(per_vm > 0.0, per_vm, 1.0), 0.0)
        jobs, deadlines = high[:, : self.classes], column(self.facts.classes, "deadline")
        vms = self._vms_for(jobs / self.turns, deadlines, whole)
        for count in self._other_turns(jobs) if self.any_turns else ():
            more = np.where(count > self.turns * (1 + FEASIBILITY), self.facts.cluster.period / count, 0.0)
            vms = np.minimum(vms, self._vms_for(jobs / count, more, whole))
        vms = np.where(np.isfinite(vms), vms, 0.0)
        return (ceiling(vms), ceiling(rates)) if whole else (vms, rates)

    @property
    def any_turns(self) -> bool:
        """True if a place may take more jobs in a period than those that use all time up to their deadline."""
        cluster = self.facts.cluster
        return cluster.concurrency == "whole" and cluster.reuse != "paper"

    def _other_turns(self, jobs: Floats) -> list[float]:
        """List the turns in a period that may be of use: no more than jobs."""
        longest = column(self.facts.classes, "deadline").max(initial=0.0) / self.facts.cluster.period
        parts = [1.0 / count for count in range(min(ceil(longest), MOST_TURNS), 1, -1)]
        return [*parts, *map(float, range(1, min(ceil(jobs.max(initial=0.0)), MOST_TURNS) + 1))]

    def _vms_for(self, places: Floats, deadlines: Floats, whole: bool) -> Floats:
        each = np.array([self._vms_of_job(i, deadlines[i]) for i in range(self.classes)])
        at_once = ceiling(places) if whole else places
        return np.where(at_once > 0.0, at_once * np.where(at_once > 0.0, each, 0.0), 0.0)

    def response_limit(self, name: str, limit: float) -> float:
        """Read the tightest limit on a service's response: ``response(s) <= t``, or ``limit`` [s]."""
        from mrdsl.spec.spec import tightest

        found = tightest(self.spec).get(("response", name))
        return limit if found is None else min(limit, found.value)

    def _vms_of_job(self, index: int, deadline: float) -> float:
        every = self.rows.promised
        left = float(deadline - every.rest[index])
        work = float(every.maps[index]), float(every.reduces[index])
        most = float(self.rows.tasks[0][index]), float(self.rows.tasks[1][index])
        hosted = float(self.hosted[0][index]), float(self.hosted[1][index])
        if isinstance(every, Exact) and every.rows[index]:
            pairs = every.pairs(index, float(deadline), most)
            return float((pairs[0] / hosted[0] + pairs[1] / hosted[1]).min(initial=np.inf))
        maps, reduces = next(fewest_vms(work, left, most, hosted, self.whole), (np.inf, np.inf))
        return maps / hosted[0] + reduces / hosted[1]


def _turns_of(period: float, deadline: float) -> float:
    """Return the jobs that one place takes in a period, played through."""
    if deadline <= period * (1 + FEASIBILITY):
        starts, now = 0, 0.0
        while now + deadline <= period * (1 + FEASIBILITY) and starts < MOST_TURNS:
            starts += 1
            now = starts * deadline
        return float(starts if starts < MOST_TURNS else floor(period * (1 + FEASIBILITY) / deadline))
    periods = 1
    while periods * period < deadline * (1 - FEASIBILITY) and periods < MOST_TURNS:
        periods += 1
    return 1.0 / (periods if periods < MOST_TURNS else ceil(deadline * (1 - FEASIBILITY) / period))


def _table(spec: Spec) -> Floats:
    """Read the demand table, (periods, units)."""
    from mrdsl.exchange.demand import Wanted, read_demand

    facts: JointFacts = spec.facts
    assert facts.demand is not None
    assert facts.demand.from_ is not None
    wanted = [Wanted("class", node.name, node.span) for node in facts.classes]
    wanted += [Wanted("service", node.name, node.span) for node in facts.services]
    source = facts.demand.from_
    return read_demand(source, wanted, facts.demand.periods, facts.demand.span_of("periods"), source.written)[0]


def verify(spec: Spec, plan: JointPlan, relax: bool = False) -> Iterable[Diagnostic]:
    """Check demand bounds (8), (9), deadlines (3), slots on VMs (4), responses (5), cluster size (7), whole VMs."""
    facts: JointFacts = spec.facts
    named = list(names_of(facts.classes)), list(names_of(facts.services))
    periods = 1 if facts.demand is None else facts.demand.periods
    if (list(plan.class_names), list(plan.service_names)) != named or plan.size != most_vms(facts):
        yield error("broken-plan", "the plan is of other classes, services or machines", facts.span)
        return
    if len(plan.vms) != periods:
        yield error("broken-plan", f"the plan has {len(plan.vms)} periods, not {periods}", facts.span)
        return
    parts = [each.shape == (periods, len(named[0])) for each in vars(plan.classes).values()]
    parts += [each.shape == (periods, len(named[1])) for each in vars(plan.services).values()]
    parts += [len(each) == periods for each in (plan.utilization, plan.operation, plan.penalties)]
    if not all(parts) or len(plan.stages) != len(named[0]):
        yield error("broken-plan", "the parts of the plan differ in length", facts.span)
        return
    yield from _wholeness(spec, plan, relax)
    one_kind = not len(facts.vms)
    spec, plan = with_types(spec, plan)
    facts, known = spec.facts, Facts(spec, plan.whole == SLOTS)
    other = misfit(facts, plan)
    if other:
        yield error("broken-plan", other, facts.span)
        return
    yield from _demand(known, plan)
    yield from _turns(known, plan, relax)
    yield from verify_fleet(spec, plan, relax)
    if (
        one_kind
        and plan.whole != NO
        and (len(plan.per_vm) != 2 or not all(map(np.array_equal, plan.per_vm, known.hosted)))
    ):
        yield error("broken-plan", "the slots that a VM hosts are not those of the spec", facts.cluster.span)
    yield from _cluster(known, plan, relax)
    yield from _claims(known, plan)


def measure(spec: Spec, plan: JointPlan) -> float:
    """Compute the cost of all periods from the plan's admitted demand and VMs."""
    spec, plan = with_types(spec, plan)
    operation, penalties = _costs(Facts(spec, plan.whole == SLOTS), plan)
    return float(operation.sum() + penalties.sum())


def quantity(spec: Spec, plan: JointPlan, name: str, argument: str) -> float:
    """Compute a quantity of a finished plan that ``subject to`` may compare."""
    vms = _units_of(plan)[0].sum(axis=1)
    match name:
        case "cost":
            return measure(spec, plan)
        case "vms":
            return float((vms_by_type(spec.facts, plan, argument) if argument else vms).max())
        case "utilization":
            return float(vms.mean() / plan.size) if plan.size else float("nan")
        case "admitted":
            return float(plan.classes.admitted[:, list(plan.class_names).index(argument)].sum())
        case "rate":
            return float(plan.services.rate[:, list(plan.service_names).index(argument)].mean())
        case "response":
            spec, plan = with_types(spec, plan)
            response = worst_response(spec.facts, plan)
            mine = response[:, list(plan.service_names).index(argument)]
            return float(np.nanmax(mine)) if not np.isnan(mine).all() else float("nan")
    raise KeyError(name)


def _units_of(plan: JointPlan) -> tuple[Floats, Floats]:
    """Return the VMs of every unit, and its jobs or rate, (periods, units)."""
    vms = np.concatenate([plan.classes.vms, plan.services.vms], axis=1)
    return vms, np.concatenate([plan.classes.admitted, plan.services.rate], axis=1)


def _costs(known: Facts, plan: JointPlan) -> tuple[Floats, Floats]:
    """Return the cost of VMs and the penalties of rejected demand in each period."""
    penalties = (known.demand[1] - _units_of(plan)[1]) @ known.penalties
    return operation(known.facts, plan), penalties


def _demand(known: Facts, plan: JointPlan) -> Iterator[Diagnostic]:
    (least, most), (_, served) = known.demand, _units_of(plan)
    scale = FEASIBILITY * np.maximum(1.0, most)
    for t, u in np.argwhere(~(served >= least - scale) | ~(served <= most + scale)):
        low, high = least[t, u], most[t, u]
        yield _broken(known, int(u), f"gets {served[t, u]:.6g} in period {t}, not {low:.6g} to {high:.6g}")


def _wholeness(spec: Spec, plan: JointPlan, relax: bool) -> Iterator[Diagnostic]:
    """Check that the plan's slots are as whole as the spec asks for."""
    facts: JointFacts = spec.facts
    default = NO if facts.cluster.concurrency == "fractional" else SLOTS
    fitting = (NO,) if relax else (default, NO) if facts.whole is None else (facts.whole,)
    if plan.whole not in fitting:
        yield error("broken-plan", f"whole is `{plan.whole}` in the plan, not `{fitting[0]}`", facts.span)


def _turns(known: Facts, plan: JointPlan, relax: bool) -> Iterator[Diagnostic]:
    """Check that the admitted jobs find a place: each place takes a job, and the next one a deadline later.

    With whole concurrent jobs there are whole places, and no job starts so late that it ends in the next period. A job
    that outlasts the period holds its place until a period begins. Unless jobs take all of their deadline, as in the
    paper, the next one starts when a job has ended.
    """
    got = plan.classes
    if known.facts.cluster.concurrency == "whole" and not relax:
        for t, i in np.argwhere(~(np.abs(got.at_once - np.rint(got.at_once)) <= FEASIBILITY)):
            yield _broken(known, int(i), f"runs {got.at_once[t, i]:.6g} jobs at once in period {t}, no whole jobs")
    room = known.turns * got.at_once
    if known.any_turns:  # a place is free again when its job has ended
        room = room_of_types(known.facts, plan, known.turns)
    for t, i in np.argwhere(~(got.admitted <= room * (1 + FEASIBILITY) + FEASIBILITY**2)):
        said = f"admits {got.admitted[t, i]:.6g} jobs in period {t}, for which there are {room[t, i]:.6g} turns"
        yield _broken(known, int(i), said)


def _cluster(known: Facts, plan: JointPlan, relax: bool) -> Iterator[Diagnostic]:
    vms, span = _units_of(plan)[0], known.facts.cluster.span
    if not bool((vms >= -FEASIBILITY).all()):
        yield error("broken-plan", "a number of VMs is negative", span)
    for part, size in known.parts:
        for t in np.flatnonzero(~(vms[:, part].sum(axis=1) <= size * (1 + FEASIBILITY))):
            yield error("broken-plan", f"period {t} uses {vms[t, part].sum():.6g} VMs of {size:.6g}", span)
    if not relax:
        for t, u in np.argwhere(~(np.abs(vms - np.round(vms)) <= FEASIBILITY)):
            yield _broken(known, int(u), f"has {vms[t, u]:.6g} VMs in period {t}, not a whole number")


def _claims(known: Facts, plan: JointPlan) -> Iterator[Diagnostic]:
    """Check the plan's figures: costs, VMs and utilization of periods, responses, rejected demand."""
    operation, penalties = _costs(known, plan)
    vms, split = _units_of(plan)[0].sum(axis=1), known.classes
    lost = np.maximum(known.demand[1] - _units_of(plan)[1], 0.0)
    size = max(1.0, float(operation.sum() + np.abs(penalties).sum()))
    for what, said, real, scale in (
        ("cost of VMs", plan.operation, operation, size),
        ("cost of what is turned away", plan.penalties, penalties, size),
        ("number of VMs", plan.vms, vms, vms),
        ("utilization", plan.utilization, vms / plan.size if plan.size else np.full_like(vms, np.nan), 1.0),
        ("rejected jobs", plan.classes.rejected, lost[:, :split], known.demand[1][:, :split]),
        ("rejected rate", plan.services.rejected_rate, lost[:, split:], known.demand[1][:, split:]),
        ("response", plan.services.response, worst_response(known.facts, plan), 1.0),
    ):
        same = (np.abs(said - real) <= FEASIBILITY * np.maximum(1.0, scale)) | (~np.isfinite(said) & ~np.isfinite(real))
        for place in np.argwhere(~same)[:1]:
            at, period = tuple(place), place[0]
            message = f"the plan claims {said[at]:.6g} as {what} in period {period}, which is {real[at]:.6g}"
            yield error("broken-plan", message, known.facts.cluster.span)


def _broken(known: Facts, unit: int, what: str) -> Diagnostic:
    facts = known.facts
    node = facts.classes[unit] if unit < known.classes else facts.services[unit - known.classes]
    return error("broken-plan", f"the plan breaks the spec: {node.name} {what}", node.span)
