"""Whole slots on the fewest VMs, against a search over all ways of filling them."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import ceil

import numpy as np

from mrdsl.formulas.packing import Packed, maximal_patterns, pack
from tests.formulas.packings import fewest, holds


def check(sizes: tuple[int, ...], slots: tuple[int, ...], found: Packed) -> None:
    assert all(count > 0 and holds(sizes, pattern) for count, pattern in found.patterns)
    held = np.sum([count * np.array(pattern) for count, pattern in found.patterns] or [[0] * len(sizes)], axis=0)
    assert tuple(held.tolist()) == slots
    assert found.least <= found.vms


def test_parts_of_less_than_two_vms_that_take_three() -> None:
    found = pack((2, 3, 5), (1, 2, 4))
    assert Fraction(1, 2) + Fraction(2, 3) + Fraction(4, 5) == Fraction(59, 30)
    assert (found.vms, found.least) == (3, 3)
    assert fewest((2, 3, 5), (1, 2, 4)) == 3
    check((2, 3, 5), (1, 2, 4), found)


def test_the_largest_first_would_take_a_vm_more() -> None:
    """1/2 + 1/3 leave a sixth, which no slot fills; 1/2 + 2/4 and 2/3 + 1/4 fit two VMs."""
    sizes, slots = (2, 3, 4), (1, 2, 3)
    found = pack(sizes, slots)
    check(sizes, slots, found)
    assert found.vms == found.least == fewest(sizes, slots) == 2


def test_all_remainders_of_some_sizes_take_as_few_vms_as_any_packing() -> None:
    beyond = 0
    for sizes in ((2, 3, 5), (3, 4, 7), (2, 5, 7), (1, 4, 6)):
        for slots in product(*(range(size) for size in sizes)):
            found = pack(sizes, slots)
            check(sizes, slots, found)
            assert found.vms == found.least == fewest(sizes, slots), (sizes, slots)
            beyond += found.vms > ceil(sum(Fraction(n, size) for n, size in zip(slots, sizes, strict=True)))
    assert beyond == 2  # 59/30, and 2/3 + 3/4 + 4/7 of two


def test_every_maximal_pattern_once() -> None:
    sizes = (2, 3, 5)
    everything = {p for p in product(*(range(size + 1) for size in sizes)) if holds(sizes, p)}
    more = {p: [tuple(n + (k == at) for k, n in enumerate(p)) for at in range(3)] for p in everything}
    expected = {p for p in everything if not any(q in everything for q in more[p])}
    found = maximal_patterns(sizes, 100)
    assert found is not None
    assert len(found) == len(set(found))
    assert set(found) == expected
    assert maximal_patterns(sizes, len(expected) - 1) is None


def test_sizes_that_divide_each_other_reach_the_sum() -> None:
    random = np.random.default_rng(3)
    for _ in range(50):
        slots = tuple(int(n) for n in random.integers(0, 40, size=4))
        found = pack((1, 2, 6, 24), slots)
        check((1, 2, 6, 24), slots, found)
        assert found.vms == ceil(sum(Fraction(n, size) for n, size in zip(slots, (1, 2, 6, 24), strict=True)))


def test_a_billion_slots_are_a_handful_of_patterns() -> None:
    found = pack((3, 7), (10**9, 10**9 + 1))
    check((3, 7), (10**9, 10**9 + 1), found)
    assert len(found.patterns) < 6
    assert found.vms == found.least == ceil(Fraction(10**9, 3) + Fraction(10**9 + 1, 7))
