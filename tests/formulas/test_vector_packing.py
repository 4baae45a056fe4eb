"""Slots that take parts of cores and of memory, on the fewest VMs: against every content of every VM."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from mrdsl.formulas import packing
from mrdsl.formulas.packing import Size, dearest, generated_patterns, pack, quickly_filled, units_of
from tests.formulas.packings import contents_of, fewest, holds


def drawn(rng: np.random.Generator) -> tuple[list[Size], tuple[int, ...]]:
    def size() -> Size:
        if rng.random() < 0.3:
            return int(rng.integers(1, 5))
        parts = [Fraction(int(rng.integers(0, 7)), int(rng.integers(7, 17))) for _ in range(2)]
        return (parts[0], parts[1]) if any(parts) else (Fraction(1, 4), Fraction(0))

    count = int(rng.integers(1, 4))
    return [size() for _ in range(count)], tuple(int(rng.integers(0, 6)) for _ in range(count))


@pytest.mark.parametrize("seed", range(8))
def test_no_packing_takes_fewer_vms(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(12):
        sizes, slots = drawn(rng)
        found, best = pack(sizes, slots), fewest(sizes, slots)
        assert found.least <= best <= found.vms
        assert found.vms == best, (sizes, slots)
        assert all(holds(sizes, pattern) for _, pattern in found.patterns)
        held = np.zeros(len(slots), dtype=int)
        for count, pattern in found.patterns:
            held += count * np.array(pattern)
        assert tuple(held.tolist()) == slots


@pytest.mark.parametrize("seed", range(8))
def test_the_dearest_content_is_that_of_all(seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    for _ in range(20):
        sizes, _ = drawn(rng)
        prices = rng.uniform(0.0, 1.0, len(sizes)) * (rng.random(len(sizes)) < 0.9)
        content, worth, proven = dearest(sizes, prices.tolist())
        best = max((sum(n * p for n, p in zip(c, prices, strict=True)) for c in contents_of(tuple(sizes))), default=0.0)
        assert proven
        assert worth == pytest.approx(best)
        assert holds(sizes, content)


@pytest.mark.parametrize("seed", range(40))
def test_equal_parts_hold_all_slots_within_cores_and_memory(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes, slots = drawn(rng)
    slots = tuple(int(count) for count in rng.integers(0, 60, len(slots)))
    found = quickly_filled(units_of(sizes), slots)
    assert all(holds(sizes, content) for _, content in found.patterns)
    assert tuple(np.sum([[n * each for each in c] for n, c in found.patterns], axis=0)) == slots or not any(slots)
    assert found.least <= found.vms
    assert found.vms <= sum(n for n, _ in packing._filled(units_of(sizes), slots, packing._largest_first))


def test_equal_parts_fill_cores_and_memory_where_the_largest_first_leave_one_idle() -> None:
    sizes: list[Size] = [(Fraction(1, 16), Fraction(9, 64)), (Fraction(1, 16), Fraction(2, 64))]
    assert sum(n for n, _ in packing._filled(units_of(sizes), (44, 51), packing._largest_first)) == 10
    assert quickly_filled(units_of(sizes), (44, 51)).vms == quickly_filled(units_of(sizes), (44, 51)).least == 8


def test_maps_and_reduces_of_unlike_memory_share_vms() -> None:
    """20 maps of 1 core and 2 GiB, 20 reduces of 1 core and 6 GiB on 4 cores and 16 GiB: 2 of each on a VM."""
    sizes: list[Size] = [(Fraction(1, 4), Fraction(1, 8)), (Fraction(1, 4), Fraction(3, 8))]
    assert pack(sizes, (20, 20)).vms == 10
    assert generated_patterns(sizes, (20, 20)).least == 10


@pytest.mark.parametrize("vms", [3, 50, 10**9])
def test_equal_parts_of_a_billion_vms_are_a_handful_of_patterns(vms: int) -> None:
    """One slot of each size fills the memory of a VM; the last VM has room for one more."""
    sizes = [(Fraction(1, 4), Fraction(n, 12)) for n in (2, 4, 6)]
    slots = [vms, vms, vms - 1]
    found = quickly_filled(units_of(sizes), slots)
    assert found.vms == vms
    assert len(found.patterns) <= 10
    held = np.sum([count * np.array(pattern) for count, pattern in found.patterns], axis=0)
    assert held.tolist() == slots
