"""What Amazon EMR refuses of instance fleets.

[fleet] docs.aws.amazon.com/emr/latest/APIReference/API_InstanceFleetConfig.html
[type]  docs.aws.amazon.com/emr/latest/APIReference/API_InstanceTypeConfig.html
[spot]  docs.aws.amazon.com/emr/latest/APIReference/API_SpotProvisioningSpecification.html
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

Found = Iterator[tuple[str, str]]
Document = Mapping[str, Any]
MOST_TYPES, MOST_WITHOUT_STRATEGY = 30, 5
TIMEOUTS = range(5, 1441)


def one_of_each(document: Document) -> Found:
    """One fleet of masters, one core fleet at most, and one task fleet at most [fleet]."""
    roles = [fleet["InstanceFleetType"] for fleet in _fleets(document)]
    for role in ("MASTER", "CORE", "TASK"):
        count = roles.count(role)
        if count > 1 or (role == "MASTER" and roles and count != 1):
            yield f"a cluster has one {role.lower()} fleet, not {count}", ""


def target_units(document: Document) -> Found:
    """A fleet has a unit at least; the master's is one VM, on demand or on spot [fleet]."""
    for fleet in _fleets(document):
        role, units = fleet["InstanceFleetType"], _targets(fleet)
        if min(units) < 0 or sum(units) < 1:
            yield f"the {role.lower()} fleet asks for {units[0]} units on demand and {units[1]} on spot", ""
        elif role == "MASTER" and sorted(units) != [0, 1]:
            yield f"the master fleet has one unit, not {sum(units)}", ""


def weights(document: Document) -> Found:
    """A type counts one unit or more, the master's one; with more than are asked for there would be too many [type]."""
    for fleet in _fleets(document):
        role, units = fleet["InstanceFleetType"].lower(), _targets(fleet)
        for each in fleet.get("InstanceTypeConfigs", ()):
            weight = each.get("WeightedCapacity", 1)
            if weight < 1 or (role == "master" and weight != 1):
                yield f"a {each['InstanceType']} counts {weight} units in the {role} fleet", ""
            elif weight > max(units):
                yield f"a {each['InstanceType']} counts {weight} units, and the {role} fleet asks for {max(units)}", ""


def types_of_fleets(document: Document) -> Found:
    """30 types at most, 5 without a strategy, each once [type]."""
    for fleet in _fleets(document):
        role = fleet["InstanceFleetType"].lower()
        names = [each["InstanceType"] for each in fleet.get("InstanceTypeConfigs", ())]
        told = fleet.get("LaunchSpecifications", {})
        chosen = any("AllocationStrategy" in each for each in told.values())
        most = MOST_TYPES if chosen else MOST_WITHOUT_STRATEGY
        if not 1 <= len(names) <= most:
            yield f"the {role} fleet has {len(names)} types, and may have 1 to {most}", "limit the types of the spec"
        if len(set(names)) < len(names):
            yield f"the {role} fleet names a type twice", ""


def spot_of_fleets(document: Document) -> Found:
    """A bid is said in one way; what is not had on spot is waited for 5 to 1440 minutes [type], [spot]."""
    for fleet in _fleets(document):
        role = fleet["InstanceFleetType"].lower()
        for each in fleet.get("InstanceTypeConfigs", ()):
            if "BidPrice" in each and "BidPriceAsPercentageOfOnDemandPrice" in each:
                yield f"the {role} fleet bids for a {each['InstanceType']} in two ways", ""
        spot = fleet.get("LaunchSpecifications", {}).get("SpotSpecification")
        if spot and spot["TimeoutDurationMinutes"] not in TIMEOUTS:
            yield f"the {role} fleet waits {spot['TimeoutDurationMinutes']} minutes for spot, not 5 to 1440", ""


RULES: tuple[Callable[[Document], Found], ...] = (one_of_each, target_units, weights, types_of_fleets, spot_of_fleets)


def _fleets(document: Document) -> list[Mapping[str, Any]]:
    return list(document["Instances"].get("InstanceFleets", ()))


def _targets(fleet: Mapping[str, Any]) -> tuple[int, int]:
    return fleet.get("TargetOnDemandCapacity", 0), fleet.get("TargetSpotCapacity", 0)
