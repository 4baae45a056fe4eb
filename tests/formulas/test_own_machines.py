"""Mixes of kinds of machines against all ways of dealing jobs to them."""

from __future__ import annotations

from itertools import product
from math import ceil, inf

import numpy as np
import pytest

from mrdsl.formulas.knapsack import cheapest_mixes, cheapest_pieces, machines_alone


def dealt(gamma: np.ndarray, prices: np.ndarray, room: np.ndarray, jobs: int) -> float:
    """The least cost of one class's jobs over all ways of dealing them within the room of each kind."""
    best = inf
    for way in product(range(jobs + 1), repeat=len(gamma)):
        if sum(way) != jobs or any(n and g == inf for g, n in zip(gamma, way, strict=True)):
            continue
        machines = [ceil(g * n - 1e-9) if n else 0 for g, n in zip(gamma, way, strict=True)]
        if all(there <= most for there, most in zip(machines, room, strict=True)):
            best = min(best, float(prices @ np.array(machines, dtype=float)))
    return best


@pytest.mark.parametrize("seed", range(16))
def test_the_cheapest_mix_is_the_cheapest_of_all(seed: int) -> None:
    """Three kinds, some of which cannot hold a class; jobs that take parts of machines, whole ones and many."""
    random = np.random.RandomState(seed)
    gamma = random.choice([0.25, 0.3, 0.5, 0.7, 1.0, 1.4, 2.5, inf], (3, 4), p=[0.15] * 6 + [0.05] * 2)
    prices = random.choice([0.0, 1.0, 1.5, 2.0, 3.7], 3)
    room = np.full(3, inf) if seed % 2 else random.choice([1.0, 2.0, 4.0], 3)
    machines = machines_alone(gamma, room, 5)
    alone = np.moveaxis(
        np.where(np.isinf(machines), inf, prices[:, None] * np.where(np.isinf(machines), 0, machines)), 0, 2
    )
    least, jobs = cheapest_mixes(alone)
    pieces = cheapest_pieces(machines, prices)
    for index, count in product(range(4), range(6)):
        best = dealt(gamma[:, index], prices, room, count)
        assert least[index, count] == pytest.approx(best)
        assert pieces.least[count, index] <= best + 1e-9
        if seed % 2:
            assert pieces.least[count, index] == pytest.approx(best)
        if best < inf:
            way = jobs[:, index, count]
            assert way.sum() == count
            assert sum(alone[kind, index, n] for kind, n in enumerate(way)) == pytest.approx(best)
            number = np.where(np.arange(4) == index, count, 0)
            assert pieces.jobs(number, 3).sum(axis=0).tolist() == number.tolist()
