"""YARN's ``fair-scheduler.xml``: queues with weights, guarantees, and limits on concurrent jobs."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite

from mrdsl.exchange.markup import parsed, written
from mrdsl.exchange.text import FormatError

NAME = re.compile(r"[^\s.\u2000-\u200b]+")
"""A queue's name: no dot, which parts a path, and no white space at its ends; ours have none at all."""
RESOURCES = re.compile(r"(?P<memory>\d+) ?mb, ?(?P<vcores>\d+) ?vcores", re.IGNORECASE)


@dataclass(frozen=True)
class FairQueue:
    """One queue below ``root``: MiB and virtual cores that it is promised, None without such a promise."""

    name: str
    weight: float = 1.0
    memory: int | None = None
    vcores: int | None = None
    jobs: int | None = None
    children: tuple[FairQueue, ...] = ()


def mistakes(queues: tuple[FairQueue, ...]) -> list[str]:
    """Return errors that YARN's allocation file rejects: a bad or repeated name, a negative weight, numbers below 0."""
    wrong = []
    if len({queue.name for queue in queues}) < len(queues):
        wrong.append("two queues have one name")
    for queue in queues:
        if not NAME.fullmatch(queue.name):
            wrong.append(f"the queue name {queue.name!r} has a dot or white space")
        if not isfinite(queue.weight) or queue.weight < 0:
            wrong.append(f"{queue.name}: the weight {queue.weight} is no number from 0 on")
        if (queue.memory is None) != (queue.vcores is None):
            wrong.append(f"{queue.name}: write both memory and cores, or neither")
        if any(value is not None and value < 0 for value in (queue.memory, queue.vcores, queue.jobs)):
            wrong.append(f"{queue.name}: a promise or a number of jobs is negative")
        wrong += mistakes(queue.children)
    return wrong


def fair_scheduler(queues: tuple[FairQueue, ...], comments: tuple[str, ...] = ()) -> str:
    """Return the file for queues below ``root``, below comments. Raises ValueError if YARN would reject it."""
    wrong = mistakes(queues)
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


def read_fair_scheduler(text: str) -> tuple[FairQueue, ...]:
    """Return the queues below ``root``. Raises FormatError if the text is not such a file."""
    root = parsed(text)
    if root.tag != "allocations":
        raise FormatError(f"it is a <{root.tag}>, not an <allocations>")
    top = root.find("queue[@name='root']")
    return tuple(_queues(root if top is None else top))


def _queues(above: ET.Element) -> Iterator[FairQueue]:
    for one in above:
        if one.tag not in ("queue", "pool"):
            continue
        name = one.get("name")
        if not name:
            raise FormatError("a <queue> has no name")
        promised = one.findtext("minResources")
        resources = None if promised is None else RESOURCES.fullmatch(promised.strip())
        if promised is not None and resources is None:
            raise FormatError(f"{name}: `{promised}` is not of the form `1024 mb, 1 vcores`")
        jobs = one.findtext("maxRunningApps")
        yield FairQueue(
            name,
            _number(name, "weight", one.findtext("weight", "1")),
            None if resources is None else int(resources["memory"]),
            None if resources is None else int(resources["vcores"]),
            None if jobs is None else int(_number(name, "maxRunningApps", jobs)),
            tuple(_queues(one)),
        )


def _number(queue: str, item: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not isfinite(value):
        raise FormatError(f"the {item} of {queue} is `{text}`, not a number")
    return value
