"""What runs of a plan say of a promise: kept, broken, or that more runs are needed to tell.

A promise is kept or broken where a one-sided bound says so, which is wrong with the probability ``1 - confidence`` at
most; in between nothing is claimed. Jobs of one run hang together, so the bounds go by how much runs differ, not by how
many jobs they had (:mod:`mrdsl.simulation.statistics`). What no run showed, such as a bad day in a thousand, no bound
knows.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, inf, isfinite, log, sqrt

import numpy as np

from mrdsl.core.result import Outcome
from mrdsl.core.tolerances import ROUNDING
from mrdsl.simulation.kept import Verdict
from mrdsl.simulation.statistics import CONFIDENCE, few, share_bounds, units_of, within

RESOLUTION = 0.01
"""The share of jobs that counts as none: that all jobs are in time, or none, is told to within so much."""
UNITS = ("mean", "share")
"""What a verdict may be of."""
MOST_RUNS = 1_000_000


def judge_counts(
    in_time: Sequence[int], jobs: Sequence[int], level: float, confidence: float = CONFIDENCE, alike: float = 1.0
) -> Verdict:
    """Whether at least ``level`` of all jobs is in time, from how many were in each of several independent runs.

    Counts alone hardly show how much jobs hang together where few are late: ``alike`` (at least 1) is as how many jobs
    one independent job counts at the least, and :func:`judge_share` finds it from the times, where they are there.
    A single run, which says nothing of it, decides nothing. Raises ValueError where nothing was seen, or a number is
    out of its range.
    """
    _check(level, confidence)
    good, sizes = np.asarray(in_time, dtype=np.float64), np.asarray(jobs, dtype=np.float64)
    if len(good) != len(sizes) or (good > sizes).any() or (good < 0.0).any():
        raise ValueError("each run has between none and all of its jobs in time")
    good, sizes = good[sizes > 0.0], sizes[sizes > 0.0]
    total = float(sizes.sum())
    if not total:
        raise ValueError("nothing was observed")
    share, units = float(good.sum()) / total, len(sizes)
    variance = share * (1.0 - share)
    if units > 1 and variance > 0.0:
        between = float(((good - share * sizes) ** 2).sum()) / (units - 1) * units / total
        alike = max(alike, few(units, confidence) * between / variance)
    return _of_share(share, total / max(1.0, alike), level, confidence, units, int(total), decided=units > 1)


def judge_share(runs: Sequence[Sequence[float]], limit: float, level: float, confidence: float = CONFIDENCE) -> Verdict:
    """Whether at least ``level`` of all jobs takes at most ``limit`` seconds, from the times in independent runs.

    Times of given-up jobs are infinite. A level of 1 is broken by one late job, and kept where none was late among so
    many that at least 99 % are in time; a level of 0, that a job may be in time at all, is kept by one that was, and
    broken where at most 1 % can be. Raises ValueError where nothing was seen, or a number is out of its range.
    """
    _check(level, confidence)
    share, independent = within(runs, limit, confidence)
    units, jobs = sum(bool(len(run)) for run in runs), sum(map(len, runs))
    return _of_share(share, independent, level, confidence, units, jobs)


def judge_mean(runs: Sequence[Sequence[float]], limit: float, confidence: float = CONFIDENCE) -> Verdict:
    """Whether jobs take at most ``limit`` seconds on average, by Student's bounds on the means of independent runs.

    A job that is given up never ends, and breaks the promise. Raises ValueError where nothing was seen.
    """
    _check(0.5, confidence)
    seen = [np.asarray(run, dtype=np.float64) for run in runs if len(run)]
    if not seen:
        raise ValueError("nothing was observed")
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
    """The fewest independent jobs that can show a share of at least ``level``: all of them in time."""
    _check(level, confidence)
    if level <= 0.0:
        return 1
    shown = 1.0 - RESOLUTION if level >= 1.0 else level
    return ceil(log(1.0 - confidence) / log(shown) - ROUNDING)


def confidence_of_each(confidence: float, looks: int) -> float:
    """The confidence of each of so many looks at which all of them together are right (Bonferroni)."""
    return 1.0 - (1.0 - confidence) / looks


def _of_share(
    share: float, independent: float, level: float, confidence: float, runs: int, jobs: int, decided: bool = True
) -> Verdict:
    def outcome_at(count: float) -> Outcome:
        return _outcome_of_share(level, share, *share_bounds(share, count, confidence))

    low, high = share_bounds(share, independent, confidence)
    outcome = outcome_at(independent) if decided else Outcome.UNDECIDED
    enough = None
    if outcome is Outcome.UNDECIDED:
        times = 1.0 if decided else 2.0
        while outcome_at(independent * times) is Outcome.UNDECIDED and runs * times < MOST_RUNS:
            times *= 1.1
        enough = _within_reach(runs * times)
    return Verdict(outcome, "share", level, share, low, high, confidence, runs, jobs, enough)


def doubt_about(verdict: Verdict) -> str:
    """Why a verdict that somebody wrote cannot be one of what stands in it; nothing where it may."""
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
    one_run = verdict.runs == 1 and verdict.outcome is Outcome.UNDECIDED
    return "" if follows is verdict.outcome or one_run else f"is `{verdict.outcome}`, but its bounds say `{follows}`"


def _outcome_of_share(level: float, share: float, low: float, high: float) -> Outcome:
    if level >= 1.0:
        return Outcome.BROKEN if share < 1.0 else _below(1.0 - RESOLUTION, low, high)
    if level <= 0.0:
        return Outcome.KEPT if share > 0.0 else _below(RESOLUTION, low, high)
    return _below(level, low, high)


def _below(wanted: float, low: float, high: float) -> Outcome:
    """What bounds of a share say of one that must be at least ``wanted``."""
    if low >= wanted:
        return Outcome.KEPT
    return Outcome.BROKEN if high < wanted else Outcome.UNDECIDED


def _above(wanted: float, low: float, high: float) -> Outcome:
    """What bounds say of a number that must be at most ``wanted``."""
    if high <= wanted:
        return Outcome.KEPT
    return Outcome.BROKEN if low > wanted else Outcome.UNDECIDED


def _half_of_mean(runs: Sequence[np.ndarray[tuple[int], np.dtype[np.float64]]], confidence: float) -> float:
    """How far below and above the mean its one-sided bounds lie; infinite for fewer than two units."""
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
        raise ValueError(f"a share of {level} is none")
    if not 0.5 < confidence < 1.0:
        raise ValueError(f"a confidence of {confidence} is none: it lies between 0.5 and 1")
