"""Of plans that are equally good, the one that a solve begins at is taken: an hourly job gives no needless orders."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import mrdsl
from mrdsl.core.result import Result
from mrdsl.planning.difference import diff
from mrdsl.spec import Spec
from tests.command_lines import run_here

NIGHTLY = """problem capacity "every night"
vm m5 {{ on_demand {{ price = 0.192 USD/h }}, reserved {{ price = 0.121 USD/h, available = 40 }} }}
{more}
class clicks {{
  map {{ tasks = 370, avg = 30 s, max = 42 s }}
  shuffle {{ first_max = 11 s, avg = 37 s, max = 40 s }}
  reduce {{ tasks = 64, avg = 22 s, max = 44 s }}
  slots {{ map = 4, reduce = 2 }}
  jobs = 3..{jobs}, deadline = {deadline} s, penalty = 30 USD, guarantee = average
}}
class sort {{ coefficients {{ A = 5400 s, B = 1250 s, C = 95 s }}, slots {{ map = 4, reduce = 2 }}
  jobs = 1..2, deadline = {deadline} s, penalty = 30 USD }}
minimize cost
"""
TYPES = "vm m6 { on_demand { price = 0.17 USD/h }, spot { price = 0.08 USD/h, interruptions = 0.01/h } }"


def nightly(deadline: float, more: str = "", jobs: int = 4) -> Spec:
    return mrdsl.loads(NIGHTLY.format(deadline=deadline, more=more, jobs=jobs))


@cache
def last_night(more: str) -> Result:
    return mrdsl.solve(nightly(900.0, more))


@pytest.mark.parametrize("more", ["", TYPES, "whole = no"])
@pytest.mark.parametrize("percent", [100.0, 100.2, 100.5, 102.0])
def test_a_deadline_that_is_relaxed_leaves_a_plan_of_the_same_cost_alone(percent: float, more: str) -> None:
    last, spec = last_night(more), nightly(9.0 * percent, more)
    cold, warm = mrdsl.solve(spec), mrdsl.solve(spec, start=last)
    assert warm.objective.value == pytest.approx(cold.objective.value, rel=1e-6)
    assert (warm.termination, warm.solution) == (cold.termination, cold.solution)
    same_cost = cold.objective.value == pytest.approx(last.objective.value, rel=1e-9)
    assert same_cost or percent > 100.0
    if same_cost:
        assert diff(last, warm).changes == ()
        assert np.array_equal(warm.plan.deadline, np.full(2, 9.0 * percent))


@pytest.mark.parametrize("deadline", [1300.0, 1340.0])
def test_two_percent_more_time_for_whole_slots_orders_nothing(deadline: float) -> None:
    last, spec = mrdsl.solve(nightly(deadline)), nightly(1.02 * deadline)
    assert diff(last, mrdsl.solve(spec)).changes, "without a start the plan is another one of the same cost"
    warm = mrdsl.solve(spec, start=last)
    assert diff(last, warm).changes == ()
    assert warm.solution == "optimal"


def test_a_deadline_that_is_tightened_beyond_the_last_plan_changes_it() -> None:
    last = mrdsl.solve(nightly(900.0))
    tight = mrdsl.solve(nightly(700.0), start=last)
    assert diff(last, tight).changes
    assert tight.objective.value == pytest.approx(mrdsl.solve(nightly(700.0)).objective.value)


def test_a_better_plan_is_taken_and_other_jobs_are_planned_anew() -> None:
    last = mrdsl.solve(nightly(700.0))
    relaxed = mrdsl.solve(nightly(1400.0), start=last)
    assert relaxed.objective.value == pytest.approx(mrdsl.solve(nightly(1400.0)).objective.value)
    assert relaxed.objective.value < last.objective.value
    fewer = mrdsl.solve(nightly(700.0, jobs=3), start=last)
    assert fewer.plan.admitted.tolist() == [3.0, 2.0]


def test_a_method_that_begins_nowhere_keeps_the_last_plan_too() -> None:
    last = mrdsl.solve(nightly(900.0))
    warm = mrdsl.solve(nightly(903.0), "direct", start=last)
    assert diff(last, warm).changes == ()
    assert "start-unused" not in [each.code for each in warm.diagnostics]


def test_the_commands_of_an_hourly_job_have_nothing_to_do(tmp_path: Path) -> None:
    (tmp_path / "last.mrspec").write_text(NIGHTLY.format(deadline=900, more="", jobs=4), encoding="utf-8")
    (tmp_path / "now.mrspec").write_text(NIGHTLY.format(deadline=903, more="", jobs=4), encoding="utf-8")
    run_here(("solve", "last.mrspec", "-o", "last.json"), tmp_path)
    run_here(("solve", "now.mrspec", "--start", "last.json", "-o", "now.json"), tmp_path)
    assert run_here(("diff", "last.json", "now.json"), tmp_path).exit_code == 0
