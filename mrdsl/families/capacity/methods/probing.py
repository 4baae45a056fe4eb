"""Search for the fewest VMs of one class that meet its service levels in simulation, around the slots of a fit.

The search describes slots of two kinds by all their VMs and by the share of VMs with map slots. Times fall with the
VMs, and have a minimum somewhere in the share.

The step of ``calibrated`` that fits A, B and C of every class with a service level to simulated times.

Cases without a solution: service levels that no cluster meets in simulation, and shares that need more runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from mrdsl.contracts.pipeline import Draft
from mrdsl.core.diagnostics import Diagnostic, error, warning
from mrdsl.core.result import Outcome
from mrdsl.core.rounding import ROUNDING
from mrdsl.core.units import show
from mrdsl.families.capacity.constraints import users_submit
from mrdsl.families.capacity.methods.calibration import Cell, Placement, Trials, fitted, planned, quantile
from mrdsl.families.capacity.methods.search import (
    FEWEST_RUNS,
    OutOfTimeError,
    Search,
    Wanted,
    affordable_runs,
    runs_to_show,
)
from mrdsl.simulation.verdicts import judge_share

FIRST_SHIFT = 0.08
"""So much of a class's VMs is first moved from one kind of slots to the other."""
BETTER = 0.005
"""Times that differ by less of each other are alike."""
FINE = 0.01
"""VMs are sought to within this part of them, a whole one at least."""
FIRST_STEP = 0.02
"""So far beyond where the deadline is expected to be just kept the search looks first, and twice as far each time."""
MOST_STEP = 0.3
MOST_GROWTH = 1.5
ROUNDED = 0.5
"""Number of VMs within which clusters with whole slots count as equal."""


@dataclass
class Probe:
    """Probing of one class: the placement of the others, the trials, and the runs of one look at a cell."""

    search: Search
    want: Wanted
    placement: Placement
    trials: Trials
    runs: int

    def time(self, cell: Cell) -> float:
        """By when the shares aimed at end on a cell; see :meth:`Search.time_of`."""
        index = self.want.index
        placed = (*self.placement[:index], cell, *self.placement[index + 1 :])
        found = self.search.time_of(placed, self.want, self.runs, self.trials)
        self.search.note(self.want, cell, found)
        return found

    def cell(self, vms: float, share: float) -> Cell:
        """So many VMs, of which a share holds map slots, in whole slots."""
        per_vm, jobs = self.want.per_vm, self.placement[self.want.index].jobs
        maps = round(vms * share * per_vm[0])
        return self.want.within(Cell(jobs, maps, round(vms * per_vm[1] - maps * per_vm[1] / per_vm[0])))

    def balanced(self, cell: Cell, tries: int) -> Cell:
        """Return a cell with as many VMs, split so that jobs end the earliest, in at most ``tries`` tries."""
        if not self.want.share_of_reduces:
            return cell
        vms, best, shift = cell.vms(self.want.per_vm), self.time(cell), FIRST_SHIFT
        tried = {cell}
        while tries > 0 and shift * vms >= 1.0:
            share = cell.map / self.want.per_vm[0] / vms
            others = [self.cell(vms, share + sign * shift) for sign in (1.0, -1.0)]
            others = [each for each in others if each not in tried and each.vms(self.want.per_vm) <= vms + ROUNDED]
            found = [(self.time(other), other) for other in others]
            tried.update(others)
            tries -= len(others)
            good = min(found, key=lambda each: each[0], default=None)
            if good is not None and good[0] < best * (1.0 - BETTER):
                best, cell = good
            else:
                shift /= 2.0
        return cell

    def fewest(self, cell: Cell, tries: int) -> Cell:
        """Return the fewest VMs in the cell's proportion that meet the service levels, by false position.

        If no tried cell meets them, return the full cell, whose jobs cannot use more slots.
        """
        want, vms = self.want, cell.vms(self.want.per_vm)
        share = cell.map / want.per_vm[0] / vms
        most = want.full(cell.jobs).vms(want.per_vm)
        low: tuple[float, float] | None = None
        high: tuple[float, float] | None = None
        kept, looked = None, 0
        while tries > 0:
            time, tries, looked = self.time(cell), tries - 1, looked + 1
            if time <= want.limit:
                high, kept = (vms, time), cell
            else:
                low = (vms, time)
            if low is not None and high is not None and high[0] - low[0] <= max(1.0, FINE * high[0]):
                break
            if vms >= most and kept is None:
                break
            vms = min(most, _next(low, high, want.limit, min(FIRST_STEP * 2.0 ** (looked - 1), MOST_STEP)))
            cell = self.cell(vms, share)
            if kept is not None and (cell == kept or cell.vms(want.per_vm) >= kept.vms(want.per_vm)):
                break
        return kept or want.full(cell.jobs)


def _next(low: tuple[float, float] | None, high: tuple[float, float] | None, limit: float, step: float) -> float:
    """Return the next number of VMs to try: between one too few and one enough, or beyond the known one.

    Times fall like 1/VMs, and less if single tasks take long. Beyond the known number, the result is therefore larger
    by ``step``.
    """
    if low is None or high is None:
        vms, time = low or high or (1.0, limit)
        ratio = min(max(time / limit, 1.0 / MOST_GROWTH), MOST_GROWTH)
        return vms * ratio * (1.0 + step if time > limit else 1.0 - step)
    part = 0.5
    if low[1] < float("inf"):
        part = (low[1] - limit) / max(low[1] - high[1], ROUNDING * limit)
    inner = 1.0 / low[0] + (1.0 / high[0] - 1.0 / low[0]) * min(max(part, 0.2), 0.8)
    return 1.0 / inner


GROWTH = 1.6
"""Slots of a job change by at most this factor from one plan to the next: a fit is local."""


def fit(draft: Draft, rounds: int = 8) -> Draft:
    """Coefficients fitted to simulated times, and P2's plan with them, until it is the plan that was simulated."""
    search: Search | None = draft.state
    if search is None or not search.wanted:
        return draft
    assert search.safe is not None
    placement, runs = search.placement(search.safe), max(2, search.runs // 8)
    tried = set()
    for _ in range(rounds):
        try:
            _measure(search, placement, runs)
        except OutOfTimeError:
            break
        _refit(search)
        plan = planned(search.spec, search.fits, {}, False, draft.limits)
        if plan is None:
            break
        tried.add(placement)
        found = _near(search, placement, search.placement(plan))
        if found in tried:
            break
        placement = found
    return replace(draft, state=(search, placement))


def _measure(search: Search, placement: Placement, runs: int) -> None:
    for want in search.wanted:
        if placement[want.index].jobs:
            search.note(want, placement[want.index], search.time_of(placement, want, runs))


def _refit(search: Search) -> None:
    for want in search.wanted:
        points = search.points.get(want.index, [])
        if want.beside and want.index not in search.fits and points and points[-1].time <= want.limit:
            continue
        if points or want.index not in search.fits:  # rejected jobs stay so by what they were rejected by
            search.fits[want.index] = fitted(search.priors[want.index], points, want.limit)


def _near(search: Search, before: Placement, after: Placement) -> Placement:
    """Return the cells of a plan; those of classes with service levels stay within reach of the previous ones."""
    cells = list(after)
    for want in search.wanted:
        was, now = before[want.index], after[want.index]
        if was.jobs and now.jobs:
            slots = [
                min(max(count, int(old * now.jobs / was.jobs / GROWTH)), int(old * now.jobs / was.jobs * GROWTH) + 1)
                for count, old in ((now.map, was.map), (now.reduce, was.reduce))
            ]
            cells[want.index] = want.within(Cell(now.jobs, slots[0], slots[1]))
    return tuple(cells)


MOST_RUNS_AT_ONCE = 60
"""Most runs that test if a slot for every task meets a constraint."""


def too_few_runs(wanted: Sequence[Wanted], runs: int, confidence: float) -> Iterator[Diagnostic]:
    """Yield service levels that need more jobs than a full evaluation of ``runs`` runs (0: all affordable runs) has."""
    for want in wanted:
        for promise in want.promises:
            needed = runs_to_show(want, promise.level, confidence)
            most = runs or max(FEWEST_RUNS, affordable_runs(want))
            if most < needed:
                see = "runs see" if most > 1 else "run sees"
                yield error(
                    "too-few-runs",
                    f"{most:,} {see} {most * want.jobs:,} jobs of class {promise.name}: even if all of them are in "
                    f"time, that does not show that {100.0 * promise.level:.10g} % are",
                    promise.span,
                    f"write solve with calibrated {{ runs = {needed} }} or more, or promise a smaller share",
                )


Refused = tuple[Wanted, Diagnostic]
"""A class, and a promise of it that no cluster keeps."""


def never_kept(search: Search) -> Iterator[Refused]:
    """Yield service levels that are missed even with a slot for every task: no cluster meets them.

    It is an error if jobs arrive faster than even these slots work. If the search starts at the upper estimate's plan
    and users submit the jobs, this case is rare, so the search checks it only if it finds no plan.
    """
    known = search.formula == "upper"
    asked = [want for want in search.wanted if not (known and users_submit(search.spec, want.index))]
    yield from _of_those(search, asked)


def broken_when_full(search: Search) -> Iterator[Refused]:
    """Yield service levels that are missed or inconclusive with a slot for every task, after a failed search."""
    yield from _of_those(search, search.wanted, at_the_end=True)


def _of_those(search: Search, asked: Sequence[Wanted], at_the_end: bool = False) -> Iterator[Refused]:
    """Yield the refusals of some classes, as far as time allows."""
    assert search.safe is not None
    placement = search.placement(search.safe)
    with suppress(OutOfTimeError):
        for want in asked:
            if placement[want.index].jobs:
                yield from ((want, each) for each in _broken_when_full(search, placement, want, at_the_end))


def _broken_when_full(search: Search, placement: Placement, want: Wanted, at_the_end: bool) -> Iterator[Diagnostic]:
    assert search.trials is not None
    full = want.full(placement[want.index].jobs)
    placed = (*placement[: want.index], full, *placement[want.index + 1 :])
    overload = search.trials.overload(placed, want.index)
    if overload >= 1.0:
        yield error(
            "overloaded-cluster",
            f"the jobs of class {want.name} bring {overload:.3g} times the work that a slot for every task of "
            f"{full.jobs} jobs can do",
            search.spec.facts.classes[want.index].span_of("arrivals"),
            "lower arrivals or burst, or admit more jobs at once: jobs = lo .. hi",
        )
        return
    times = search.trials.times(placed, want.index, min(search.runs, MOST_RUNS_AT_ONCE))
    for promise in want.promises:
        outcome = judge_share(times, promise.limit, promise.level, search.confidence_each).outcome
        if outcome is Outcome.BROKEN or (outcome is Outcome.UNDECIDED and at_the_end):
            least = show(float(f"{quantile(times, promise.level):.4g}"), "time")
            shown = outcome is Outcome.BROKEN
            none = "no cluster can meet" if shown else "the runs do not show that the largest cluster meets"
            yield warning(
                "too-early-in-simulation",
                f"{none} the deadline of class {promise.name}, {show(promise.limit, 'time')}, for "
                f"{100.0 * promise.level:.10g} % of its jobs: in simulation that share takes up to {least} "
                "even with a slot for every task",
                promise.span,
                "write a later deadline, or a smaller share",
            )
