"""The fewest VMs for whole slots, by trying contents of every VM."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from itertools import product

from mrdsl.formulas.packing import Size

Content = tuple[int, ...]
"""Slots of each size."""


def vector(size: Size) -> tuple[Fraction, Fraction]:
    """The cores and the memory of one slot, as shares of a VM."""
    return (Fraction(1, size),) * 2 if isinstance(size, int) else (size[0], size[1])


def holds(sizes: Sequence[Size], content: Content) -> bool:
    parts = [vector(size) for size in sizes]
    return all(sum(n * part[r] for n, part in zip(content, parts, strict=True)) <= 1 for r in (0, 1))


@cache
def contents_of(sizes: tuple[Size, ...]) -> list[Content]:
    most = [int(min(1 / each for each in vector(size) if each)) for size in sizes]
    return [c for c in product(*(range(n + 1) for n in most)) if any(c) and holds(sizes, c)]


@cache
def largest_of(sizes: tuple[Size, ...]) -> list[Content]:
    """The contents with no room for another slot."""
    contents = set(contents_of(sizes))
    kinds = range(len(sizes))
    return [c for c in contents if not any((*c[:k], c[k] + 1, *c[k + 1 :]) in contents for k in kinds)]


@cache
def _fewest(sizes: tuple[Size, ...], slots: Content) -> int:
    if not any(slots):
        return 0
    first = next(kind for kind, number in enumerate(slots) if number)
    left = {
        tuple(max(n - taken, 0) for n, taken in zip(slots, content, strict=True))
        for content in largest_of(sizes)
        if content[first]
    }
    return 1 + min(_fewest(sizes, each) for each in left)


def fewest(sizes: Sequence[Size], slots: Sequence[int]) -> int:
    """The fewest VMs: one of them holds a slot of the first kind, and as many others as have room."""
    return _fewest(tuple(sizes), tuple(slots))
