"""The shares of a plan, jobs of a class on one VM type, checked from the facts: where and how long they run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mrdsl.checking.work import ESTIMATES, Work
from mrdsl.core.diagnostics import Diagnostic, error
from mrdsl.core.tolerances import FEASIBILITY
from mrdsl.core.whole_numbers import ceiling
from mrdsl.families.capacity.facts import NO, CapacityFacts
from mrdsl.families.capacity.plan import CapacityPlan
from mrdsl.families.capacity.verify_spot import MOST, Losses, losses_of, pairs_on_fewest_vms, phases
from mrdsl.families.capacity.verify_types import Rows
from mrdsl.spec.columns import column, names_of, words
from mrdsl.spec.comparisons import bounds_in
from mrdsl.spec.spec import Spec

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

APART = 4.0
"""By how much the losses may differ of a job's slots as if nothing were lost, from those of the plan's."""


@dataclass(frozen=True)
class Shares:
    """What a plan says of jobs, VMs and times, by share; slots are those of all jobs of a share.

    ``shown``: their times by each estimate [s], as the plan has them.
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
        """What is lost where VMs go."""
        return losses_of(self.rows, self.spot)

    @cached_property
    def lost(self) -> tuple[Floats, Floats]:
        """The parts of map and reduce work that are lost on the slots of the plan."""
        nothing = np.zeros_like(self.jobs)
        return self.losses.lost(*phases(self.rows, *self.each)) if self.spot.any() else (nothing, nothing)

    def times(self, work: Work, by: float = 1.0, lost: tuple[Floats, Floats] | None = None) -> Floats:
        """Compute the time of one job by an estimate, where ``by`` times as much is lost, half at most."""
        maps, reduces = (
            np.minimum(slots * (1.0 - np.minimum(by * part, MOST)), most)
            for slots, part, most in zip(self.each, lost or self.lost, self.rows.tasks, strict=True)
        )
        return work.time(maps, reduces)

    @cached_property
    def taken(self) -> Floats:
        """The parts of a VM's resources that the slots of each share take, (resources, shares)."""
        maps, reduces = self.rows.parts
        return np.nan_to_num(self.slots[0] * maps) + np.nan_to_num(self.slots[1] * reduces)


def shares_of(facts: CapacityFacts, plan: CapacityPlan) -> Shares:
    """Read the shares of a plan; where one type is bought in one way, each class that has jobs is one."""
    mix = plan.mix
    if mix is not None:
        shown = dict(zip(ESTIMATES, mix.completion, strict=True))
        rows = Rows(facts, mix.of_class, mix.of_vm)
        return Shares(rows, mix.spot, mix.jobs, (mix.map_slots, mix.reduce_slots), mix.vms, shown)
    here = np.flatnonzero(plan.admitted > 0.0)
    times = plan.completion_lower, plan.completion_average, plan.completion_upper
    return Shares(
        Rows(facts, here, np.zeros_like(here)),
        np.zeros(len(here), dtype=bool),
        plan.admitted[here],
        (plan.map_slots[here], plan.reduce_slots[here]),
        plan.vms[here],
        {name: time[here] for name, time in zip(ESTIMATES, times, strict=True)},
    )


def completion(facts: CapacityFacts, shares: Shares) -> Floats:
    """Compute when each class's jobs end by the estimate that it promises, of its slowest share [s]; NaN without.

    On spot VMs those are the plan's own times, which :func:`verify_shares` holds within what losses may come to.
    """
    guarantee = words(facts.classes, "guarantee", "average")[shares.rows.of_class]
    said = np.select([guarantee == name for name in shares.shown], list(shares.shown.values()), shares.shown["upper"])
    times = np.where(shares.spot, said, shares.times(shares.rows.promised))
    found = np.full(len(facts.classes), -np.inf)
    np.maximum.at(found, shares.rows.of_class, times)
    return np.where(np.isneginf(found), np.nan, found)


def verify_shares(spec: Spec, plan: CapacityPlan, shares: Shares, by_runs: Flags) -> Iterator[Diagnostic]:
    """Check that every share runs where its class may, in the range of its estimates, and keeps its deadline.

    ``by_runs``: the classes that promise about runs alone, and not by an estimate.
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
    for kind, slots, tasks, lost in zip(("map", "reduce"), shares.each, rows.tasks, shares.lost, strict=True):
        least = np.minimum(tasks, 1.0)
        yield from told(~(slots >= least * (1 - FEASIBILITY)), f"have less than one {kind} slot each", "slots")
        most = tasks / (1.0 - np.minimum(APART * lost, MOST))
        most = most if plan.wholeness == NO else ceiling(most)
        many = slots * shares.jobs > (most * (1 + FEASIBILITY)) * shares.jobs + FEASIBILITY
        yield from told(many, f"have more {kind} slots than tasks", "slots")
    late = _late(spec, shares, plan.wholeness != NO) & ~by_runs[rows.of_class]
    yield from told(late, "end after their deadline", "deadline")
    scalar = sum(
        np.divide(slots, hosted, out=np.zeros_like(slots), where=hosted > 0.0)
        for slots, hosted in zip(shares.slots, rows.per_vm, strict=True)
    )
    slack = FEASIBILITY * np.maximum(1.0, scalar)
    wrong = ~((shares.vms >= shares.taken.max(axis=0) - slack) & (shares.vms <= scalar + slack))
    yield from told(wrong, "take other VMs than is said")
    for name, shown in shares.shown.items():
        yield from told(_misstated(shares, rows.estimates[name], shown), f"have another {name} time than is said")


def _late(spec: Spec, shares: Shares, whole: bool) -> Flags:
    """Find the shares that end after their deadline, whichever slots their losses are worked out from."""
    rows, promised = shares.rows, shares.rows.promised
    deadline = column(spec.facts.classes, "deadline")[rows.of_class]

    def late(lost: tuple[Floats, Floats]) -> Flags:
        time = np.maximum(shares.times(promised, lost=lost), promised.path)
        return np.asarray(~(time <= deadline * (1 + FEASIBILITY)) | (lost[0] > MOST) | (lost[1] > MOST))

    found = late(shares.lost)
    doubtful = np.flatnonzero(found & shares.spot).tolist()
    limits = _limits(spec)[rows.of_class] if doubtful else deadline
    for place in doubtful:
        for pair in pairs_on_fewest_vms(rows, place, float(limits[place]), whole):
            times = phases(rows, *(np.full(len(found), each) for each in pair))
            if not late(shares.losses.lost(*times))[place]:
                found[place] = False
                break
    return found


def _limits(spec: Spec) -> Floats:
    """Read by when the jobs of each class end: the deadline, or ``completion(c) <= t`` where that is less [s]."""
    limits = column(spec.facts.classes, "deadline").copy()
    places = {name: index for index, name in enumerate(names_of(spec.facts.classes))}
    for bound in (each for constraint in spec.constraints for each in bounds_in(constraint)):
        if bound is not None and (bound.quantity, bound.comparison) == ("completion", "<="):
            limits[places[bound.name]] = min(limits[places[bound.name]], bound.value)
    return limits


def _misstated(shares: Shares, work: Work, shown: Floats) -> Flags:
    """The shares whose time is not what the plan says: on spot, within what losses may come to."""
    real = shares.times(work)
    near = FEASIBILITY * np.maximum(1.0, np.abs(real))
    if not shares.spot.any():
        return np.asarray((np.isnan(real) != np.isnan(shown)) | (np.abs(real - shown) > near))
    low, high = shares.times(work, 1.0 / APART), shares.times(work, APART)
    return np.asarray((np.isnan(real) != np.isnan(shown)) | (shown < low - near) | (shown > high + near))
