"""Mixes of kinds of machines against all ways of dealing jobs to them."""

from __future__ import annotations

from itertools import product
from math import ceil, inf

import numpy as np
import pytest

from mrdsl.formulas.own_machines import cheapest_mixes, costs_alone, worth_mixing


def dealt(gamma: np.ndarray, prices: np.ndarray, jobs: int) -> float:
    """The least cost of one class's jobs over all ways of dealing them."""
    ways = (way for way in product(range(jobs + 1), repeat=len(gamma)) if sum(way) == jobs)
    costs = [
        sum(p * ceil(g * n - 1e-9) if n else 0.0 for g, p, n in zip(gamma, prices, way, strict=True))
        for way in ways
        if all(n == 0 or g < inf for g, n in zip(gamma, way, strict=True))
    ]
    return min(costs, default=inf)


@pytest.mark.parametrize("seed", range(8))
def test_the_cheapest_mix_is_the_cheapest_of_all(seed: int) -> None:
    """Three kinds, some of which cannot hold a class; jobs that take parts of machines, whole ones and many."""
    random = np.random.RandomState(seed)
    gamma = random.choice([0.25, 0.3, 0.5, 0.7, 1.0, 1.4, 2.5, inf], (3, 4), p=[0.15] * 6 + [0.05] * 2)
    prices = random.choice([0.0, 1.0, 1.5, 2.0, 3.7], 3)
    alone = costs_alone(gamma, prices, 5)
    least, jobs = cheapest_mixes(alone)
    some, _ = cheapest_mixes(alone[worth_mixing(alone)])
    for index, count in product(range(4), range(6)):
        best = dealt(gamma[:, index], prices, count)
        assert least[index, count] == pytest.approx(best)
        assert some[index, count] == pytest.approx(best)
        if best < inf:
            way = jobs[:, index, count]
            assert way.sum() == count
            assert sum(alone[kind, index, n] for kind, n in enumerate(way)) == pytest.approx(best)
