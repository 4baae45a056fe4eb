"""Promises of deadlines, and verdicts of runs of a plan on them: kept, broken, or undecided.

A promise is kept or broken if a one-sided bound shows it, which is wrong with the probability ``1 - confidence`` at
most; in between nothing is claimed. Jobs of one run depend on each other, so the bounds use the differences between
runs, not the number of jobs. No bound covers events that no run showed, such as a bad day in a thousand.

The module also has statistics of simulated times: mean, percentiles, the share within a limit, and their precision.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, inf, isfinite, log, sqrt
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.diagnostics import Diagnostic, Span, number_of, warning
from mrdsl.core.result import Outcome
from mrdsl.core.rounding import ROUNDING
from mrdsl.core.units import show
from mrdsl.simulation.observed import Kept, Observed, Verdict
from mrdsl.spec.schema import PERCENTILES

if TYPE_CHECKING:
    from mrdsl.simulation.engine.scenario import Scenario, Seen


BATCHES = 20
CONFIDENCE = 0.95
TAIL = (1.0 + CONFIDENCE) / 2.0
ENOUGH_RUNS = 10
"""Fewest independent runs whose means are the units of the variance; fewer runs are cut into batches."""


@dataclass(frozen=True)
class Summary:
    """Count, mean, percentiles, and half of the 95 % confidence interval of the mean (None: unknown)."""

    count: int
    mean: float
    p50: float
    p95: float
    p99: float
    half_width: float | None


def summarize(runs: Sequence[Sequence[float]]) -> Summary:
    """Return one summary of independent runs, each in the order of time and after its warm-up.

    With several runs the interval uses their means, which are independent. With a single one it uses the means of 20
    consecutive batches, since neighbors are correlated. Raises ValueError without observations.
    """
    seen = [np.asarray(run, dtype=np.float64) for run in runs if len(run)]
    if not seen:
        raise ValueError("there are no observations")
    values = np.concatenate(seen)
    means = np.array([run.mean() for run in seen]) if len(seen) > 1 else _batch_means(seen[0])
    return Summary(
        len(values),
        float(values.mean()),
        float(np.percentile(values, 50)),
        float(np.percentile(values, 95)),
        float(np.percentile(values, 99)),
        half_width(means),
    )


def on_time_share(runs: Sequence[Sequence[float]], limit: float) -> Kept:
    """Return the share of times of at most ``limit`` (with a slack of 1e-9 of it), and its interval.

    The interval is :func:`share_bounds` for the number of jobs that :func:`dependence_of_jobs` leaves; it has a width
    even if all jobs are on time. Raises ValueError without observations.
    """
    share, independent = within(runs, limit, TAIL)
    return Kept(share, *share_bounds(share, independent, TAIL))


def within(runs: Sequence[Sequence[float]], limit: float, tail: float) -> tuple[float, float]:
    """Return the share of times within a limit, and the number of independent jobs that the observed ones count as.

    The larger correlation is used, of times or of being on time: if hardly any job is late, the times show more. See
    :func:`dependence_of_jobs`. Raises ValueError without observations.
    """
    seen = [np.asarray(run, dtype=np.float64) for run in runs if len(run)]
    if not seen:
        raise ValueError("there are no observations")
    good = [(run <= limit * (1.0 + ROUNDING)).astype(np.float64) for run in seen]
    count = sum(len(run) for run in seen)
    ended = [run[np.isfinite(run)] for run in seen]
    alike = max(dependence_of_jobs([run for run in ended if len(run)], tail), dependence_of_jobs(good, tail))
    return float(np.concatenate(good).mean()), count / alike


def dependence_of_jobs(runs: Sequence[NDArray[np.float64]], tail: float) -> float:
    """Return the number of correlated jobs that count as one independent job; at least 1.

    It is the factor by which the variance of the mean exceeds that of as many independent values, from the means of
    :func:`units_of`, times (t/z)^2 with the quantiles at ``tail`` of Student's distribution for that number of units
    and of the normal one (Korn and Graubard 1998, for samples in clusters).
    """
    if not runs:
        return 1.0
    units = units_of(runs)
    values = np.concatenate(units)
    variance = float(values.var())
    if len(units) < 2 or variance <= 0.0:
        return 1.0
    sizes = np.array([len(unit) for unit in units], dtype=np.float64)
    off = np.array([unit.sum() for unit in units]) - sizes * values.mean()
    between = float((off**2).sum()) / (len(units) - 1) * len(units) / len(values)
    return max(1.0, few(len(units), tail) * between / variance)


def units_of(runs: Sequence[NDArray[np.float64]]) -> list[NDArray[np.float64]]:
    """Return the independent units: runs if there are 10 or more, otherwise 20 parts of them, each of
    consecutive jobs.
    """
    if len(runs) >= ENOUGH_RUNS:
        return list(runs)
    each = max(1, ceil(BATCHES / len(runs)))
    return [batch for run in runs for batch in np.array_split(run, min(each, len(run)))]


def few(units: int, tail: float) -> float:
    """Return the factor for a variance from that number of units: the square of Student's quantile over the normal
    one's.

    Both are at ``tail``.
    """
    from scipy.special import ndtri, stdtrit

    return float(stdtrit(units - 1, tail) / ndtri(tail)) ** 2


def share_bounds(share: float, count: float, tail: float) -> tuple[float, float]:
    """Return clopper's and Pearson's bounds of a share of ``count`` independent cases, which need not be whole.

    Each one for itself holds with the probability ``tail``.
    """
    from scipy.special import betaincinv

    hits, misses = share * count, (1.0 - share) * count
    low = float(betaincinv(hits, misses + 1.0, 1.0 - tail)) if hits > 0.0 else 0.0
    high = float(betaincinv(hits + 1.0, misses, tail)) if misses > 0.0 else 1.0
    return min(low, share), max(high, share)


def half_width(means: NDArray[np.float64]) -> float | None:
    """Half of Student's 95 % confidence interval of independent values; None for fewer than two."""
    count = len(means)
    if count < 2:
        return None
    return float(student_95(count - 1) * means.std(ddof=1) / sqrt(count))


@dataclass(frozen=True)
class Interval:
    """Mean over the runs and half of its 95 % confidence interval, None for a single run."""

    mean: float
    half_width: float | None


def interval_of(values: Sequence[float]) -> Interval:
    """Return the mean of independent values with its interval."""
    return Interval(float(np.mean(values)), half_width(np.array(values)))


def student_95(freedom: int) -> float:
    """Return the two-sided 95 % quantile of Student's distribution."""
    from scipy.special import stdtrit  # what scipy.stats.t.ppf calls, at a third of the time to import

    return float(stdtrit(freedom, TAIL))


def _batch_means(values: NDArray[np.float64]) -> NDArray[np.float64]:
    if len(values) < 2 * BATCHES:
        return np.empty(0)
    return np.array([batch.mean() for batch in np.array_split(values, BATCHES)])


RESOLUTION = 0.01
"""Share of jobs that counts as none: the resolution of a share on time of 0 or 1."""
UNITS = ("mean", "share")
"""Units of a verdict."""
MOST_RUNS = 1_000_000


def judge_share(runs: Sequence[Sequence[float]], limit: float, level: float, confidence: float = CONFIDENCE) -> Verdict:
    """Return the verdict on the share ``level`` of jobs that take at most ``limit`` seconds, from times in independent
    runs.

    Times of jobs that were given up are infinite. A level of 1 is broken by one late job, and kept if none was late
    among enough jobs to show that at least 99 % are on time. A level of 0 (a job can be on time at all) is kept by one
    such job, and broken if at most 1 % can be. Raises ValueError without observations, or for a number out of its
    range.
    """
    _check(level, confidence)
    share, independent = within(runs, limit, confidence)
    units, jobs = sum(bool(len(run)) for run in runs), sum(map(len, runs))
    return _of_share(share, independent, level, confidence, units, jobs)


def judge_mean(runs: Sequence[Sequence[float]], limit: float, confidence: float = CONFIDENCE) -> Verdict:
    """Return the verdict on a mean of at most ``limit`` seconds, by Student's bounds on the means of independent runs.

    A job that is given up never ends, and breaks the promise. Raises ValueError without observations.
    """
    _check(0.5, confidence)
    seen = [np.asarray(run, dtype=np.float64) for run in runs if len(run)]
    if not seen:
        raise ValueError("there are no observations")
    values = np.concatenate(seen)
    jobs, count = len(values), len(seen)
    if not np.isfinite(values).all():
        return Verdict(Outcome.BROKEN, "mean", limit, None, None, None, confidence, count, jobs)
    mean, half = float(values.mean()), _half_of_mean(seen, confidence)
    outcome = _above(limit * (1.0 + ROUNDING), mean - half, mean + half)
    gap = abs(mean - limit)
    enough = None
    if outcome is Outcome.UNDECIDED and isfinite(half) and gap > 0.0:
        enough = _within_reach(count * (half / gap) ** 2)
    low, high = max(0.0, mean - half), mean + half
    return Verdict(outcome, "mean", limit, mean, low, high if isfinite(high) else None, confidence, count, jobs, enough)


def jobs_to_show(level: float, confidence: float = CONFIDENCE) -> int:
    """Return the fewest independent jobs that can show a share of at least ``level``: all of them in time."""
    _check(level, confidence)
    if level <= 0.0:
        return 1
    shown = 1.0 - RESOLUTION if level >= 1.0 else level
    return ceil(log(1.0 - confidence) / log(shown) - ROUNDING)


def confidence_of_each(confidence: float, looks: int) -> float:
    """Return the confidence of each look, for which all looks together have ``confidence`` (Bonferroni)."""
    return 1.0 - (1.0 - confidence) / looks


def _of_share(share: float, independent: float, level: float, confidence: float, runs: int, jobs: int) -> Verdict:
    def outcome_at(count: float) -> Outcome:
        return _outcome_of_share(level, share, *share_bounds(share, count, confidence))

    low, high = share_bounds(share, independent, confidence)
    outcome = outcome_at(independent)
    enough = None
    if outcome is Outcome.UNDECIDED:
        times = 1.0
        while outcome_at(independent * times) is Outcome.UNDECIDED and runs * times < MOST_RUNS:
            times *= 1.1
        enough = _within_reach(runs * times)
    return Verdict(outcome, "share", level, share, low, high, confidence, runs, jobs, enough)


def verdict_doubt(verdict: Verdict) -> str:
    """Return the reason why a saved verdict cannot follow from its numbers, or ""."""
    if not 0.5 < verdict.confidence < 1.0 or not 0 < verdict.runs <= verdict.jobs or verdict.what not in UNITS:
        return "rests on numbers that no runs give"
    if verdict.seen is None or verdict.low is None:
        known = verdict.seen is not None or verdict.low is not None or verdict.outcome is not Outcome.BROKEN
        return "does not say what was seen" if known else ""
    high = inf if verdict.high is None else verdict.high
    if not verdict.low <= verdict.seen * (1.0 + ROUNDING) or not verdict.seen <= high * (1.0 + ROUNDING):
        return "has bounds on one side of what was seen"
    if verdict.what == "share" and not (verdict.low >= 0.0 and high <= 1.0):
        return "has shares that are none"
    if verdict.what == "mean":
        follows = _above(verdict.wanted * (1.0 + ROUNDING), verdict.low, high)
    else:
        widest = share_bounds(verdict.seen, verdict.jobs, verdict.confidence)
        if verdict.low > widest[0] + ROUNDING or high < widest[1] - ROUNDING:
            return "has bounds closer than so many jobs allow"
        follows = _outcome_of_share(verdict.wanted, verdict.seen, verdict.low, high)
    return "" if follows is verdict.outcome else f"is `{verdict.outcome}`, but its bounds give `{follows}`"


def _outcome_of_share(level: float, share: float, low: float, high: float) -> Outcome:
    if level >= 1.0:
        return Outcome.BROKEN if share < 1.0 else _below(1.0 - RESOLUTION, low, high)
    if level <= 0.0:
        return Outcome.KEPT if share > 0.0 else _below(RESOLUTION, low, high)
    return _below(level, low, high)


def _below(wanted: float, low: float, high: float) -> Outcome:
    """Return the outcome for a share that must be at least ``wanted``, from its bounds."""
    if low >= wanted:
        return Outcome.KEPT
    return Outcome.BROKEN if high < wanted else Outcome.UNDECIDED


def _above(wanted: float, low: float, high: float) -> Outcome:
    """Return the outcome for a number that must be at most ``wanted``, from its bounds."""
    if high <= wanted:
        return Outcome.KEPT
    return Outcome.BROKEN if low > wanted else Outcome.UNDECIDED


def _half_of_mean(runs: Sequence[np.ndarray[tuple[int], np.dtype[np.float64]]], confidence: float) -> float:
    """Return the distance of the one-sided bounds from the mean; infinite for fewer than two units."""
    from scipy.special import stdtrit

    units = units_of(runs)
    if len(units) < 2:
        return inf
    sizes = np.array([len(unit) for unit in units], dtype=np.float64)
    off = np.array([unit.sum() for unit in units]) - sizes * np.concatenate(units).mean()
    error = sqrt(float((off**2).sum()) / (len(units) - 1) * len(units)) / float(sizes.sum())
    return float(stdtrit(len(units) - 1, confidence)) * error


def _within_reach(runs: float) -> int | None:
    return ceil(runs - ROUNDING) if runs < MOST_RUNS else None


def _check(level: float, confidence: float) -> None:
    if not 0.0 <= level <= 1.0:
        raise ValueError(f"the level must be between 0 and 1, got {level}")
    if not 0.5 < confidence < 1.0:
        raise ValueError(f"the confidence must be between 0.5 and 1, got {confidence}")


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
