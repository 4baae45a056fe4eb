"""YARN's ``capacity-scheduler.xml``: queues with their guaranteed shares, for work-conserving sharing."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from decimal import Decimal

from mrdsl.exchange.queue_tree import Queue, mistakes
from mrdsl.exchange.xml_text import written

PREFIX = "yarn.scheduler.capacity"
CALCULATOR = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator"


def capacity_scheduler(root: Queue, comments: tuple[str, ...] = ()) -> str:
    """The file for a tree of queues, below comments. Raises ValueError where YARN would refuse it."""
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
    """The file's names and values. Raises ValueError where YARN would refuse them."""
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
        if queue.children:
            yield f"{at}.queues", ",".join(child.name for child in queue.children), queue.note if queue is root else ""


def _number(value: Decimal) -> str:
    """Without an exponent and without trailing zeros."""
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
