"""The rental program of large specs has rows for comparisons: its bound and its plan hold for the spec with these."""

from __future__ import annotations

from dataclasses import replace

import pytest

import mrdsl
from mrdsl.core.answer import Answer
from mrdsl.core.diagnostics import has_errors
from mrdsl.core.result import Limits, SolutionStatus, Termination
from mrdsl.families.capacity import formulations
from mrdsl.families.capacity.verify import verify
from mrdsl.solving import checked_answer
from mrdsl.spec import Constraint
from mrdsl.spec.expression import Constant, PlanQuantity
from tests.families.capacity.type_specs import varied_types


@pytest.mark.parametrize("part", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_the_bound_holds_for_the_optimum_with_comparisons(
    seed: int, part: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = varied_types(seed, classes=2, types=2, jobs=4)
    spec = replace(spec, constraints=(Constraint(PlanQuantity("share", "spot"), "<=", Constant(part)),))
    best = mrdsl.solve(spec, "highs")
    assert formulations.direct(spec, False, Limits()) is None, "a small spec is left to the solver"
    monkeypatch.setattr(formulations, "LARGE_OF_A_CATALOGUE", 0)
    found = formulations.direct(spec, False, Limits())
    assert found is not None
    if best.value is None:
        assert best.termination is Termination.INFEASIBLE
        assert found.plan is None
        return
    assert found.bound is not None
    assert found.bound <= best.value * (1.0 + 1e-6)
    if part == 1.0 and not found.diagnostics:
        assert found.plan is not None
    if found.plan is not None:
        assert found.value is not None
        assert found.value >= best.value * (1.0 - 1e-6)
    again = mrdsl.solve(spec)
    assert again.value == pytest.approx(best.value, rel=1e-6)


def test_a_search_without_a_plan_has_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formulations, "LARGE_OF_A_CATALOGUE", 0)
    spec = varied_types(1, classes=2, types=2, jobs=4)
    spec = replace(spec, constraints=(Constraint(PlanQuantity("share", "spot"), "<=", Constant(0.01)),))
    known = formulations.direct(spec, False, Limits())
    result = mrdsl.solve(spec)
    assert known is not None
    assert result.bound is not None
    assert known.bound is not None
    assert result.bound >= known.bound * (1.0 - 1e-9)


def test_a_plan_keeps_a_limit_on_spot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formulations, "LARGE_OF_A_CATALOGUE", 0)
    spec = mrdsl.loads(LIMITED)
    known = formulations.direct(spec, False, Limits())
    best = mrdsl.solve(spec, "highs")
    assert known is not None
    assert known.plan is not None
    assert best.value is not None
    assert known.bound is not None
    assert known.bound <= best.value <= known.value * (1.0 + 1e-9)
    bought = known.plan.document()["vms"]["a"]
    assert 0.0 < bought["spot"] <= 0.3 * sum(bought[way] for way in ("on_demand", "reserved", "spot"))
    assert mrdsl.solve(spec).value == pytest.approx(best.value, rel=1e-6)


def test_a_proven_plan_needs_no_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formulations, "LARGE_OF_A_CATALOGUE", 0)
    nothing = Answer(Termination.TIME_LIMIT, SolutionStatus.NONE, solver="highs")
    monkeypatch.setattr(checked_answer, "solve_model", lambda *given, **named: nothing)
    spec = mrdsl.loads(LIMITED)
    known, result = formulations.direct(spec, False, Limits()), mrdsl.solve(spec)
    assert known is not None
    assert (result.termination, result.solution) == (Termination.OPTIMAL, SolutionStatus.OPTIMAL)
    assert (result.value, result.bound) == (known.value, known.bound)


@pytest.mark.parametrize("seed", range(8))
def test_limits_on_spot_bound_the_optimum(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also at high limits, and with VMs that are rented for the limit alone."""
    spec = varied_types(40 + seed, classes=3, types=3, jobs=4)
    spec = replace(
        spec, facts=replace(spec.facts, classes=tuple(replace(each, spot=None) for each in spec.facts.classes))
    )
    spec = replace(spec, constraints=(Constraint(PlanQuantity("share", "spot"), "<=", Constant(0.1 + 0.1 * seed)),))
    best = mrdsl.solve(spec, "highs")
    monkeypatch.setattr(formulations, "LARGE_OF_A_CATALOGUE", 0)
    found = formulations.direct(spec, False, Limits())
    assert found is not None
    assert found.bound is not None
    if best.value is not None:
        assert found.bound <= best.value * (1.0 + 1e-6)
    if found.plan is not None:
        assert found.value is not None
        assert best.value is not None
        assert found.value >= best.value * (1.0 - 1e-6)
        assert not has_errors(tuple(verify(spec, found.plan, relax=False)))


def test_idle_firm_vms_keep_a_limit_on_spot(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs on 4 large spot VMs, and 10 of the smallest type; parts of VMs cost less."""
    spec = mrdsl.loads(
        """problem capacity
        vm large { on_demand { price = 0.9 USD/h }, spot { price = 0.01 USD/h, interruptions = 0/h } }
        vm small { on_demand { price = 0.001 USD/h } }
        class c { coefficients { A = 9000 s, B = 1250 s, C = 95 s }, slots { map = 4, reduce = 2 }, types = [large]
          jobs = 1, deadline = 30 min, penalty = 9 USD }
        minimize cost
        subject to { share(spot) <= 30% }
        """
    )
    monkeypatch.setattr(formulations, "LARGE_OF_A_CATALOGUE", 0)
    found = formulations.direct(spec, False, Limits())
    best = mrdsl.solve(spec, "highs")
    assert found is not None
    assert best.value is not None
    assert found.value == pytest.approx(best.value) == pytest.approx(4 * 0.01 + 10 * 0.001)
    assert found.bound is not None
    assert 0.04 < found.bound <= best.value


LIMITED = """problem capacity
vm a { on_demand { price = 0.3 USD/h }, spot { price = 0.1 USD/h, interruptions = 0/h } }
class c[1..8] { coefficients { A = 9000 s, B = 1250 s, C = 95 s }, slots { map = 4, reduce = 2 }
  jobs = 3, deadline = 30 min, penalty = 9 USD }
minimize cost
subject to { share(spot) <= 30% }
"""
