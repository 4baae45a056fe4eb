"""Generated patterns: the relaxed cutting-stock problem beside the one over all patterns."""

from __future__ import annotations

from math import ceil

import numpy as np
import pytest
from scipy.optimize import linprog

from mrdsl.formulas import packing
from mrdsl.formulas.packing import maximal_patterns, pack
from mrdsl.formulas.pattern_generation import dearest, generated_patterns
from tests.formulas.packings import fewest, holds


def test_the_dearest_content_is_that_of_all() -> None:
    random = np.random.default_rng(2)
    for sizes in ((2, 3, 5), (3, 4, 7, 9), (1, 6, 8)):
        every = maximal_patterns(sizes, 10_000)
        assert every is not None
        for _ in range(20):
            prices = random.uniform(0, 1, len(sizes)).tolist()
            pattern, worth, proven = dearest(sizes, prices)
            assert proven
            assert holds(sizes, pattern)
            assert worth == pytest.approx(float((np.array(every) @ np.array(prices)).max()))


def test_its_bound_is_that_of_the_program_over_all_patterns() -> None:
    random = np.random.default_rng(4)
    for sizes in ((2, 3, 5), (3, 4, 7, 9), (5, 6, 7, 8)):
        every = maximal_patterns(sizes, 10_000)
        assert every is not None
        for _ in range(5):
            slots = [int(n) for n in random.integers(1, 40, len(sizes))]
            whole = linprog(
                np.ones(len(every)), A_ub=-np.array(every, dtype=float).T, b_ub=-np.array(slots, dtype=float)
            )
            found = generated_patterns(sizes, slots)
            assert found.least == ceil(whole.fun - 1e-7)
            assert all(holds(sizes, pattern) for pattern in found.patterns)


def test_packings_of_too_many_patterns_are_those_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the contents are too many to write down, the VMs are as few, and the bound is no higher than they are."""
    monkeypatch.setattr(packing, "MOST_PATTERNS", 0)
    for sizes, slots in (((2, 3, 5), (1, 2, 4)), ((3, 4, 7), (2, 3, 4)), ((2, 3, 4), (1, 2, 3))):
        found = pack(sizes, slots)
        assert found.vms == fewest(sizes, slots)
        assert found.least <= found.vms
