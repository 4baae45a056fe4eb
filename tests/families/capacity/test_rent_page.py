"""Figures in the text of the page on renting a fleet, and its catalogues with real prices and fees by type."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

import mrdsl
from mrdsl.exchange.targets.deployment import Wishes
from mrdsl.planning.exporting import export
from tests.shared_data import shared

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "how-to" / "rent-a-fleet.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", PAGE, re.DOTALL)
SPEC = next(text for kind, text in BLOCKS if kind == "mrspec")
CATALOGUES = [text for kind, text in BLOCKS if kind == "text"]


def cost(**values: float) -> float:
    result = mrdsl.solve(mrdsl.loads(SPEC, values))
    assert result.termination == "optimal"
    return float(result.value or 0.0)


def test_savings_in_the_text_are_measured() -> None:
    base, spot, contracts, both = (cost(on_spot=a, contracts=b) for a, b in ((0, 0), (0.6, 0), (0, 8), (0.6, 8)))
    one_pool, three = cost(pool=1.0), cost(masters=3)
    alone, both_save = [100 * (1 - each / base) for each in (spot, contracts)], 100 * (1 - both / base)
    told = [
        f"Everything on demand costs {base:.2f} USD an hour",
        f"Spot alone saves {alone[0]:.0f} %, and 8 contracts alone save {alone[1]:.0f} %",
        f"Both together save {both_save:.0f} %",
        f"It costs {both - one_pool:.2f} USD an hour",
        f"Three masters instead of one cost {three - both:.2f} USD an hour more",
    ]
    for each in told:
        assert each in PAGE, each


def test_fleets_in_the_text_are_those_of_the_file() -> None:
    import json

    spec = mrdsl.loads(SPEC)
    plan = mrdsl.solve(spec).plan_of(mrdsl.CapacityPlan)
    wishes = Wishes(fleets=True, spot_strategy="price-capacity-optimized", capacity_reservation="open")
    fleets = json.loads(export(spec, plan, "emr", wishes).files["emr.json"])["Instances"]["InstanceFleets"]
    master, core, task = fleets
    assert f"| master | {master['TargetOnDemandCapacity']} on demand |" in PAGE
    assert f"| core, with HDFS | {core['TargetOnDemandCapacity']} cores on demand |" in PAGE
    assert f"| task | {task['TargetSpotCapacity']} cores on spot |" in PAGE
    for fleet in fleets:
        for each in fleet["InstanceTypeConfigs"]:
            assert f"`{each['InstanceType']}`" in PAGE
            assert each["EbsConfiguration"]["EbsBlockDeviceConfigs"][0]["VolumeSpecification"]["SizeInGB"] == 128


def prepared(folder: Path) -> Path:
    """Write the files of the page: EC2's types of a region, and types with EMR's published fees."""
    region = shared("data/cloud/ec2_us-east-1.csv")
    points = shared("data/sizing/emr_fee_points.csv")
    (folder / "region.csv").write_bytes(region.read_bytes())
    with region.open(encoding="utf-8", newline="") as stream:
        sizes = {row["instance_type"]: row for row in csv.DictReader(stream) if row["arch"] == "amd64"}
    with points.open(encoding="utf-8", newline="") as stream:
        rows = [row for row in csv.DictReader(stream) if row["instance"] in sizes]
    with (folder / "fees.csv").open("w", encoding="utf-8", newline="") as stream:
        table = csv.writer(stream)
        table.writerow(["name", "cores", "memory [GiB]", "on_demand.price [USD/h]", "fee [USD/h]"])
        for row in rows:
            size = sizes[row["instance"]]
            memory = float(size["memory_mib"]) / 1024
            table.writerow([row["instance"], size["vcpu"], memory, row["ec2_usd_h"], row["emr_fee_usd_h"]])
    return folder


def in_place_of_vms(catalogue: str) -> str:
    first, last = SPEC.index('vm "m5.xlarge"'), SPEC.index("master  ")
    return SPEC[:first] + catalogue + SPEC[last:]


@pytest.mark.parametrize("number", [0, 1])
def test_both_catalogues_run_as_in_the_text(number: int, tmp_path: Path) -> None:
    path = prepared(tmp_path) / "fleet.mrspec"
    path.write_text(in_place_of_vms(CATALOGUES[number]), encoding="utf-8")
    result = mrdsl.solve(mrdsl.load(path))
    plan = result.plan_of(mrdsl.CapacityPlan)
    assert result.termination == "optimal"
    assert plan.transfer_cost == pytest.approx(6 * 2 * 0.09)
    assert plan.disk_cost == pytest.approx(plan.rented * 128 * 0.08 / 730)
    assert plan.rejected.sum() == 0.0


def test_the_formula_of_fees_gives_the_published_ones(tmp_path: Path) -> None:
    """To half a cent, for types of the fifth generation on; EMR's fees of older ones are higher than 25 %."""
    folder = prepared(tmp_path)
    fees: list[dict[str, float]] = []
    for number, text in enumerate(CATALOGUES):
        (folder / f"{number}.mrspec").write_text(
            in_place_of_vms(text.replace(', name = ["m5.*", "c5.*", "r5.*"]', "")), encoding="utf-8"
        )
        vms = mrdsl.load(folder / f"{number}.mrspec").facts.vms
        fees.append({vm.name: vm.fee * 3600 for vm in vms})
    shared = [name for name in fees[1] if name in fees[0] and int(re.findall(r"\d", name)[0]) >= 5]
    assert len(shared) >= 10
    for name in shared:
        assert fees[0][name] == pytest.approx(fees[1][name], abs=0.005), name
