"""The share within a limit and its interval: printed tables, and coverage where jobs hang together."""

from __future__ import annotations

import numpy as np
import pytest

from mrdsl.simulation.verdicts import on_time_share, summarize


def test_the_interval_is_that_of_printed_tables() -> None:
    # 20 runs of one job are independent: Clopper's and Pearson's table for 20 cases, 95 %.
    for hits, low, high in ((20, 0.8316, 1.0), (18, 0.6830, 0.9877), (10, 0.2720, 0.7280), (0, 0.0, 0.1684)):
        runs = [[1.0]] * hits + [[3.0]] * (20 - hits)
        kept = on_time_share(runs, 2.0)
        assert kept.share == hits / 20
        # Student's quantile for 20 batches in the place of the normal one widens it where anything varies.
        assert kept.low <= low + 5e-5
        assert kept.high >= high - 5e-5
        if hits in (0, 20):
            assert (kept.low, kept.high) == pytest.approx((low, high), abs=5e-5)


def test_what_rounding_adds_to_the_limit_is_in_time() -> None:
    assert on_time_share([[900.0000001] * 3], 900.0).share == 1.0
    assert on_time_share([[900.00001] * 3], 900.0).share == 0.0
    with pytest.raises(ValueError, match="observations"):
        on_time_share([[]], 1.0)


@pytest.mark.parametrize(("runs", "jobs", "memory"), [(1, 1500, 0.0), (1, 3000, 0.8), (10, 300, 0.8), (10, 300, 0.0)])
def test_it_covers_the_share_as_often_as_it_says(runs: int, jobs: int, memory: float) -> None:
    # An autoregressive process of known marginal: 90 % lie below 1.2816.
    random = np.random.RandomState(1)
    covered, trials = 0, 200
    for _ in range(trials):
        noise = random.standard_normal((runs, jobs)) * np.sqrt(1.0 - memory**2)
        values = np.empty((runs, jobs))
        values[:, 0] = random.standard_normal(runs)
        for at in range(1, jobs):
            values[:, at] = memory * values[:, at - 1] + noise[:, at]
        kept = on_time_share(values, 1.2815515655446004)
        covered += kept.low <= 0.9 <= kept.high
    assert covered >= 0.93 * trials


def test_percentiles_are_in_order() -> None:
    seen = summarize([np.arange(1001.0)])
    assert (seen.p50, seen.p95, seen.p99) == (500.0, 950.0, 990.0)
