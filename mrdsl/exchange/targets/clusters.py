"""Containers on the nodes of a platform, and managed clusters that run YARN for several classes, on EMR or Dataproc.

Containers are executors or tasks, and a driver or an application master for each job. A plan may give them all cores
and memory of its machines; the platform's system takes a part, so that they can need more machines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil

from mrdsl.core.diagnostics import Diagnostic, warning
from mrdsl.core.rounding import ROUNDING
from mrdsl.exchange.schedulers import PREFIX, ROOT
from mrdsl.exchange.targets.deployment import Deployment, Group, MachineType, Setting, Share, Workload
from mrdsl.exchange.targets.spark import executors_of, explained
from mrdsl.exchange.targets.yarn import (
    LAYER,
    MEMORY,
    MIB,
    VCORES,
    Size,
    masters_of,
    queues_of,
    sized,
    sizes_given,
    sizes_of,
)
from mrdsl.formulas.packing import Units, pack, units_of
from mrdsl.formulas.platforms import emr_memory, system_cores, system_memory
from mrdsl.spec.platforms import DATAPROC, EMR, KUBERNETES

EC2 = re.compile(r"([cmr])([5-9])(?!n\.)[a-z]*\.(?:([0-9]*)x)?large")
"""Types whose cores and memory follow from their name: c5n has other memory."""
GIB_OF_CORE = {"c": 2, "m": 4, "r": 8}
GOOGLE = re.compile(r"(n1|n2|n2d|e2|c2|c2d|c3|c3d|t2d)-(standard|highmem|highcpu)-([0-9]+)(?:-lssd)?")
CUSTOM = re.compile(r"(?:[a-z][0-9]+[a-z]?-)?custom-([0-9]+)-([0-9]+)(?:-ext)?")
GIB_OF_VCPU = {"standard": 4.0, "highmem": 8.0, "highcpu": 1.0}
GIB_APART = {
    ("n1", "standard"): 3.75,
    ("n1", "highmem"): 6.5,
    ("n1", "highcpu"): 0.9,
    ("c2d", "highcpu"): 2.0,
    ("c3", "highcpu"): 2.0,
    ("c3d", "highcpu"): 2.0,
}
"""GiB for each vCPU of Google's types: cloud.google.com/compute/docs/general-purpose-machines."""
STEP = {DATAPROC: 32, EMR: 32, KUBERNETES: 1}
"""Step of the memory of containers [MiB]: the minimum allocation of YARN, which exports set or EMR has."""
MANY = 12
"""Sizes of containers beyond which nodes are counted by the sum of their parts."""


def node_of(kind: MachineType, platform: str) -> Size | None:
    """Return cores and memory that a node has for containers; None if its memory is unknown."""
    cores, memory = kind.cores, None if kind.memory is None else kind.memory / MIB
    cores, memory = hardware_of(kind.name) or (cores, memory)
    if cores is None or memory is None:
        return None
    if platform == EMR:
        return Size(cores, int(emr_memory(kind.name, memory)))
    system = system_memory(platform, kind.name, MIB * memory) / MIB
    return Size(cores - system_cores(platform, cores), int(memory - system))


def hardware_of(name: str) -> tuple[float, float] | None:
    """Return cores and memory [MiB] of a type of Amazon's or Google's, if its name gives them."""
    if found := EC2.fullmatch(name):
        vcpu = 2 if found[3] is None else 4 * int(found[3] or 1)
        return float(vcpu), 1024.0 * GIB_OF_CORE[found[1]] * vcpu
    if found := GOOGLE.fullmatch(name):
        each = GIB_APART.get((found[1], found[2]), GIB_OF_VCPU[found[2]])
        return float(found[3]), 1024.0 * each * int(found[3])
    if found := CUSTOM.fullmatch(name):
        return float(found[1]), float(found[2])
    return None


@dataclass(frozen=True)
class Needed:
    """The nodes that the containers of one group of machines take, None if one of them fits no node.

    ``masters``: drivers and application masters that the plan does not count, if all other containers fit.
    """

    group: Group
    node: Size
    vms: int | None
    largest: Size
    masters: Mapping[Size, int] = field(default_factory=dict)


def needed(deployment: Deployment, platform: str) -> Iterator[Needed]:
    """Yield the nodes that each group's containers take, of groups whose nodes and containers are known.

    Where YARN runs, files contain only sizes of the spec, not those of machines that are divided by their slots.
    """
    given = all(sizes_given(load) for load in deployment.workloads)
    if not sized(deployment, deployment.workloads) or (platform != KUBERNETES and not given):
        return
    for group in deployment.groups:
        node = node_of(deployment.type_of(group.vm), platform)
        if node is None:
            continue
        counts: dict[Size, int] = {}
        masters: dict[Size, int] = {}
        for load in deployment.workloads:
            for share in load.shares:
                if (share.vm, share.lane) == (group.vm, group.lane):
                    if load.driver is None:
                        own = masters_of(load)
                        own = Size(
                            own.cores if platform == KUBERNETES else float(own.vcores), _up(own.memory, platform)
                        )
                        masters[own] = masters.get(own, 0) + share.jobs
                    for size, count in containers_on(deployment, load, share).items():
                        cores = size.cores if platform == KUBERNETES else float(size.vcores)
                        rounded = Size(cores, _up(size.memory, platform))
                        counts[rounded] = counts.get(rounded, 0) + count
        if counts:
            yield _with_masters(_needed(group, node, counts), counts, masters)


def _with_masters(found: Needed, counts: Mapping[Size, int], masters: Mapping[Size, int]) -> Needed:
    if not masters or found.vms is None or found.vms <= found.group.count:
        return found
    others = {size: left for size, count in counts.items() if (left := count - masters.get(size, 0))}
    least = _needed(found.group, found.node, others).vms if others else 0
    return replace(found, masters=masters) if least is not None and least <= found.group.count else found


def containers_on(deployment: Deployment, load: Workload, share: Share) -> Mapping[Size, int]:
    """Return the containers of a class on machines of one type, by size: executors or tasks, and drivers."""
    found: dict[Size, int] = {}
    sizes = sizes_of(deployment, load)
    for one in share.tasks:
        size, count = sizes[one.kind], one.at_once
        if load.executor is not None:
            size = Size(load.executor.cores, int(load.executor.memory / MIB))
            count = -(-one.at_once // load.executor.tasks)
        if count:
            found[size] = found.get(size, 0) + count
    master = masters_of(load)
    found[master] = found.get(master, 0) + share.jobs
    return found


def _up(memory: int, platform: str) -> int:
    return -(-memory // STEP[platform]) * STEP[platform]


def _needed(group: Group, node: Size, counts: Mapping[Size, int]) -> Needed:
    parts = {
        size: (Fraction(repr(size.cores)) / Fraction(repr(node.cores)), Fraction(size.memory, node.memory))
        for size in counts
    }
    largest = max(counts, key=lambda size: max(parts[size]))
    if max(parts[largest]) > 1:
        return Needed(group, node, None, largest)
    listed, slots = [parts[size] for size in counts], list(counts.values())
    units: Units = units_of(listed)
    vms = units.least(slots) if len(listed) > MANY else pack(listed, slots, group.count).vms
    return Needed(group, node, vms, largest)


def beyond_node(deployment: Deployment, platform: str) -> tuple[Diagnostic, ...]:
    """Return a warning for each group whose containers do not fit its machines, with the machines that they need."""
    found = needed(deployment, platform)
    return tuple(
        _told(each, deployment.type_of(each.group.vm), platform)
        for each in found
        if each.vms is None or each.vms > each.group.count
    )


def _told(each: Needed, kind: MachineType, platform: str) -> Diagnostic:
    group, node = each.group, each.node
    room = f"{node.cores:g} cores and {node.memory:,} MiB of a {group.vm} are for containers"
    if each.vms is None:
        size = f"{each.largest.cores:g} cores and {each.largest.memory:,} MiB"
        message, hint = f"a container of {size} fits no node: {room}", "plan with a larger type, or smaller containers"
    else:
        message = f"the planned containers take {each.vms} {group.vm} {group.lane}, not {group.count}: {room}"
        hint = f"write `system = {platform}` in the vm, with its cores and memory, to plan with what is left"
        if kind.system is not None and kind.memory is not None:
            hint = f"the plan counts on {kind.cores:g} cores and {kind.memory / MIB:,.0f} MiB: write those of the type"
        if each.masters and kind.cores is not None and kind.memory is not None:
            on_each = -(-sum(each.masters.values()) // group.count)
            cores = max(kind.cores - node.cores, 0) + on_each * max(size.cores for size in each.masters)
            memory = max(kind.memory / MIB - node.memory, 0) + on_each * max(size.memory for size in each.masters)
            hint = (
                f"write system {{ cores = {cores:g}, memory = {ceil(memory)} MiB }} in the vm to leave room for drivers"
            )
    return warning("beyond-node", message, None, hint)


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
