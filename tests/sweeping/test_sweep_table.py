"""The rows that a sweep prints."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from mrdsl.cli import cli
from mrdsl.sweeping.cells import MOST_ROWS, sweep_table

SPEC = """problem capacity "q"
param load = 1
vm m5 { on_demand { price = 0.2 USD/h } }
class a { map { tasks = 4, avg = 10 s, max = 10 s }, slots { map = 2, reduce = 1 }
  jobs = 3 * load .. 3 * load, deadline = 20 s, penalty = 1 USD }
minimize cost
"""


def test_rows_show_the_change_the_goal_and_the_vms(tmp_path: Path) -> None:
    """Two waves of two tasks take 20 s: 6 slots are on 3 VMs, and 12 on 6."""
    spec = tmp_path / "q.mrspec"
    spec.write_text(SPEC)
    ran = CliRunner().invoke(cli, ["sweep", str(spec), "--over", "load=1,2", "-o", str(tmp_path / "s.csv"), "-j", "1"])
    assert ran.exit_code == 0
    rows = [line.split() for line in ran.stdout.splitlines()]
    assert rows[1] == ["load", "goal", "[USD]", "termination", "m5", "on_demand"]
    assert rows[3:] == [["1", "0.6", "optimal", "3"], ["2", "1.2", "optimal", "6"]]
    assert "plan.vms.m5.on_demand" in (tmp_path / "s.csv").read_text().splitlines()[0].split(",")


def test_names_of_types_may_have_points() -> None:
    assert sweep_table([{"x": 1, "plan.vms.m5.large.on_demand": 2}], ["x"]).columns == ("x", "m5.large on_demand")


def test_a_long_sweep_shows_its_first_rows() -> None:
    rows = [{"x": number, "value": None, "message": "late" if number else ""} for number in range(2 * MOST_ROWS)]
    table = sweep_table(rows, ["x"])
    assert table.columns == ("x", "message")
    assert len(table.rows) == MOST_ROWS
