"""What an expert looks at before signing, with its figures: a real Spark log on EMR, from log to configuration."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import mrdsl
from mrdsl.exchange.capacity_scheduler import read_capacity_scheduler
from mrdsl.exchange.markup import read_spark_settings
from mrdsl.profiling.profiles import profile

LOG = Path("/work/shared/data/spark/nvidia/e2e__join_agg_on_yarn_eventlog.zstd")
"""10 executors of 3 cores, 9,397 MiB of heap and EMR's 18.75 % of it; a driver of 2,048 and 384 MiB."""


@pytest.fixture(scope="module")
def result() -> mrdsl.Result:
    if not LOG.exists():
        pytest.skip(f"{LOG} is not there")
    return mrdsl.solve(mrdsl.loads(profile([LOG]).to_mrspec("capacity")))


@pytest.fixture(scope="module")
def document(result: mrdsl.Result) -> dict[str, Any]:
    found = mrdsl.export(result, "emr", vms={"machine": "m5.8xlarge"})
    assert not found.diagnostics
    read: dict[str, Any] = json.loads(found.files["emr.json"])
    return read


def settings(document: dict[str, Any], of: str) -> dict[str, str]:
    (found,) = [each["Properties"] for each in document["Configurations"] if each["Classification"] == of]
    assert isinstance(found, dict)
    return found


def groups(document: dict[str, Any], role: str) -> list[dict[str, Any]]:
    return [each for each in document["Instances"]["InstanceGroups"] if each["InstanceRole"] == role]


def sizes(document: dict[str, Any], part: str) -> tuple[str, ...]:
    found = settings(document, "spark-defaults")
    return tuple(found[f"spark.{part}.{name}"] for name in ("cores", "memory", "memoryOverhead"))


QUEUES, SITE = "yarn.scheduler.capacity", "yarn.nodemanager.resource"
EMR: dict[str, tuple[Callable[[dict[str, Any]], Any], Any]] = {
    "executors as the log had them": (lambda d: sizes(d, "executor"), ("3", "9397m", f"{int(0.1875 * 9397)}m")),
    "the driver as the log had it": (lambda d: sizes(d, "driver"), ("1", "2048m", "384m")),
    "tasks side by side": (lambda d: settings(d, "spark-defaults")["spark.task.cpus"], "1"),
    "memory of YARN on a node": (lambda d: settings(d, "yarn-site")[f"{SITE}.memory-mb"], str(131_072 - 8192)),
    "cores of YARN on a node": (lambda d: settings(d, "yarn-site")[f"{SITE}.cpu-vcores"], "32"),
    "a default queue": (lambda d: settings(d, "capacity-scheduler")[f"{QUEUES}.root.queues"], "mapreduce,default"),
    "core nodes on demand": (lambda d: [g["Market"] for g in groups(d, "CORE")], ["ON_DEMAND"]),
    "no invented bid": (lambda d: "BidPrice" in json.dumps(d), False),
    "an end after an idle hour": (lambda d: d["AutoTerminationPolicy"]["IdleTimeout"], 3600),
    "a master of the advised size": (lambda d: [g["InstanceType"] for g in groups(d, "MASTER")], ["m5.xlarge"]),
    "scaling up to the plan": (lambda d: d["ManagedScalingPolicy"]["ComputeLimits"]["MaximumCapacityUnits"], 1),
    "volumes of 4 times 128 GB": (
        lambda d: [
            (each["VolumesPerInstance"], each["VolumeSpecification"]["SizeInGB"])
            for each in groups(d, "CORE")[0]["EbsConfiguration"]["EbsBlockDeviceConfigs"]
        ],
        [(4, 128)],
    ),
}


@pytest.mark.parametrize("what", EMR)
def test_emr(what: str, document: dict[str, Any]) -> None:
    figure, expected = EMR[what]
    assert figure(document) == expected


def test_executors_are_as_many_as_planned(result: mrdsl.Result, document: dict[str, Any]) -> None:
    (planned,) = result.plan.document()["classes"].values()
    found = settings(document, "spark-defaults")
    assert int(found["spark.dynamicAllocation.maxExecutors"]) == planned["executors"]
    assert planned["executors"] * 3 == planned["whole_slots"]["task"]


def test_spark_and_kubernetes_have_the_same_executors(result: mrdsl.Result, document: dict[str, Any]) -> None:
    conf = read_spark_settings(mrdsl.export(result, "spark").files["spark-defaults.conf"])
    shared = settings(document, "spark-defaults")
    assert {name: conf[name] for name in shared} == shared
    pods = mrdsl.export(result, "kubernetes", vms={"machine": "m5.8xlarge"}).files
    (text,) = [text for name, text in pods.items() if name.startswith("sparkapplication")]
    for size in ("9397m", "1761m", "2048m", "384m"):
        assert size in text


def test_yarn_rounds_no_container_up_by_much(result: mrdsl.Result) -> None:
    """The smallest allocation is a step of both containers, 11,158 and 2,432 MiB, or EMR's 32 MiB."""
    files = mrdsl.export(result, "yarn").files
    (site,) = [text for name, text in files.items() if name.startswith("yarn-site")]
    unit = int(site.split("minimum-allocation-mb</name>")[1].split("<value>")[1].split("<")[0])
    assert unit == 32
    assert all(-(-size // unit) * unit - size < 32 for size in (11_158, 2_432))


def test_a_queue_of_yarn_runs_the_planned_jobs_and_their_drivers(result: mrdsl.Result) -> None:
    """One job, whose driver has 2,432 MiB besides two executors of 11,158: at least a tenth, in steps of 5 %."""
    text = mrdsl.export(result, "yarn").files["capacity-scheduler.xml"]
    (queue,) = read_capacity_scheduler(text).children[0].children
    assert queue.running == 1
    assert queue.masters is not None
    assert max(2_432 / (2 * 11_158 + 2_432), 1 / 7) <= float(queue.masters) <= 0.15
