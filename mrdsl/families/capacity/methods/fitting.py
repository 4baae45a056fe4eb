"""The step of ``calibrated`` that fits A, B and C of every promised class to simulated times."""

from __future__ import annotations

from dataclasses import replace

from mrdsl.contracts.pipeline import Draft
from mrdsl.families.capacity.methods.calibration import fitted, planned
from mrdsl.families.capacity.methods.search import OutOfTimeError, Search
from mrdsl.families.capacity.methods.trials import Cell, Placement

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
        _refit(search, placement)
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


def _refit(search: Search, placement: Placement) -> None:
    for want in search.wanted:
        points = search.points.get(want.index, [])
        if want.beside and want.index not in search.fits and points and points[-1].time <= want.limit:
            continue
        if points or want.index not in search.fits:  # rejected jobs stay so by what they were rejected by
            search.fits[want.index] = fitted(search.priors[want.index], points, want.limit)


def _near(search: Search, before: Placement, after: Placement) -> Placement:
    """The cells of a plan, those of promised classes within reach of the ones before."""
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
