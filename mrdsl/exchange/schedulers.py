"""Files of YARN's schedulers: ``capacity-scheduler.xml`` with shares, ``fair-scheduler.xml`` with weights.

Both have a tree of queues, which is checked before it is written.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal
from math import isfinite

from mrdsl.exchange.markup import settings, written

ROOT = "root"
HUNDRED = Decimal(100)


@dataclass(frozen=True)
class Queue:
    """One queue: its share of its parent in percent, and the most that it may take while others are idle.

    ``user_limit``: how many times its share a single user of it may take; None leaves the scheduler's default of 1.
    ``running``: applications that run at once, the others wait. ``masters``: the part of it that drivers and
    application masters may take, by default a tenth.
    """

    name: str
    capacity: Decimal = HUNDRED
    maximum: Decimal = HUNDRED
    children: tuple[Queue, ...] = ()
    user_limit: int | None = None
    running: int | None = None
    masters: Decimal | None = None
    note: str = ""

    def walk(self, path: str = "") -> Iterator[tuple[str, Queue]]:
        """This queue and all below it with their full names, such as ``root.mapreduce.sort``."""
        full = f"{path}.{self.name}" if path else self.name
        yield full, self
        for child in self.children:
            yield from child.walk(full)


def percentages(weights: Sequence[float], digits: int = 3) -> tuple[Decimal, ...]:
    """Return the weights as percentages of ``digits`` decimals that add up to exactly 100.

    Each is rounded down, and the missing last digits go to those that lost most, in order if they lost the same. Shares
    are equal if all weights are 0. Raises ValueError for a negative weight or no weights.
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
    """Return errors that YARN would reject: shares of a level that do not add up to 100, a share above its maximum, a
    bad name.
    """
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


PREFIX = "yarn.scheduler.capacity"


CALCULATOR = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator"


def capacity_scheduler(root: Queue, comments: tuple[str, ...] = ()) -> str:
    """Return the file for a tree of queues, below comments. Raises ValueError if YARN would reject it."""
    notes = {name: note for name, _, note in _properties(root) if note}
    return settings(capacity_settings(root), comments, notes)


def capacity_settings(root: Queue) -> dict[str, str]:
    """Return the names and values of the file. Raises ValueError if YARN would reject them."""
    wrong = mistakes(root)
    if wrong:
        raise ValueError("; ".join(wrong))
    return {name: value for name, value, _ in _properties(root)}


def _properties(root: Queue) -> Iterator[tuple[str, str, str]]:
    yield f"{PREFIX}.resource-calculator", CALCULATOR, "cores count too, not memory alone"
    for path, queue in root.walk():
        at = f"{PREFIX}.{path}"
        if queue is not root:
            yield f"{at}.capacity", _number(queue.capacity), queue.note
            yield f"{at}.maximum-capacity", _number(queue.maximum), ""
            yield f"{at}.state", "RUNNING", ""
            if queue.user_limit is not None:
                yield f"{at}.user-limit-factor", str(queue.user_limit), ""
            if queue.running is not None:
                yield f"{at}.max-parallel-apps", str(queue.running), "jobs of the plan that run at once"
            if queue.masters is not None:
                yield f"{at}.maximum-am-resource-percent", _number(queue.masters), "room for a driver of each job"
        if queue.children:
            yield f"{at}.queues", ",".join(child.name for child in queue.children), queue.note if queue is root else ""


def _number(value: Decimal) -> str:
    """Without an exponent and without trailing zeros."""
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


NAME = re.compile(r"[^\s.\u2000-\u200b]+")
"""A queue's name: no dot, which parts a path, and no white space at its ends; ours have none at all."""


@dataclass(frozen=True)
class FairQueue:
    """One queue below ``root``: MiB and virtual cores that it is promised, None without such a promise."""

    name: str
    weight: float = 1.0
    memory: int | None = None
    vcores: int | None = None
    jobs: int | None = None
    children: tuple[FairQueue, ...] = ()


def fair_mistakes(queues: tuple[FairQueue, ...]) -> list[str]:
    """Return errors that YARN's allocation file rejects: a bad or repeated name, a negative weight, numbers below 0."""
    wrong = []
    if len({queue.name for queue in queues}) < len(queues):
        wrong.append("two queues have one name")
    for queue in queues:
        if not NAME.fullmatch(queue.name):
            wrong.append(f"the queue name {queue.name!r} has a dot or white space")
        if not isfinite(queue.weight) or queue.weight < 0:
            wrong.append(f"{queue.name}: the weight must be at least 0, got {queue.weight}")
        if (queue.memory is None) != (queue.vcores is None):
            wrong.append(f"{queue.name}: write both memory and cores, or neither")
        if any(value is not None and value < 0 for value in (queue.memory, queue.vcores, queue.jobs)):
            wrong.append(f"{queue.name}: a promise or a number of jobs is negative")
        wrong += fair_mistakes(queue.children)
    return wrong


def fair_scheduler(queues: tuple[FairQueue, ...], comments: tuple[str, ...] = ()) -> str:
    """Return the file for queues below ``root``, below comments. Raises ValueError if YARN would reject it."""
    wrong = fair_mistakes(queues)
    if wrong:
        raise ValueError("; ".join(wrong))
    root = ET.Element("allocations")
    for queue in queues:
        _add(root, queue)
    ET.SubElement(root, "defaultQueueSchedulingPolicy").text = "drf"
    return written(root, comments)


def _add(above: ET.Element, queue: FairQueue) -> None:
    one = ET.SubElement(above, "queue", name=queue.name)
    if queue.memory is not None:
        ET.SubElement(one, "minResources").text = f"{queue.memory} mb, {queue.vcores} vcores"
    if queue.jobs is not None:
        ET.SubElement(one, "maxRunningApps").text = str(queue.jobs)
    ET.SubElement(one, "weight").text = repr(queue.weight)
    for child in queue.children:
        _add(one, child)
