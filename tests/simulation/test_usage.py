"""Slots at work over time."""

from __future__ import annotations

import numpy as np
import pytest

import mrdsl
from mrdsl.core.charts import Interval, IntervalChart, LineChart, riskiest_first
from mrdsl.explaining.report import report
from mrdsl.explaining.sensitivity import How
from mrdsl.simulation.engine.scenario import LINES, STRETCHES, busy_shares, simulated_scenarios, usage_chart
from mrdsl.simulation.settings import Settings

SPEC = """problem capacity "q"
vm m5 { on_demand { price = 0.2 USD/h } }
class a { map { tasks = 40, avg = 10 s, max = 20 s }, slots { map = 2, reduce = 1 }
  jobs = 2, deadline = 60 s, penalty = 1 USD }
simulation { jobs_per_user = 3 }
minimize cost
"""


def test_shares_are_those_of_single_moments() -> None:
    """Two tasks for 4 s and one for 2 s on 2 slots: 1, then 2, then 1 at work."""
    times = np.array([[0.0, 4.0], [1.0, 3.0], [4.0, 8.0]])
    begins, shares = busy_shares(times, 2.0, 8)
    assert begins.tolist() == list(range(9))
    assert shares.tolist() == pytest.approx([0.5, 1.0, 1.0, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5])


def test_shares_sum_up_to_the_work() -> None:
    draw = np.random.default_rng(1)
    starts = draw.uniform(0, 100, 500)
    times = np.stack([starts, starts + draw.exponential(5, 500)], axis=1)
    begins, shares = busy_shares(times, 7.0)
    assert len(begins) == len(shares) == STRETCHES + 1
    assert (7.0 * shares[:-1] * np.diff(begins)).sum() == pytest.approx((times[:, 1] - times[:, 0]).sum())


def test_a_report_with_runs_shows_them() -> None:
    spec = mrdsl.loads(SPEC)
    whole, _ = report(spec, How(seconds=0.0), "c", runs=Settings(runs=1))
    (over_time,) = [section for section in whole.sections if section.title == "Over time"]
    (chart,) = over_time.parts
    assert isinstance(chart, LineChart)
    assert [line.name for line in chart.series] == ["a"]
    assert all(0.0 <= share <= 100.0 + 1e-9 for share in chart.series[0].y if share is not None)
    assert chart.steps
    without, _ = report(spec, How(seconds=0.0), "c")
    assert "Over time" not in [section.title for section in without.sections]


def test_a_chart_has_few_lines_and_needs_a_run() -> None:
    spec = mrdsl.loads(SPEC)
    with simulated_scenarios() as found:
        mrdsl.simulate(spec, runs=1)
    assert found
    chart = usage_chart(found * (LINES + 1))
    assert chart is not None
    assert len(chart.series) == LINES
    assert usage_chart([]) is None


def test_rows_nearest_to_their_limit_are_first() -> None:
    rows = (Interval("a", {"x": 1.0}, 10.0), Interval("b", {"x": 5.0, "y": None}), Interval("c", {"x": 3.0}, 4.0))
    assert [row.name for row in riskiest_first(IntervalChart("", "", rows)).rows] == ["c", "a", "b"]
