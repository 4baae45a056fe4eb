"""Amazon EMR: the JSON object of `RunJobFlow`, as boto3's ``client("emr").run_job_flow(**json)`` takes it.

One master, a core group, and a task group for each other type and purchase option: uniform instance groups have exactly
the plan's counts. With fleets the service chooses among the plan's types, in units that are their cores. A spot VM can
cost as much as on demand: the plan's own price is the expected price, and with that price as a bid the VM would be lost
at every rise above it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from mrdsl.core.units import HOUR
from mrdsl.exchange.targets.deployment import (
    FIRM,
    SPOT,
    Deployment,
    Exported,
    Group,
    TargetError,
    Wishes,
    master_of,
    tags,
)
from mrdsl.exchange.targets.emr_rules import NAME_LENGTH, mistakes
from mrdsl.exchange.targets.nodes import beyond_node, node_of
from mrdsl.exchange.targets.spark import conf, executors_of
from mrdsl.exchange.targets.yarn import MEMORY, VCORES, cluster_settings, queues_of
from mrdsl.spec.platforms import EMR

TIMEOUT = 60
"""Minutes after which what cannot be had on spot is had on demand."""


def fleets(
    deployment: Deployment, master: tuple[str, int], bids: Mapping[str, Mapping[str, str]]
) -> list[dict[str, Any]]:
    """Return a fleet of the master, one of firm VMs and one of spot VMs, with as many units each as planned.

    ``bids`` are those of each type. Raises TargetError if a type of several has no cores.
    """
    if master[1] != 1:
        raise TargetError(f"fleets have one master, and the spec has {master[1]}", "leave --fleets out")
    first = {"InstanceType": master[0], "WeightedCapacity": 1}
    found = [_fleet("MASTER", "TargetOnDemandCapacity", 1, [first])]
    lanes = [lane for lane in (FIRM, SPOT) if any(group.lane == lane for group in deployment.groups)]
    units = _units(deployment)
    for role, lane in zip(("CORE", "TASK"), lanes, strict=False):
        held: dict[str, int] = {}
        for group in deployment.groups:
            if group.lane == lane:
                held[group.vm] = held.get(group.vm, 0) + group.count
        bid = bids if lane == SPOT else {}
        types = [{"InstanceType": vm, "WeightedCapacity": units[vm], **bid.get(vm, {})} for vm in held]
        target = sum(count * units[vm] for vm, count in held.items())
        found.append(_fleet(role, f"Target{'Spot' if lane == SPOT else 'OnDemand'}Capacity", target, types))
    return found


def _fleet(role: str, target: str, units: int, types: list[dict[str, Any]]) -> dict[str, Any]:
    spot = {
        "SpotSpecification": {
            "TimeoutDurationMinutes": TIMEOUT,
            "TimeoutAction": "SWITCH_TO_ON_DEMAND",
            "AllocationStrategy": "capacity-optimized",
        }
    }
    firm = {"OnDemandSpecification": {"AllocationStrategy": "lowest-price"}}
    return {
        "Name": role.lower(),
        "InstanceFleetType": role,
        target: units,
        "InstanceTypeConfigs": types,
        "LaunchSpecifications": spot if target == "TargetSpotCapacity" else firm,
    }


def _units(deployment: Deployment) -> dict[str, int]:
    """Return the units of a machine of each type: its cores, or 1 if all are of one type."""
    held = list(dict.fromkeys(group.vm for group in deployment.groups))
    if len(held) == 1:
        return {held[0]: 1}
    found = {}
    for vm in held:
        cores = deployment.type_of(vm).cores
        if cores is None or cores < 1:
            reason = f"a fleet of several types counts cores, and {vm} has no `cores`"
            raise TargetError(reason, "write `cores = 4` in the vm")
        found[vm] = int(cores)
    return found


FILE = "emr.json"
RELEASE = "emr-7.5.0"


def emr(deployment: Deployment, wishes: Wishes) -> Exported:
    """Return the file for a deployment. Raises TargetError if EMR would reject it."""
    master, count, note = master_of(deployment, wishes)
    told = cluster_settings(deployment)
    notes = [*deployment.notes, *([note] if note else []), *_of_spot(deployment), *told.notes]
    if wishes.fleets:
        notes.append("how many machines of each type - fleets have the cores of the plan and maybe other memory")
    classes = _classes(deployment)
    notes += [f"settings of class {name}: {_as_options(settings)}" for name, settings in classes.own.items()]
    document = {
        "Name": (deployment.origin.title or deployment.origin.spec or "mrdsl")[:NAME_LENGTH],
        "ReleaseLabel": RELEASE,
        "Applications": [{"Name": "Hadoop"}, {"Name": "Spark"}],
        "Instances": {
            **_machines(deployment, (master, count), wishes.fleets),
            "KeepJobFlowAliveWhenNoSteps": not deployment.steps,
            "TerminationProtected": count > 1,
        },
        **({"Steps": [_step(name) for name in deployment.steps]} if deployment.steps else {}),
        **({} if deployment.idle is None else {"AutoTerminationPolicy": {"IdleTimeout": deployment.idle}}),
        "JobFlowRole": "EMR_EC2_DefaultRole",
        "ServiceRole": "EMR_DefaultRole",
        "Configurations": [
            {"Classification": name, "Properties": dict(values)}
            for name, values in (
                ("capacity-scheduler", told.queues),
                ("yarn-site", _nodes(deployment)),
                ("spark-defaults", classes.all),
            )
            if values
        ],
        "VisibleToAllUsers": True,
        "Tags": [{"Key": key, "Value": value} for key, value in tags(deployment.origin, notes).items()],
    }
    wrong = mistakes(document)
    if wrong:
        raise TargetError("; ".join(reason for reason, _ in wrong), wrong[0][1])
    text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    return Exported({FILE: text}, tuple(notes), beyond_node(deployment, EMR))


@dataclass(frozen=True)
class _Classes:
    """Spark settings that ``all`` classes share, and those of each class's ``own``."""

    all: Mapping[str, str] = field(default_factory=dict)
    own: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


def _classes(deployment: Deployment) -> _Classes:
    """Return the Spark settings of classes with executors, with the queue and the name of each."""
    loads = [load for load in deployment.workloads if load.jobs and load.executor is not None]
    names = queues_of(deployment, loads)
    found = {
        load.name: conf(queue, load.name, executors_of(deployment, load))
        for queue, load in zip(names, loads, strict=True)
    }
    if not found:
        return _Classes()
    first, *others = found.values()
    shared = {key: value for key, value in first.items() if all(each.get(key) == value for each in others)}
    own = {name: {k: v for k, v in settings.items() if k not in shared} for name, settings in found.items()}
    return _Classes(shared, {name: settings for name, settings in own.items() if settings})


def _as_options(settings: Mapping[str, str]) -> str:
    return " ".join(f"--conf {key}={value}" for key, value in settings.items() if key != "spark.app.name")


def _nodes(deployment: Deployment) -> dict[str, str]:
    """Return what YARN offers on a node of the one type of the deployment; EMR knows the figures of several."""
    kinds = {group.vm for group in deployment.groups}
    node = node_of(deployment.type_of(next(iter(kinds))), EMR) if len(kinds) == 1 else None
    return {} if node is None else {MEMORY: str(node.memory), VCORES: str(node.vcores)}


def _step(name: str) -> dict[str, Any]:
    """Return a step that runs a job; its command is to be filled in, since plans do not have it."""
    return {
        "Name": name[:NAME_LENGTH],
        "ActionOnFailure": "TERMINATE_CLUSTER",
        "HadoopJarStep": {"Jar": "command-runner.jar", "Args": ["spark-submit", "COMMAND OF THE JOB"]},
    }


def _machines(deployment: Deployment, master: tuple[str, int], asked: bool) -> dict[str, Any]:
    if not asked:
        return {"InstanceGroups": [_group("MASTER", "master", master[0], FIRM, master[1]), *_workers(deployment)]}
    bids = {group.vm: _bid(deployment, group) for group in deployment.groups if group.lane == SPOT}
    return {"InstanceFleets": fleets(deployment, master, bids)}


def _workers(deployment: Deployment) -> Iterator[dict[str, Any]]:
    """Yield the core group, the largest firm one if there is one, then the others in order."""
    core = max(deployment.groups, key=lambda group: (group.lane == FIRM, group.count))
    for group in (core, *(each for each in deployment.groups if each is not core)):
        role = "CORE" if group is core else "TASK"
        name = f"{role.lower()} {group.vm} {group.lane}"
        yield {**_group(role, name, group.vm, group.lane, group.count), **_bid(deployment, group)}


def _group(role: str, name: str, vm: str, lane: str, count: int) -> dict[str, Any]:
    return {
        "Name": name[:NAME_LENGTH],
        "InstanceRole": role,
        "Market": "SPOT" if lane == SPOT else "ON_DEMAND",
        "InstanceType": vm,
        "InstanceCount": count,
    }


def _bid(deployment: Deployment, group: Group) -> dict[str, str]:
    """Return the most that a spot VM may cost. Left out, it is EMR's default, the price on demand, which is right here
    too.
    """
    price = deployment.type_of(group.vm).price
    if group.lane != SPOT or price is None or deployment.currency != "USD":
        return {}
    return {"BidPrice": f"{price * HOUR:.6f}".rstrip("0").rstrip(".")}


def _of_spot(deployment: Deployment) -> Iterator[str]:
    for group in deployment.groups:
        if group.lane == SPOT and group.price is not None:
            paid = f"{group.price * HOUR:.6g} {deployment.currency}/h"
            yield f"the plan pays {paid} for a {group.vm} on spot and the bid is the price on demand"
