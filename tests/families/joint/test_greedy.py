"""The greedy against an independent brute force, against P2 through HiGHS, and by hand on the reference spec."""

from __future__ import annotations

from itertools import product

import pyomo.environ as pyo
import pytest
from pyomo.contrib.appsi.solvers.highs import Highs

from mrdsl.contracts.pipeline import Draft, run_steps
from mrdsl.core.result import Result, SolutionStatus, Termination
from mrdsl.families.joint.facts import JobClass, Service
from mrdsl.families.joint.methods.greedy import fill_by_penalty, recover, serve_least
from mrdsl.families.joint.models.formulations import build_p2, build_rounded, decode_p2
from mrdsl.families.joint.verify import measure
from mrdsl.spec.spec import Spec

from .specs import HOUR, broken, random_spec, reference

STEPS = [(serve_least, {}), (fill_by_penalty, {}), (recover, {})]


def greedy(spec: Spec, relax: bool = False) -> Result:
    return run_steps(STEPS, Draft(spec, relax=relax))


def highs(model: pyo.ConcreteModel) -> float | None:
    solver = Highs()
    solver.config.load_solution = False
    solver.highs_options = {"mip_rel_gap": 0.0, "mip_abs_gap": 0.0}
    result = solver.solve(model)
    if result.best_feasible_objective is None:
        return None
    result.solution_loader.load_vars()
    return float(result.best_feasible_objective)


def test_reference_by_hand() -> None:
    """Worked on paper: checkout avoids 2e-5 * 3600 * (15 - 1/1.15) per VM, search 1.2e-5 * 3600 * (20 - 1/1.15),
    recommendations 0.45 * 4 / gamma; so checkout is served in full, search takes the rest."""
    a = (2 * 370 * 30 - 2 * 42) / 2
    b = (2 * 64 * 59 - 2 * 84) / 2
    c = (11 - 37 + 11 + 2 * (40 + 42 + 44)) / 2
    gamma = (a**0.5 + b**0.5) ** 2 / 2 / (900 - c)
    least = 0.8 * 16 * gamma / 4
    checkout, search = 15 - 1 / 1.15, 20 - 1 / 1.15
    left = 210 - least - 1200 / checkout
    rejected = (3.2, 0.0, 1500 - left * search)
    cost = 210 * 0.010943 + 0.45 * rejected[0] + 1.2e-5 * HOUR * rejected[2]
    outcome = greedy(reference(), relax=True)
    assert outcome.value == pytest.approx(cost, rel=1e-12)
    assert outcome.termination is Termination.OPTIMAL
    assert outcome.plan is not None
    document = outcome.plan.document()
    assert document["periods"][0]["services"]["search"]["rate"] == pytest.approx(left * search)
    assert document["periods"][0]["classes"]["recommendations"]["admitted"] == pytest.approx(12.8)


@pytest.mark.parametrize("relax", [True, False])
def test_too_small_cluster(relax: bool) -> None:
    assert greedy(reference(peak=1.2), relax).termination is Termination.INFEASIBLE


def brute_force(spec: Spec) -> float | None:
    """The least cost over every whole number of VMs per class and service, each with all the demand it can serve.

    For fractional jobs at once; :mod:`.brute` is for whole ones.

    Independent of the arrays: from the facts and the printed constraints (3)-(9).
    """
    cluster = spec.facts.cluster
    options = [_class_costs(c, cluster.period) for c in spec.facts.classes]
    options += [_service_costs(s, cluster.period) for s in spec.facts.services]
    totals = [
        sum(one[vms] for one, vms in zip(options, choice, strict=True)) + cluster.vm_cost * cluster.period * sum(choice)
        for choice in product(*options)
        if sum(choice) <= cluster.size
    ]
    return min(totals, default=None)


def _class_costs(one: JobClass, period: float) -> dict[int, float]:
    work = one.coefficients
    assert work is not None
    assert one.jobs is not None

    def capacity(vms: int) -> float:
        """Jobs per period on whole VMs, by the best split of (4)'s slots, searched rather than derived."""
        best = 0.0
        low, high = 0.0, 1.0
        for _ in range(200):
            left, right = low + (high - low) / 3, high - (high - low) / 3
            if jobs(vms, left) < jobs(vms, right):
                low = left
            else:
                high = right
            best = max(best, jobs(vms, left), jobs(vms, right))
        return best

    def jobs(vms: int, share: float) -> float:
        slots = vms * period / one.deadline
        map_slots, reduce_slots = share * slots * one.slots.map, (1 - share) * slots * one.slots.reduce
        if min(map_slots, reduce_slots) <= 0:
            return 0.0
        in_time = (one.deadline - work.C) / (work.A / map_slots + work.B / reduce_slots)
        return min(in_time, map_slots, reduce_slots)  # each job has a slot of each kind

    costs = {}
    for vms in range(8):
        able = capacity(vms)
        if able >= one.jobs.low - 1e-9:
            costs[vms] = one.penalty * (one.jobs.high - min(one.jobs.high, able))
    return costs


def _service_costs(one: Service, period: float) -> dict[int, float]:
    assert one.rate is not None
    costs = {}
    for vms in range(8):
        able = vms * (one.service_rate - 1 / (one.response - one.delay))
        if able >= one.rate.low - 1e-9:
            costs[vms] = one.penalty * period * (one.rate.high - min(one.rate.high, able))
    return costs


@pytest.mark.parametrize("seed", range(60))
def test_whole_vms_are_optimal(seed: int) -> None:
    spec = random_spec(seed)
    outcome, best = greedy(spec), brute_force(spec)
    if best is None:
        assert outcome.termination is Termination.INFEASIBLE
        return
    assert outcome.value == pytest.approx(best, rel=1e-7, abs=1e-9)
    assert outcome.plan is not None
    assert not broken(spec, outcome.plan)
    assert measure(spec, outcome.plan) == pytest.approx(outcome.value, rel=1e-12)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("relax", [True, False])
@pytest.mark.parametrize("sharing", ["shared", "partitioned"])
def test_agrees_with_p2(seed: int, relax: bool, sharing: str) -> None:
    spec = random_spec(seed, sharing=sharing)
    outcome = greedy(spec, relax)
    model = build_p2(spec, relax)
    value = highs(model)
    if value is None:
        assert outcome.termination is Termination.INFEASIBLE
        return
    assert outcome.solution is SolutionStatus.OPTIMAL
    assert value == pytest.approx(outcome.value, rel=1e-7, abs=1e-9)
    plan = decode_p2(spec, model, relax)
    assert not broken(spec, plan, relax)
    assert plan.total == pytest.approx(outcome.value, rel=1e-6)


@pytest.mark.parametrize("seed", range(20))
def test_rounded_p2_brackets_the_optimum(seed: int) -> None:
    """The paper's rounded variant bounds the cost from below, and its VMs cost no less than the optimum."""
    spec = random_spec(seed)
    outcome, model = greedy(spec), build_rounded(spec, relax=False)
    bound = highs(model)
    if bound is None or outcome.value is None:
        assert bound is None
        assert outcome.value is None
        return
    assert bound <= outcome.value + 1e-9
    assert decode_p2(spec, model, relax=False).total >= outcome.value - 1e-9
