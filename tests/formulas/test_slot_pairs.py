"""Efficient pairs of slots against all pairs in a box, and against the pair on the fewest VMs."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mrdsl.formulas.slot_pairs import efficient_pairs
from tests.formulas.test_whole_slots import Case, drawn, found

BOX = 60


def by_box(case: Case) -> set[tuple[int, int]]:
    """The pairs in the box that keep the deadline, and neither of which does with one slot fewer."""
    (a, b, c), deadline, _, tasks = case
    most = [BOX if math.isnan(count) else int(min(count, BOX)) for count in tasks]
    least = 1 if tasks[1] else 0

    def keeps(maps: int, reduces: int) -> bool:
        if maps < 1 or reduces < least or (b and not reduces):
            return False
        return a / maps + (b / reduces if b else 0.0) + c <= deadline * (1 + 1e-12)

    pairs = [(m, r) for m in range(1, most[0] + 1) for r in range(least, most[1] + 1) if keeps(m, r)]
    return {(m, r) for m, r in pairs if not keeps(m - 1, r) and not keeps(m, r - 1)}


@pytest.mark.parametrize("seed", range(6))
def test_they_are_those_of_the_box(seed: int) -> None:
    rng = np.random.default_rng(seed)
    cases = [drawn(rng) for _ in range(100)]
    for case, fewest in zip(cases, found(cases), strict=True):
        (a, b, c), deadline, per_vm, tasks = case
        most = tuple(math.inf if math.isnan(count) else count for count in tasks)
        pairs = efficient_pairs((a, b), deadline - c, (1, 1 if tasks[1] else 0), most, 10_000)
        assert pairs is not None
        assert {pair for pair in pairs if max(pair) <= BOX} == by_box(case), case
        if math.isfinite(fewest[0]):
            vms = [m / per_vm[0] + r / per_vm[1] for m, r in pairs]
            assert min(vms) == pytest.approx(fewest[0] / per_vm[0] + fewest[1] / per_vm[1])
        else:
            assert not pairs


def test_more_than_the_limit_are_not_listed() -> None:
    assert efficient_pairs((1e6, 1e6), 100.0, (1, 1), (math.inf, math.inf), 50) is None
