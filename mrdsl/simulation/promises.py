"""Promises of deadlines: the promise of each estimate, the outcome of runs, and the warnings that follow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING

from mrdsl.core.diagnostics import Diagnostic, Span, number_of, warning
from mrdsl.core.result import Outcome
from mrdsl.core.units import show
from mrdsl.simulation.observed import Observed, Verdict
from mrdsl.simulation.verdicts import judge_mean, judge_share, on_time_share, summarize
from mrdsl.spec.schema import PERCENTILES

if TYPE_CHECKING:
    from mrdsl.simulation.engine.scenario import Scenario, Seen

HARDLY_ANY = 0.01
"""The share of jobs that `guarantee = lower` is held to."""


@dataclass(frozen=True)
class Words:
    """Words for observations: ``mean`` and ``share`` are the quantities, ``kind`` the kind of unit."""

    mean: str
    share: str
    seen: str
    kind: str = "time"
    currency: str = ""

    def shown(self, verdict: Verdict) -> tuple[str, str, str, str]:
        """Return the observed mean, its bounds and the required mean, all in one unit."""
        values = (verdict.seen, verdict.low, verdict.high, verdict.wanted)
        rounded = [None if each is None else float(f"{each:.4g}") for each in values]
        known = [each for each in rounded if each is not None and isfinite(each)]
        seen, low, high, wanted = (
            "anything" if each is None else show(each, self.kind, self.currency, known) for each in rounded
        )
        return seen, low, high, wanted


JOBS_TAKE = Words("jobs take", "of the jobs are in time", "job")
IT_TAKES = Words("it takes", "of the runs end in time", "run")


@dataclass(frozen=True)
class Promised:
    """That at least the share ``level`` of jobs takes at most ``limit`` seconds; on average, where it is None."""

    limit: float
    level: float | None = None

    def judged(self, runs: Sequence[Sequence[float]]) -> Verdict:
        """Return the verdict of the times in independent runs, infinite for jobs that were given up."""
        if self.level is None:
            return judge_mean(runs, self.limit)
        return judge_share(runs, self.limit, self.level)


def promised(deadline: float | None, guarantee: str | None) -> Promised | None:
    """Return the promise of a deadline with an estimate, or None without a deadline.

    The average promises a mean time, and so does the upper estimate, which bounds it: of single jobs it bounds those
    whose tasks take no longer, together and each, than the profile; half of all drawn jobs have more work. The lower
    estimate leaves it possible that a job is on time: 1 % are. A percentile is a share of jobs.
    """
    if deadline is None:
        return None
    if guarantee is not None and guarantee in PERCENTILES:
        return Promised(deadline, PERCENTILES[guarantee] / 100.0)
    return Promised(deadline, HARDLY_ANY if guarantee == "lower" else None)


def observed_classes(
    scenario: Scenario,
    runs: Sequence[Seen],
    deadlines: Sequence[float | None],
    promises: Sequence[Promised | None],
) -> list[Observed | None]:
    """Return the observations of each class in runs of a scenario; ``utilisation`` is the class's part of all slot
    seconds.
    """
    slots = sum(machines.vms * machines.slots for machines in scenario.machines)
    span = sum(run.span for run in runs)
    found = []
    for place, (deadline, promise) in enumerate(zip(deadlines, promises, strict=True)):
        use = sum(run.busy[place] for run in runs) / (slots * span) if span > 0.0 else 0.0
        found.append(observed_of([run.times[place] for run in runs], deadline, use, promise))
    return found


def observed_of(
    runs: Sequence[Sequence[float]], deadline: float | None, utilisation: float | None, promise: Promised | None = None
) -> Observed | None:
    """Return the observations of a class in independent runs after their warm-up, or None if no job ran.

    Times of jobs that were given up are infinite.
    """
    jobs = sum(map(len, runs))
    if not jobs:
        return None
    kept = None if deadline is None else on_time_share(runs, deadline)
    verdict = None if promise is None else promise.judged(runs)
    ended = [[time for time in run if isfinite(time)] for run in runs]
    failed = jobs - sum(map(len, ended))
    if failed == jobs:
        return Observed(jobs, failed, None, None, None, None, None, kept, utilisation, verdict)
    summary = summarize(ended)
    times = (summary.mean, summary.p50, summary.p95, summary.p99, summary.half_width)
    return Observed(jobs, failed, *times, kept, utilisation, verdict)


def verdict_warnings(
    verdict: Verdict | None, whose: str, place: Span | None, words: Words = JOBS_TAKE
) -> Iterator[Diagnostic]:
    """Yield a warning if a promise is broken or undecided; ``place`` is the place of the promise."""
    if verdict is None or verdict.outcome is Outcome.KEPT:
        return
    runs = number_of(verdict.runs, "run", ",")
    by = runs if words.seen == "run" else f"{number_of(verdict.jobs, words.seen, ',')} in {runs}"
    how = f"at {100.0 * verdict.confidence:.4g} % confidence, by {by}"
    if verdict.outcome is Outcome.BROKEN:
        yield warning(
            "promise-broken",
            f"{whose}: {_seen(verdict, words)}, and {_wanted(verdict, words)}: missed, {how}",
            place,
            "relax the constraint, or leave more room: a safer guarantee, more slots or VMs, more delay",
        )
        return
    hint = "the observed value is too close to the limit to predict the number of runs; try ten times as many"
    if verdict.enough is not None:
        hint = f"write --runs {verdict.enough}, which is enough if they show the same"
    yield warning(
        "promise-undecided",
        f"{whose}: {_seen(verdict, words)}, and {_wanted(verdict, words)}: inconclusive, {how}",
        place,
        hint,
    )


def _seen(verdict: Verdict, words: Words) -> str:
    if verdict.seen is None:
        return "some job is given up and never ends"
    if verdict.what == "mean":
        seen, low, high, _ = words.shown(verdict)
        return f"{words.mean} {seen} on average ({low} to {high})"
    assert verdict.low is not None
    assert verdict.high is not None
    return f"{_share(verdict.seen)} {words.share} ({_share(verdict.low)} to {_share(verdict.high)})"


def _wanted(verdict: Verdict, words: Words) -> str:
    if verdict.what == "mean":
        return f"{words.shown(verdict)[3]} on average are required"
    return f"{_share(verdict.wanted)} are required"


def _share(value: float) -> str:
    return f"{100.0 * value:.4g} %"
