"""What a job costs on each type: the cheapest way that is restricted to the type, for random instances."""

from __future__ import annotations

import numpy as np
import pytest

from mrdsl.families.capacity.methods.lane_prices import costs_on_types
from mrdsl.families.capacity.why_mix import _ways_on, task_of
from tests.families.capacity.type_specs import random_types


@pytest.mark.parametrize("seed", range(30))
def test_costs_on_all_types_at_once_are_those_of_each_alone(seed: int) -> None:
    task = task_of(random_types(seed))
    prices = np.random.RandomState(seed).uniform(0.01, 1.0, size=len(task.market.lanes))
    alone = np.array([_ways_on(task, prices, vm).cost for vm in range(len(task.market.names))])
    assert costs_on_types(task, prices, len(task.mix)) == pytest.approx(alone, rel=1e-12)
    assert costs_on_types(task, prices, 1) == pytest.approx(alone[:, :1], rel=1e-12)
