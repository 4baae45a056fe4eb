"""A defect that is planted in what builds plans of the family is found by what checks them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import mrdsl
from mrdsl.families.capacity import constraints, instance, market, packed_plans, plan
from mrdsl.families.capacity import packing as family_packing
from mrdsl.families.capacity.methods import vector_lanes
from mrdsl.formulas import mapreduce, packing, pairs, spot_losses
from tests.families.planted import planted

PLAIN = """
problem capacity "Nightly"
whole = WHOLE
period = 2 h
vm m5 {
  on_demand { price = 0.192 USD/h }
  reserved { price = 0.071 USD/h, available = 3 }
  fee = 0.048 USD/h
}
class sort {
  map { tasks = 74, avg = 30 s, max = 42 s }
  shuffle { first_max = 11 s, avg = 37 s, max = 40 s }
  reduce { tasks = 64, avg = 22 s, max = 44 s }
  slots { map = 2, reduce = 1 }
  jobs = 3..4, deadline = 15 min, penalty = 12 USD
}
class scan {
  stage read { tasks = 30, avg = 9 s, max = 12 s }
  stage join { tasks = 12, avg = 14 s, max = 20 s, after = [read] }
  slots { task = 4 }
  jobs = 2..2, deadline = 4 min, penalty = 3 USD
}
minimize cost
"""
TYPES = """
problem capacity "On two types"
whole = WHOLE
vm m5 {
  cores = 4, memory = 16 GiB
  on_demand { price = 0.192 USD/h }
  spot { price = 0.073 USD/h, interruptions = 0.5/h }
  fee = 0.048 USD/h
}
vm c5 { cores = 8, memory = 16 GiB, on_demand { price = 0.34 USD/h }, masters = 1 }
class clicks {
  map { tasks = 74, avg = 30 s, max = 42 s }
  shuffle { first_max = 11 s, avg = 37 s, max = 40 s }
  reduce { tasks = 64, avg = 22 s, max = 44 s }
  slots { map = 4, reduce = 2 }
  on c5 { speed = 1.3, slots { map = 8, reduce = 2 } }
  jobs = 3..4, deadline = 15 min, penalty = 12 USD
}
minimize cost
"""


def spec_of(text: str, whole: str) -> Any:
    return mrdsl.loads(text.replace("WHOLE", whole))


def refused(text: str, whole: str, solver: str) -> bool:
    found = mrdsl.solve(spec_of(text, whole), solver)
    return "broken-plan" in {each.code for each in found.diagnostics}


def less_work(work: mapreduce.Coefficients) -> mapreduce.Coefficients:
    return replace(work, map_work=0.8 * work.map_work)


def cheaper(there: market.Market) -> market.Market:
    return replace(there, offers=tuple(replace(each, price=each.price / 2.0) for each in there.offers))


def without_fee(there: market.Market) -> market.Market:
    return replace(there, offers=tuple(replace(each, price=each.price - 2 * 0.048) for each in there.offers))


def more_reserved(there: market.Market) -> market.Market:
    on_demand, reserved = there.offers
    return replace(there, offers=(on_demand, replace(reserved, available=30.0)))


def without_masters(there: market.Market) -> market.Market:
    return replace(there, masters=0.0 * there.masters)


IN_PLAIN = {
    "half the price": planted(instance, "market_of", cheaper),
    "no fee": planted(instance, "market_of", without_fee),
    "more reserved VMs": planted(instance, "market_of", more_reserved),
    "less map work, lower": planted(mapreduce, "lower", less_work),
    "less map work, upper": planted(mapreduce, "upper", less_work),
    "twice the slots": planted(pairs, "slots_on_types", lambda slots: (2 * slots[0], slots[1])),
    "fewer jobs": planted(instance, "whole_jobs", lambda jobs: (jobs[0] - 1.0, jobs[1] - 1.0)),
    "a later deadline": lambda patch: patch.setattr(
        constraints.ClassBounds,
        "tighten",
        lambda _, names, item, values, at_most: 1.2 * values if item == "completion" else values,
    ),
}
IN_TYPES = {
    "half the price": planted(instance, "market_of", cheaper),
    "no masters": planted(instance, "market_of", without_masters),
    "nothing is lost on spot": planted(
        spot_losses, "kept_work", lambda kept: tuple(np.ones_like(each) for each in kept)
    ),
    "less map work": planted(mapreduce, "lower", less_work),
    "twice the slots on any type": planted(pairs, "slots_on_types", lambda slots: (2 * slots[0], slots[1])),
    "shuffles at the speed of tasks": lambda patch: patch.setattr(
        mapreduce, "faster", lambda profile, speed: replace(profile, shuffle_avg=profile.shuffle_avg / (2.0 * speed))
    ),
}


@pytest.mark.parametrize("whole", ["slots", "no", "machines"])
@pytest.mark.parametrize("solver", ["direct", "highs"])
def test_without_a_defect_plans_are_right(whole: str, solver: str) -> None:
    assert not refused(PLAIN, whole, solver)
    assert not refused(TYPES, whole, solver)


@pytest.mark.parametrize("whole", ["slots", "no"])
@pytest.mark.parametrize("defect", IN_PLAIN)
def test_defects_of_one_type(defect: str, whole: str, monkeypatch: pytest.MonkeyPatch) -> None:
    IN_PLAIN[defect](monkeypatch)
    assert refused(PLAIN, whole, "direct")


@pytest.mark.parametrize("whole", ["slots", "no"])
@pytest.mark.parametrize("defect", IN_TYPES)
def test_defects_of_several_types(defect: str, whole: str, monkeypatch: pytest.MonkeyPatch) -> None:
    IN_TYPES[defect](monkeypatch)
    assert refused(TYPES, whole, "highs")


def test_a_packing_that_holds_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    original = packed_plans.packed

    def fuller(held: Any) -> Any:
        return original(replace(held, per_vm=2 * held.per_vm))

    monkeypatch.setattr(packed_plans, "packed", fuller)
    assert refused(PLAIN, "slots", "direct") or refused(PLAIN, "slots", "highs")


CONTAINERS = """
problem capacity "Within quotas"
vm m5 { cores = 4, memory = 16 GiB, on_demand { price = 0.192 USD/h }, available = 40 }
vm c5 { cores = 8, memory = 16 GiB, on_demand { price = 0.34 USD/h }, available = 40 }
class clicks {
  map { tasks = 74, avg = 30 s, max = 42 s }
  shuffle { first_max = 11 s, avg = 37 s, max = 40 s }
  reduce { tasks = 64, avg = 22 s, max = 44 s }
  container { map { cores = 1, memory = 2 GiB }, reduce { cores = 1, memory = 6 GiB } }
  jobs = 3..4, deadline = 15 min, penalty = 12 USD
}
minimize cost
"""


def test_a_plan_that_overbooks_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Packing by cores alone, where columns and packing both ask for units of sizes."""
    assert not refused(CONTAINERS, "slots", "direct")
    original = packing.units_of

    def by_cores(sizes: Any) -> Any:
        cores = [size if isinstance(size, int) else (size[0], size[0]) for size in sizes]
        return original(cores)

    for module in (packing, family_packing, vector_lanes):
        monkeypatch.setattr(module, "units_of", by_cores)
    assert refused(CONTAINERS, "slots", "direct")


def test_values_of_let_and_of_the_objective(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a plan says of itself is no reason to believe it: both are worked out from the facts."""
    text = PLAIN.replace("minimize cost", "let spent = cost\nlet took = completion(sort)\nminimize cost")
    right = mrdsl.solve(spec_of(text, "no"), "direct")
    assert right.plan is not None
    monkeypatch.setattr(plan.CapacityPlan, "total", property(lambda _: 1.0))
    monkeypatch.setattr(instance.Prices, "cost", lambda *_: 1.0)
    wrong = mrdsl.solve(spec_of(text, "no"), "direct")
    assert "broken-plan" in {each.code for each in wrong.diagnostics}
    from mrdsl.families.capacity.verify import quantity

    assert quantity(right.spec, right.plan, "cost", "") == pytest.approx(right.quantities["spent"].value)
    assert right.quantities["took"].value == pytest.approx(900.0)
