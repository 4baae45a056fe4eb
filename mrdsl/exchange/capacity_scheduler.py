"""YARN's ``capacity-scheduler.xml``: a tree of queues with guaranteed shares, read, checked and written."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal, InvalidOperation

from mrdsl.exchange.markup import settings_of, written
from mrdsl.exchange.text import FormatError

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


def read_capacity_scheduler(text: str) -> Queue:
    """Return the tree below ``root``. Raises FormatError if the text is not such a file."""
    values = settings_of(text)
    if f"{PREFIX}.{ROOT}.queues" not in values:
        raise FormatError(f"it names no queues below {ROOT}")
    return _queue(ROOT, ROOT, values)


def _queue(path: str, name: str, values: Mapping[str, str]) -> Queue:
    below = values.get(f"{PREFIX}.{path}.queues", "")
    names = [child.strip() for child in below.split(",") if child.strip()]
    limit = values.get(f"{PREFIX}.{path}.user-limit-factor")
    running = values.get(f"{PREFIX}.{path}.max-parallel-apps")
    masters = values.get(f"{PREFIX}.{path}.maximum-am-resource-percent")
    return Queue(
        name=name,
        capacity=_decimal(path, "capacity", values),
        maximum=_decimal(path, "maximum-capacity", values),
        children=tuple(_queue(f"{path}.{child}", child, values) for child in names),
        user_limit=None if limit is None else int(limit),
        running=None if running is None else int(running),
        masters=None if masters is None else Decimal(masters),
    )


def _decimal(path: str, item: str, values: Mapping[str, str]) -> Decimal:
    """Return a share in percent; 100 where it is left out, as for the root and for maximums."""
    written = values.get(f"{PREFIX}.{path}.{item}")
    if written is None:
        if item == "capacity" and path != ROOT:
            raise FormatError(f"the queue {path} has no capacity")
        return Decimal(100)
    try:
        return Decimal(written)
    except InvalidOperation:
        raise FormatError(f"the {item} of {path} is `{written}`, not a number") from None


CALCULATOR = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator"


def capacity_scheduler(root: Queue, comments: tuple[str, ...] = ()) -> str:
    """Return the file for a tree of queues, below comments. Raises ValueError if YARN would reject it."""
    wrong = mistakes(root)
    if wrong:
        raise ValueError("; ".join(wrong))
    configuration = ET.Element("configuration")
    for name, value, note in _properties(root):
        one = ET.SubElement(configuration, "property")
        ET.SubElement(one, "name").text = name
        ET.SubElement(one, "value").text = value
        if note:
            ET.SubElement(one, "description").text = note
    return written(configuration, comments)


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
