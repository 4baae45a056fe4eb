"""YARN's ``capacity-scheduler.xml``: queues with their guaranteed shares, for work-conserving sharing."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from decimal import Decimal

from mrdsl.exchange.queue_tree import Queue, mistakes

PREFIX = "yarn.scheduler.capacity"


def capacity_scheduler(root: Queue) -> str:
    """The file for a tree of queues. Raises ValueError where YARN would refuse it."""
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
    ET.indent(configuration)
    return '<?xml version="1.0"?>\n' + ET.tostring(configuration, encoding="unicode") + "\n"


def _properties(root: Queue) -> Iterator[tuple[str, str, str]]:
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
