"""Theorems 4.1 and 4.2: P0, P1, P0-cone and the relaxed P2 have one optimum; SCIP proves each by itself."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mrdsl.core.diagnostics import MrdslError
from mrdsl.core.result import Limits, SolutionStatus
from mrdsl.families.capacity.instance import instance_of
from mrdsl.families.capacity.models.nonlinear import build_cone, build_p0, decode, slot_bounds
from mrdsl.families.capacity.verify import verify
from mrdsl.planning.solve_spec import solve
from mrdsl.spec import Constraint, Spec
from mrdsl.spec.expression import Constant, Operation, PlanQuantity
from tests.families.capacity import capacity_specs as specs

pytest.importorskip("pyscipopt")
GAP = 1e-4


def with_jobs(spec: Spec) -> Spec:
    """P0 and P1 divide by jobs or slots: every class admits at least one job."""
    classes = tuple(replace(c, jobs=specs.Range(max(1.0, c.jobs.low), c.jobs.high)) for c in spec.facts.classes)
    return replace(spec, facts=replace(spec.facts, classes=classes))


@pytest.mark.parametrize("formulation", ["P0", "P0-cone", "P1"])
@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_all_formulations_have_the_relaxed_optimum_of_p2(formulation: str, seed: int) -> None:
    spec = with_jobs(specs.random_spec(seed, classes=3))
    linear = solve(spec, solver="direct", relax=True)
    found = solve(spec, solver="scip", formulation=formulation, relax=True, limits=Limits(gap=GAP))
    assert found.solution is SolutionStatus.OPTIMAL
    assert found.objective.value == pytest.approx(linear.objective.value, rel=1e-6)
    assert found.objective.bound <= linear.objective.value * (1 + 1e-6)
    assert found.objective.bound >= linear.objective.value * (1 - GAP) - 1e-6


def test_the_solver_finds_theorem_41s_slots_by_itself() -> None:
    spec = with_jobs(specs.random_spec(5, classes=2))
    found = solve(spec, solver="scip", formulation="P0", relax=True, limits=Limits(gap=1e-7))
    per_job = instance_of(spec).slots_per_job
    for slots, each in ((found.plan.map_slots, per_job[0]), (found.plan.reduce_slots, per_job[1])):
        np.testing.assert_allclose(slots, each * found.plan.admitted, rtol=5e-3)


def test_the_reference_in_cones_and_whole_numbers() -> None:
    whole = solve(specs.reference(), solver="highs", limits=Limits(gap=0.0))
    cone = solve(specs.reference(), solver="scip", formulation="P0-cone", limits=Limits(gap=1e-6))
    assert cone.objective.value == pytest.approx(whole.objective.value, rel=1e-6)
    assert cone.plan.on_demand + cone.plan.reserved == whole.plan.on_demand + whole.plan.reserved


@pytest.mark.parametrize("build", [build_p0, build_cone])
@pytest.mark.parametrize("miss", [1.0, 1.005])
def test_slots_that_miss_a_deadline_within_a_solvers_tolerance_are_those_of_theorem_41(
    build: Callable[[Spec, bool], Any], miss: float
) -> None:
    """A point with slots too few by half a percent: the plan keeps all deadlines and rents what that takes."""
    spec = with_jobs(specs.random_spec(3, classes=2))
    instance = instance_of(spec)
    per_job = instance.slots_per_job
    model = build(spec, False)
    for i, name in enumerate(instance.names):
        model.admitted[name].set_value(instance.expected[i])
        for slots, each in ((model.map_slots, per_job[0]), (model.reduce_slots, per_job[1])):
            slots[name].set_value(each[i] * instance.expected[i] / miss, skip_validation=True)
    taken = float((instance.vms_per_job() @ instance.expected) / miss)
    model.on_demand.set_value(int(np.ceil(taken / 2)), skip_validation=True)
    model.reserved.set_value(0)
    plan = decode(spec, model, False)
    broken = [d.message for d in verify(spec, plan, False) if d.severity == "error"]
    if miss == 1.0:  # nothing is mended that is not late: too few VMs stay an error
        assert plan.on_demand == np.ceil(taken / 2)
        assert "VMs" in broken[0]
        return
    assert broken == []
    assert plan.on_demand == np.ceil(float(instance.vms_per_job() @ instance.expected) - 1e-9)


def test_slot_bounds_hold_theorem_41s_slots() -> None:
    """They come from the data alone; what the theorem says of the optimum lies inside."""
    for seed in range(20):
        instance = instance_of(specs.random_spec(seed))
        for (least, most), each in zip(slot_bounds(instance), instance.slots_per_job, strict=True):
            assert (each * instance.low >= least - 1e-9).all()
            assert (each * instance.expected <= most * (1 + 1e-12)).all()


@pytest.mark.parametrize("formulation", ["P0", "P1"])
def test_no_jobs_at_all_is_refused_with_a_way_out(formulation: str) -> None:
    spec = specs.random_spec(0, classes=1)
    spec = replace(spec, facts=replace(spec.facts, classes=(replace(spec.facts.classes[0], jobs=specs.Range(0, 3)),)))
    with pytest.raises(MrdslError, match="divides by") as raised:
        solve(spec, solver="scip", formulation=formulation, relax=True)
    assert "P0-cone" in raised.value.diagnostics[0].hint


def test_completion_times_compare_freely_in_p0_only() -> None:
    spec = with_jobs(specs.random_spec(7, classes=2))
    half = Constraint(PlanQuantity("completion", "c0"), "<=", PlanQuantity("completion", "c1"), text="c0 before c1")
    spec = replace(spec, constraints=(half,))
    with pytest.raises(MrdslError, match="completion times"):
        solve(spec, solver="highs")
    found = solve(spec, solver="scip", formulation="P0", relax=True, limits=Limits(gap=GAP))
    assert found.plan.completion_average[0] <= found.plan.completion_average[1] * (1 + 1e-6)


def test_a_tighter_completion_is_a_tighter_deadline() -> None:
    spec = specs.reference()
    tighter = Constraint(PlanQuantity("completion", "twitter"), "<=", Constant(600.0))
    held = solve(replace(spec, constraints=(tighter,)), limits=Limits(gap=0.0))
    classes = (replace(spec.facts.classes[0], deadline=600.0), *spec.facts.classes[1:])
    same = solve(replace(spec, facts=replace(spec.facts, classes=classes)), limits=Limits(gap=0.0))
    assert held.objective.value == pytest.approx(same.objective.value)
    assert held.plan.deadline[0] == 900.0


def test_the_latest_of_several_completions_is_a_bound_on_each() -> None:
    both = Operation("max", (PlanQuantity("completion", "twitter"), PlanQuantity("completion", "sort")))
    spec = replace(specs.reference(), constraints=(Constraint(Constant(800.0), ">=", both),))
    for solver in ("highs", "direct"):
        plan = solve(spec, solver=solver, limits=Limits(gap=0.0)).plan
        assert plan.completion_average[0] == pytest.approx(800.0)
        assert plan.completion_upper[1] == pytest.approx(800.0)  # sort guarantees its upper estimate
