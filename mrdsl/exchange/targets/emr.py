"""Amazon EMR: the JSON object of `RunJobFlow`, as boto3's ``client("emr").run_job_flow(**json)`` takes it.

One master, a core group, and a task group for each other type and purchase option: uniform instance groups have exactly
the plan's counts. With fleets the service chooses among the plan's types, in units that are their cores. Spot machines
have no bid: EMR then pays the market's price, at most that on demand. Core nodes are on demand if the plan has such
machines, since HDFS is on them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from mrdsl.core.rounding import ceiling
from mrdsl.core.units import HOUR
from mrdsl.exchange.targets.clusters import (
    EC2,
    IDLE,
    beyond_node,
    nodes_of_one_type,
    share_of_masters,
    spark_of_classes,
    with_default_queue,
)
from mrdsl.exchange.targets.deployment import (
    FIRM,
    SPOT,
    Deployment,
    Exported,
    Group,
    MachineType,
    TargetError,
    Wishes,
    master_of,
    tags,
)
from mrdsl.exchange.targets.emr_rules import (
    LARGEST_VOLUME,
    MOST_TYPES,
    NAME_LENGTH,
    SMALLEST_VOLUME,
    STRATEGIES,
    mistakes,
    takes,
)
from mrdsl.exchange.targets.yarn import cluster_settings
from mrdsl.spec.platforms import EMR

TIMEOUT = 60
"""Minutes after which what cannot be had on spot is had on demand."""


def fleets(deployment: Deployment, master: tuple[str, int], wishes: Wishes) -> list[dict[str, Any]]:
    """Return a fleet of the master, one of firm VMs and one of spot VMs, with as many units each as planned.

    The spot fleet may have further types of the spec.
    Raises TargetError if a type of several has no cores.
    """
    first = {"InstanceType": master[0], "WeightedCapacity": 1, **_disks(deployment, master[0], usual=False)}
    firm = wishes.capacity_reservation
    found = [_fleet("MASTER", "TargetOnDemandCapacity", master[1], [first], reservation=firm)]
    lanes = [lane for lane in (FIRM, SPOT) if any(group.lane == lane for group in deployment.groups)]
    others = _candidates(deployment, wishes.candidates)
    units = _units(deployment, others)
    for role, lane in zip(("CORE", "TASK"), lanes, strict=False):
        held: dict[str, int] = {}
        for group in deployment.groups:
            if group.lane == lane:
                held[group.vm] = held.get(group.vm, 0) + group.count
        target = sum(count * units[vm] for vm, count in held.items())
        more = [each.name for each in others if units[each.name] <= target] if lane == SPOT else []
        types = [
            {"InstanceType": vm, "WeightedCapacity": units[vm], **_disks(deployment, vm, usual=False)}
            for vm in (*held, *more)
        ]
        if lane == SPOT and wishes.spot_strategy.endswith("prioritized"):
            types = [each | {"Priority": float(place)} for place, each in enumerate(types)]
        strategy = wishes.spot_strategy or STRATEGIES[0]
        units_of = f"Target{'Spot' if lane == SPOT else 'OnDemand'}Capacity"
        found.append(_fleet(role, units_of, target, types, strategy, firm))
    return found


def _candidates(deployment: Deployment, most: int) -> list[MachineType]:
    """Return up to ``most`` spot types of the spec beyond the plan's, the cheapest for each core first.

    Each has at least the cores, the memory and the memory for each core of some planned spot type, so that tasks fit.
    """
    planned = [deployment.type_of(group.vm) for group in deployment.groups if group.lane == SPOT]
    names = {each.name for each in planned}

    def fits(each: MachineType, like: MachineType) -> bool:
        sizes = each.cores, each.memory, like.cores, like.memory
        if None in sizes:
            return False
        cores, memory, least, least_memory = (float(size or 0.0) for size in sizes)
        return cores >= least and memory >= least_memory and memory * least >= least_memory * cores

    found = [
        (each.spot / (each.cores or 1.0), each.name, each)
        for each in deployment.types
        if each.spot is not None and each.name not in names and takes(each.name) and any(fits(each, p) for p in planned)
    ]
    return [each for _, _, each in sorted(found, key=lambda one: one[:2])[: min(most, MOST_TYPES - len(names))]]


def _fleet(
    role: str,
    target: str,
    units: int,
    types: list[dict[str, Any]],
    strategy: str = STRATEGIES[0],
    reservation: str = "",
) -> dict[str, Any]:
    spot = {
        "SpotSpecification": {
            "TimeoutDurationMinutes": TIMEOUT,
            "TimeoutAction": "SWITCH_TO_ON_DEMAND",
            "AllocationStrategy": strategy,
        }
    }
    firm = {"OnDemandSpecification": {"AllocationStrategy": "lowest-price", **_reservations(reservation)}}
    return {
        "Name": role.lower(),
        "InstanceFleetType": role,
        target: units,
        "InstanceTypeConfigs": types,
        "LaunchSpecifications": spot if target == "TargetSpotCapacity" else firm,
    }


def _reservations(asked: str) -> dict[str, Any]:
    """Return how VMs on demand use capacity reservations of the account: open ones, those of a group, or none."""
    if not asked:
        return {}
    if asked == "none":
        return {"CapacityReservationOptions": {"CapacityReservationPreference": "none"}}
    of = "CapacityReservationPreference" if asked == "open" else "CapacityReservationResourceGroupArn"
    return {"CapacityReservationOptions": {"UsageStrategy": "use-capacity-reservations-first", of: asked}}


def _units(deployment: Deployment, others: Sequence[MachineType] = ()) -> dict[str, int]:
    """Return the units of a machine of each type: its cores, or 1 if all are of one type."""
    held = list(dict.fromkeys((*(group.vm for group in deployment.groups), *(each.name for each in others))))
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
    master, count, note = master_of(deployment, wishes, _usual_master(deployment))
    told = cluster_settings(deployment)
    notes = [*deployment.notes, *([note] if note else []), *_of_spot(deployment), *told.notes]
    if wishes.candidates and not (wishes.fleets and _candidates(deployment, wishes.candidates)):
        notes.append(
            "further spot types - the plan has no spot machines, or the spec no other spot type that is as large"
        )
    if wishes.fleets:
        notes.append("how many machines of each type - fleets have the cores of the plan and maybe other memory")
    idle = IDLE if deployment.idle is None else deployment.idle
    classes = spark_of_classes(deployment)
    notes += classes.notes
    document = {
        "Name": (deployment.origin.title or deployment.origin.spec or "mrdsl")[:NAME_LENGTH],
        "ReleaseLabel": RELEASE,
        "Applications": [{"Name": "Hadoop"}, {"Name": "Spark"}],
        "Instances": {
            **_machines(deployment, (master, count), wishes),
            "KeepJobFlowAliveWhenNoSteps": not deployment.steps,
            "TerminationProtected": count > 1,
        },
        **({"Steps": [_step(name) for name in deployment.steps]} if deployment.steps else {}),
        **({} if deployment.steps and deployment.idle is None else {"AutoTerminationPolicy": {"IdleTimeout": idle}}),
        "ManagedScalingPolicy": {"ComputeLimits": _limits(deployment, wishes)},
        **({"LogUri": wishes.log_uri} if wishes.log_uri else {}),
        "JobFlowRole": "EMR_EC2_DefaultRole",
        "ServiceRole": "EMR_DefaultRole",
        "Configurations": [
            {"Classification": name, "Properties": dict(values)}
            for name, values in (
                ("capacity-scheduler", with_default_queue(told.queues, share_of_masters(deployment, EMR))),
                ("yarn-site", nodes_of_one_type(deployment, EMR)),
                ("spark-defaults", classes.shared),
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
    return Exported({FILE: text}, tuple(notes), beyond_node(deployment, EMR), classes.settings)


def _limits(deployment: Deployment, wishes: Wishes) -> dict[str, Any]:
    """Return the limits of managed scaling: at most the plan, at least the replicas of HDFS among its core nodes."""
    asked, others = wishes.fleets, _candidates(deployment, wishes.candidates)
    units = _units(deployment, others) if asked else {group.vm: 1 for group in deployment.groups}

    def of(groups: Iterable[Group]) -> int:
        return sum(group.count * units[group.vm] for group in groups)

    core, _ = _core_and_others(deployment.groups)
    held = [group for group in deployment.groups if group.lane == core.lane] if asked else [core]
    nodes = sum(group.count for group in held)
    replicas = 1 if nodes < 4 else 2 if nodes < 10 else 3
    return {
        "UnitType": "InstanceFleetUnits" if asked else "Instances",
        "MinimumCapacityUnits": min(replicas * max(units[group.vm] for group in held), of(held)),
        "MaximumCapacityUnits": of(deployment.groups),
        "MaximumOnDemandCapacityUnits": of(group for group in deployment.groups if group.lane == FIRM),
        "MaximumCoreCapacityUnits": of(held),
    }


def _usual_master(deployment: Deployment) -> str:
    """Return the type that EMR advises for a master: a larger one beyond 50 nodes."""
    return "m5.xlarge" if sum(group.count for group in deployment.groups) <= 50 else "m5.2xlarge"


def _step(name: str) -> dict[str, Any]:
    """Return a step that runs a job; its command is to be filled in, since plans do not have it."""
    return {
        "Name": name[:NAME_LENGTH],
        "ActionOnFailure": "TERMINATE_CLUSTER",
        "HadoopJarStep": {"Jar": "command-runner.jar", "Args": ["spark-submit", "COMMAND OF THE JOB"]},
    }


def _machines(deployment: Deployment, master: tuple[str, int], wishes: Wishes) -> dict[str, Any]:
    if not wishes.fleets:
        first = _group(deployment, "MASTER", "master", Group(master[0], FIRM, master[1]))
        return {"InstanceGroups": [first, *_workers(deployment)]}
    return {"InstanceFleets": fleets(deployment, master, wishes)}


def _workers(deployment: Deployment) -> Iterator[dict[str, Any]]:
    """Yield the core group, the largest firm one if there is one, then the others in order."""
    core, others = _core_and_others(deployment.groups)
    for group in (core, *others):
        role = "CORE" if group is core else "TASK"
        name = f"{role.lower()} {group.vm} {group.lane}"
        yield _group(deployment, role, name, group)


def _core_and_others(groups: Sequence[Group]) -> tuple[Group, list[Group]]:
    """Return the core group, the largest one on demand if there is one, and the others in order."""
    core = max(groups, key=lambda group: (group.lane == FIRM, group.count))
    return core, [each for each in groups if each is not core]


def _group(deployment: Deployment, role: str, name: str, group: Group) -> dict[str, Any]:
    return {
        "Name": name[:NAME_LENGTH],
        "InstanceRole": role,
        "Market": "SPOT" if group.lane == SPOT else "ON_DEMAND",
        "InstanceType": group.vm,
        "InstanceCount": group.count,
        **_disks(deployment, group.vm),
    }


def _disks(deployment: Deployment, vm: str, usual: bool = True) -> dict[str, Any]:
    """Return the volumes of a type: those of the spec, or else EMR's own if they are ``usual``.

    A type with disks of its own, such as m5d, has no volumes unless the spec pays for them. A volume has at most 1 TiB.
    """
    found = EC2.fullmatch(vm)
    has_own = found is not None and "d" in vm.partition(".")[0][2:]
    size = deployment.disk_of(vm)
    if size is not None and (not has_own or deployment.type_of(vm).disk_paid):
        count = int(ceiling(size / LARGEST_VOLUME))
        return _volumes(count, max(SMALLEST_VOLUME, int(ceiling(size / count))))
    if not usual or found is None or has_own:
        return {}
    return _volumes(*_usual_volumes(0.5 if found[3] is None else float(found[3] or 1)))


def _usual_volumes(xlarges: float) -> tuple[int, int]:
    """Return number and size of EMR's default volumes: 16 GB for each xlarge in four; of smaller types 32 GB each."""
    return (4, round(16 * xlarges)) if xlarges >= 2 else (round(2 * xlarges), 32)


def _volumes(count: int, size: int) -> dict[str, Any]:
    volume = {"VolumeSpecification": {"VolumeType": "gp3", "SizeInGB": size}, "VolumesPerInstance": count}
    return {"EbsConfiguration": {"EbsBlockDeviceConfigs": [volume]}}


def _of_spot(deployment: Deployment) -> Iterator[str]:
    for group in deployment.groups:
        if group.lane == SPOT and group.price is not None:
            paid = f"{group.price * HOUR:.6g} {deployment.currency}/h"
            yield f"the plan pays {paid} for a {group.vm} on spot - EMR pays the market's price, at most that on demand"
    if deployment.groups and all(group.lane == SPOT for group in deployment.groups):
        yield "core nodes on demand - the plan has spot machines alone, and HDFS can be lost with them"
