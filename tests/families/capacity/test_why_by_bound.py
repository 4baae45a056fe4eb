"""Steps of ``why`` on the bound of a large spec: no plan of a changed spec costs less, whatever its slots and VMs."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import pytest

import mrdsl
from mrdsl.core.result import Result, Termination
from mrdsl.explaining.promises import lines_of, moved
from mrdsl.explaining.sensitivity import effects, steps
from mrdsl.families.capacity.facts import MACHINES, NO, SLOTS
from mrdsl.families.capacity.methods import least_cost
from mrdsl.families.diagnosis import find_family
from tests.families.capacity.type_specs import varied_types


@pytest.mark.parametrize("whole", [SLOTS, MACHINES, NO])
@pytest.mark.parametrize("seed", range(4))
def test_no_plan_of_a_changed_spec_costs_less_than_its_bound(
    whole: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(least_cost, "LARGE_OF_A_CATALOGUE", 0)
    spec = varied_types(seed, classes=2, types=2, jobs=4)
    spec = replace(spec, facts=replace(spec.facts, whole=whole), constraints=())
    result = mrdsl.solve(spec, "highs")
    if result.plan is None:
        pytest.skip("this spec has no plan")
    found = tuple(steps(spec, result))
    assert found
    assert all(step.bound is not None for step in found)
    for step in found[:: max(1, len(found) // 3)]:
        again = mrdsl.solve(moved(spec, {step.line: step.value}), "highs")
        least = inf if step.effect is None else step.bound + step.effect
        if again.plan is None:
            assert again.termination is Termination.INFEASIBLE
        else:
            assert least <= again.objective.value * (1.0 + 1e-6) + 1e-9
        harder = (step.value - step.line.value) * step.line.direction < 0.0
        assert step.effect is None or (step.effect >= -1e-6 if harder else step.effect <= 1e-6)


def test_steps_of_a_small_spec_or_of_a_named_solver_are_solved(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = replace(varied_types(1, classes=1, types=2, jobs=3), constraints=())
    result = mrdsl.solve(spec, "highs")
    assert all(step.bound is None for step in steps(spec, result))
    monkeypatch.setattr(least_cost, "LARGE_OF_A_CATALOGUE", 0)
    assert all(step.bound is None for step in steps(spec, result, "highs"))


@pytest.mark.parametrize("seed", range(6))
def test_a_bound_is_the_same_from_the_columns_of_another_spec(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(least_cost, "LARGE_OF_A_CATALOGUE", 0)
    spec = replace(varied_types(seed, classes=6, types=3, jobs=9), constraints=())
    least_cost.bound(spec)
    for line in lines_of(spec, find_family(spec)):
        changed = moved(spec, {line: line.value * 1.1 if line.kind == "time" else line.value + 1.0})
        begun = least_cost.bound(changed, spec)
        assert begun == pytest.approx(least_cost.bound(replace(changed)), rel=1e-7)


def test_steps_of_a_saved_plan_are_those_of_its_spec(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(least_cost, "LARGE_OF_A_CATALOGUE", 0)
    spec = replace(varied_types(1, classes=2, types=2, jobs=4), constraints=())
    result = mrdsl.solve(spec, "highs")
    assert result.formulation is not None
    assert tuple(steps(spec, result, "auto", result.formulation)) == tuple(steps(spec, result))


def test_the_explanation_states_what_the_bound_proves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(least_cost, "LARGE_OF_A_CATALOGUE", 0)
    spec = replace(varied_types(1, classes=2, types=2, jobs=4), constraints=())
    result: Result = mrdsl.solve(spec, "highs")
    shown, said = effects(spec, result, tuple(steps(spec, result)))
    assert "least cost" in shown.columns[3]
    away = result.objective.value - least_cost.bound(spec)
    assert f"plus {away:.4g} USD, the distance of this plan" in said
