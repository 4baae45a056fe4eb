"""Whole slots for one job that keep its deadline, none of them needless: every plan's jobs have such a pair or more.

    A / a + B / b <= D - C,  a and b whole, within limits, and neither a - 1 nor b - 1 does.

Theorem 4.1 of Malekimajd et al. 2015 has the pair on the fewest VMs alone. Another one may be better where slots have
to fit whole VMs, or where map and reduce slots take other resources of a VM.
"""

from __future__ import annotations

from math import inf

from mrdsl.core.tolerances import SAME_SUM
from mrdsl.core.whole_numbers import ceiling

Pair = tuple[int, int]


def efficient_pairs(
    work: tuple[float, float], left: float, least: Pair, most: tuple[float, float], limit: int
) -> list[Pair] | None:
    """Find all such pairs, those of the fewest map slots first.

    Args:
        work: A and B of one job [s].
        left: D - C, what the deadline leaves to both phases [s].
        least: The fewest map and reduce slots.
        most: The most map and reduce slots; infinite where nobody knows.
        limit: The most pairs to find.

    Returns:
        The pairs; none if no slots keep the deadline, None if there are more than the limit.
    """
    found: list[Pair] = []
    last = ceiling(most[0])
    first = _beside(work[0], left, work[1], most[1], least[0], most[0])
    while first <= last and first < inf:
        second = _beside(work[1], left, work[0], min(first, most[0]), least[1], most[1])
        if second == inf:
            first += 1.0
            continue
        if len(found) == limit:
            return None
        found.append((int(first), int(second)))
        fewer = second - 1.0
        if fewer < least[1] or (work[1] > 0.0 and fewer <= 0.0):
            break
        first = max(_beside(work[0], left, work[1], fewer, least[0], most[0]), first + 1.0)
    return found


def _beside(work: float, left: float, other_work: float, other: float, least: float, most: float) -> float:
    """The fewest slots of one kind beside so many of the other; infinite where none do.

    Where the most slots are a fraction, the next whole number does no more than that.
    """
    time = left - (other_work / other if other_work else 0.0)
    if time < -SAME_SUM * abs(left) or (work and time <= 0.0):
        return inf
    needed = max(work / time if work else 0.0, float(least))
    return inf if needed > most * (1.0 + SAME_SUM) else float(ceiling(min(needed, most)))
