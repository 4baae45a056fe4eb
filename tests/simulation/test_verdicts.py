"""Verdicts on promises: printed tables, edges, and how often they are wrong where jobs of one run hang together."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from mrdsl.core.result import Outcome
from mrdsl.simulation.verdicts import Verdict, confidence_of_each, jobs_to_show, judge_mean, judge_share, share_bounds

NORMAL_90, NORMAL_95, NORMAL_99 = 1.2815515655446004, 1.6448536269514722, 2.3263478740408408


def test_the_bounds_are_those_of_printed_tables() -> None:
    # Clopper's and Pearson's one-sided 95 % bound: of 59 cases in time it is 95 %, which 58 do not show.
    assert judge_share([[1.0] * 30, [1.0] * 29], 1.0, 0.95).outcome is Outcome.KEPT
    assert judge_share([[1.0] * 29, [1.0] * 29], 1.0, 0.95).outcome is Outcome.UNDECIDED
    assert judge_share([[1.0] * 30, [1.0] * 30], 1.0, 0.95).low == pytest.approx(0.05 ** (1 / 60), abs=1e-12)
    # Of 20 cases 18 in time: the table says 71.738 %.
    assert share_bounds(0.9, 20, 0.95)[0] == pytest.approx(0.71738, abs=5e-6)
    assert [jobs_to_show(level) for level in (0.9, 0.95, 0.99, 0.999, 1.0, 0.0)] == [29, 59, 299, 2995, 299, 1]


def _runs(in_time: int, jobs: int, runs: int) -> list[list[float]]:
    """Equal runs, some of whose jobs take at most 1 s and the others longer."""
    return [[1.0] * in_time + [2.0] * (jobs - in_time)] * runs


def test_runs_that_are_all_or_nothing_count_as_one_job_each() -> None:
    # 20 runs of 50 equal jobs, 10 of them late: what is known is that of 20 jobs, and not that of 1,000.
    verdict = judge_share([*_runs(50, 50, 10), *_runs(0, 50, 10)], 1.0, 0.6)
    assert verdict.outcome is Outcome.UNDECIDED
    assert verdict.low == pytest.approx(judge_share([*_runs(1, 1, 10), *_runs(0, 1, 10)], 1.0, 0.6).low, rel=1e-9)
    assert judge_share(_runs(25, 50, 20), 1.0, 0.6).outcome is Outcome.BROKEN


def test_more_jobs_decide_what_enough_says() -> None:
    undecided = judge_share(_runs(97, 100, 10), 1.0, 0.965)
    assert undecided.outcome is Outcome.UNDECIDED
    assert undecided.enough is not None
    assert judge_share(_runs(97, 100, undecided.enough), 1.0, 0.965).outcome is Outcome.KEPT
    fewer = undecided.enough * 4 // 5
    assert judge_share(_runs(97, 100, fewer), 1.0, 0.965).outcome is Outcome.UNDECIDED
    assert judge_share(_runs(95, 100, 10), 1.0, 0.95).enough is None, "no number of jobs tells a share from itself"


def test_all_jobs_in_time_and_none() -> None:
    in_time = [[1.0] * 100] * 3
    assert judge_share(in_time, 1.0, 1.0).outcome is Outcome.KEPT
    assert judge_share([[1.0] * 98] * 3, 1.0, 1.0).outcome is Outcome.UNDECIDED, "294 of the 299 that it takes"
    assert judge_share([*in_time, [1.0] * 9999 + [1.1]], 1.0, 1.0).outcome is Outcome.BROKEN
    assert judge_share([[2.0] * 100] * 3, 1.0, 0.0).outcome is Outcome.BROKEN
    assert judge_share([[2.0] * 98] * 3, 1.0, 0.0).outcome is Outcome.UNDECIDED
    assert judge_share([[2.0] * 100, [1.0]], 1.0, 0.0).outcome is Outcome.KEPT


def test_the_mean_by_student() -> None:
    # Two runs of means 1 and 3: Student's one-sided 95 % quantile for one degree of freedom is 6.314, the error 1.
    runs = [[1.0], [3.0]]
    verdict = judge_mean(runs, 8.4)
    assert (verdict.seen, verdict.low, verdict.high) == pytest.approx((2.0, 0.0, 2.0 + 6.313752), abs=1e-6)
    assert verdict.outcome is Outcome.KEPT
    assert judge_mean(runs, 8.3).outcome is Outcome.UNDECIDED
    assert judge_mean([[1.0] * 40, [1.0] * 40], 1.0).outcome is Outcome.KEPT, "at the limit, nothing varies"
    assert judge_mean([[1.0] * 40, [1.0] * 40], 0.999).outcome is Outcome.BROKEN
    assert judge_mean([[1.0]], 2.0).high is None
    assert judge_mean([[1.0, inf]], 2.0).outcome is Outcome.BROKEN, "a job that is given up never ends"


def test_what_is_out_of_range_is_refused() -> None:
    with pytest.raises(ValueError, match="observations"):
        judge_share([[]], 1.0, 0.9)
    with pytest.raises(ValueError, match="observations"):
        judge_mean([[]], 1.0)
    for level, confidence in ((1.1, 0.95), (-0.1, 0.95), (0.5, 1.0), (0.5, 0.5)):
        with pytest.raises(ValueError, match="must be between"):
            judge_share([[1.0]], 1.0, level, confidence)


def test_looks_share_what_may_go_wrong() -> None:
    assert confidence_of_each(0.95, 1) == pytest.approx(0.95)
    assert confidence_of_each(0.95, 5) == pytest.approx(0.99)


def _times(random: np.random.RandomState, runs: int, jobs: int, alike: float, memory: float) -> np.ndarray:
    """Lognormal times; ``alike`` of the variance of their logarithms is the run's, the rest a chain with ``memory``."""
    noise = random.standard_normal((runs, jobs))
    chain = np.empty((runs, jobs))
    chain[:, 0] = noise[:, 0]
    for at in range(1, jobs):
        chain[:, at] = memory * chain[:, at - 1] + np.sqrt(1.0 - memory**2) * noise[:, at]
    shift = random.standard_normal((runs, 1))
    return np.exp(0.7 * (np.sqrt(alike) * shift + np.sqrt(1.0 - alike) * chain))


@pytest.mark.parametrize(("alike", "memory"), [(0.0, 0.0), (0.0, 0.8), (0.05, 0.3), (0.3, 0.0)])
@pytest.mark.parametrize("runs", [10, 20])
def test_a_verdict_is_wrong_no_more_often_than_it_says(runs: int, alike: float, memory: float) -> None:
    """At the very level each side errs where it decides: in 5 % of the trials at most, 8 % with the noise of 300."""
    random = np.random.RandomState(7)
    trials = 300
    for at, level in ((NORMAL_90, 0.9), (NORMAL_99, 0.99)):
        limit = float(np.exp(0.7 * at))
        drawn = [judge_share(_times(random, runs, 60, alike, memory), limit, level) for _ in range(trials)]
        kept, broken = (sum(each.outcome is one for each in drawn) for one in (Outcome.KEPT, Outcome.BROKEN))
        assert kept <= 0.08 * trials
        assert broken <= 0.08 * trials


def test_a_verdict_is_reached() -> None:
    """It is no use to be undecided for ever: a point beside the level, 20 runs of 400 jobs decide nearly always."""
    random = np.random.RandomState(11)
    limit = float(np.exp(0.7 * NORMAL_95))

    def judged(level: float) -> list[Verdict]:
        return [judge_share(_times(random, 20, 400, 0.0, 0.0), limit, level) for _ in range(100)]

    assert sum(each.outcome is Outcome.KEPT for each in judged(0.94)) >= 90
    assert sum(each.outcome is Outcome.BROKEN for each in judged(0.96)) >= 90


@pytest.mark.parametrize("runs", [4, 20])
def test_the_mean_is_wrong_no_more_often_than_it_says(runs: int) -> None:
    random = np.random.RandomState(13)
    true = float(np.exp(0.7**2 / 2.0))
    drawn = [judge_mean(_times(random, runs, 100, 0.02 if runs == 20 else 0.0, 0.3), true) for _ in range(400)]
    assert sum(each.outcome is Outcome.KEPT for each in drawn) <= 0.08 * 400
    assert sum(each.outcome is Outcome.BROKEN for each in drawn) <= 0.08 * 400
