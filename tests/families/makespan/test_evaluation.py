"""The fast evaluation equals a plain loop over tasks and the counted waves, to the last tick."""

from __future__ import annotations

from heapq import heapreplace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mrdsl.families.makespan.schedule import PoolOrder, batch_of, simulate
from mrdsl.simulation import slots as fast

from .batches import Row, spec


def loop_over_tasks(rows: list[Row], order: list[int], map_slots: int, reduce_slots: int) -> float:
    """The definition, task by task."""
    free, ends = [0.0] * map_slots, {}
    for j in order:
        for _ in range(rows[j][1]):
            ends[j] = max(ends.get(j, 0.0), free[0] + rows[j][2])
            heapreplace(free, free[0] + rows[j][2])
    free, last = [0.0] * reduce_slots, max(ends.values())
    for j in sorted(order, key=lambda j: ends[j]):
        for _ in range(rows[j][3]):
            end = max(free[0], ends[j]) + rows[j][4]
            heapreplace(free, end)
            last = max(last, end)
    return last


whole = st.integers(1, 30).map(float)
rows_of = st.lists(
    st.tuples(st.just("J"), st.integers(1, 60), whole, st.integers(0, 40), whole), min_size=1, max_size=7
)


@settings(max_examples=60, derandomize=True, deadline=None)
@given(rows_of, st.integers(1, 40), st.integers(1, 40), st.integers(0, 2**32 - 1))
@pytest.mark.parametrize("machine", ["slots", "groups"])
def test_every_way_of_counting_gives_the_same_makespans(
    machine: str, rows: list[Row], map_slots: int, reduce_slots: int, seed: int
) -> None:
    named = [(f"J{i}", *row[1:]) for i, row in enumerate(rows)]
    batch = batch_of(spec(named, map_slots, reduce_slots))
    rng = np.random.default_rng(seed)
    orders = np.array([rng.permutation(len(rows)) for _ in range(3)])
    uneven = rng.integers(1, map_slots + 1, 3), rng.integers(1, reduce_slots + 1, 3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            fast,
            "_machine",
            {
                "slots": lambda slots, phases: fast._Slots(slots),
                "groups": fast._Groups,
            }[machine],
        )
        found = fast.makespans(batch, orders, *uneven)
    for order, m, r, ticks in zip(orders, *uneven, found, strict=True):
        kept = [int(j) for j in order]
        assert batch.seconds(ticks) == pytest.approx(loop_over_tasks(named, kept, m, r), abs=1e-9)
        assert simulate(batch, [PoolOrder(m, r, tuple(kept))]).makespan == ticks


def test_padding_and_rows_of_several_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    rows = [(f"J{i}", int(a), float(b), int(c), float(d)) for i, (a, b, c, d) in enumerate(rng.integers(1, 30, (5, 4)))]
    batch = batch_of(spec(rows, 7, 5))
    orders = np.array([rng.permutation(5) for _ in range(40)])
    slots = np.full(40, 7), np.full(40, 5)
    expected = fast.makespans(batch, orders, *slots)
    padded = np.full((40, 8), -1)
    padded[:, [0, 2, 3, 5, 7]] = orders
    monkeypatch.setattr(fast, "BLOCK", 7)
    np.testing.assert_array_equal(fast.makespans(batch, padded, *slots), expected)
