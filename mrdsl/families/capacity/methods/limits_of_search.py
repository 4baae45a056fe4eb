"""What no search can find: promises that no cluster keeps in simulation, and shares that so few runs cannot show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from mrdsl.core.diagnostics import Diagnostic, error, warning
from mrdsl.core.result import Outcome
from mrdsl.core.units import show
from mrdsl.families.capacity.methods.search import (
    FEWEST_RUNS,
    OutOfTimeError,
    Search,
    Wanted,
    affordable_runs,
    runs_to_show,
)
from mrdsl.families.capacity.methods.trials import Placement, quantile
from mrdsl.families.capacity.promises import users_submit
from mrdsl.simulation.verdicts import judge_share

MOST_RUNS_AT_ONCE = 60
"""So many runs at most look whether a slot for every task keeps a promise."""


def too_few_runs(wanted: Sequence[Wanted], runs: int, confidence: float) -> Iterator[Diagnostic]:
    """Promises for which a full evaluation of ``runs`` runs, 0 for what is affordable, sees too few jobs."""
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


def never_kept(search: Search) -> Iterator[Diagnostic]:
    """Promises that are broken with a slot for every task: no cluster keeps them.

    An error where jobs arrive faster than even so many slots work. Where the search starts at the upper estimate's plan
    and users submit the jobs, it is asked only where nothing is found: it would hardly ever be so.
    """
    known = search.formula == "upper"
    asked = [want for want in search.wanted if not (known and users_submit(search.spec, want.index))]
    yield from _of_those(search, asked)


def broken_when_full(search: Search) -> Iterator[Diagnostic]:
    """The same of all promises, and of those that are open with so many slots: where a search came to nothing."""
    yield from _of_those(search, search.wanted, at_the_end=True)


def _of_those(search: Search, asked: Sequence[Wanted], at_the_end: bool = False) -> Iterator[Diagnostic]:
    """What is said of some classes, as far as there is time."""
    assert search.safe is not None
    placement = search.placement(search.safe)
    with suppress(OutOfTimeError):
        for want in asked:
            if placement[want.index].jobs:
                yield from _broken_when_full(search, placement, want, at_the_end)


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
            none = "no cluster keeps" if outcome is Outcome.BROKEN else "not the largest cluster is shown to keep"
            yield warning(
                "too-early-in-simulation",
                f"{none} the deadline of class {promise.name} for {100.0 * promise.level:.10g} % of its "
                f"jobs: with a slot for every task so many of them take up to {least} in simulation, and "
                f"{show(promise.limit, 'time')} are promised",
                promise.span,
                "promise a later deadline, or a smaller share",
            )
