"""The study of three days: its ways to rent, and its two peers, on small days."""

from __future__ import annotations

from pathlib import Path

import pytest

import mrdsl
from mrdsl.core.diagnostics import MrdslError
from mrdsl.families.timetable.types import night_of
from studies import timetable_days as study
from tests.shared_data import shared

TWO = """
problem timetable "Two"
vm m { on_demand { price = 3.6 USD/h }, boot = 10 s }
class long { stage s { tasks = 4, avg = 100 s, max = 100 s }, slots { task = 2 }, runs = [0 s], deadline = 210 s }
class short { stage s { tasks = 2, avg = 10 s, max = 10 s }, slots { task = 2 }, runs = [10 s], deadline = 15 s }
minimize cost
"""


def test_first_come_first_served_needs_machines_that_a_plan_does_not() -> None:
    """The four tasks of the first job leave no slot on one or two machines: the second is late by 90 s on two."""
    night = night_of(mrdsl.loads(TWO).facts)
    found = study.first_come(night)
    assert (found.machines, found.end) == (3, 100.0)
    result = mrdsl.solve(mrdsl.loads(TWO))
    assert result.plan is not None
    assert result.plan.machines == 2  # type: ignore[attr-defined]


def test_a_cluster_for_each_job_boots_after_the_release() -> None:
    """Long: 1 VM takes 200 s, in time after a boot of 10 s. Short: 5 s are left after the boot, so it is late."""
    night = night_of(mrdsl.loads(TWO).facts)
    cost, _, _, most, late, _ = study.transient(night)
    assert (cost, most, late) == (pytest.approx(0.001 * (210 + 60)), 2, 1)


@pytest.mark.parametrize("name", ["spark", "mapreduce"])
def test_a_drawn_day_is_planned_and_can_be_solved_from_its_file(name: str, tmp_path: Path) -> None:
    (table,) = study.days(tmp_path, str(shared("data")), name, 12)
    assert "drawn with seed 1" in table.title
    assert len(table.rows) == 10
    ours = [row for row in table.rows if row[0] in study.WAYS]
    assert all(row[6] == 0 and row[3] <= row[2] * (1 + 1e-9) for row in ours)
    first = next(row for row in table.rows if row[0] == "first come, first served")
    assert first[2] >= ours[0][3]  # it is a constant cluster too
    again = mrdsl.solve(mrdsl.load(tmp_path / f"{name}.mrspec"))
    assert again.value == pytest.approx(ours[0][2])


def test_a_missing_trace_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(MrdslError, match="there is no file"):
        list(study.days(tmp_path, str(tmp_path), "swim"))
    with pytest.raises(MrdslError, match="there is no day"):
        list(study.days(tmp_path, str(tmp_path), "sunday"))
