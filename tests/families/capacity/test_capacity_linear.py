"""P2: built, solved, decoded, verified; against hand calculation and brute force."""

import itertools
import math

import numpy as np
import pyomo.environ as pyo
import pytest

from mrdsl.core.diagnostics import has_errors
from mrdsl.families.capacity import FAMILY
from mrdsl.families.capacity.instance import instance_of
from mrdsl.families.capacity.models import linear
from mrdsl.families.capacity.plan import CapacityPlan
from mrdsl.families.capacity.verify import measure, verify
from mrdsl.spec import Spec
from tests.families.capacity import capacity_specs as specs


def solved(spec: Spec, relax: bool = False) -> tuple[CapacityPlan, float]:
    model = linear.build(spec, relax)
    solver = pyo.SolverFactory("appsi_highs")
    solver.highs_options = {"mip_rel_gap": 0.0, "mip_abs_gap": 1e-9}
    solver.solve(model)
    return linear.decode(spec, model, relax), float(pyo.value(model.cost))


def brute_force(spec: Spec) -> float:
    """The least cost over every admission, VMs by the cheapest whole number that is enough."""
    instance = instance_of(spec)
    gamma, prices = instance.vms_per_job(), instance.prices
    best = math.inf
    for jobs in itertools.product(
        *(range(int(low), int(high) + 1) for low, high in zip(instance.low, instance.expected, strict=True))
    ):
        needed = math.ceil(float(gamma @ np.array(jobs, dtype=float)) - 1e-9)
        reserved = min(needed, prices.available) if prices.reserved < prices.on_demand else 0
        best = min(best, instance.cost(needed - reserved, reserved, np.array(jobs, dtype=float)))
    return best


def test_the_reference_spec_by_hand() -> None:
    """Twitter's A, B, C are the means of (11100, 3776, -29) and (11016, 3608, 263), worked out from eq. (1) and (2)."""
    instance = instance_of(specs.reference())
    assert [part[0] for part in (instance.work.map_work, instance.work.reduce_work, instance.work.constant)] == [
        11058,
        3692,
        117,
    ]
    gamma = (math.sqrt(11058 / 2) + math.sqrt(3692)) ** 2 / (900 - 117)  # (29) + (30) rearranged
    assert instance.vms_per_job()[0] == pytest.approx(gamma)
    plan, cost = solved(specs.reference())
    assert cost == pytest.approx(brute_force(specs.reference()), abs=1e-9)
    assert cost == pytest.approx(plan.total)


@pytest.mark.parametrize("seed", range(12))
def test_brute_force_finds_nothing_cheaper(seed: int) -> None:
    spec = specs.random_spec(seed, classes=3)
    plan, cost = solved(spec)
    assert cost == pytest.approx(brute_force(spec), abs=1e-6)
    assert not has_errors(tuple(verify(spec, plan, relax=False)))
    assert measure(spec, plan) == pytest.approx(cost)


def test_the_relaxation_is_a_bound_and_keeps_the_deadline_with_equality() -> None:
    for seed in range(5):
        spec = specs.random_spec(seed)
        whole, relaxed = solved(spec), solved(spec, relax=True)
        assert relaxed[1] <= whole[1] + 1e-6
        assert not has_errors(tuple(verify(spec, relaxed[0], relax=True)))
        admitted = relaxed[0].admitted > 0
        np.testing.assert_allclose(relaxed[0].completion_average[admitted], relaxed[0].deadline[admitted])


def test_the_plan_has_exactly_the_keys_of_the_language() -> None:
    plan, _ = solved(specs.reference())
    document = plan.document()
    assert list(document) == ["vms", "classes", "cost", "whole"]
    assert list(document["vms"]["m5"]) == ["on_demand", "reserved"]
    assert list(document["classes"]) == ["twitter", "sort", "reporting"]
    assert list(document["classes"]["sort"]) == [
        "admitted",
        "rejected",
        "map_slots",
        "reduce_slots",
        "whole_slots",
        "vms",
        "completion",
        "deadline",
        "penalty",
        "upper_is_bound",
    ]
    assert list(document["classes"]["sort"]["completion"]) == ["lower", "average", "upper"]
    assert document["classes"]["reporting"]["completion"]["upper"] is None
    assert isinstance(document["classes"]["sort"]["admitted"], int)


def test_a_model_that_is_built_twice_is_the_same() -> None:
    assert FAMILY.formulations[0].name == "P2"
    first, second = (linear.build(specs.reference(), relax=False) for _ in range(2))
    assert str(first.enough_vms.body) == str(second.enough_vms.body)
    assert [v.name for v in first.admitted.values()] == ["admitted[twitter]", "admitted[sort]", "admitted[reporting]"]
