"""What a caller changes in ``compiled.model`` is solved, and what a solver of theirs left in it is read and checked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyomo.environ as pyo
import pytest

import mrdsl
from mrdsl.core.diagnostics import MrdslError
from mrdsl.core.result import SolutionStatus, Termination

JOINT = "models/joint/reference.mrspec"
DEADLINE = """problem deadline "two chains"
dag a {
  allowable_delay = 10 min
  task first { duration = 60 s }
  task second { duration = 120 s, after = [first] }
  task beside { duration = 30 s }
}
dag b { allowable_delay = 5 min
  task first { duration = 100 s } }
GOAL
"""
CAPACITY = """problem capacity "two classes"
vm m5 { on_demand { price = 0.2 USD/h } }
class a { coefficients { A = 5400 s, B = 1250 s, C = 95 s }, slots { map = 4, reduce = 2 }
  jobs = 4..6, deadline = 10 min, penalty = 20 USD }
class b { coefficients { A = 3000 s, B = 900 s, C = 60 s }, slots { map = 2, reduce = 1 }
  jobs = 2..9, deadline = 20 min, penalty = 1 USD }
minimize cost
"""


def with_their_solver(model: Any) -> None:
    pyo.SolverFactory("appsi_highs").solve(model)


@pytest.mark.parametrize("formulation", ["P2", "P0"])
def test_a_constraint_more_limits_a_joint_plan(formulation: str) -> None:
    spec = mrdsl.load(JOINT)
    cluster = replace(spec.facts.cluster, reuse="paper")  # which P0 requires
    compiled = mrdsl.compile(replace(spec, facts=replace(spec.facts, cluster=cluster)), formulation=formulation)
    before = compiled.solve()
    assert before.plan.vms.sum() > 195
    compiled.model.mine = pyo.Constraint(expr=sum(compiled.model.vms.values()) <= 190)
    result = compiled.solve()
    assert result.plan.vms.sum() <= 190
    assert result.objective.value > before.objective.value
    for variable in compiled.model.vms.values():
        variable.fix(variable.lb)
        variable.setub(variable.lb - 1)
    assert compiled.solve().termination is Termination.INFEASIBLE
    assert compiled.result().termination is Termination.ERROR


def test_served_work_that_is_limited_is_not_admitted_all_the_same() -> None:
    compiled = mrdsl.compile(mrdsl.load(JOINT))
    free = compiled.solve().plan.of_service("checkout").rate[0]
    served = compiled.model.served[0, "checkout"]
    served.setub(0.9 * float(served.ub))
    limited = compiled.solve().plan.of_service("checkout").rate[0]
    assert free == pytest.approx(1200.0)
    assert limited == pytest.approx(0.9 * 1200.0)


def test_a_formulation_of_several_models_has_none_to_change() -> None:
    with pytest.raises(MrdslError, match="consists of several models"):
        _ = mrdsl.compile(mrdsl.load(JOINT), formulation="P2-rounded").model


@pytest.mark.parametrize("text", [CAPACITY, CAPACITY.replace("minimize", "whole = no\nminimize")])
def test_capacity_plans_keep_what_is_fixed_and_are_read_from_their_solver(text: str) -> None:
    compiled = mrdsl.compile(mrdsl.loads(text))
    compiled.model.admitted["a"].fix(5)
    own = compiled.solve()
    assert own.plan.classes["a"].admitted == 5
    fresh = mrdsl.compile(mrdsl.loads(text))
    fresh.model.admitted["a"].fix(5)
    with_their_solver(fresh.model)
    read = fresh.result("appsi_highs")
    assert read.objective.value == pytest.approx(own.objective.value)
    assert (read.objective.bound, read.termination) == (None, Termination.COMPLETED)
    assert read.solution is SolutionStatus.FEASIBLE
    assert read.solver["name"] == "appsi_highs"


def test_a_joint_plan_is_read_from_their_solver() -> None:
    compiled = mrdsl.compile(mrdsl.load(JOINT))
    with_their_solver(compiled.model)
    read, own = compiled.result(), mrdsl.solve(compiled.spec)
    assert read.objective.value == pytest.approx(own.objective.value, rel=1e-6)
    assert read.objective.bound is None


def test_a_model_without_values_has_no_plan() -> None:
    with pytest.raises(MrdslError, match="solve the model first"):
        mrdsl.compile(mrdsl.loads(CAPACITY)).result()


def test_a_point_that_breaks_the_model_is_refused() -> None:
    compiled = mrdsl.compile(mrdsl.loads(CAPACITY))
    with_their_solver(compiled.model)
    compiled.model.on_demand.set_value(0)
    result = compiled.result()
    assert (result.plan, result.termination) == (None, Termination.ERROR)


@pytest.mark.parametrize("goal", ["slack", "min_slack", "slack_ratio"])
def test_the_model_of_deadlines_speaks_of_tasks_and_seconds(goal: str) -> None:
    spec = mrdsl.loads(DEADLINE.replace("GOAL", f"maximize {goal}"))
    compiled = mrdsl.compile(spec)
    model = compiled.model
    assert list(model.slack) == ["a.first", "a.second", "a.beside", "b.first"]
    solver = "scip" if goal == "slack" else "highs"
    result, own = compiled.solve(solver), mrdsl.solve(spec)
    assert result.objective.value == pytest.approx(own.objective.value, rel=1e-5)
    assert model.slack["b.first"].value == pytest.approx(float(result.plan.slack[3]), rel=1e-5)
    assert model.time["deadline", "a"].value == 600.0
    assert model.time["finish", "a.first"].value >= model.time["start", "a.first"].value + 60.0 - 1e-6
    model.slack["a.first"].fix(50.0)
    assert compiled.solve(solver).plan.slack[0] == pytest.approx(50.0)
    assert compiled.result().plan.slack[0] == pytest.approx(50.0)


def test_named_and_numbered_models_of_deadlines_agree() -> None:
    """By hand: 420 s of slack to two tasks in a row, 570 s and 200 s to tasks alone."""
    spec = mrdsl.loads(DEADLINE.replace("GOAL", "maximize slack"))
    result = mrdsl.compile(spec).solve()
    assert result.plan.slack.tolist() == pytest.approx([210.0, 210.0, 570.0, 200.0], rel=1e-3)


def test_a_changed_model_needs_its_one_objective_in_its_sense() -> None:
    compiled = mrdsl.compile(mrdsl.loads(CAPACITY))
    model = compiled.model
    compiled.solve()
    model.second = pyo.Objective(expr=model.on_demand)
    for call in (compiled.solve, compiled.result):
        with pytest.raises(MrdslError, match="needs one active objective, got 2"):
            call()
    model.cost.deactivate()
    assert compiled.solve().objective.bound is None
    model.second.deactivate()
    with pytest.raises(MrdslError, match="needs one active objective, got 0"):
        compiled.solve()
    model.cost.activate()
    model.cost.sense = pyo.maximize
    with pytest.raises(MrdslError, match="keep its sense"):
        compiled.solve()


def test_values_of_a_changed_model_that_are_not_a_plan_are_refused() -> None:
    compiled = mrdsl.compile(mrdsl.load("models/makespan/two-jobs.mrspec"))
    compiled.model.all_maps.deactivate()
    result = compiled.solve("highs")
    assert result.termination is Termination.ERROR
    assert result.plan is None
    assert result.diagnostics[0].code == "broken-plan"
