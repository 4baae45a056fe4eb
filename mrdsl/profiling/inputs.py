"""Runs of one name that read very different inputs: other classes, since their mean stands for none of them.

The inputs of a name, in order, are divided where the next is :data:`APART` times as large, if the work of the runs on
both sides differs too. The part with most runs keeps the name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import chain, count
from statistics import mean
from typing import TypeVar

APART, MORE_WORK = 4.0, 2.0
"""The ratio of an input to the next smaller one, and of the mean work of runs, that divide a class."""
MOST_PARTS = 4
"""Classes of one name by input, at most."""
_NUMBER = re.compile(r"_\d+$")
Each = TypeVar("Each")


def divided(
    named: Sequence[tuple[Each, str]], size: Callable[[Each], int | None], work: Callable[[Each], float]
) -> list[tuple[Each, str]]:
    """Return runs with the names of their classes, those with far larger inputs in classes of their own.

    Args:
        named: Runs with the names of their classes.
        size: The input of a run [B], None or 0 if unknown. Names with such runs are not divided.
        work: The slot time of a run.
    """
    places: dict[str, list[int]] = {}
    for place, (_, name) in enumerate(named):
        places.setdefault(name, []).append(place)
    names = [name for _, name in named]
    for name, own in places.items():
        sizes = {place: size(named[place][0]) or 0 for place in own}
        if min(sizes.values()) > 0:
            parts = _parts(sorted(own, key=sizes.__getitem__), sizes, lambda place: work(named[place][0]))
            parts.sort(key=len, reverse=True)
            numbered = (each for each in (f"{name}_{n}" for n in count(2)) if each not in places)
            for part, new in zip(parts, chain([name], numbered), strict=False):
                for place in part:
                    names[place] = new
    return [(run, name) for (run, _), name in zip(named, names, strict=True)]


def _parts(ranked: list[int], sizes: dict[int, int], work: Callable[[int], float]) -> list[list[int]]:
    """Return the runs in parts, from the smallest input to the largest."""
    ratios = {cut: sizes[ranked[cut]] / sizes[ranked[cut - 1]] for cut in range(1, len(ranked))}
    cuts = sorted(ratios, key=ratios.__getitem__, reverse=True)[: MOST_PARTS - 1]
    parts: list[list[int]] = [[]]
    for place, run in enumerate(ranked):
        if place in cuts and ratios[place] >= APART:
            parts.append([])
        parts[-1].append(run)
    kept = parts[:1]
    for part in parts[1:]:
        if mean(map(work, part)) >= MORE_WORK * mean(map(work, kept[-1])):
            kept.append(part)
        else:
            kept[-1] += part
    return kept


def stem(name: str) -> str:
    """Return the name of a class without the number that divides classes of one name."""
    return _NUMBER.sub("", name)


def alike(some: tuple[float, float] | None, others: tuple[float, float] | None) -> bool:
    """Return True if two ranges of inputs are so close that they divide no class, or one is unknown."""
    if some is None or others is None:
        return True
    return max(some[0], others[0]) < APART * min(some[1], others[1])
