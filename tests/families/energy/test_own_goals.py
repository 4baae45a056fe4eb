"""Goals of one's own over energy, cost and time: the optimum is that of all plans, by two solvers and both models."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import mrdsl
from tests.families.energy.specs import enumerate_best

GREEN = """\
problem energy "green"
vm small { slots { map = 1, reduce = 1 }, on_demand { price = 0.03 USD/h }, available = 2 }
vm large { slots { map = 2, reduce = 2 }, on_demand { price = 0.09 USD/h }, available = 1 }
network { speed = 1 Gbit/s, io_power = 20 W }
job a {
  map { tasks = 5, block = 64 MB }
  reduce { tasks = 3 }
  intermediate = 100%
  deadline = 900 s
  budget = 1 USD
  on small { map { time = 40 s, energy = 600 J }, reduce { time = 60 s, energy = 900 J } }
  on large { map { time = 30 s, energy = 900 J }, reduce { time = 45 s, energy = 1300 J } }
}
param carbon_price = 80 USD/t
let carbon = 0.4 kg/kWh * energy
let total = cost + carbon_price * carbon
"""
GOALS = {
    "cost and carbon": "minimize total",
    "a dear carbon": "let dear = cost + 1e6 USD/t * carbon\nminimize dear",
    "haste": "let haste = total + 0.5 USD/h * uptime\nminimize haste",
    "few machines": "let few = uptime + 30 s * machines / 1 vm\nminimize few",
    "the greatest of what is less": "let less = -(total + 0.5 USD/h * uptime)\nmaximize less",
    "a promise besides": "let haste = total + 0.5 USD/h * uptime\nminimize haste\nsubject to { carbon <= 0.9 g }",
    "a quantity of the plan by its name": "minimize machines",
}


@pytest.mark.parametrize("goal", GOALS.values(), ids=GOALS)
def test_the_optimum_is_the_best_of_all_plans(goal: str) -> None:
    spec = mrdsl.loads(GREEN + goal + "\n")
    best = enumerate_best(spec)
    for solver, formulation in (("highs", "counted"), ("highs", "per_task"), ("scip", "counted")):
        result = mrdsl.solve(spec, solver, formulation=formulation)
        assert result.termination == "optimal", result.diagnostics
        assert result.value == pytest.approx(-best if result.sense == "maximize" else best, rel=1e-6)
        assert not result.diagnostics


def test_haste_costs_carbon() -> None:
    slow, fast = (
        mrdsl.solve(mrdsl.loads(GREEN + GOALS[each])).quantities["carbon"] for each in ("a dear carbon", "haste")
    )
    assert slow.value is not None
    assert fast.value is not None
    assert slow.value < 0.99 * fast.value


def test_results_tell_what_the_plan_has_of_each() -> None:
    result = mrdsl.solve(mrdsl.loads(GREEN + GOALS["haste"])).of(mrdsl.EnergyPlan)
    plan = result.plan
    assert plan is not None
    energy = plan.energy.total
    haste = plan.cost + 0.08 * 0.4 / 3.6e6 * energy + 0.5 / 3600 * plan.uptime
    told = {
        "carbon": (0.4 / 3.6e6 * energy, "kg"),
        "total": (haste - 0.5 / 3600 * plan.uptime, "USD"),
        "haste": (haste, "USD"),
    }
    assert {name: each.unit for name, each in result.quantities.items()} == {
        name: unit for name, (_, unit) in told.items()
    }
    for name, (value, _) in told.items():
        assert result.quantities[name].value == pytest.approx(value, rel=1e-9)
    assert result.tables()[-1].rows == [(name, each.value, each.unit) for name, each in result.quantities.items()]
    assert (result.quantity, result.unit, result.value) == ("haste", "USD", result.quantities["haste"].value)


def test_a_result_comes_back_with_them_and_edited_ones_are_told(tmp_path: Path) -> None:
    result = mrdsl.solve(mrdsl.loads(GREEN + GOALS["haste"]))
    text = result.to_json()
    assert mrdsl.Result.from_json(text) == result
    file = tmp_path / "plan.json"
    file.write_text(text, encoding="utf-8")
    assert not mrdsl.verify(file).found
    document = json.loads(text)
    document["quantities"]["carbon"]["value"] = 0.5
    file.write_text(json.dumps(document), encoding="utf-8")
    found = mrdsl.verify(file).found
    assert [(d.code, d.severity) for d in found] == [("edited-plan", "error"), ("edited-plan", "warning")]
    assert "`quantities.carbon`" in found[0].message


@pytest.mark.parametrize("method", ["mrdsl-energy", "emrsaps"])
def test_heuristics_say_that_they_know_other_goals_alone(method: str) -> None:
    with pytest.raises(mrdsl.MrdslError) as told:
        mrdsl.solve(mrdsl.loads(GREEN + GOALS["haste"]), method)
    (diagnostic,) = told.value.diagnostics
    assert diagnostic.code == "unable-solver"
    assert "does not support user-defined objectives" in diagnostic.message
    assert "highs" in diagnostic.hint
    assert diagnostic.span is None


def test_a_spec_is_printed_with_its_units_and_read_again() -> None:
    for goal in GOALS.values():
        spec = mrdsl.loads(GREEN + goal)
        again = mrdsl.loads(mrdsl.dumps(spec))
        assert (again.goal, again.lets) == (spec.goal, spec.lets)
        assert [(c.left, c.comparison, c.right) for c in again.constraints] == [
            (c.left, c.comparison, c.right) for c in spec.constraints
        ]
        assert mrdsl.Spec.from_json(spec.to_json()).goal == spec.goal


@pytest.mark.parametrize("free", ["small", "large", "small large"])
@pytest.mark.parametrize("goal", ["minimize energy", "minimize cost", "minimize uptime", GOALS["cost and carbon"]])
def test_machines_of_ones_own_cost_nothing(free: str, goal: str) -> None:
    text = GREEN.replace("budget = 1 USD", "budget = 0.4 cent")
    for price in [{"small": "0.03", "large": "0.09"}[name] for name in free.split()]:
        text = text.replace(f"price = {price} USD/h", "price = 0 USD/h")
    spec = mrdsl.loads(text + goal + "\n")
    best = enumerate_best(spec)
    results = [mrdsl.solve(spec, "highs", formulation=each) for each in ("counted", "per_task")]
    for result in (*results, mrdsl.solve(spec)):
        assert result.termination == "optimal", result.diagnostics
        assert result.value == pytest.approx(best, rel=1e-6, abs=1e-12)
