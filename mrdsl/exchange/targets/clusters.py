"""A managed cluster that runs YARN for several classes, on EMR or Dataproc: queues, nodes, and settings of Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil

from mrdsl.core.rounding import ROUNDING
from mrdsl.exchange.capacity_scheduler import PREFIX, ROOT
from mrdsl.exchange.targets.deployment import Deployment, Setting
from mrdsl.exchange.targets.nodes import node_of
from mrdsl.exchange.targets.spark import executors_of, explained
from mrdsl.exchange.targets.yarn import LAYER, MEMORY, VCORES, masters_of, queues_of

IDLE = 3600
"""Seconds after which an idle cluster ends, as EMR's console has it."""
LAYER_SHARE = 0.99
"""The part of all nodes that the queues of the plan have; the default queue has the rest."""
NAME = "spark.app.name"


@dataclass(frozen=True)
class SparkOfClasses:
    """Spark settings that all classes share, those of each class's ``own``, and all of them with their reasons."""

    shared: Mapping[str, str] = field(default_factory=dict)
    own: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    settings: tuple[Setting, ...] = ()

    @property
    def notes(self) -> list[str]:
        """The settings to submit the jobs of each class with."""
        return [
            f"settings of class {name}: " + " ".join(f"--conf {key}={value}" for key, value in settings.items())
            for name, settings in self.own.items()
        ]


def spark_of_classes(deployment: Deployment) -> SparkOfClasses:
    """Return the Spark settings of classes with executors. Raises TargetError if Spark would reject them."""
    loads = [load for load in deployment.workloads if load.jobs and load.executor is not None]
    names = queues_of(deployment, loads)
    every = tuple(
        each
        for queue, load in zip(names, loads, strict=True)
        for each in explained(queue, load, executors_of(deployment, load))
    )
    found: dict[str, dict[str, str]] = {}
    for each in every:
        if each.name != NAME:
            found.setdefault(each.of, {})[each.name] = each.value
    if not found:
        return SparkOfClasses()
    first, *others = found.values()
    shared = {key: value for key, value in first.items() if all(other.get(key) == value for other in others)}
    own = {name: {k: v for k, v in settings.items() if k not in shared} for name, settings in found.items()}
    return SparkOfClasses(shared, {name: settings for name, settings in own.items() if settings}, every)


def with_default_queue(planned: Mapping[str, str], masters: float | None) -> dict[str, str]:
    """Return the queues with a default one, in which jobs without a queue run on what is idle.

    ``masters``: the part of each queue that drivers and application masters may take.
    """
    if not planned:
        return {}
    at, layer = f"{PREFIX}.{ROOT}", f"{PREFIX}.{ROOT}.{LAYER}"
    part = {} if masters is None else {f"{PREFIX}.maximum-am-resource-percent": f"{masters:g}"}
    return {
        **planned,
        f"{at}.queues": f"{LAYER},default",
        f"{layer}.capacity": "99",
        f"{at}.default.capacity": "1",
        f"{at}.default.maximum-capacity": "100",
        f"{at}.default.user-limit-factor": "100",
        f"{at}.default.state": "RUNNING",
        **part,
    }


def share_of_masters(deployment: Deployment, platform: str) -> float | None:
    """Return the largest part of a class's share of all nodes that its drivers take, in steps of 5 %, at least 10 %.

    None if cores and memory of the nodes are not known.
    """
    nodes = [(node_of(deployment.type_of(group.vm), platform), group.count) for group in deployment.groups]
    if any(node is None for node, _ in nodes):
        return None
    cores, memory = (sum(n * getattr(node, part) for node, n in nodes) for part in ("vcores", "memory"))
    largest = 0.0
    for load in deployment.workloads:
        master, share = masters_of(load), LAYER_SHARE * load.weight
        if share > 0.0:
            parts = load.jobs * master.vcores / (share * cores), load.jobs * master.memory / (share * memory)
            largest = max(largest, *parts)
    return min(1.0, max(2, ceil(20 * largest - ROUNDING)) / 20)


def nodes_of_one_type(deployment: Deployment, platform: str) -> dict[str, str]:
    """Return what YARN offers on a node; {} if the nodes are of several types or their size is unknown."""
    kinds = {group.vm for group in deployment.groups}
    node = node_of(deployment.type_of(next(iter(kinds))), platform) if len(kinds) == 1 else None
    return {} if node is None else {MEMORY: str(node.memory), VCORES: str(node.vcores)}
