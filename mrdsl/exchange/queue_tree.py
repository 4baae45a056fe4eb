"""Queues of a hierarchical scheduler, as YARN's capacity scheduler has them: a tree of guaranteed shares."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal

ROOT = "root"
HUNDRED = Decimal(100)


@dataclass(frozen=True)
class Queue:
    """One queue: its share of its parent in percent, and the most that it may take while others are idle.

    ``user_limit``: how many times its share a single user of it may take; None leaves the scheduler's default of 1.
    """

    name: str
    capacity: Decimal = HUNDRED
    maximum: Decimal = HUNDRED
    children: tuple[Queue, ...] = ()
    user_limit: int | None = None
    note: str = ""

    def walk(self, path: str = "") -> Iterator[tuple[str, Queue]]:
        """This queue and all below it with their full names, such as ``root.mapreduce.sort``."""
        full = f"{path}.{self.name}" if path else self.name
        yield full, self
        for child in self.children:
            yield from child.walk(full)


def percentages(weights: Sequence[float], digits: int = 3) -> tuple[Decimal, ...]:
    """The weights as percentages of ``digits`` decimals that add up to exactly 100.

    Each is rounded down, and what is missing goes, one last digit each, to those that lost most; in order where they
    lost the same. Equal shares where all weights are 0. Raises ValueError for a negative weight or none at all.
    """
    if not weights or min(weights) < 0:
        raise ValueError("weights are needed, none of them negative")
    total = sum(map(_exact, weights))
    shares = [_exact(w) / total if total else Decimal(1) / len(weights) for w in weights]
    unit = Decimal(1).scaleb(-digits)
    exact = [share * HUNDRED for share in shares]
    floors = [value.quantize(unit, ROUND_FLOOR) for value in exact]
    missing = int(((HUNDRED - sum(floors)) / unit).to_integral_value())
    losers = sorted(range(len(exact)), key=lambda i: floors[i] - exact[i])
    for i in losers[:missing]:
        floors[i] += unit
    return tuple(floors)


def _exact(value: float) -> Decimal:
    return Decimal(repr(float(value)))


def mistakes(root: Queue) -> list[str]:
    """What YARN would refuse: shares of a level that do not add up to 100, a share above its maximum, a bad name."""
    wrong = []
    for path, queue in root.walk():
        if not queue.name or any(not (c.isalnum() or c in "-_") for c in queue.name):
            wrong.append(f"the queue name {queue.name!r} holds more than letters, digits, - and _")
        if not 0 <= queue.capacity <= queue.maximum <= HUNDRED:
            wrong.append(f"{path}: capacity {queue.capacity} and maximum {queue.maximum} are not 0 <= c <= m <= 100")
        if queue.children and sum(child.capacity for child in queue.children) != HUNDRED:
            wrong.append(f"{path}: its queues add up to {sum(child.capacity for child in queue.children)}, not to 100")
        names = [child.name for child in queue.children]
        if len(set(names)) < len(names):
            wrong.append(f"{path}: two of its queues have one name")
    return wrong
