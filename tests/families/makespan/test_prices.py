"""The bound by prices of slots: below every optimum, above the other bounds where both phases are short of slots."""

from __future__ import annotations

import numpy as np
import pytest

from mrdsl.contracts.pipeline import Draft
from mrdsl.families.makespan.methods import prices as module
from mrdsl.families.makespan.methods.orders import johnson
from mrdsl.families.makespan.methods.prices import prices
from mrdsl.families.makespan.schedule import batch_of
from tests.families.makespan.batches import Row, spec
from tests.families.makespan.test_exact import brute_force


def drawn(seed: int) -> tuple[list[Row], int, int]:
    """Up to three jobs of up to three maps and two reduces; times whole, fractional or far apart."""
    rng = np.random.RandomState(seed)
    time = [lambda: float(rng.randint(1, 9)), lambda: round(rng.uniform(0.1, 9), 3), lambda: 10.0 ** rng.randint(-2, 4)]
    rows: list[Row] = [
        (f"J{j}", int(rng.randint(1, 4)), time[seed % 3](), int(rng.randint(0, 3)), time[seed % 3]())
        for j in range(rng.randint(1, 4))
    ]
    return rows, int(rng.randint(1, 4)), int(rng.randint(1, 4))


@pytest.mark.parametrize("intervals", [1, 7, 48])
@pytest.mark.parametrize("seed", range(30))
def test_no_price_refutes_the_optimum(seed: int, intervals: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "INTERVALS", intervals)
    rows, map_slots, reduce_slots = drawn(seed)
    batch = batch_of(spec(rows, map_slots, reduce_slots))
    optimum = brute_force(rows, map_slots, reduce_slots) / batch.tick
    first = johnson(Draft(spec(rows, map_slots, reduce_slots)))
    assert first.state.bound <= prices(first).state.bound <= optimum * (1 + 1e-12)
    search = module._Prices(batch, 20)
    assert not search.refute(np.ceil(optimum))
    for share in (0.9, 0.97, 0.999):
        if first.state.bound <= share * optimum:
            search.refute(float(np.floor(share * optimum)))
            assert not search.refute(np.ceil(optimum))


def test_any_prices_are_paid_at_most_once() -> None:
    """Random prices: no batch pays more than 1 until its optimum, so nothing rests on how prices are found."""
    rng = np.random.default_rng(1)
    for seed in range(40):
        rows, map_slots, reduce_slots = drawn(seed)
        batch = batch_of(spec(rows, map_slots, reduce_slots))
        slots = module._Slots(batch, np.ceil(brute_force(rows, map_slots, reduce_slots) / batch.tick))
        for _ in range(20):
            found = rng.random(len(slots.capacity)) ** 6
            assert slots.cheapest(found / found.sum())[2] <= 1 + 1e-9


def test_prices_raise_the_bound_of_a_wide_cluster() -> None:
    """Eight jobs that keep both phases busy: windows of one phase stop at 238 s, more than 6 % below."""
    rng = np.random.RandomState(2)
    rows: list[Row] = [
        (
            f"J{j}",
            int(rng.randint(1, 61)),
            float(rng.randint(5, 120)),
            int(rng.randint(1, 31)),
            float(rng.randint(5, 120)),
        )
        for j in range(8)
    ]
    first = johnson(Draft(spec(rows, 97, 36)))
    raised = prices(first)
    assert first.state.bound * 1.06 < raised.state.bound <= raised.state.schedule.makespan
