"""The shares of a plan, jobs of a class on one VM type, checked against the input data: lanes and times.

Service levels of runs, compared with a plan's evidence; no run is repeated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mrdsl.checking.evidence import doubt_about
from mrdsl.checking.exact import shared
from mrdsl.checking.rows import APART, MOST, Losses, Rows, effective, late, losses_of, phases
from mrdsl.checking.scheduled import mean_of
from mrdsl.checking.work import ESTIMATES, Work
from mrdsl.core.diagnostics import Diagnostic, Span, error
from mrdsl.core.rounding import FEASIBILITY, SAME_SUM, ceiling, floor
from mrdsl.families.capacity.facts import NO, CapacityFacts
from mrdsl.families.capacity.plan import CapacityPlan
from mrdsl.families.capacity.plan_parts import Evidence
from mrdsl.simulation.stated import stated_jobs
from mrdsl.spec.blocks import Simulation
from mrdsl.spec.columns import column, names_of, words
from mrdsl.spec.estimates import PAPER, default_guarantee
from mrdsl.spec.schema import PERCENTILES
from mrdsl.spec.spec import Spec, bounds_in

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Shares:
    """Jobs, VMs and times of a plan, by share; slots are those of all jobs of a share.

    ``shown``: their times by each estimate in the plan [s].
    """

    rows: Rows
    spot: Flags
    jobs: Floats
    slots: tuple[Floats, Floats]
    vms: Floats
    shown: Mapping[str, Floats]

    @cached_property
    def each(self) -> tuple[Floats, Floats]:
        """The slots of one job."""
        maps, reduces = (
            np.divide(each, self.jobs, out=np.zeros_like(each), where=self.jobs > 0.0) for each in self.slots
        )
        return maps, reduces

    @cached_property
    def losses(self) -> Losses:
        """Losses from reclaimed VMs."""
        return losses_of(self.rows, self.spot)

    @cached_property
    def lost(self) -> tuple[Floats, Floats]:
        """The parts of map and reduce work that are lost on the slots of the plan."""
        nothing = np.zeros_like(self.jobs)
        return self.losses.lost(*phases(self.rows, *self.each)) if self.spot.any() else (nothing, nothing)

    def times(self, work: Work, by: float = 1.0) -> Floats:
        """Compute the time of one job by an estimate [s], with ``by`` times the loss, at most half of the work."""
        return work.time(*effective(self.rows, self.each, self.lost, by))

    @cached_property
    def taken(self) -> Floats:
        """The parts of a VM's resources that the slots of each share take, (resources, shares)."""
        maps, reduces = self.rows.parts
        return np.nan_to_num(self.slots[0] * maps) + np.nan_to_num(self.slots[1] * reduces)


def shares_of(facts: CapacityFacts, plan: CapacityPlan) -> Shares:
    """Read the shares of a plan."""
    mix = plan.mixture
    shown = dict(zip((*ESTIMATES, "mean"), mix.completion, strict=False))
    rows = Rows(facts, mix.of_class, mix.of_vm, None if plan.wholeness == NO else mean_of(stated_jobs))
    return Shares(rows, mix.spot, mix.jobs, (mix.map_slots, mix.reduce_slots), mix.vms, shown)


def completion(facts: CapacityFacts, shares: Shares) -> Floats:
    """Compute the completion of each class by its guaranteed estimate, of its slowest share [s]; NaN without one.

    On spot VMs it is the plan's time, which :func:`verify_shares` checks against the range of possible losses.
    """
    default = default_guarantee(facts, shares.rows.simulated is not None)
    guarantee = words(facts.classes, "guarantee", default)[shares.rows.of_class]
    said = np.select([guarantee == name for name in shares.shown], list(shares.shown.values()), shares.shown["upper"])
    times = np.where(shares.spot, said, shares.times(shares.rows.promised))
    found = np.full(len(facts.classes), -np.inf)
    np.maximum.at(found, shares.rows.of_class, times)
    return np.where(np.isneginf(found), np.nan, found)


def verify_shares(spec: Spec, plan: CapacityPlan, shares: Shares, by_runs: Flags) -> Iterator[Diagnostic]:
    """Check that every share runs on allowed types, in the range of its estimates, and meets its deadline.

    ``by_runs``: the classes with service levels of runs only, without an estimate.
    """
    facts, rows = spec.facts, shares.rows

    def told(flags: Flags, message: str, item: str = "") -> Iterator[Diagnostic]:
        for place in np.flatnonzero(flags).tolist():
            node = facts.classes[int(rows.of_class[place])]
            on = f" on {facts.vms[int(rows.of_vm[place])].name}" if plan.mix is not None else ""
            span = node.span_of(item) if item else node.span
            yield error("broken-plan", f"jobs of class {node.name}{on} {message}", span)

    sold = np.array([vm.spot is not None for vm in facts.vms])[rows.of_vm]
    yield from told(~rows.allowed | (shares.spot & ~sold), "cannot run there")
    yield from told(~(shares.jobs > 0.0), "are none")
    fewest = np.nan_to_num(rows.jobs.of_stages("fewest")) if rows.jobs.stages else np.zeros_like(rows.step)
    few = ~(shares.each[0] >= fewest * (1 - FEASIBILITY))
    yield from told(few, "have fewer slots than a task or a barrier stage of theirs takes at once", "stages")
    steps = rows.step, np.ones_like(rows.step)
    columns = zip(("map", "reduce"), shares.each, rows.tasks, shares.lost, steps, strict=True)
    for kind, slots, tasks, lost, step in columns:
        least = np.minimum(tasks, 1.0)
        yield from told(~(slots >= least * (1 - FEASIBILITY)), f"have less than one {kind} slot each", "slots")
        most = tasks / (1.0 - np.minimum(APART * lost, MOST))
        most = most if plan.wholeness == NO else step * ceiling(most / step)
        many = slots * shares.jobs > (most * (1 + FEASIBILITY)) * shares.jobs + FEASIBILITY
        yield from told(many, f"have more {kind} slots than tasks", "slots")
    ends = column(facts.classes, "deadline")[rows.of_class], _limits(spec)[rows.of_class]
    too_late = late(rows, shares.losses, shares.each, ends, plan.wholeness != NO) & ~by_runs[rows.of_class]
    yield from told(too_late, "end after their deadline", "deadline")
    scalar = sum(
        np.divide(slots, hosted, out=np.zeros_like(slots), where=hosted > 0.0)
        for slots, hosted in zip(shares.slots, rows.per_vm, strict=True)
    )
    slack = FEASIBILITY * np.maximum(1.0, scalar)
    wrong = ~((shares.vms >= shares.taken.max(axis=0) - slack) & (shares.vms <= scalar + slack))
    yield from told(wrong, "take a different number of VMs")
    for name in sorted(rows.estimates.keys() - shares.shown.keys()) if len(rows.of_class) else ():
        yield error("broken-plan", f"the plan lacks the {name} time", spec.span)
    for name, shown in shares.shown.items():
        yield from told(_misstated(shares, rows.estimates[name], shown), f"have a different {name} time")


def _limits(spec: Spec) -> Floats:
    """Read the time limit of each class: the deadline, or ``completion(c) <= t`` if that is less [s]."""
    limits = column(spec.facts.classes, "deadline").copy()
    places = {name: index for index, name in enumerate(names_of(spec.facts.classes))}
    for bound in (each for constraint in spec.constraints for each in bounds_in(constraint)):
        if bound is not None and (bound.quantity, bound.comparison) == ("completion", "<="):
            limits[places[bound.name]] = min(limits[places[bound.name]], bound.value)
    return limits


def _misstated(shares: Shares, work: Work, shown: Floats) -> Flags:
    """Return the shares whose time differs from the plan's; on spot, by more than losses can explain."""
    real = shares.times(work)
    near = FEASIBILITY * np.maximum(1.0, np.abs(real))
    if not shares.spot.any():
        return np.asarray((np.isnan(real) != np.isnan(shown)) | (np.abs(real - shown) > near))
    low, high = shares.times(work, 1.0 / APART), shares.times(work, APART)
    return np.asarray((np.isnan(real) != np.isnan(shown)) | (shown < low - near) | (shown > high + near))


LENT = 2.0
"""The fewest slots of a job on a shared cluster for which Proposition 2.5 bounds its phases."""


@dataclass(frozen=True)
class Promised:
    """Of the jobs of class number ``index`` the share ``level`` ends within ``limit`` seconds."""

    index: int
    name: str
    level: float
    limit: float
    span: Span | None


def verify_promises(spec: Spec, plan: CapacityPlan, shares: Shares) -> Iterator[Diagnostic]:
    """Find service levels of runs for which a plan has no evidence, or too little.

    A deadline that the upper estimate meets on the plan's slots needs none if that estimate is a bound.
    """
    for promise in promised(spec):
        found = evidence_of(plan, promise)
        if plan.admitted[promise.index] <= 0.0 or (found is None and _by_estimate(spec, shares, promise)):
            continue
        if found is None:
            message = f"the plan has no simulation result for class {promise.name}, which has a constraint on runs"
        elif doubt := doubt_about(found):
            message = f"the simulation result in the plan for class {promise.name} {doubt}"
        elif found.low >= promise.level:
            continue
        else:
            message = (
                f"at least {100.0 * found.low:.4g} % of the jobs of class {promise.name} were shown to end in time, "
                f"but the spec requires {100.0 * promise.level:.4g} %"
            )
        yield error("broken-plan", message, promise.span)


def promised(spec: Spec) -> tuple[Promised, ...]:
    """Read the service levels of a spec: ``guarantee = p95`` of the deadline, ``on_time(c) >= share``."""
    classes = spec.facts.classes
    guarantee = words(classes, "guarantee")
    percents = np.flatnonzero(np.isin(guarantee, list(PERCENTILES))).tolist()
    if not percents and not spec.constraints:
        return ()
    places = {name: index for index, name in enumerate(names_of(classes))}
    bounds = [each for constraint in spec.constraints for each in bounds_in(constraint) if each is not None]
    found = []
    for index in percents:
        node = classes[index]
        wanted = ("completion", node.name, "<=")
        limits = [each.value for each in bounds if (each.quantity, each.name, each.comparison) == wanted]
        level = PERCENTILES[str(node.guarantee)] / 100.0
        found.append(Promised(index, node.name, level, min([node.deadline, *limits]), node.span_of("guarantee")))
    for each in bounds:
        if each.quantity == "on_time" and each.comparison == ">=":
            index = places[each.name]
            found.append(Promised(index, each.name, each.value, classes[index].deadline, each.span))
    return tuple(found)


def about_runs_alone(spec: Spec) -> NDArray[np.bool_]:
    """Find the classes with service levels of runs and without a guaranteed estimate."""
    found = promised(spec)
    flags = np.zeros(len(spec.facts.classes), dtype=bool)
    if found:
        guarantee = words(spec.facts.classes, "guarantee")
        bounds = [each for constraint in spec.constraints for each in bounds_in(constraint) if each is not None]
        limited = {each.name for each in bounds if (each.quantity, each.comparison) == ("completion", "<=")}
        for each in found:
            unsaid = guarantee[each.index] == "" and each.name not in limited
            flags[each.index] = unsaid or guarantee[each.index] in PERCENTILES
    return flags


def evidence_of(plan: CapacityPlan, promise: Promised) -> Evidence | None:
    """Find the plan's evidence on a service level."""
    if plan.calibration is None:
        return None
    wanted = promise.name, promise.level, promise.limit
    return next((e for e in plan.calibration.promises if (e.name, e.level, e.limit) == wanted), None)


def share_kept(spec: Spec, plan: CapacityPlan, shares: Shares, name: str) -> float:
    """Compute the share of a class's jobs that end on time according to the evidence; NaN if none is admitted."""
    mine = [promise for promise in promised(spec) if promise.name == name]
    if not mine or plan.admitted[mine[0].index] <= 0.0:
        return float("nan")
    if all(_by_estimate(spec, shares, promise) for promise in mine):
        return 1.0
    shown = [found.low for promise in mine if (found := evidence_of(plan, promise)) is not None]
    return max(shown, default=0.0)


def shown_limits(spec: Spec, plan: CapacityPlan) -> Iterator[tuple[int, float]]:
    """List classes and the limits [s] within which the plan's evidence shows the percentile that they guarantee."""
    for promise in promised(spec):
        if spec.facts.classes[promise.index].guarantee in PERCENTILES:
            shown = evidence_of(plan, promise)
            if shown is not None and shown.low >= promise.level:
                yield promise.index, promise.limit


def _by_estimate(spec: Spec, shares: Shares, promise: Promised) -> bool:
    """Return True if the upper estimate meets a service level and is a bound.

    No more jobs are then concurrent than it assumes, which holds if each user submits one job after another. No
    disturbance occurs that it leaves out.
    """
    node, mine = spec.facts.classes[promise.index], shares.rows.of_class == promise.index
    upper = shares.times(shares.rows.estimates["upper"])[mine]
    if not bool((upper <= promise.limit * (1.0 + FEASIBILITY)).all()) or bool(shares.spot[mine].any()):
        return False
    if node.arrivals is not None or node.submissions is not None or _disturbed(spec.facts.simulation):
        return False
    several = len(node.stages) > 1
    for slots in shares.slots:
        jobs = shares.jobs[mine]
        part, fewest = slots[mine] / jobs, floor(ceiling(slots[mine]) / jobs)  # whole slots, shared as a scheduler does
        own = spec.facts.estimates != PAPER and not bool(shared(spec.facts.classes)[promise.index])
        lent = (part >= LENT * (1.0 - SAME_SUM)) & (fewest >= part * (1.0 - SAME_SUM))
        whole = fewest >= part * (1.0 - SAME_SUM)
        bounded = (jobs <= 1.0) | (slots[mine] == 0.0) | (lent & (not several)) | (own & whole)
        if not bool(bounded.all()):
            return False
    return True


def _disturbed(rules: Simulation | None) -> bool:
    """Return True if tasks may take longer, run twice or wait for those of other classes."""
    if rules is None:
        return False
    return rules.work_conserving == "yes" or any(
        (rules.stragglers, rules.task_failures, rules.speculation, rules.machine_failures)
    )
