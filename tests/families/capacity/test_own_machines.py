"""``direct`` where classes share no VM: bounds below every optimum, plans that keep all that is asked, close to it."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest

import mrdsl
from mrdsl.core.diagnostics import has_errors
from mrdsl.core.result import Limits
from mrdsl.families.capacity.methods.own_machines import AMONG, PASSES, Rents
from mrdsl.families.capacity.plan import CapacityPlan
from mrdsl.families.capacity.verify import verify
from mrdsl.spec import Spec
from tests.families.capacity.capacity_specs import capacity, reference
from tests.families.capacity.test_whole_plans import least_cost, small, whole
from tests.families.capacity.type_specs import random_types


def direct(spec: Spec) -> mrdsl.Result:
    found = mrdsl.solve(spec, "direct")
    assert found.objective.bound is not None
    if found.plan is not None:
        assert isinstance(found.plan, CapacityPlan)
        assert not has_errors(tuple(verify(spec, found.plan, False)))
        assert found.plan.packing is not None
        assert all(len(row["slots"]) == 1 for row in found.plan.document()["packing"])
    return found


def test_small_plans_lie_between_their_bound_and_near_enumeration() -> None:
    """One to three classes of one type; in most of them the plan is the best there is."""
    best = 0
    for seed in range(30):
        found, least = direct(whole(small(seed), "machines")), least_cost(seed, shared=False)
        assert found.objective.bound <= least + 1e-9, seed
        assert found.objective.value >= least - 1e-9, seed
        best += found.objective.value <= least + 1e-9
    assert best >= 25


@pytest.mark.parametrize("seed", range(24))
def test_several_types_agree_with_a_proven_optimum(seed: int) -> None:
    """Spot, contracts, quotas, masters, parts on spot, one type alone: against HiGHS on the model of whole machines."""
    spec = whole(random_types(seed, classes=4, types=3, jobs=6), "machines")
    proven = mrdsl.solve(spec, "highs", limits=Limits(gap=1e-9))
    found = direct(spec)
    if proven.termination == "infeasible":
        assert found.plan is None
        return
    assert proven.termination == "optimal"
    assert found.objective.bound <= proven.objective.value + 1e-9
    if found.plan is not None:
        assert proven.objective.value - 1e-9 <= found.objective.value <= 1.1 * proven.objective.value + 1e-9
    else:
        assert [d.code for d in found.diagnostics] == ["no-plan-found"]


@pytest.mark.parametrize("what", ["no jobs at all", "one job of each", "a contract for each VM", "many alike"])
def test_ends_of_the_range(what: str) -> None:
    spec = reference()
    classes, available = list(spec.facts.classes), 40
    if what == "no jobs at all":
        classes = [replace(node, jobs=replace(node.jobs, low=0.0), penalty=1e-9) for node in classes]
    if what == "one job of each":
        classes = [replace(node, jobs=replace(node.jobs, low=1.0, high=1.0)) for node in classes]
    if what == "a contract for each VM":
        available = 10_000
    if what == "many alike":
        classes = [replace(classes[0], name=f"c{n}") for n in range(40)]
    spec = whole(capacity(classes, available=available), "machines")
    found, proven = direct(spec), mrdsl.solve(spec, "highs", limits=Limits(gap=1e-6, time=20.0))
    assert found.objective.bound <= proven.objective.value * (1 + 1e-9) + 1e-9
    assert proven.objective.bound <= found.objective.value * (1 + 1e-9) + 1e-9
    assert found.objective.value <= 1.001 * proven.objective.value + 1e-9


def test_more_jobs_than_are_placed_one_by_one_are_placed_too() -> None:
    node = replace(reference().facts.classes[0], jobs=replace(reference().facts.classes[0].jobs, low=0.0, high=1e6))
    found = direct(whole(capacity([node], available=40), "machines"))
    assert found.objective.value == pytest.approx(found.objective.bound, rel=1e-5)


def test_auto_takes_it_where_pairs_are_many() -> None:
    spec = whole(random_types(5, classes=60, types=5), "machines")
    assert mrdsl.solve(spec).solver["name"] == "direct"


def test_a_quota_that_the_first_plan_overruns_is_kept() -> None:
    """Nine VMs of the cheap type at most, each class with more than half of one: the others go to the dear type."""
    text = """problem capacity "few of the cheap", estimates = paper
    whole = machines
    vm cheap { on_demand { price = 1 USD/h }, available = 9 }
    vm dear { on_demand { price = 3 USD/h } }
    """ + "".join(
        f"class c{n} {{ map {{ tasks = 20, avg = 30 s, max = 30 s }}, slots {{ map = 2, reduce = 1 }}, jobs = 1..1, "
        "deadline = 200 s, penalty = 90 USD }\n"
        for n in range(14)
    )
    spec = mrdsl.loads(text + "minimize cost")
    found = direct(spec)
    each = int(np.ceil(found.plan.vms[0]))  # type: ignore[union-attr]
    cheap = 9 // each
    assert found.objective.value == pytest.approx(each * (cheap * 1.0 + (14 - cheap) * 3.0))


def test_of_many_lanes_a_part_on_spot_looks_at_the_cheapest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pairs of firm and spot lanes grow with the square of the types: a class on 634 of them took minutes."""
    looks = 0
    real = Rents.cost_of

    def counted(self: Rents, index: int, jobs: np.ndarray) -> float:
        nonlocal looks
        looks += 1
        return real(self, index, jobs)

    monkeypatch.setattr(Rents, "cost_of", counted)
    spec = whole(random_types(7, classes=1, types=60, jobs=6), "machines")
    node = replace(spec.facts.classes[0], spot=0.5, types=())
    found = direct(replace(spec, facts=replace(spec.facts, classes=(node,))))
    assert found.objective.bound <= found.objective.value
    assert looks <= 2 * PASSES * (3 * AMONG * (AMONG + 1) + 2)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_few_classes_divide_scarce_types_as_an_exact_solver_does(seed: int) -> None:
    """Ten VMs of each of nine types are fewer than one class takes: jobs of a class are on several types."""
    draw = Random(seed)
    vms = "".join(
        f"vm t{n} {{ on_demand {{ price = {round(0.004 * 1.18**n, 4)} USD/h }}, available = 10 }}\n" for n in range(9)
    )
    classes = "".join(
        f"class c{n} {{ map {{ tasks = {draw.randint(50, 300)}, avg = {draw.randint(10, 40)} s, max = 60 s }}\n"
        f"  reduce {{ tasks = {draw.randint(10, 80)}, avg = {draw.randint(10, 40)} s, max = 60 s }}\n"
        "  shuffle { first_max = 11 s, avg = 22 s, max = 50 s }\n"
        f"  slots {{ map = 8, reduce = 4 }}, jobs = 2..6, deadline = {draw.randint(15, 25)} min\n"
        f"  penalty = {draw.randint(1, 9)} USD }}\n"
        for n in range(4)
    )
    spec = mrdsl.loads(f"problem capacity, estimates = paper\nwhole = machines\n{vms}{classes}minimize cost\n")
    found, best = mrdsl.solve(spec, "direct"), mrdsl.solve(spec, "highs", limits=mrdsl.Limits(gap=1e-3))
    assert found.objective.value <= best.objective.value * (1.0 + 2e-3)
    assert found.objective.value >= best.objective.bound * (1.0 - 1e-6)
    assert found.objective.bound <= best.objective.value * (1.0 + 1e-6)
