"""The warning of runs that are late if their tasks take their longest time."""

from __future__ import annotations

import pytest

import mrdsl
from mrdsl.core.diagnostics import Diagnostic

NIGHT = """problem timetable "night"
vm m { on_demand { price = 1 USD/min } }
class a {
  stage s { tasks = 4, avg = 10 s, max = 16 s }
  stage t { tasks = 1, avg = 10 s, max = 13 s, after = [s] }
  slots { task = 2 }
  runs { at = [0 s, 10 min] }
  deadline = 44 s
}
minimize cost
"""


def warnings(text: str) -> list[Diagnostic]:
    return [each for each in mrdsl.solve(mrdsl.loads(text)).diagnostics if each.code == "soft-deadline"]


@pytest.mark.parametrize(("deadline", "over"), [("44 s", "1 s"), ("45 s", ""), ("30 s", "15 s")])
def test_runs_are_late_if_the_longest_tasks_end_after_the_deadline(deadline: str, over: str) -> None:
    """Four tasks on two slots take two rounds of 16 s, and the last task 13 s."""
    found = warnings(NIGHT.replace("44 s", deadline))
    assert len(found) == bool(over)
    for each in found:
        assert "2 of 2 runs" in each.message
        assert f"by {over}" in each.message


def test_a_run_that_waits_for_slots_is_late_though_it_is_short() -> None:
    """The only task of b waits for 30 s and takes 10 s or 16 s, as the plan starts it; a is due late enough."""
    short = """class b {
  stage s { tasks = 2, avg = 10 s, max = 16 s }
  slots { task = 2 }
  runs { at = [0 s] }
  deadline = 40 s
}
"""
    (found,) = warnings(
        NIGHT.replace("44 s", "31 s")
        .replace("minimize", short + "minimize")
        .replace("max = 13 s", "max = 10 s")
        .replace("tasks = 4, avg = 10 s, max = 16 s", "tasks = 4, avg = 10 s, max = 10 s")
    )
    assert "class b" in found.message
    assert "1 of 1 runs" in found.message


@pytest.mark.parametrize("line", ["guarantee = average", "guarantee = upper", "distribution = fixed"])
def test_who_says_what_tasks_take_is_not_warned(line: str) -> None:
    text = NIGHT.replace("deadline", f"{line}\n  deadline").replace("44 s", "45 s" if "upper" in line else "44 s")
    assert warnings(text) == []
