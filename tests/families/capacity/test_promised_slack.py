"""A plan of `guarantee = p95`, found once and kept as a file: smaller than the formula's, kept on seeds of its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import mrdsl
from mrdsl.core.result import Result
from mrdsl.families.capacity.methods.trials import seed_of

FOUND = Path(__file__).parent / "data" / "slack-p95.json"
SEEDS = (271828, 314159)


@pytest.fixture(scope="module")
def found() -> Result:
    return mrdsl.load_plan(FOUND)


def test_the_cluster_is_smaller_than_that_of_the_upper_estimate(found: Result) -> None:
    spec = found.spec
    (node,) = spec.facts.classes
    formula = mrdsl.solve(replace(spec, facts=replace(spec.facts, classes=(replace(node, guarantee="upper"),))))
    assert formula.plan.on_demand == 295
    assert found.plan.on_demand <= 0.64 * formula.plan.on_demand
    assert found.value < 0.6 * formula.value
    assert found.plan.classes["sort"].admitted == 20 > formula.plan.classes["sort"].admitted


def test_its_promise_is_kept_on_seeds_that_the_search_never_saw(found: Result) -> None:
    searched = {seed_of(found.spec.seed, "search"), *(seed_of(found.spec.seed, "look", look) for look in (1, 2, 3))}
    assert {shown.seed for shown in found.plan.calibration.promises} <= searched
    assert not searched & set(SEEDS)
    seen = [mrdsl.simulate(found, runs=1, seed=seed).plan.observed["sort"] for seed in SEEDS]
    assert [each.jobs for each in seen] == [360, 360]
    assert min(each.kept.share for each in seen) >= 0.95


def test_fewer_vms_do_not_keep_it(found: Result) -> None:
    plan = found.plan
    fewer = replace(plan, map_slots=0.9 * plan.map_slots, reduce_slots=0.9 * plan.reduce_slots, packing=None)
    seen = mrdsl.simulate(replace(found, plan=fewer), runs=1, seed=SEEDS[0]).plan.observed["sort"]
    assert seen.kept.share < 0.95
