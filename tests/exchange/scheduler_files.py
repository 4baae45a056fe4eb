"""The files of YARN's schedulers and of Hadoop's settings, read back as YARN reads them."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from decimal import Decimal

from mrdsl.exchange.schedulers import PREFIX, ROOT, FairQueue, Queue

RESOURCES = re.compile(r"(?P<memory>\d+) ?mb, ?(?P<vcores>\d+) ?vcores", re.IGNORECASE)


def settings_of(text: str) -> dict[str, str]:
    """Return the names and values of a file of Hadoop."""
    configuration = ET.fromstring(text)
    assert configuration.tag == "configuration"
    pairs = ((one.findtext("name"), one.findtext("value")) for one in configuration.iter("property"))
    return {name.strip(): value.strip() for name, value in pairs if name is not None and value is not None}


def read_capacity_scheduler(text: str) -> Queue:
    """Return the tree below ``root``."""
    values = settings_of(text)
    assert f"{PREFIX}.{ROOT}.queues" in values
    return _queue(ROOT, values)


def _queue(path: str, values: Mapping[str, str]) -> Queue:
    own = {item: values.get(f"{PREFIX}.{path}.{item}") for item in ("user-limit-factor", "max-parallel-apps")}
    masters = values.get(f"{PREFIX}.{path}.maximum-am-resource-percent")
    names = [child.strip() for child in values.get(f"{PREFIX}.{path}.queues", "").split(",") if child.strip()]
    return Queue(
        name=path.rpartition(".")[2],
        capacity=Decimal(values[f"{PREFIX}.{path}.capacity"] if path != ROOT else "100"),
        maximum=Decimal(values.get(f"{PREFIX}.{path}.maximum-capacity", "100")),
        children=tuple(_queue(f"{path}.{child}", values) for child in names),
        user_limit=None if own["user-limit-factor"] is None else int(own["user-limit-factor"]),
        running=None if own["max-parallel-apps"] is None else int(own["max-parallel-apps"]),
        masters=None if masters is None else Decimal(masters),
    )


def read_fair_scheduler(text: str) -> tuple[FairQueue, ...]:
    """Return the queues below ``root``."""
    root = ET.fromstring(text)
    assert root.tag == "allocations"
    top = root.find("queue[@name='root']")
    return tuple(_queues(root if top is None else top))


def _queues(above: ET.Element) -> Iterator[FairQueue]:
    for one in above:
        if one.tag in ("queue", "pool"):
            promised = RESOURCES.fullmatch(one.findtext("minResources", "").strip())
            jobs = one.findtext("maxRunningApps")
            yield FairQueue(
                one.attrib["name"],
                float(one.findtext("weight", "1")),
                int(promised["memory"]) if promised else None,
                int(promised["vcores"]) if promised else None,
                None if jobs is None else int(jobs),
                tuple(_queues(one)),
            )
