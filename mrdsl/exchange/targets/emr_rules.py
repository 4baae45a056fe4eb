"""Rules of Amazon EMR beyond the shapes of its API, for groups and for fleets, each with the page that states it.

[groups] docs.aws.amazon.com/emr/latest/ManagementGuide/emr-instance-group-configuration.html
[group]  docs.aws.amazon.com/emr/latest/APIReference/API_InstanceGroupConfig.html
[ha]     docs.aws.amazon.com/emr/latest/ManagementGuide/emr-plan-ha-launch.html
[idle]   docs.aws.amazon.com/emr/latest/APIReference/API_AutoTerminationPolicy.html
[types]  docs.aws.amazon.com/emr/latest/ManagementGuide/emr-supported-instance-types.html
[name]   docs.aws.amazon.com/emr/latest/APIReference/API_RunJobFlow.html
[fleet]  docs.aws.amazon.com/emr/latest/APIReference/API_InstanceFleetConfig.html
[type]   docs.aws.amazon.com/emr/latest/APIReference/API_InstanceTypeConfig.html
[ebs]    docs.aws.amazon.com/emr/latest/APIReference/API_VolumeSpecification.html
[odcr]   docs.aws.amazon.com/emr/latest/APIReference/API_OnDemandCapacityReservationOptions.html
[spot]   docs.aws.amazon.com/emr/latest/APIReference/API_SpotProvisioningSpecification.html
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from mrdsl.exchange.targets.deployment import mistakes_of_tags

Found = Iterator[tuple[str, str]]
Document = Mapping[str, Any]
MOST_TYPES, MOST_WITHOUT_STRATEGY = 30, 5
STRATEGIES = (
    "capacity-optimized",
    "price-capacity-optimized",
    "capacity-optimized-prioritized",
    "diversified",
    "lowest-price",
)
"""How EMR chooses among spot types; the first one if nothing else is asked for."""
TIMEOUTS = range(5, 1441)
GROUP = re.compile(r"arn:aws[a-z-]*:resource-groups:[a-z0-9-]+:[0-9]{12}:group/[\w.-]{1,300}")
RESERVATION = re.compile(f"open|none|{GROUP.pattern}")
"""Which capacity reservations a fleet uses."""
SMALLEST_VOLUME, LARGEST_VOLUME, MOST_VOLUMES = 10, 1024, 25
"""Sizes of a volume in GiB, and volumes of one VM [ebs]."""


def one_of_each(document: Document) -> Found:
    """Return one fleet of masters, one core fleet at most, and one task fleet at most [fleet]."""
    roles = [fleet["InstanceFleetType"] for fleet in _fleets(document)]
    for role in ("MASTER", "CORE", "TASK"):
        count = roles.count(role)
        if count > 1 or (role == "MASTER" and roles and count != 1):
            yield f"a cluster has one {role.lower()} fleet, not {count}", ""


def target_units(document: Document) -> Found:
    """Check that a fleet has a unit at least; the master's is one VM, or three on demand [fleet], [ha]."""
    for fleet in _fleets(document):
        role, units = fleet["InstanceFleetType"], _targets(fleet)
        if min(units) < 0 or sum(units) < 1:
            yield f"the {role.lower()} fleet asks for {units[0]} units on demand and {units[1]} on spot", ""
        elif role == "MASTER" and sorted(units) != [0, 1] and units != (3, 0):
            yield f"the master fleet has 1 unit, or 3 on demand, not {sum(units)}", "write `count = 1` or `count = 3`"


def weights(document: Document) -> Found:
    """Return a type counts one unit or more, the master's one; with more than are asked for there would be too many
    [type].
    """
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
    """Check that a bid is given in one way, and that the wait for spot is 5 to 1440 minutes [type], [spot]."""
    for fleet in _fleets(document):
        role = fleet["InstanceFleetType"].lower()
        for each in fleet.get("InstanceTypeConfigs", ()):
            if "BidPrice" in each and "BidPriceAsPercentageOfOnDemandPrice" in each:
                yield f"the {role} fleet bids for a {each['InstanceType']} in two ways", ""
        spot = fleet.get("LaunchSpecifications", {}).get("SpotSpecification")
        if spot and spot["TimeoutDurationMinutes"] not in TIMEOUTS:
            yield f"the {role} fleet waits {spot['TimeoutDurationMinutes']} minutes for spot, not 5 to 1440", ""


def reservations(document: Document) -> Found:
    """Check that capacity reservations are named in one way, and of a resource group by its address [odcr]."""
    for fleet in _fleets(document):
        role = fleet["InstanceFleetType"].lower()
        firm = fleet.get("LaunchSpecifications", {}).get("OnDemandSpecification", {})
        options = firm.get("CapacityReservationOptions", {})
        preference = options.get("CapacityReservationPreference")
        group = options.get("CapacityReservationResourceGroupArn")
        if (preference is None) == (group is None) and options:
            yield f"the {role} fleet names capacity reservations in two ways, or in none", ""
        if preference not in (None, "open", "none") or (group is not None and not GROUP.fullmatch(group)):
            hint = "write open, none, or arn:aws:resource-groups:REGION:ACCOUNT:group/NAME"
            yield f"`{preference or group}` names no capacity reservations", hint


FLEET_RULES: tuple[Callable[[Document], Found], ...] = (
    one_of_each,
    target_units,
    weights,
    types_of_fleets,
    spot_of_fleets,
    reservations,
)


def _fleets(document: Document) -> list[Mapping[str, Any]]:
    return list(document["Instances"].get("InstanceFleets", ()))


def _targets(fleet: Mapping[str, Any]) -> tuple[int, int]:
    return fleet.get("TargetOnDemandCapacity", 0), fleet.get("TargetSpotCapacity", 0)


NAME_LENGTH = 256
MOST_TASK_GROUPS = 48
MASTERS = (1, 3)
TYPE = re.compile(r"[a-z]{1,3}[0-9]{1,2}[a-z]*(-[a-z]+)?\.(([0-9]{1,3}x|x)?large|medium|small)")
"""A family of letters and a generation, what is peculiar to it, and a size."""
SMALL = frozenset({"m1.small", "m1.medium", "m1.large", "c1.medium", "m4.large", "c4.large"})
"""The only types below xlarge that EMR takes [types]."""


def mistakes(document: Document) -> list[tuple[str, str]]:
    """Everything of a `RunJobFlow` request that EMR would refuse, with what to write instead."""
    return [found for rule in RULES for found in rule(document)]


def one_layout(document: Document) -> Found:
    """Groups or fleets, not both [groups]."""
    instances = document["Instances"]
    if bool(instances.get("InstanceGroups")) == bool(instances.get("InstanceFleets")):
        yield "a cluster has instance groups or instance fleets, one of them", ""


def one_master(document: Document) -> Found:
    """Return one master group, of one VM or, for high availability, of three [ha]."""
    masters = _groups(document, "MASTER")
    if len(masters) != 1 and "InstanceFleets" not in document["Instances"]:
        yield f"a cluster has one master group, not {len(masters)}", ""
    for group in masters:
        if group["InstanceCount"] not in MASTERS:
            yield f"a cluster has 1 master or 3, not {group['InstanceCount']}", "write `masters = 1` or `masters = 3`"


def one_core(document: Document) -> Found:
    """Return one core group, which holds HDFS, and at most 48 task groups [groups]."""
    if "InstanceFleets" in document["Instances"]:
        return
    cores, tasks = _groups(document, "CORE"), _groups(document, "TASK")
    if len(cores) != 1:
        yield f"a cluster has one core group, not {len(cores)}", ""
    if len(tasks) > MOST_TASK_GROUPS:
        yield (
            f"a cluster has at most {MOST_TASK_GROUPS} task groups, and the plan needs {len(tasks)}",
            "limit the types, as in `subject to { vms(a) = 0 }`",
        )


def counts(document: Document) -> Found:
    """Check that every group has a VM at least [group]."""
    for group in document["Instances"].get("InstanceGroups", ()):
        if group["InstanceCount"] < 1:
            yield f"the {group['InstanceRole'].lower()} group has {group['InstanceCount']} VMs", ""


def takes(name: str) -> bool:
    """Return True if EMR takes VMs of a type [types]."""
    small = name.rpartition(".")[2] in ("small", "medium", "large")
    return TYPE.fullmatch(name) is not None and (not small or name in SMALL)


def types(document: Document) -> Found:
    """Types are EC2's, of a size that EMR takes: no nano, micro and metal ones, and few below xlarge [types]."""
    for name in dict.fromkeys(_types(document)):
        if not takes(name):
            yield (
                f"`{name}` is no instance type that EMR takes",
                f"say which one it is: `--vm {name}=m5.xlarge`",
            )


def bids(document: Document) -> Found:
    """Check that a bid is an amount of dollars, for spot only, and that the master is not a spot VM [group]."""
    for group in document["Instances"].get("InstanceGroups", ()):
        bid = group.get("BidPrice")
        if bid is not None and group.get("Market") != "SPOT":
            yield f"the {group['InstanceRole'].lower()} group is on demand and has a bid", ""
        if bid is not None and not re.fullmatch(r"(?=.*[1-9])[0-9]+(\.[0-9]+)?", bid):
            yield f"the bid `{bid}` is no price above 0", "give the type a price on demand"
        if group["InstanceRole"] == "MASTER" and group.get("Market") == "SPOT":
            yield "the master is on spot, and the cluster ends with it", ""


def several_masters(document: Document) -> Found:
    """Three masters need a cluster that stays when its steps are done, protected, with a core group [ha]."""
    fleets = [fleet for fleet in _fleets(document) if fleet["InstanceFleetType"] == "MASTER"]
    three = any(group["InstanceCount"] == 3 for group in _groups(document, "MASTER"))
    if three or any(max(_targets(fleet)) == 3 for fleet in fleets):
        instances = document["Instances"]
        if not (instances.get("KeepJobFlowAliveWhenNoSteps") and instances.get("TerminationProtected")):
            yield "a cluster of three masters stays alive and is protected from termination", ""


def volumes(document: Document) -> Found:
    """Check the sizes and the number of the volumes of a VM [ebs]."""
    parts = [*document["Instances"].get("InstanceGroups", ())]
    parts += [each for fleet in _fleets(document) for each in fleet.get("InstanceTypeConfigs", ())]
    for part in parts:
        for each in part.get("EbsConfiguration", {}).get("EbsBlockDeviceConfigs", ()):
            size, count = each["VolumeSpecification"]["SizeInGB"], each.get("VolumesPerInstance", 1)
            if not SMALLEST_VOLUME <= size <= LARGEST_VOLUME or not 1 <= count <= MOST_VOLUMES:
                yield (
                    f"a {part['InstanceType']} has {count} volumes of {size} GiB, and may have {MOST_VOLUMES} of "
                    f"{SMALLEST_VOLUME} to {LARGEST_VOLUME} GiB",
                    f"write a `disk` of {MOST_VOLUMES} TiB or less",
                )


def idle(document: Document) -> Found:
    """Check that an idle cluster ends after a minute to seven days [idle]."""
    seconds = document.get("AutoTerminationPolicy", {}).get("IdleTimeout", 60)
    if not 60 <= seconds <= 604_800:
        yield f"an idle cluster ends after 60 s to 604,800 s, and not after {seconds:,} s", ""


def words(document: Document) -> Found:
    """Check the form of the release, and the characters of tags [name]."""
    if not re.fullmatch(r"emr-[4-9]\.[0-9]+\.[0-9]+", document.get("ReleaseLabel", "")):
        yield f"`{document.get('ReleaseLabel')}` is no release such as emr-7.5.0", ""
    for reason in mistakes_of_tags((tag["Key"], tag["Value"]) for tag in document.get("Tags", ())):
        yield reason, ""


RULES: tuple[Callable[[Document], Found], ...] = (
    one_layout,
    one_master,
    one_core,
    counts,
    types,
    bids,
    several_masters,
    volumes,
    idle,
    words,
    *FLEET_RULES,
)


def _groups(document: Document, role: str) -> list[Mapping[str, Any]]:
    groups = document["Instances"].get("InstanceGroups", ())
    return [group for group in groups if group["InstanceRole"] == role]


def _types(document: Document) -> Iterator[str]:
    for group in document["Instances"].get("InstanceGroups", ()):
        yield group["InstanceType"]
    for fleet in document["Instances"].get("InstanceFleets", ()):
        for each in fleet.get("InstanceTypeConfigs", ()):
            yield each["InstanceType"]
