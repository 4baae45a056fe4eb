"""The fewest VMs for whole slots, by trying every content of every VM."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import product


def holds(sizes: tuple[int, ...], pattern: tuple[int, ...]) -> bool:
    return sum(Fraction(n, size) for n, size in zip(pattern, sizes, strict=True)) <= 1


def fewest(sizes: tuple[int, ...], slots: tuple[int, ...]) -> int:
    """The fewest VMs by trying every content of the next one."""
    contents = [p for p in product(*(range(size + 1) for size in sizes)) if any(p) and holds(sizes, p)]

    @cache
    def least(left: tuple[int, ...]) -> int:
        if not any(left):
            return 0
        fitting = (p for p in contents if all(a <= b for a, b in zip(p, left, strict=True)))
        return 1 + min(least(tuple(b - a for a, b in zip(p, left, strict=True))) for p in fitting)

    return least(slots)
