"""Fleets of EMR: the plan's cores as units, one master, and a file per rule that is refused."""

from __future__ import annotations

import copy
import json
import re
from typing import Any

import pytest

import mrdsl
from mrdsl.exchange.targets.deployment import FIRM, SPOT, Deployment, Group, MachineType, TargetError, Wishes
from mrdsl.exchange.targets.emr import emr
from mrdsl.exchange.targets.emr_rules import FLEET_RULES, STRATEGIES, mistakes
from tests.exchange.targets.plans import MACHINES, exported, planned
from tests.shared_data import shared, shared_files

SHAPES = "data/cloud/emr_InstanceFleetConfig_shapes_botocore.json"
TYPES = (MachineType("m5.xlarge", 4.0, price=1e-4), MachineType("c5.2xlarge", 8.0, price=2e-4))
GROUPS = (Group("m5.xlarge", FIRM, 3), Group("m5.xlarge", SPOT, 2, 1e-5), Group("c5.2xlarge", FIRM, 5))


def written(groups: tuple[Group, ...] = GROUPS, masters: dict[str, int] | None = None) -> dict[str, Any]:
    made = emr(Deployment(TYPES, groups, (), masters or {}), Wishes(fleets=True))
    document = json.loads(made.files["emr.json"])
    assert isinstance(document, dict)
    return document


def test_units_are_the_plans_cores() -> None:
    """3 of 4 cores and 5 of 8 are 52 on demand; 2 on spot, all of one type in this plan of two, are 8."""
    master, core, task = written()["Instances"]["InstanceFleets"]
    assert (master["TargetOnDemandCapacity"], master["InstanceTypeConfigs"][0]["InstanceType"]) == (1, "m5.xlarge")
    assert (core["TargetOnDemandCapacity"], core.get("TargetSpotCapacity", 0)) == (52, 0)
    assert [(each["InstanceType"], each["WeightedCapacity"]) for each in core["InstanceTypeConfigs"]] == [
        ("m5.xlarge", 4),
        ("c5.2xlarge", 8),
    ]
    assert task["TargetSpotCapacity"] == 8
    assert "InstanceGroups" not in written()["Instances"]


def test_botocores_own_model_takes_a_real_plan() -> None:
    session = pytest.importorskip("botocore.session").get_session()
    from botocore.validate import ParamValidator

    shape = session.get_service_model("emr").operation_model("RunJobFlow").input_shape
    document = json.loads(exported(MACHINES, "emr", Wishes(fleets=True)).files["emr.json"])
    assert not ParamValidator().validate(document, shape).has_errors()
    bought = planned(MACHINES)[1].document()["vms"]
    every = sum(sum(each.values()) for each in bought.values())
    units = [
        each.get("TargetOnDemandCapacity", 0) + each.get("TargetSpotCapacity", 0) for each in _fleets(document)[1:]
    ]
    weight = 1 if sum(any(each.values()) for each in bought.values()) == 1 else 4
    assert sum(units) == weight * every


def _fleets(document: dict[str, Any]) -> list[dict[str, Any]]:
    found = document["Instances"]["InstanceFleets"]
    assert isinstance(found, list)
    return found


def test_what_fleets_cannot_say_is_refused() -> None:
    with pytest.raises(TargetError, match="1 unit, or 3 on demand, not 2"):
        written(masters={"m5.xlarge": 2})
    with pytest.raises(TargetError, match="has no `cores`"):
        emr(Deployment((TYPES[0], MachineType("c5.2xlarge")), GROUPS, ()), Wishes(fleets=True))
    with pytest.raises(mrdsl.MrdslError, match="target `yarn` does not support the option `--fleets`"):
        exported(MACHINES, "yarn", Wishes(fleets=True))
    with pytest.raises(mrdsl.MrdslError, match="target `sls` does not support the option `--master`"):
        exported(MACHINES, "sls", Wishes(master="m5.xlarge"))


MORE = (
    *(MachineType("m5.xlarge", 4.0, 16e9, 1e-4, None, 3e-5), MachineType("c5.2xlarge", 8.0, 16e9, 2e-4, None, 9e-5)),
    MachineType("m6i.xlarge", 4.0, 16e9, 1e-4, None, 2e-5),  # as large, and the cheapest for each core
    MachineType("r5.2xlarge", 8.0, 64e9, 1e-4, None, 8e-5),  # larger in all
    MachineType("c6i.xlarge", 4.0, 8e9, 1e-4, None, 1e-6),  # less memory
    MachineType("m5.large", 4.0, 16e9, 1e-4, None, 1e-6),  # not for EMR
    MachineType("c6i.4xlarge", 16.0, 32e9, 1e-4, None, 1e-6),  # less memory for each core than m5, as c5 that is firm
    MachineType("m7i.xlarge", 4.0, 16e9, 1e-4),  # not on spot
    MachineType("m5.metal", 96.0, 384e9, 1e-4, None, 1e-6),
    MachineType("m6i.8xlarge", 32.0, 128e9, 1e-4, None, 1e-4),  # more cores than the fleet has units
)


def spot_fleet(candidates: int, strategy: str = "") -> dict[str, Any]:
    made = emr(Deployment(MORE, GROUPS, ()), Wishes(fleets=True, candidates=candidates, spot_strategy=strategy))
    document = json.loads(made.files["emr.json"])
    assert not mistakes(document)
    found = document["Instances"]["InstanceFleets"][2]
    assert isinstance(found, dict)
    return found


def names_and_units(fleet: dict[str, Any]) -> dict[str, int]:
    return {each["InstanceType"]: each["WeightedCapacity"] for each in fleet["InstanceTypeConfigs"]}


def test_further_types_of_a_spot_fleet_hold_its_tasks() -> None:
    assert names_and_units(spot_fleet(0)) == {"m5.xlarge": 4}
    assert names_and_units(spot_fleet(1)) == {"m5.xlarge": 4}  # the cheapest one has too many cores for 8 units
    assert names_and_units(spot_fleet(9)) == {"m5.xlarge": 4, "m6i.xlarge": 4, "r5.2xlarge": 8}
    assert spot_fleet(9)["TargetSpotCapacity"] == spot_fleet(0)["TargetSpotCapacity"] == 8


def test_one_type_is_counted_in_cores_if_others_may_stand_in_for_it() -> None:
    made = emr(Deployment(MORE, (Group("m5.xlarge", SPOT, 3),), ()), Wishes(fleets=True, candidates=2))
    fleet = json.loads(made.files["emr.json"])["Instances"]["InstanceFleets"][1]
    assert (fleet["TargetSpotCapacity"], names_and_units(fleet)["m5.xlarge"]) == (12, 4)
    limits = json.loads(made.files["emr.json"])["ManagedScalingPolicy"]["ComputeLimits"]
    assert limits["MaximumCapacityUnits"] == 12


@pytest.mark.parametrize("strategy", ["", *STRATEGIES])
def test_strategies_of_spot_fleets(strategy: str) -> None:
    fleet = spot_fleet(9, strategy)
    told = fleet["LaunchSpecifications"]["SpotSpecification"]["AllocationStrategy"]
    assert told == (strategy or "capacity-optimized")
    ranks = [each.get("Priority") for each in fleet["InstanceTypeConfigs"]]
    assert ranks == ([0.0, 1.0, 2.0] if strategy.endswith("prioritized") else [None] * 3)


@pytest.mark.parametrize(
    ("wishes", "said"),
    [
        (Wishes(fleets=True, spot_strategy="cheapest"), "`spot_strategy` cannot be `cheapest`"),
        (Wishes(fleets=True, candidates=30), "between 0 and 29, got 30"),
        (Wishes(fleets=True, candidates=-1), "between 0 and 29, got -1"),
        (Wishes(candidates=3), "`--candidates` requires `--fleets`"),
        (Wishes(spot_strategy="diversified"), "`--spot-strategy` requires `--fleets`"),
    ],
)
def test_wrong_wishes_of_fleets(wishes: Wishes, said: str) -> None:
    with pytest.raises(mrdsl.MrdslError, match=re.escape(said)):
        exported(MACHINES, "emr", wishes)
    with pytest.raises(mrdsl.MrdslError, match="does not support"):
        exported(MACHINES, "yarn", Wishes(candidates=3))


def test_a_spec_without_further_spot_types_says_so() -> None:
    made = emr(Deployment(TYPES, GROUPS, ()), Wishes(fleets=True, candidates=3))
    assert any("further spot types" in note for note in made.notes)


def changed(number: int, values: dict[str, Any]) -> dict[str, Any]:
    document = copy.deepcopy(written())
    _fleets(document)[number] |= values
    return document


def of_reservations(options: dict[str, str]) -> dict[str, Any]:
    return {"OnDemandSpecification": {"AllocationStrategy": "lowest-price", "CapacityReservationOptions": options}}


ONE = {"InstanceType": "m5.xlarge", "WeightedCapacity": 1}
REFUSED = {
    "one_of_each": (2, {"InstanceFleetType": "CORE"}, "one core fleet, not 2"),
    "target_units": (0, {"TargetOnDemandCapacity": 2}, "the master fleet has 1 unit, or 3 on demand, not 2"),
    "weights": (0, {"InstanceTypeConfigs": [ONE | {"WeightedCapacity": 4}]}, "counts 4 units in the master fleet"),
    "types_of_fleets": (1, {"InstanceTypeConfigs": [ONE, ONE]}, "names a type twice"),
    "spot_of_fleets": (
        2,
        {"LaunchSpecifications": {"SpotSpecification": {"TimeoutDurationMinutes": 4}}},
        "4 minutes for spot",
    ),
    "reservations": (1, {"LaunchSpecifications": of_reservations({"UsageStrategy": "x"})}, "in two ways, or in none"),
}


def test_every_rule_has_a_file_that_it_refuses() -> None:
    assert {rule.__name__ for rule in FLEET_RULES} == set(REFUSED)


@pytest.mark.parametrize("rule", REFUSED)
def test_a_rule_refuses(rule: str) -> None:
    number, values, reason = REFUSED[rule]
    assert not mistakes(written())
    (refusing,) = [each for each in FLEET_RULES if each.__name__ == rule]
    assert reason in " ".join(told for told, _ in refusing(changed(number, values)))


@pytest.mark.parametrize(
    ("number", "values", "reason"),
    [
        (0, {"InstanceFleetType": "CORE"}, "one master fleet, not 0"),
        (0, {"TargetSpotCapacity": 1}, "1 unit, or 3 on demand, not 2"),
        (0, {"TargetOnDemandCapacity": 0, "TargetSpotCapacity": 3}, "1 unit, or 3 on demand, not 3"),
        (1, {"TargetOnDemandCapacity": 0}, "0 units on demand and 0 on spot"),
        (1, {"TargetOnDemandCapacity": -3, "TargetSpotCapacity": 9}, "-3 units on demand"),
        (1, {"TargetOnDemandCapacity": 7}, "counts 8 units, and the core fleet asks for 7"),
        (1, {"InstanceTypeConfigs": [ONE | {"WeightedCapacity": 0}]}, "counts 0 units"),
        (1, {"InstanceTypeConfigs": []}, "has 0 types"),
        (
            1,
            {
                "LaunchSpecifications": {},
                "InstanceTypeConfigs": [ONE | {"InstanceType": f"m{i}.xlarge"} for i in range(6)],
            },
            "may have 1 to 5",
        ),
        (
            2,
            {"InstanceTypeConfigs": [ONE | {"BidPrice": "1", "BidPriceAsPercentageOfOnDemandPrice": 50.0}]},
            "in two ways",
        ),
    ],
)
def test_what_shapes_let_pass_is_refused(number: int, values: dict[str, Any], reason: str) -> None:
    assert any(reason in told for told, _ in mistakes(changed(number, values)))


DISKS = MACHINES.replace("fee = 0.048 USD/h", "disk = 2500 GiB\nfee = 0.048 USD/h")
GROUP = "arn:aws:resource-groups:us-east-1:123456789012:group/nightly"


def of_spec(text: str, wishes: Wishes) -> dict[str, Any]:
    document = json.loads(exported(text, "emr", wishes).files["emr.json"])
    if shared_files(SHAPES):
        refuse_unknown_members("InstanceFleetConfig", document["Instances"].get("InstanceFleets", ()))
    assert isinstance(document, dict)
    return document


def refuse_unknown_members(name: str, values: Any) -> None:
    """Raise AssertionError for a member that is not in the shapes of EMR's API, or a word that it does not have."""
    shapes = json.loads(shared(SHAPES).read_text(encoding="utf-8"))
    shapes = shapes.get("shapes", shapes)

    def walk(name: str, value: Any) -> None:
        shape = shapes[name]
        if shape["type"] == "structure":
            assert set(shape.get("required", ())) <= set(value) <= set(shape["members"]), (name, value)
            for key, each in value.items():
                walk(shape["members"][key]["shape"], each)
        elif shape["type"] == "list":
            for each in value:
                walk(shape["member"]["shape"], each)
        elif "enum" in shape:
            assert value in shape["enum"], (name, value)
        else:
            assert isinstance(value, str if shape["type"] == "string" else int | float), (name, value)

    for value in values:
        walk(name, value)


def test_three_masters_are_a_fleet_of_three_units() -> None:
    document = of_spec(MACHINES + 'master { vm = "m5.xlarge", count = 3 }\n', Wishes(fleets=True))
    assert _fleets(document)[0]["TargetOnDemandCapacity"] == 3
    assert document["Instances"]["TerminationProtected"]


@pytest.mark.parametrize("fleets", [False, True])
def test_disks_of_the_spec_become_volumes(fleets: bool) -> None:
    """2,500 GiB are three volumes of 834 GiB each; the other type has no disk in the spec."""
    instances = of_spec(DISKS, Wishes(fleets=fleets))["Instances"]
    parts = instances.get("InstanceGroups") or [
        each for fleet in instances["InstanceFleets"] for each in fleet["InstanceTypeConfigs"]
    ]
    sizes = {
        part["InstanceType"]: [
            (each["VolumesPerInstance"], each["VolumeSpecification"]["SizeInGB"])
            for each in part.get("EbsConfiguration", {}).get("EbsBlockDeviceConfigs", ())
        ]
        for part in parts
    }
    assert sizes.pop("m5.xlarge") == [(3, 834)]
    assert set(sizes) <= {"r5.xlarge"}


def test_local_disks_are_no_volumes() -> None:
    types = (MachineType("m5d.xlarge", 4.0, price=1e-4, disk=150 * 2.0**30),)
    for paid in (False, True):
        one = Deployment((MachineType(**{**vars(types[0]), "disk_paid": paid}),), (Group("m5d.xlarge", FIRM, 2),), ())
        core = json.loads(emr(one, Wishes()).files["emr.json"])["Instances"]["InstanceGroups"][1]
        assert ("EbsConfiguration" in core) == paid


def test_a_disk_that_no_vm_can_have_is_refused() -> None:
    with pytest.raises(mrdsl.MrdslError, match="may have 25 of 10 to 1024 GiB"):
        exported(DISKS.replace("2500 GiB", "26 TiB"), "emr", Wishes())


def test_other_targets_name_the_disks() -> None:
    for target in ("yarn", "spark", "kubernetes", "emr"):
        notes = exported(DISKS, target, Wishes()).notes
        assert any("the disk of each m5.xlarge, 2500 GiB" in note for note in notes) == (target != "emr"), target


@pytest.mark.parametrize(
    ("wish", "options"),
    [
        ("", None),
        ("none", {"CapacityReservationPreference": "none"}),
        (
            "open",
            {"UsageStrategy": "use-capacity-reservations-first", "CapacityReservationPreference": "open"},
        ),
        (
            GROUP,
            {"UsageStrategy": "use-capacity-reservations-first", "CapacityReservationResourceGroupArn": GROUP},
        ),
    ],
)
def test_capacity_reservations(wish: str, options: dict[str, str] | None) -> None:
    for fleet in _fleets(of_spec(MACHINES, Wishes(fleets=True, capacity_reservation=wish))):
        firm = fleet["LaunchSpecifications"].get("OnDemandSpecification")
        assert firm is None or firm.get("CapacityReservationOptions") == options


@pytest.mark.parametrize(
    ("wishes", "said"),
    [
        (Wishes(capacity_reservation="open"), "`--capacity-reservation` requires `--fleets`"),
        (Wishes(fleets=True, capacity_reservation="mine"), "`capacity_reservation` cannot be `mine`"),
        (Wishes(fleets=True, capacity_reservation=GROUP[:-9]), "`capacity_reservation` cannot be"),
    ],
)
def test_wrong_capacity_reservations(wishes: Wishes, said: str) -> None:
    with pytest.raises(mrdsl.MrdslError, match=re.escape(said)):
        exported(MACHINES, "emr", wishes)
