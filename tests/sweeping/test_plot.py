"""A sweep drawn: the goal over its first axis, and a report of all runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from mrdsl.cli import cli
from mrdsl.core.charts import BarChart, LineChart
from mrdsl.core.diagnostics import MrdslError
from mrdsl.sweeping.cells import sweep_chart, sweep_report

SPEC = """param deadline = 10 min
param price = 1 USD/h
problem capacity
vm m { on_demand { price = price } }
class a {
  coefficients { A = 5400 s, B = 1250 s, C = 95 s }
  slots { map = 4, reduce = 2 }
  jobs = 6, deadline = deadline, penalty = 20 USD
}
minimize cost
"""


def row(value: float | None, **named: object) -> dict[str, object]:
    return {"run": 1, **named, "value": value, "unit": "USD" if value is not None else None}


def test_a_line_per_combination_of_the_other_axes() -> None:
    rows = [row(10.0 * p + s, peak=p, scale=s) for p in (2, 1) for s in (1, 2)]
    chart = sweep_chart(rows, ["peak", "scale"], "T")
    assert isinstance(chart, LineChart)
    assert [(one.name, one.x, one.y) for one in chart.series] == [
        ("scale 1", [1, 2], [11.0, 21.0]),
        ("scale 2", [1, 2], [12.0, 22.0]),
    ]
    assert (chart.x_label, chart.y_label) == ("peak", "goal [USD]")


def test_seeds_are_one_point_within_a_band() -> None:
    rows = [row(float(p * s), peak=p, seed=s) for p in (1, 2) for s in (1, 2, 6)]
    (line,) = sweep_chart(rows, ["peak"], "T").series
    assert (line.y, line.low, line.high) == ([3.0, 6.0], [1.0, 2.0], [6.0, 12.0])


def test_words_are_bars_and_runs_without_a_plan_are_holes() -> None:
    chart = sweep_chart([row(1.0, policy="a"), row(None, policy="b")], ["policy"], "T")
    assert isinstance(chart, BarChart)
    assert (chart.groups, chart.series) == (("a", "b"), {"goal [USD]": [1.0, None]})


def test_the_report_names_the_ends_and_what_came_to_nothing() -> None:
    rows = [row(4.0, **{"wait [min]": 1}), row(2.5, **{"wait [min]": 2}), row(None, **{"wait [min]": 3})]
    report = sweep_report(rows, ["wait [min]"], "night.mrspec", "mrdsl sweep night.mrspec")
    assert report.decision == "The objective lies between 2.5 USD (wait 2 min) and 4 USD (wait 1 min)."
    assert report.proof == "3 runs; 1 without a plan."
    assert sweep_report([row(None, peak=3)], ["peak"], "n", "c").decision == "No run has a plan."


def test_the_command_draws_what_it_solved(tmp_path: Path) -> None:
    """Cost is in proportion to the price: a second way to know the points."""
    spec = tmp_path / "night.mrspec"
    spec.write_text(SPEC, encoding="utf-8")
    plot = tmp_path / "cost.md"
    words = ["sweep", str(spec), "--over", "price=1 USD/h,2 USD/h", "-j", "1", "-o", str(tmp_path / "t.csv")]
    done = CliRunner().invoke(cli, [*words, "--plot", str(plot)], standalone_mode=False, catch_exceptions=False)
    assert done.return_value == 0
    text = plot.read_text(encoding="utf-8")
    lines = [line.split("|") for line in text.splitlines() if line.startswith("| goal")]
    cost = {float(line[2]): float(line[3]) for line in lines if "line" not in line[1] and line[2].strip()[0].isdigit()}
    assert cost[2.0] == pytest.approx(2 * cost[1.0])
    with pytest.raises(MrdslError, match="already exists"):
        CliRunner().invoke(cli, [*words, "--plot", str(plot)], standalone_mode=False, catch_exceptions=False)


def test_an_ending_that_is_no_plot_is_refused_before_any_run(tmp_path: Path) -> None:
    words = ["sweep", "nothing.mrspec", "-o", str(tmp_path / "t.csv"), "--plot", str(tmp_path / "cost.pdf")]
    with pytest.raises(MrdslError) as caught:
        CliRunner().invoke(cli, words, standalone_mode=False, catch_exceptions=False)
    (told,) = caught.value.diagnostics
    assert told.hint == "end it in .html or .md, or .svg or .png for a picture alone"
