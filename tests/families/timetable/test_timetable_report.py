"""Reports of timetables: slots, runs and machines over time, and slack."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

import mrdsl
from mrdsl.cli import cli
from mrdsl.core.charts import Bar
from mrdsl.families.timetable.plan import TimetablePlan
from mrdsl.families.timetable.report import MOST_BARS, machines_chart, report, runs_chart, slack_chart, slots_chart
from mrdsl.reporting.charts.rendering import specification, svg

NIGHT = """problem timetable "t"
vm m { on_demand { price = 1 USD/min }, boot = 1 min }
class a {
  stage one { tasks = 4, avg = 1 min, max = 2 min }
  stage two { tasks = 2, avg = 1 min, max = 2 min, after = [one] }
  slots { task = 2 }
  distribution = fixed
  runs { at = [2 min, 5 min] }
  deadline = 3 min
}
class b {
  stage one { tasks = 1, avg = 1 min, max = 2 min }
  slots { task = 2 }
  distribution = fixed
  runs { at = [8 min] }
  deadline = 90 s
}
minimize cost
"""


def solved(text: str) -> tuple[mrdsl.Spec, mrdsl.Result[TimetablePlan], TimetablePlan]:
    spec = mrdsl.loads(text)
    result = mrdsl.solve(spec).of(TimetablePlan)
    assert result.plan is not None
    return spec, result, result.plan


def test_runs_machines_and_slack_of_a_small_night() -> None:
    """One machine from 1 to 9 min with two slots: 6 + 6 + 1 task minutes of 16 are used."""
    spec, result, plan = solved(NIGHT)
    shown = report(spec, result)
    assert "Tasks use 81.2 % of the rented slot time" in shown.decision
    assert [chart.title for chart in shown.charts] == [
        "Slots over time",
        "Runs over time",
        "Machines on and off",
        "Runs with the least slack",
    ]
    assert runs_chart(plan).bars == (
        Bar("a", "1", 120.0, 300.0, "a"),
        Bar("a", "2", 300.0, 480.0, "a"),
        Bar("b", "1", 480.0, 540.0, "b"),
    )
    assert machines_chart(plan, {"m": 60.0}).bars == (
        Bar("m 1", "1", 60.0, 120.0, "boot"),
        Bar("m 1", "1", 120.0, 540.0, "on"),
    )
    rows = slack_chart(plan).rows
    assert [(row.name, row.values, row.limit) for row in rows] == [
        ("a 1", {"plan": 180.0}, 180.0),
        ("a 2", {"plan": 180.0}, 180.0),
        ("b 1", {"plan": 60.0}, 90.0),
    ]


def test_a_simulation_adds_its_times_to_the_slack() -> None:
    result = mrdsl.simulate(mrdsl.loads(NIGHT), runs=2, seed=0).of(TimetablePlan)
    assert result.plan is not None
    assert slack_chart(result.plan).rows[0].values == {"plan": 180.0, "mean": 180.0, "p95": 180.0}


def test_long_nights_show_their_first_runs() -> None:
    _, _, plan = solved(NIGHT.replace("at = [2 min, 5 min]", f"from = 2 min, every = 3 min, times = {MOST_BARS + 5}"))
    chart = runs_chart(plan)
    assert len(chart.bars) == MOST_BARS
    assert chart.title == f"Runs over time: the first {MOST_BARS} of {MOST_BARS + 6}"


@pytest.mark.parametrize("name", ["report.html", "report.md"])
def test_the_command_writes_the_charts(tmp_path: Path, name: str) -> None:
    spec = tmp_path / "night.mrspec"
    spec.write_text(NIGHT)
    done = CliRunner().invoke(cli, ["report", str(spec), "-o", str(tmp_path / name)], standalone_mode=False)
    assert done.exception is None, done.output
    text = (tmp_path / name).read_text()
    assert all(title in text for title in ("Runs over time", "Machines on and off", "Runs with the least slack"))


def test_charts_of_a_night_begin_shortly_before_the_first_bar_with_clock_times() -> None:
    spec, _, plan = solved(NIGHT.replace("at = [2 min, 5 min]", "at = [22:00, 22:05]").replace("[8 min]", "[22:08]"))
    first, last = min(each.begin for each in plan.rentals), max(each.end for each in plan.rentals)
    drawn = specification(machines_chart(plan, {"m": 60.0}))
    low, high = drawn["layer"][0]["encoding"]["x"]["scale"]["domain"]
    assert 0.9 * first < 3600.0 * low < first
    assert last < 3600.0 * high < 1.1 * last
    assert [row[2] for row in runs_chart(plan).table().rows] == [plan.time(bar.start) for bar in runs_chart(plan).bars]
    slots = slots_chart(spec, plan)
    assert slots.x_label == "time"
    rows = slots.table().rows
    assert rows[0][1] == plan.time(first)
    assert all(one.y[i] != one.y[i + 1] for one in slots.series for i in range(len(one.y) - 1))
    assert "utcFormat" in str(specification(slots))
    assert "<svg" in svg(slots)
    assert "22:0" in svg(slots)
