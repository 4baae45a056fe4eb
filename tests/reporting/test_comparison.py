"""Two plans side by side: what is the same is left out, what differs is shown once, from both sides."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from mrdsl import MrdslError, TimetablePlan, loads, solve
from mrdsl.cli import cli
from mrdsl.core.result import Plan, Result, SolutionStatus, Table, Termination
from mrdsl.reporting.comparison import compare

ROOT = Path(__file__).resolve().parents[2]
JOINT = ROOT / "models" / "joint" / "reference.mrspec"


@dataclass(frozen=True)
class Shown(Plan):
    rows: tuple[tuple[Any, ...], ...]
    keys: int = 0

    def tables(self) -> tuple[Table, ...]:
        return (Table("Parts", ("part", "size", "cost"), self.rows, self.keys),)


def result(rows: tuple[tuple[Any, ...], ...] | None, value: float | None = 10.0, unit: str = "USD") -> Result:
    return Result(
        Termination.COMPLETED,
        SolutionStatus.FEASIBLE,
        Shown(rows) if rows is not None else None,
        value,
        problem="toy",
        solver={"name": "hand", "version": None},
        sense="minimize",
        quantity="cost",
        unit=unit,
    )


def test_only_what_differs_is_shown() -> None:
    first = result((("a", 1, 2.0), ("b", 3, 4.0), ("b", 5, None)), 6.0)
    second = result((("a", 1, 2.0), ("b", 3, 5.0), ("b", 6, float("nan")), ("c", 1, 1.0)), 9.0)
    found = compare(first, second)
    goal, parts = found.tables()
    assert goal.rows == [("cost [USD]", 6.0, 9.0, 3.0, 50.0)]
    assert parts.rows == [
        ("b", "cost", 4.0, 5.0, 1.0, 25.0),
        ("b / #2", "size", 5.0, 6.0, 1.0, 20.0),
        ("c", "size", None, 1.0, None, None),
        ("c", "cost", None, 1.0, None, None),
    ]
    assert found.equal == 4
    assert json.dumps(found.document(), allow_nan=False)


def test_rows_with_the_same_key_are_compared() -> None:
    first, second = (
        replace(result(None), plan=Shown(rows, keys=1))
        for rows in (((1, "22:00", 2.0), (2, "23:00", 3.0)), ((1, "22:30", 2.0), (2, "23:00", 4.0), (3, "06:00", None)))
    )
    found = compare(first, second)
    assert found.tables()[1].rows == [
        ("1", "size", "22:00", "22:30", None, None),
        ("2", "cost", 3.0, 4.0, 1.0, pytest.approx(100 / 3)),
        ("3", "size", None, "06:00", None, None),
    ]
    assert str(found)
    assert json.dumps(found.document(), allow_nan=False)


# A VM of 8 slots runs 16 tasks of 5 s in 10 s.
NIGHT = """problem timetable
rent = elastic
vm m5 {{ on_demand {{ price = 3.6 USD/h }}, boot = 2 min }}
class clicks {{
  stage scan {{ tasks = 16, avg = 5 s, max = 5 s }}
  slots {{ task = 8 }}
  runs = [22:00, {second}]
  deadline = 10 s
}}
minimize cost
"""
# The job with the shorter map phase is first: 4 tasks of `time`, or one of 5 s.
POOL = """problem makespan
cluster {{ slots {{ map = 1, reduce = 1 }} }}
job a {{ map {{ tasks = 4, time = {time} }}, reduce {{ tasks = 1, time = 10 s }} }}
job b {{ map {{ tasks = 1, time = 5 s }}, reduce {{ tasks = 1, time = 10 s }} }}
minimize makespan
"""


def compared(first: str, second: str) -> dict[str, list[tuple[Any, ...]]]:
    tables = compare(*(solve(loads(text)) for text in (first, second))).tables()
    return {table.title: [tuple(row[:4]) for row in table.rows] for table in tables}


def test_runs_and_rentals_that_move_are_side_by_side() -> None:
    found = compared(NIGHT.format(second="05:00"), NIGHT.format(second="06:00"))
    assert found["Rentals"] == [
        ("m5 / #2", "from", "+1 04:58", "+1 05:58"),
        ("m5 / #2", "to", "+1 05:00:10", "+1 06:00:10"),
    ]
    assert found["Runs"] == [
        ("clicks / 2", "release", "+1 05:00", "+1 06:00"),
        ("clicks / 2", "start", "+1 05:00", "+1 06:00"),
        ("clicks / 2", "end", "+1 05:00:10", "+1 06:00:10"),
    ]


def test_runs_beyond_those_that_a_table_shows_are_compared() -> None:
    """Of 60 runs, only the last differs, and a table shows 20."""
    clazz = """
        class %s {
          stage scan { tasks = 1, avg = 10 s, max = 10 s }
          slots { task = 1 }
          runs { from = %s, every = 1 h, times = %d }
          deadline = 10 s
        }
    """
    night = "problem timetable\nvm m5 { on_demand { price = 1 USD/h } }\nminimize cost" + clazz % ("a", "0 h", 59)
    results = [solve(loads(night + clazz % ("b", last, 1))) for last in ("70 h", "75 h")]
    runs = next(table for table in results[0].tables() if table.title == "Runs")
    assert runs.shown[-1][0] == "... and 40 more"
    assert len(results[0].plan_of(TimetablePlan).to_dataframe("Runs")) == 60
    found = next(table for table in compare(*results).tables() if table.title == "Runs")
    assert [row[:4] for row in found.rows] == [
        ("b / 1", quantity, before, before + 5 * 3600.0)
        for quantity, before in (("release [s]", 252000.0), ("start [s]", 252000.0), ("end [s]", 252010.0))
    ]


def test_pools_with_another_order_are_side_by_side() -> None:
    assert compared(POOL.format(time="2 s"), POOL.format(time="1 s"))["Pools"] == [("0", "order", "b, a", "a, b")]


def test_a_missing_plan_is_a_side_without_numbers() -> None:
    found = compare(result(None, None), result((("a", 1, 2.0),)))
    assert found.goal.first is None
    assert found.tables()[1].rows == [("a", "size", None, 1.0, None, None), ("a", "cost", None, 2.0, None, None)]


@pytest.mark.parametrize("other", [result(None, unit="EUR"), replace(result(None), problem="other")])
def test_different_goals_are_refused(other: Result) -> None:
    with pytest.raises(ValueError, match="cannot be compared"):
        compare(result(None), other)


def test_the_command(tmp_path: Path) -> None:
    apart = tmp_path / "apart.mrspec"
    apart.write_text(JOINT.read_text().replace("period  = 1 h", "period  = 1 h, sharing = partitioned"))
    done = CliRunner().invoke(cli, ["compare", str(JOINT), str(apart), "--json"], standalone_mode=False)
    document = json.loads(done.stdout)
    assert document["objective"]["difference"] > 0
    assert {row["table"].split(" (")[0] for row in document["rows"]} == {"Cluster", "Classes", "Services", "Periods"}
    assert document["first"]["name"] == "reference"
    done = CliRunner().invoke(cli, ["compare", str(JOINT), str(apart), "-D", "peak=0.9"], standalone_mode=False)
    assert done.return_value == 0
    assert "Services" in done.stdout  # its classes run the same whole jobs on both
    other = ROOT / "models" / "capacity" / "reference.mrspec"
    done = CliRunner().invoke(cli, ["compare", str(JOINT), str(other)], standalone_mode=False)
    assert isinstance(done.exception, MrdslError)
    assert [d.code for d in done.exception.diagnostics] == ["different-problems"]
