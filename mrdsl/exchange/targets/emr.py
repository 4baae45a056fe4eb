"""Amazon EMR: the JSON object of `RunJobFlow`, as boto3's ``client("emr").run_job_flow(**json)`` takes it.

One master, a core group, and a task group for each other type and lane: uniform instance groups have the plan's
counts exactly; with fleets the service chooses among the plan's types. A VM on spot may cost what it costs on demand:
the plan's own price is what it expects to pay, and with that as a bid the VM would be lost at every rise above it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from mrdsl.core.units import HOUR
from mrdsl.exchange.targets.deployment import FIRM, SPOT, Deployment, Exported, Group, TargetError, Wishes
from mrdsl.exchange.targets.emr_fleets import fleets
from mrdsl.exchange.targets.emr_rules import NAME_LENGTH, mistakes
from mrdsl.exchange.targets.labels import tags
from mrdsl.exchange.targets.masters import master_of
from mrdsl.exchange.targets.yarn import cluster_settings

FILE = "emr.json"
RELEASE = "emr-7.5.0"


def emr(deployment: Deployment, wishes: Wishes) -> Exported:
    """The file for a deployment. Raises TargetError where EMR would refuse it."""
    master, count, note = master_of(deployment, wishes)
    told = cluster_settings(deployment)
    notes = [*deployment.notes, *([note] if note else []), *_of_spot(deployment), *told.notes]
    if wishes.fleets:
        notes.append("how many machines of each type - fleets have the cores of the plan and maybe other memory")
    document = {
        "Name": (deployment.origin.title or deployment.origin.spec or "mrdsl")[:NAME_LENGTH],
        "ReleaseLabel": RELEASE,
        "Applications": [{"Name": "Hadoop"}, {"Name": "Spark"}],
        "Instances": {
            **_machines(deployment, (master, count), wishes.fleets),
            "KeepJobFlowAliveWhenNoSteps": True,
            "TerminationProtected": count > 1,
        },
        "JobFlowRole": "EMR_EC2_DefaultRole",
        "ServiceRole": "EMR_DefaultRole",
        "Configurations": [
            {"Classification": name, "Properties": dict(values)}
            for name, values in (("capacity-scheduler", told.queues), ("yarn-site", told.everywhere))
            if values
        ],
        "VisibleToAllUsers": True,
        "Tags": [{"Key": key, "Value": value} for key, value in tags(deployment.origin, notes).items()],
    }
    wrong = mistakes(document)
    if wrong:
        raise TargetError("; ".join(reason for reason, _ in wrong), wrong[0][1])
    return Exported({FILE: json.dumps(document, indent=2, ensure_ascii=False) + "\n"}, tuple(notes))


def _machines(deployment: Deployment, master: tuple[str, int], asked: bool) -> dict[str, Any]:
    if not asked:
        return {"InstanceGroups": [_group("MASTER", "master", master[0], FIRM, master[1]), *_workers(deployment)]}
    bids = {group.vm: _bid(deployment, group) for group in deployment.groups if group.lane == SPOT}
    return {"InstanceFleets": fleets(deployment, master, bids)}


def _workers(deployment: Deployment) -> Iterator[dict[str, Any]]:
    """The core group, the largest that is not on spot where there is one, then the others in their order."""
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
    """The most that a spot VM may cost. Left out, it is EMR's default, the price on demand, which is right here too."""
    price = deployment.type_of(group.vm).price
    if group.lane != SPOT or price is None or deployment.currency != "USD":
        return {}
    return {"BidPrice": f"{price * HOUR:.6f}".rstrip("0").rstrip(".")}


def _of_spot(deployment: Deployment) -> Iterator[str]:
    for group in deployment.groups:
        if group.lane == SPOT and group.price is not None:
            paid = f"{group.price * HOUR:.6g} {deployment.currency}/h"
            yield f"the plan pays {paid} for a {group.vm} on spot and the bid is the price on demand"
