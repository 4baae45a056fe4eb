"""What nodes have for containers, against the published table, and the nodes that planned containers take."""

from __future__ import annotations

import csv
import json
import re

import pytest

import mrdsl
from mrdsl.exchange.targets.clusters import EC2, node_of
from mrdsl.exchange.targets.deployment import MachineType, Wishes
from mrdsl.formulas.platforms import emr_hardware, emr_memory, kubernetes_hardware, system_cores, system_memory
from mrdsl.spec.platforms import EMR, KUBERNETES
from tests.exchange.targets.plans import exported
from tests.shared_data import shared

SLIPS = {"m2.2xlarge", "m5zn.2xlarge"}
"""Their published figures are above their hardware, and half of the next smaller type's."""
EXECUTORS = """problem capacity "Nightly Spark"
vm "m5.4xlarge" { cores = 16, memory = 64 GiB, on_demand { price = 0.768 USD/h } }
class clicks {
  stage scan { tasks = 240, avg = 20 s, max = 30 s }
  stage sum  { tasks = 80, avg = 15 s, max = 25 s, after = [scan] }
  container { executor { cores = 4, memory = 20 GiB, overhead = 4 GiB, off_heap = 1 GiB, tasks = 4 } }
  driver    { cores = 1, memory = 2 GiB, overhead = 512 MiB }
  jobs = 3, deadline = 10 min, penalty = 10 USD
}
minimize cost
"""


def published() -> list[dict[str, str]]:
    with shared("data/sizing/emr_yarn_memory_by_instance.csv").open(encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def test_memory_of_emr_nodes_is_the_published_one() -> None:
    """223 types of June 2023, of which 207 have a known memory."""
    known = [row for row in published() if row["ram_mib"]]
    apart = {
        row["instance"]
        for row in known
        if abs(emr_memory(row["instance"], float(row["ram_mib"])) - int(row["nodemanager_mb"])) > 1
    }
    assert len(known) == 207
    assert apart == SLIPS


def test_cores_and_memory_follow_from_the_names_of_types() -> None:
    for row in published():
        if row["ram_mib"] and EC2.fullmatch(row["instance"]):
            node = node_of(MachineType(row["instance"]), EMR)
            assert node is not None
            assert node.cores == int(row["vcpu"]), row
            if row["instance"] not in SLIPS:
                assert abs(node.memory - int(row["nodemanager_mb"])) <= 1, row


@pytest.mark.parametrize("memory", [1024, 12_288, 23_424, 57_344, 122_880, 385_024])
def test_hardware_of_an_unknown_type_leaves_the_memory(memory: int) -> None:
    hardware = emr_hardware(memory)
    assert memory <= emr_memory("machine", hardware) <= memory + 2


@pytest.mark.parametrize(("cores", "memory"), [(1, 1024), (4, 15_000), (16, 60_000), (95, 700_000)])
def test_hardware_on_kubernetes_is_the_least(cores: int, memory: int) -> None:
    whole, hardware = kubernetes_hardware(cores, memory)

    def left(mib: int) -> float:
        return mib - system_memory(KUBERNETES, "", 2.0**20 * mib) / 2**20

    assert left(hardware - 1) < memory <= left(hardware)
    assert whole - 1 - system_cores(KUBERNETES, whole - 1.0) < cores <= whole - system_cores(KUBERNETES, float(whole))


def test_kubernetes_reserves_by_steps() -> None:
    """Of 64 GiB: a quarter of 4, a fifth of 4, a tenth of 8, 6 % of 48, and 100 MiB; of 16 cores 110 m."""
    reserved = 1024 * (1.0 + 0.8 + 0.8 + 0.06 * 48) + 100
    assert system_memory(KUBERNETES, "any", 2**36) == pytest.approx(2**20 * reserved)
    assert system_cores(KUBERNETES, 16.0) == pytest.approx(0.06 + 0.01 + 0.01 + 12 * 0.0025)


def test_executors_that_the_system_leaves_no_room_for_take_more_nodes() -> None:
    """3 of 20 GiB fit 64 GiB, and 2 the 56 GiB that YARN has: 9 of them take 5 nodes."""
    found = exported(EXECUTORS, "emr")
    (told,) = found.diagnostics
    assert told.code == "beyond-node"
    assert "take 5 m5.4xlarge firm, not 3" in told.message
    settings = {
        each["Classification"]: each["Properties"] for each in json.loads(found.files["emr.json"])["Configurations"]
    }
    assert settings["yarn-site"]["yarn.nodemanager.resource.memory-mb"] == "57344"
    assert settings["yarn-site"]["yarn.nodemanager.resource.cpu-vcores"] == "16"


def test_an_executor_larger_than_a_node_fits_none() -> None:
    (told,) = exported(EXECUTORS, "emr", Wishes(names={"m5.4xlarge": "m5.xlarge"})).diagnostics
    assert "fits no node" in told.message


def test_nodes_with_room_are_not_told_of() -> None:
    assert not exported(EXECUTORS, "emr", Wishes(names={"m5.4xlarge": "r5.4xlarge"})).diagnostics


def test_executors_are_exported_with_the_parts_of_their_memory() -> None:
    for form, file in (("emr", "emr.json"), ("spark", "spark-defaults.conf")):
        text = exported(EXECUTORS, form).files[file]
        if form == "emr":
            (found,) = [
                each["Properties"]
                for each in json.loads(text)["Configurations"]
                if each["Classification"] == "spark-defaults"
            ]
        else:
            found = dict(line.split(maxsplit=1) for line in text.splitlines() if not line.startswith("#"))
        assert found["spark.executor.cores"] == "4"
        assert found["spark.executor.memory"] == f"{15 * 1024}m"
        assert found["spark.executor.memoryOverhead"] == f"{4 * 1024}m"
        assert found["spark.memory.offHeap.size"] == "1024m"
        assert (found["spark.driver.memory"], found["spark.driver.memoryOverhead"]) == ("1536m", "512m")
        assert found["spark.dynamicAllocation.maxExecutors"] == "3"


def test_sizes_that_the_spec_does_not_give_are_no_reason_to_warn() -> None:
    """A machine of two slots has no containers of its own on EMR, where jobs say their sizes; a pod has one."""
    text = (
        EXECUTORS[: EXECUTORS.index("  container")] + "  slots { task = 1 }\n" + EXECUTORS[EXECUTORS.index("  jobs") :]
    )
    assert not exported(text, "emr").diagnostics
    assert [each.code for each in exported(text, "kubernetes").diagnostics] == ["beyond-node"]


@pytest.mark.parametrize("system", ["", ", system = kubernetes", ", system { cores = 1, memory = 4 GiB }"])
def test_the_hint_leaves_room_for_drivers(system: str) -> None:
    """Two executors of 3.5 cores fit a node, and a driver of one core beside them does not."""
    text = f"""problem timetable "drivers"
vm "m5.2xlarge" {{ on_demand {{ price = 1 USD/h }}, cores = 8, memory = 32 GiB{system} }}
class b {{
  stage s {{ tasks = 16, avg = 5 min, max = 5 min }}
  container {{ executor {{ cores = 3.5, memory = 10 GiB, tasks = 4 }} }}
  runs = [0 s, 10 s, 20 s]
  deadline = 6 min
}}
minimize cost
"""
    (told,) = mrdsl.export(mrdsl.solve(mrdsl.loads(text)), "kubernetes").diagnostics
    found = re.search(r"system \{.*?\}", told.hint or "")
    assert found
    roomy = text.replace(system, "") if system else text
    roomy = roomy.replace("32 GiB", f"32 GiB, {found[0]}")
    assert not mrdsl.export(mrdsl.solve(mrdsl.loads(roomy)), "kubernetes").diagnostics


def test_executors_of_a_timetable_are_exported() -> None:
    """9 tasks take 3 executors of 4 tasks, not 9 of one task."""
    text = """problem timetable "executors"
vm m { on_demand { price = 1 USD/h }, cores = 16, memory = 64 GiB }
class b {
  stage s { tasks = 9, avg = 5 min, max = 5 min }
  container { executor { cores = 4, memory = 10 GiB, tasks = 4 } }
  runs = [0 s]
  deadline = 6 min
}
minimize cost
"""
    files = mrdsl.export(mrdsl.solve(mrdsl.loads(text)), "kubernetes").files
    (application,) = [each for name, each in files.items() if name.startswith("sparkapplication")]
    assert "maxExecutors: 3\n" in application
    assert "    cores: 4\n" in application
