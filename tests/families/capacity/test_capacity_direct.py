"""``direct``: exact for the relaxation, and whole plans between its own bound and 0.5 % above the optimum."""

import math

import highspy
import numpy as np
import pytest

from mrdsl.contracts.pipeline import Draft, run_steps
from mrdsl.core.diagnostics import has_errors
from mrdsl.core.result import Limits, Result, SolutionStatus, Termination
from mrdsl.families.capacity.instance import instance_of
from mrdsl.families.capacity.methods import direct
from mrdsl.families.capacity.verify import measure, verify
from mrdsl.spec import Constraint, Spec
from mrdsl.spec.expression import Constant, PlanQuantity
from tests.families.capacity import capacity_specs as specs
from tests.families.capacity.test_capacity_linear import brute_force

STEPS = [(direct.prepare, {}), (direct.fill, {}), (direct.whole_jobs, {})]


def run(spec: Spec, relax: bool = False, gap: float | None = None) -> Result:
    return run_steps(STEPS, Draft(spec, relax=relax, limits=Limits(gap=gap)))


def highs(spec: Spec, relax: bool = False) -> float:
    """The optimum of P2 by HiGHS, from arrays: no model code of ours between."""
    instance = instance_of(spec)
    gamma, prices, n = instance.vms_per_job(), instance.prices, len(instance)
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = n + 2, 1
    lp.col_cost_ = np.concatenate([-instance.penalty, [prices.on_demand, prices.reserved]])
    lp.col_lower_ = np.concatenate([instance.low, [0.0, 0.0]])
    lp.col_upper_ = np.concatenate([instance.expected, [1e9, float(prices.available)]])
    lp.row_lower_, lp.row_upper_ = np.array([-1e30]), np.array([0.0])
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = np.array([0, n + 2])
    lp.a_matrix_.index_ = np.arange(n + 2)
    lp.a_matrix_.value_ = np.concatenate([gamma, [-1.0, -1.0]])
    lp.offset_ = float(instance.penalty @ instance.expected)
    if not relax:
        lp.integrality_ = [highspy.HighsVarType.kInteger] * (n + 2)
    solver = highspy.Highs()
    solver.silent()
    for name, value in (("mip_rel_gap", 0.0), ("mip_abs_gap", 1e-9), ("mip_feasibility_tolerance", 1e-9)):
        solver.setOptionValue(name, value)
    solver.passModel(lp)
    solver.run()
    return float(solver.getInfo().objective_function_value)


def check(spec: Spec, relax: bool = False, gap: float | None = None) -> Result:
    outcome = run(spec, relax, gap)
    assert outcome.plan is not None
    assert outcome.value is not None
    assert outcome.bound is not None
    assert not has_errors(tuple(verify(spec, outcome.plan, relax)))
    assert measure(spec, outcome.plan) == pytest.approx(outcome.value)
    assert outcome.bound <= outcome.value + 1e-9
    return outcome


@pytest.mark.parametrize("seed", range(50))
def test_direct_stays_within_its_bound_and_half_a_percent_of_the_optimum(seed: int) -> None:
    spec = specs.random_spec(seed)
    optimum = highs(spec)
    outcome = check(spec)
    assert outcome.bound <= optimum + 1e-6 * max(1.0, optimum)
    assert outcome.value <= optimum * 1.005 + 1e-6
    if outcome.termination is Termination.OPTIMAL:
        assert outcome.value <= optimum * (1 + 1.1e-6) + 1e-7


@pytest.mark.parametrize("seed", range(50))
def test_direct_solves_the_relaxation_exactly(seed: int) -> None:
    spec = specs.random_spec(seed)
    outcome = check(spec, relax=True)
    assert outcome.value == pytest.approx(highs(spec, relax=True), rel=1e-7, abs=1e-7)
    assert outcome.solution is SolutionStatus.OPTIMAL


@pytest.mark.parametrize("seed", range(40))
def test_asked_for_proof_it_finds_the_brute_force_optimum(seed: int) -> None:
    spec = specs.random_spec(1000 + seed, classes=3)
    outcome = check(spec, gap=0.0)
    assert outcome.termination is Termination.OPTIMAL
    assert outcome.value == pytest.approx(brute_force(spec), rel=1e-9, abs=1e-9)


def test_classes_that_are_all_alike_are_no_trap() -> None:
    """Equal penalty per VM everywhere: every exchange is free, and many states are the same state."""
    random = np.random.RandomState(5)
    one = specs.random_class(random, "c")
    from dataclasses import replace

    spec = specs.capacity(tuple(replace(one, name=f"c{i}", jobs=specs.Range(0, 30)) for i in range(40)), available=2000)
    gamma = instance_of(spec).vms_per_job()[0]
    spec = specs.capacity(tuple(replace(c, penalty=0.15 * gamma) for c in spec.facts.classes), available=2000)
    outcome = check(spec, gap=0.0)
    assert outcome.value == pytest.approx(highs(spec), rel=1e-9)


def test_many_classes_are_proven_to_one_in_a_million() -> None:
    random = np.random.RandomState(11)
    spec = specs.capacity(tuple(specs.random_class(random, f"c{i}") for i in range(1000)), available=100_000)
    outcome = check(spec)
    assert outcome.termination is Termination.OPTIMAL
    assert (outcome.value - outcome.bound) / outcome.value <= 1e-6


def comparison(name: str, argument: str, how: str, value: float) -> Constraint:
    return Constraint(PlanQuantity(name, argument), how, Constant(value), text=f"{name}({argument}) {how} {value:g}")


def test_bounds_on_single_classes_are_kept() -> None:
    spec = specs.random_spec(3, classes=4)
    free = check(spec, gap=0.0)
    name, admitted = free.plan.names[1], free.plan.admitted[1]
    constraint = (
        comparison("completion", name, "<=", 0.8 * instance_of(spec).deadline[1]),
        comparison("admitted", name, "<=", instance_of(spec).low[1]),
    )
    held = check(specs.capacity(spec.facts.classes, constraints=constraint), gap=0.0)
    assert held.plan.admitted[1] == instance_of(spec).low[1] <= admitted
    assert held.plan.completion_average[1] <= 0.8 * instance_of(spec).deadline[1] * (1 + 1e-9) or (
        held.plan.admitted[1] == 0
    )


def test_a_contradiction_is_told_as_such() -> None:
    spec = specs.random_spec(3, classes=2)
    high = instance_of(spec).expected[0]
    outcome = run(specs.capacity(spec.facts.classes, constraints=(comparison("admitted", "c0", ">=", high + 1),)))
    assert outcome.termination is Termination.INFEASIBLE
    assert [d.code for d in outcome.diagnostics] == ["impossible-admission"]


def test_one_job_that_takes_less_than_a_vm() -> None:
    """Five jobs of a class with gamma = 0.3 fit on ceil(1.5) = 2 VMs; six would fit too, and nine need three."""
    base = specs.reference().facts.classes[2]
    from dataclasses import replace

    wide = replace(base, jobs=specs.Range(5, 9), deadline=20_000.0, penalty=0.1)
    spec = specs.capacity((wide,), reserved=None, on_demand=0.2)
    gamma = float(instance_of(spec).vms_per_job()[0])
    expected = min(0.2 * math.ceil(gamma * h) + 0.1 * (9 - h) for h in range(5, 10))
    assert check(spec, gap=0.0).value == pytest.approx(expected)
