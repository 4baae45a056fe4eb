"""The search around a plan: it runs neighbours with fewer VMs until the runs decide, and uses paid slots.

It runs a neighbour with the seeds of the search, in stages that double the runs. A neighbour is decided once the bounds
of every service level are on one side of it. It is inconclusive if that needs more runs than a full evaluation may
have. These runs are not evidence for the plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from math import ceil, floor, inf

from mrdsl.core.diagnostics import Diagnostic, note
from mrdsl.core.result import Outcome
from mrdsl.families.capacity.methods.calibration import Cell, Placement
from mrdsl.families.capacity.methods.search import POWER, OutOfTimeError, Search, Wanted
from mrdsl.families.capacity.plan import CapacityPlan
from mrdsl.simulation.observed import Verdict
from mrdsl.simulation.verdicts import judge_share, share_bounds, within

DECIDED = 0.99
"""The confidence at which a neighbour is accepted or rejected."""
PART = 2
"""A first look at a neighbour takes a full evaluation's runs over this."""
STRIDE = 0.02
"""So much of a class's VMs the search first takes away, and half as much each time that it was too much."""
SHIFT = 0.08
"""So much of a class's reduce slots is first moved to map slots, and back."""

PlanAt = Callable[[Placement], CapacityPlan | None]


@dataclass
class Settling:
    """A search around placements; ``plan_at`` gives the plan of one, None if P2 has none.

    ``budget`` is the remaining number of runs of classes. ``undecided`` is the inconclusive placement with the fewest
    VMs, with its observations.
    """

    search: Search
    plan_at: PlanAt
    budget: int
    rented: dict[Placement, float] = field(default_factory=dict)
    known: dict[Placement, Outcome] = field(default_factory=dict)
    undecided: tuple[Placement, Verdict] | None = None

    def settled(self, placement: Placement) -> Placement:
        """Return the cheapest accepted placement around this one, or this one if the runs accept none."""
        with suppress(OutOfTimeError):
            if self.vms(placement) == inf:
                return placement
            placement = self.filled(placement)
            found = self._accepted(placement)
            if found is None:
                return placement
            placement = found
            for want in self._present(placement):
                placement = self._fewer(placement, want)
        return placement

    def vms(self, placement: Placement) -> float:
        """VMs that the plan of a placement rents; infinitely many without a plan."""
        if placement not in self.rented:
            plan = self.plan_at(placement)
            self.rented[placement] = inf if plan is None else plan.rented
        return self.rented[placement]

    def after(self, refused: Placement) -> Placement | None:
        """Return the accepted placement with the fewest VMs, other than one that a full evaluation did not show."""
        self.known[refused] = Outcome.BROKEN
        kept = [each for each, outcome in self.known.items() if outcome is Outcome.KEPT]
        return min(kept, key=self.vms, default=None)

    def left_open(self, vms: float) -> Diagnostic | None:
        """Return a note on an inconclusive placement with fewer than ``vms`` VMs; None if there is none."""
        if self.undecided is None or self.vms(self.undecided[0]) >= vms:
            return None
        placement, verdict = self.undecided
        return note(
            "undecided-in-simulation",
            f"runs leave open whether {self.vms(placement):g} VMs keep the promises: of {verdict.jobs:,} jobs "
            f"{100.0 * (verdict.seen or 0.0):.4g} % ended on time, promised are {100.0 * verdict.wanted:.10g} %",
            self.search.spec.span,
            "for more runs, write solve with calibrated { runs = ... }",
        )

    def decide(self, placement: Placement) -> Outcome:
        """Run a placement until every service level is met, one is missed, or no run is left."""
        if placement not in self.known:
            outcomes = set()
            for want in self._present(placement):
                outcomes.add(self._decide(placement, want))
                if Outcome.BROKEN in outcomes:
                    break
            order = (Outcome.BROKEN, Outcome.UNDECIDED, Outcome.KEPT)
            self.known[placement] = next((each for each in order if each in outcomes), Outcome.KEPT)
        return self.known[placement]

    def filled(self, placement: Placement) -> Placement:
        """Give paid but unused slots to classes with service levels, the latest one first."""
        vms = self.vms(placement)
        if vms == inf:
            return placement
        short = {want.index: self._time(placement, want) / want.limit for want in self._present(placement)}
        for want in sorted(self._present(placement), key=lambda each: -short[each.index]):
            for more in _more(placement, want):
                if self.vms(more) <= vms and self._time(more, want) <= self._time(placement, want):
                    placement = more
                    break
        return placement

    def _present(self, placement: Placement) -> list[Wanted]:
        return [want for want in self.search.wanted if placement[want.index].jobs]

    def _time(self, placement: Placement, want: Wanted) -> float:
        return self.search.time_of(placement, want, max(2, self.search.runs // 5))

    def _decide(self, placement: Placement, want: Wanted) -> Outcome:
        search = self.search
        assert search.trials is not None
        if want.beside and not search.estimate_keeps(want, placement[want.index]):
            return Outcome.BROKEN
        runs = max(2, search.runs // PART)
        while True:
            runs = min(runs, self.search.most_runs)
            before = search.trials.made
            times = search.trials.times(placement, want.index, runs)
            self.budget -= search.trials.made - before
            verdicts = [judge_share(times, each.limit, each.level, DECIDED) for each in want.promises]
            if any(each.outcome is Outcome.BROKEN for each in verdicts):
                return Outcome.BROKEN
            if all(each.outcome is Outcome.KEPT for each in verdicts):
                needed = max(self._needed(want, times, runs))
                if needed <= search.most_runs or runs >= search.most_runs:
                    needed = min(max(search.runs, needed), search.most_runs)
                    search.look_runs[want.index, placement[want.index]] = needed
                    return Outcome.KEPT
            if runs >= self.search.most_runs or self.budget <= 0:
                open_ = next((each for each in verdicts if each.outcome is not Outcome.KEPT), verdicts[0])
                self._leave_open(placement, open_)
                return Outcome.UNDECIDED
            runs *= 2

    def _needed(self, want: Wanted, times: object, runs: int) -> Iterator[int]:
        """Yield the runs of a full evaluation that shows each service level nine times in ten, for these times."""
        from scipy.special import ndtri

        errors = float(ndtri(self.search.confidence_each)) + POWER
        for promise in want.promises:
            share, independent = within(times, promise.limit, self.search.confidence_each)  # type: ignore[arg-type]
            low, _ = share_bounds(share, independent, DECIDED)
            over = share - (share - low) / 4.0 - promise.level  # what is accepted is rather worse than it was seen
            variance = max(share * (1.0 - share), promise.level * (1.0 - promise.level) / 10.0)
            enough = variance * (errors / over) ** 2 / independent * runs if over > 0.0 else inf
            yield ceil(min(enough, 2.0 * self.search.most_runs))

    def _leave_open(self, placement: Placement, verdict: Verdict) -> None:
        before = inf if self.undecided is None else self.vms(self.undecided[0])
        if self.vms(placement) < before:
            self.undecided = placement, verdict

    def _accepted(self, placement: Placement) -> Placement | None:
        """Return the placement if the runs accept it, otherwise one with more VMs."""
        step = 1.0
        while self.decide(placement) is not Outcome.KEPT:
            grown = placement
            for want in self._present(placement):
                if (want.index, placement[want.index]) not in self.search.look_runs:
                    grown = self._with_more(grown, want, step)
            if grown == placement or self.budget <= 0:
                return None
            placement = self.filled(grown)
            step *= 2.0
        return placement

    def _with_more(self, placement: Placement, want: Wanted, vms: float) -> Placement:
        cell = placement[want.index]
        factor = 1.0 + vms / cell.vms(want.per_vm)
        reduces = ceil(cell.reduce * factor) if cell.reduce else 0
        return _with(placement, want, want.within(Cell(cell.jobs, ceil(cell.map * factor), reduces)))

    def _fewer(self, placement: Placement, want: Wanted) -> Placement:
        """Remove VMs while the runs accept the rest."""
        step = max(1, round(STRIDE * placement[want.index].vms(want.per_vm)))
        while step and self.budget > 0:
            less = self._best_on_fewer(placement, want, step)
            if less is not None and self.decide(less) is Outcome.KEPT:
                placement = less
                continue
            step //= 2
        return placement

    def _best_on_fewer(self, placement: Placement, want: Wanted, vms: int) -> Placement | None:
        """Return the fastest split of a class's slots on fewer VMs, by hill climbing; None if there is no room."""
        target, cell = self.vms(placement) - vms, placement[want.index]
        own = cell.vms(want.per_vm)
        reduces = round(cell.reduce * max(0.0, own - vms) / own)
        best = self._on(placement, want, reduces, own - vms, target)
        if not want.share_of_reduces:
            return best
        quickest, shift = inf if best is None else self._time(best, want), max(1, round(SHIFT * reduces))
        while shift:
            moved = False
            for other in (reduces + shift, reduces - shift):
                there = self._on(placement, want, other, own - vms, target)
                if there is not None and self._time(there, want) < quickest:
                    best, quickest, reduces, moved = there, self._time(there, want), other, True
                    break
            shift = shift if moved else shift // 2
        return best

    def _on(self, placement: Placement, want: Wanted, reduces: int, vms: float, target: float) -> Placement | None:
        """Return the placement with ``reduces`` reduce slots, and map slots on the other VMs; None without room."""
        maps, reduce = want.per_vm[0], max(1, want.per_vm[1])
        jobs = placement[want.index].jobs
        if want.share_of_reduces and reduces < jobs:
            return None
        for count in range(
            floor((vms + 1.0 - reduces / reduce) * maps), floor((vms - reduces / reduce) * maps) - 1, -1
        ):
            cell = Cell(jobs, count, reduces)
            if count < jobs or want.within(cell) != cell:
                continue
            there = _with(placement, want, cell)
            if self.vms(there) <= target < inf:
                return there
        return None


def _with(placement: Placement, want: Wanted, cell: Cell) -> Placement:
    return (*placement[: want.index], cell, *placement[want.index + 1 :])


def _more(placement: Placement, want: Wanted) -> Iterator[Placement]:
    """Yield a class with more slots, no more than a VM holds: those first that hold the most."""
    cell = placement[want.index]
    kinds = [(count, 0) for count in range(want.per_vm[0] - 1, 0, -1)]
    kinds += [(0, count) for count in range(want.per_vm[1] - 1, 0, -1) if want.share_of_reduces]
    for maps, reduces in kinds:
        more = want.within(Cell(cell.jobs, cell.map + maps, cell.reduce + reduces))
        if more != cell:
            yield _with(placement, want, more)
