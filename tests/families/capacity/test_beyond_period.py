"""A cost is that of a time: it is named beside the cost, and jobs that take longer are warned of."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import mrdsl
from mrdsl.core.result import Result
from mrdsl.families.capacity.plan_warnings import enough
from tests.command_lines import run_here

SPEC = """problem capacity "Seven hours"
{period}
vm m5 {{ on_demand {{ price = 0.192 USD/h }} }}
class a {{ coefficients {{ A = {work} s, B = 0 s, C = 0 s }}, slots {{ map = 4, reduce = 2 }}
  jobs = 1..1, deadline = 30 h, penalty = 20 USD }}
{goal}
"""


def solved(work: float, period: str = "", goal: str = "minimize cost") -> Result:
    said = f"period = {period}" if period else ""
    return mrdsl.solve(mrdsl.loads(SPEC.format(period=said, work=work, goal=goal)))


def codes(result: Result) -> list[str]:
    return [each.code for each in result.diagnostics]


@pytest.mark.parametrize(
    ("work", "period", "warned"),
    [
        (25095, "", True),
        (25095, "8 h", False),
        (25095, "25095 s", False),
        (25095, "25094 s", True),
        (3600, "", False),
        (3601, "", True),
        (10, "9 s", True),
        (10, "10 s", False),
    ],
)
def test_jobs_that_outlast_the_period_are_warned_of(work: float, period: str, warned: bool) -> None:
    assert ("beyond-period" in codes(solved(work, period))) is warned


@pytest.mark.parametrize("seed", range(12))
def test_the_period_of_the_hint_is_enough(seed: int) -> None:
    work = float(np.random.RandomState(seed).uniform(1.0, 100_000.0))
    result = solved(work, "0.5 s")
    (told,) = [each for each in result.diagnostics if each.code == "beyond-period"]
    period = told.hint.split("`")[1].removeprefix("period = ")
    assert "beyond-period" not in codes(solved(work, period))


@pytest.mark.parametrize(("longest", "period"), [(0.4, 1.0), (59.2, 60.0), (3600.0, 3600.0), (3600.5, 3660.0)])
def test_periods_are_rounded_up(longest: float, period: float) -> None:
    assert enough(longest) == period


def test_a_class_on_several_types_counts_by_its_slowest_share() -> None:
    text = SPEC.format(period="", work=25000, goal="minimize cost").replace(
        "class a {", "vm m6 { on_demand { price = 0.1 USD/h } }\nclass a { on m6 { speed = 100 }, "
    )
    assert "beyond-period" not in codes(mrdsl.solve(mrdsl.loads(text)))
    assert "beyond-period" in codes(mrdsl.solve(mrdsl.loads(text.replace("speed = 100", "speed = 2"))))


def test_a_cost_names_its_period_and_other_goals_do_not() -> None:
    assert "cost 0.192 USD for 1 h (" in solved(60).status()
    assert "cost 1.536 USD for 8 h (" in solved(60, "8 h").status()
    assert " for " not in solved(60, "8 h", "minimize vms").status().splitlines()[0]
    assert "1.344 USD for 2 h (" in solved(60, "2 h", "minimize 3 * cost + 0.192 USD/vm * vms").status()


def test_joint_costs_are_those_of_all_periods() -> None:
    result = mrdsl.solve(mrdsl.load("models/joint/reference.mrspec"))
    assert "for 1 h" in result.status()
    day = mrdsl.solve(mrdsl.load("models/joint/S4.mrspec"))
    assert day.objective.period == 24 * 3600.0


def test_a_saved_plan_keeps_it(tmp_path: Path) -> None:
    result = solved(60, "8 h")
    saved = json.loads(result.to_json())
    assert saved["objective"]["period"] == 8 * 3600.0
    assert Result.from_json(result.to_json()).objective.period == 8 * 3600.0
    del saved["objective"]["period"]
    assert Result.from_json(json.dumps(saved)).objective.period == 8 * 3600.0


def test_compare_and_diff_name_both(tmp_path: Path) -> None:
    names = ("hour.mrspec", "shift.mrspec")
    for name, period in zip(names, ("", "period = 8 h"), strict=True):
        (tmp_path / name).write_text(SPEC.format(period=period, work=60, goal="minimize cost"), encoding="utf-8")
    shown = run_here(("compare", *names), tmp_path).output
    assert "cost 0.192 USD for 1 h" in shown
    assert "cost 1.536 USD for 8 h" in shown
    assert "cost: 0.192 USD for 1 h to 1.536 USD for 8 h" in run_here(("diff", *names), tmp_path).output
    assert "cost: 0.192 to 0.192 USD for 1 h" in run_here(("diff", names[0], names[0]), tmp_path).output
