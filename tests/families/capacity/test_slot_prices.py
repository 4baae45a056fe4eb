"""Prices of slots: the most valuable content of a VM against trying all, and bounds below proven optima."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

import mrdsl
from mrdsl.core.result import Limits
from mrdsl.families.capacity.instance import mix_of
from mrdsl.families.capacity.methods import vector_lanes
from mrdsl.families.capacity.methods.lane_columns import Lanes, program_of_lanes
from mrdsl.families.capacity.methods.lane_prices import Task, costs_by_way
from mrdsl.families.capacity.methods.relaxation import relaxed
from mrdsl.families.capacity.methods.slot_prices import Shapes, priced
from mrdsl.families.capacity.methods.vector_lanes import VectorLanes, Vessels
from mrdsl.families.capacity.methods.weighing import weighed
from mrdsl.spec import Spec
from tests.families.capacity.type_specs import varied_types


def contained(seed: int) -> Spec:
    """Containers, parts on spot, contracts and speeds on few VMs of three types."""
    random = np.random.RandomState(9_000 + seed)
    spec = varied_types(3_000 + seed, classes=3, types=3, jobs=4)
    vms = tuple(replace(vm, available=vm.masters + int(random.randint(2, 12))) for vm in spec.facts.vms)
    return replace(spec, facts=replace(spec.facts, vms=vms, whole="slots"), constraints=())


def task_of(spec: Spec) -> Task:
    mix = mix_of(spec)
    return Task(mix, mix.low, np.where(mix.possible.any(axis=0), mix.expected, 0.0), mix.market.available, True)


@pytest.mark.parametrize("seed", range(12))
def test_the_best_content_is_that_of_trying_all(seed: int) -> None:
    """Slots of each kind up to as many as fit alone; equal to the best where no kind is left out."""
    mix, random = mix_of(contained(seed)), np.random.RandomState(seed)
    if mix.sizes is None:
        return
    shapes = Shapes(mix)
    prices = random.uniform(0.1, 1.0, shapes.count)
    for shape in shapes.all:
        some = np.flatnonzero(shape.usable)
        alone = [int(1.0 / shape.parts[:, kind].max() + 1e-9) for kind in some.tolist()]
        if np.prod([each + 1.0 for each in alone]) > 50_000:
            continue
        contents = np.array(list(product(*(range(each + 1) for each in alone))), dtype=float)
        fits = (contents @ shape.parts[:, some].T <= 1.0 + 1e-9).all(axis=1)
        best = float((contents[fits] @ prices[some]).max(initial=0.0))
        values = shape.values(prices)
        assert shape.worth(prices, None) >= best * (1.0 - 1e-9)
        if values is not None:
            assert shape.worth(prices, values) == pytest.approx(best)
            content = shape.content(prices, values)
            assert content @ prices == pytest.approx(best)
            assert (shape.parts @ content <= 1.0 + 1e-9).all()


@pytest.mark.parametrize("many_jobs", [vector_lanes.MANY_JOBS, 1])
@pytest.mark.parametrize("seed", range(20))
def test_bounds_at_prices_of_slots_are_below_proven_optima(
    seed: int, many_jobs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Among few classes as among many, of which lanes of more jobs have no knapsack of two resources."""
    if many_jobs == 1:
        monkeypatch.setattr(vector_lanes, "MANY_JOBS", many_jobs)
        monkeypatch.setattr(vector_lanes, "FEW_CLASSES", 0)
    spec = contained(seed)
    task = task_of(spec)
    if task.mix.sizes is None or bool((~task.mix.possible.any(axis=0) & (task.low > 0.0)).any()):
        return
    proven = mrdsl.solve(spec, "highs", limits=Limits(gap=1e-9))
    if proven.objective.value is None:
        return
    gamma, maps, reduces = priced(task, None) or pytest.fail("few kinds have prices")
    mix = replace(task.mix, gamma=gamma, map_slots=maps, reduce_slots=reduces, spot_share=np.ones(len(task.mix)))
    below = replace(task, mix=mix)
    found = relaxed(below, 1e-9)
    assert found.bound <= proven.objective.value * (1.0 + 1e-9) + 1e-9
    for lanes in (Lanes(below), VectorLanes(weighed(task)[0], Vessels(weighed(task)[0].mix, below.mix))):
        program = program_of_lanes(lanes, costs_by_way(below, found.prices), None)
        assert program is None or program.bound <= proven.objective.value * (1.0 + 1e-9) + 1e-9
    direct = mrdsl.solve(spec, "direct")
    assert direct.objective.bound is None or direct.objective.bound <= proven.objective.value * (1.0 + 1e-9) + 1e-9


def test_a_worth_that_is_too_low_makes_some_bound_too_high(monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison with proven optima finds a knapsack that leaves out the content of the last VM."""
    original = VectorLanes._knapsack

    def less(self: VectorLanes, kind: int, classes: Any, vms: int, prices: Any) -> Any:
        best = original(self, kind, classes, vms, prices)
        return np.concatenate([best[:1], best[:-1]])

    monkeypatch.setattr(VectorLanes, "_knapsack", less)
    above = []
    for seed in range(20):
        task = task_of(contained(seed))
        if task.mix.sizes is None or bool((~task.mix.possible.any(axis=0) & (task.low > 0.0)).any()):
            continue
        plan, below = weighed(task)
        program = program_of_lanes(
            VectorLanes(plan, Vessels(plan.mix, below.mix)), costs_by_way(below, relaxed(below, 1e-9).prices), None
        )
        proven = mrdsl.solve(contained(seed), "highs", limits=Limits(gap=1e-9)).objective.value
        if program is not None and proven is not None:
            above.append(program.bound > proven * (1.0 + 1e-9))
    assert any(above)
