"""Fleets of Amazon EMR: the service chooses among the plan's types, by units that are their cores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mrdsl.exchange.targets.deployment import FIRM, SPOT, Deployment, TargetError

TIMEOUT = 60
"""Minutes after which what cannot be had on spot is had on demand."""


def fleets(
    deployment: Deployment, master: tuple[str, int], bids: Mapping[str, Mapping[str, str]]
) -> list[dict[str, Any]]:
    """A fleet of the master, one of what nobody takes back, one of what is on spot, as many units each as planned.

    ``bids`` are those of each type. Raises TargetError where a type of several does not say its cores.
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
    """What a machine of each type counts: its cores, or 1 where all are of one type."""
    held = list(dict.fromkeys(group.vm for group in deployment.groups))
    if len(held) == 1:
        return {held[0]: 1}
    found = {}
    for vm in held:
        cores = deployment.type_of(vm).cores
        if cores is None or cores < 1:
            reason = f"a fleet of several types counts cores, and {vm} does not say its own"
            raise TargetError(reason, "write `cores = 4` in the vm")
        found[vm] = int(cores)
    return found
