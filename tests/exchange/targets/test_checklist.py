"""What an expert looks at before signing, with its figures: real Spark logs, from log to configuration.

Expected figures follow by hand from the settings in the logs and from the rules in the tables of the how-to pages.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

import mrdsl
from mrdsl.exchange.markup import read_spark_settings
from mrdsl.profiling.profiles import profile
from tests.exchange.scheduler_files import read_capacity_scheduler, read_fair_scheduler, settings_of
from tests.exchange.targets.plans import STAGES, exported
from tests.shared_data import shared

LOG = "data/spark/nvidia/e2e__join_agg_on_yarn_eventlog.zstd"
"""10 executors of 3 cores, 9,397 MiB of heap and EMR's 18.75 % of it; a driver of 2,048 and 384 MiB."""


@pytest.fixture(scope="module")
def result() -> mrdsl.Result:
    return planned(LOG)


@pytest.fixture(scope="module")
def document(result: mrdsl.Result) -> dict[str, Any]:
    found = mrdsl.export(result, "emr", vms={"machine": "m5.8xlarge", "master": "m5.xlarge"})
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


DELIGHT = "data/spark/delight/example_spark_event_log.txt"
"""Executors of 3 cores and 3 GiB on Kubernetes, a driver of 1 GiB, an overhead of 0.4 times the heap."""
SHELL = "data/spark/nvidia/qualification__cluster_information__eventlog_4nodes_8cores_dynamic_alloc.zstd"
"""Two executors of 4 cores, 20 GiB of heap and 8 GiB of overhead on each node of YARN; the driver has Spark's own."""


def planned(log: str) -> mrdsl.Result:
    return mrdsl.solve(mrdsl.loads(profile([shared(log)]).to_mrspec("capacity") + "estimates = paper\n"))


@pytest.fixture(scope="module")
def conf(result: mrdsl.Result) -> dict[str, str]:
    return read_spark_settings(mrdsl.export(result, "spark").files["spark-defaults.conf"])


ALLOCATION = "spark.dynamicAllocation"
SPARK: dict[str, tuple[tuple[str, ...], tuple[str | None, ...]]] = {
    "executors as the log had them": (("spark.executor.cores", "spark.executor.memory"), ("3", "9397m")),
    "an overhead of 18.75 %, as on EMR": (("spark.executor.memoryOverhead",), (f"{int(0.1875 * 9397)}m",)),
    "no memory off the heap": (("spark.memory.offHeap.enabled", "spark.memory.offHeap.size"), (None, None)),
    "a core for each task": (("spark.task.cpus",), ("1",)),
    "the driver as the log had it": (("spark.driver.cores", "spark.driver.memory"), ("1", "2048m")),
    "a tenth or 384 MiB beside the driver's heap": (
        ("spark.driver.memoryOverhead",),
        (f"{max(384, int(0.1 * 2048))}m",),
    ),
    "all planned executors from the start": (
        ("spark.executor.instances", f"{ALLOCATION}.initialExecutors", f"{ALLOCATION}.minExecutors"),
        ("2", "2", "2"),
    ),
    "no more executors than planned": (
        (f"{ALLOCATION}.enabled", f"{ALLOCATION}.maxExecutors"),
        ("true", "2"),
    ),
    "idle executors stay over each planned gap": ((f"{ALLOCATION}.executorIdleTimeout",), ("60s",)),
    "shuffle data outlives executors": ((f"{ALLOCATION}.shuffleTracking.enabled",), ("true",)),
    "partitions as the planned tasks of the stage that shuffles": (
        ("spark.sql.shuffle.partitions", "spark.default.parallelism"),
        ("16", "16"),
    ),
}


@pytest.mark.parametrize("what", SPARK)
def test_spark(what: str, conf: dict[str, str]) -> None:
    names, expected = SPARK[what]
    assert tuple(conf.get(name) for name in names) == expected


@pytest.mark.parametrize(("gap", "seconds"), [("59 s", 60), ("60 s", 61), ("81.7 s", 82)])
def test_idle_executors_stay_over_the_longest_planned_gap(gap: str, seconds: int) -> None:
    text = STAGES.replace("max = 20 s,", f"max = 20 s, delay = {gap},").replace("4 min", "14 min")
    found = read_spark_settings(exported(text, "spark").files["spark-defaults-queries.conf"])
    assert found[f"{ALLOCATION}.executorIdleTimeout"] == f"{seconds}s"


@pytest.fixture(scope="module")
def pods() -> dict[str, Any]:
    yaml = pytest.importorskip("yaml")
    found = mrdsl.export(planned(DELIGHT), "kubernetes", vms={"machine": "m5.2xlarge"})
    assert not found.diagnostics
    application, queues = map(yaml.safe_load, found.files.values())
    if application["kind"] == "ConfigMap":
        application, queues = queues, application
    (root,) = yaml.safe_load(queues["data"]["queues.yaml"])["partitions"][0]["queues"]
    return {**application["spec"], "queue": root["queues"][0]}


def held(d: dict[str, Any], what: str) -> dict[str, str]:
    found = d["queue"]["resources"][what]
    assert isinstance(found, dict)
    return found


EXECUTOR = 3 * 1024 + int(0.4 * 3 * 1024)
KUBERNETES: dict[str, tuple[Callable[[dict[str, Any]], Any], Any]] = {
    "executors as the log had them": (lambda d: (d["executor"]["cores"], d["executor"]["memory"]), (3, "3072m")),
    "the overhead factor of the log": (lambda d: d["executor"]["memoryOverhead"], f"{int(0.4 * 3072)}m"),
    "pods request whole cores": (lambda d: "coreRequest" in d["executor"], False),
    "the driver as the log had it": (lambda d: (d["driver"]["cores"], d["driver"]["memory"]), (1, "1024m")),
    "the overhead of the driver": (lambda d: d["driver"]["memoryOverhead"], f"{max(384, int(0.4 * 1024))}m"),
    "as many executors as planned": (
        lambda d: (d["executor"]["instances"], d["dynamicAllocation"]["maxExecutors"]),
        (1, 1),
    ),
    "executors at the start": (
        lambda d: (d["dynamicAllocation"]["initialExecutors"], d["dynamicAllocation"]["minExecutors"]),
        (1, 1),
    ),
    "shuffle data outlives executors": (lambda d: d["dynamicAllocation"]["shuffleTrackingEnabled"], True),
    "idle executors stay over each planned gap": (lambda d: d["sparkConf"][f"{ALLOCATION}.executorIdleTimeout"], "60s"),
    "partitions as the planned tasks of the stage that shuffles": (
        lambda d: d["sparkConf"]["spark.sql.shuffle.partitions"],
        "100",
    ),
    "the queue has room for executors and driver": (
        lambda d: (held(d, "max")["vcore"], held(d, "max")["memory"]),
        (f"{3 + 1}000m", f"{EXECUTOR + 1024 + 409}Mi"),
    ),
    "the queue's room is guaranteed": (lambda d: held(d, "guaranteed") == held(d, "max"), True),
    "as many applications as planned": (lambda d: d["queue"]["maxapplications"], 1),
}


@pytest.mark.parametrize("what", KUBERNETES)
def test_kubernetes(what: str, pods: dict[str, Any]) -> None:
    figure, expected = KUBERNETES[what]
    assert figure(pods) == expected


@pytest.fixture(scope="module")
def hadoop() -> dict[str, Any]:
    files = mrdsl.export(planned(SHELL), "yarn").files
    site = settings_of(files["yarn-site-machine.xml"])
    (queue,) = read_capacity_scheduler(files["capacity-scheduler.xml"]).children[0].children
    (fair,) = read_fair_scheduler(files["fair-scheduler.xml"])[0].children
    return {"site": site, "queue": queue, "fair": fair, "capacity": settings_of(files["capacity-scheduler.xml"])}


ONE, MASTER = 20_480 + 8_192, 1_024 + max(384, 102)
YARN: dict[str, tuple[Callable[[dict[str, Any]], Any], Any]] = {
    "memory of a node: two executors and a master": (lambda d: d["site"][f"{SITE}.memory-mb"], str(2 * ONE + MASTER)),
    "cores of a node": (lambda d: d["site"][f"{SITE}.cpu-vcores"], str(2 * 4 + 1)),
    "an allocation step that divides all containers": (
        lambda d: [size % int(d["site"]["yarn.scheduler.minimum-allocation-mb"]) for size in (ONE, MASTER)],
        [0, 0],
    ),
    "cores count in shares": (
        lambda d: d["capacity"][f"{QUEUES}.resource-calculator"].rpartition(".")[2],
        "DominantResourceCalculator",
    ),
    "the share of the queue": (lambda d: float(d["queue"].capacity), 100.0),
    "idle capacity may be used": (lambda d: float(d["queue"].maximum), 100.0),
    "one user may have all of the queue": (
        lambda d: (d["queue"].user_limit or 1) * float(d["queue"].capacity) >= 100,
        True,
    ),
    "as many applications as planned": (lambda d: (d["queue"].running, d["fair"].jobs), (1, 1)),
    "room for the masters of all applications": (
        lambda d: 1 / 5 <= float(d["queue"].masters) <= 1 / 5 + 0.05,
        True,
    ),
    "the guarantee of the fair scheduler": (lambda d: (d["fair"].memory, d["fair"].vcores), (ONE + MASTER, 4 + 1)),
    "weights are the shares": (lambda d: float(d["fair"].weight), 1.0),
}


@pytest.mark.parametrize("what", YARN)
def test_yarn(what: str, hadoop: dict[str, Any]) -> None:
    figure, expected = YARN[what]
    assert figure(hadoop) == expected


@pytest.fixture(scope="module")
def dataproc() -> dict[str, Any]:
    yaml = pytest.importorskip("yaml")
    two = mrdsl.loads(
        profile([shared(LOG)]).to_mrspec("capacity") + "estimates = paper\nsubject to { vms(machine) >= 2 }\n"
    )
    found = mrdsl.export(mrdsl.solve(two), "dataproc", vms={"machine": "n2-standard-32", "master": "n2-standard-4"})
    assert not found.diagnostics
    config: dict[str, Any] = yaml.safe_load(found.files["dataproc.yaml"])["config"]
    return config


def of(d: dict[str, Any], file: str, *names: str) -> tuple[str, ...]:
    return tuple(d["softwareConfig"]["properties"][f"{file}:{name}"] for name in names)


DATAPROC: dict[str, tuple[Callable[[dict[str, Any]], Any], Any]] = {
    "workers as planned": (lambda d: (d["workerConfig"]["numInstances"], "secondaryWorkerConfig" in d), (2, False)),
    "a master of the advised size": (
        lambda d: (d["masterConfig"]["numInstances"], d["masterConfig"]["machineTypeUri"]),
        (1, "n2-standard-4"),
    ),
    "80 % of the memory": (lambda d: of(d, "yarn", f"{SITE}.memory-mb"), (str(int(0.8 * 32 * 4 * 1024)),)),
    "all cores": (lambda d: of(d, "yarn", f"{SITE}.cpu-vcores"), ("32",)),
    "containers are not rounded up by much": (
        lambda d: [
            -size % int(of(d, "yarn", "yarn.scheduler.minimum-allocation-mb")[0]) < 32 for size in (11_158, 2_432)
        ],
        [True, True],
    ),
    "executors as the log had them": (
        lambda d: of(d, "spark", "spark.executor.cores", "spark.executor.memory"),
        ("3", "9397m"),
    ),
    "the overhead that they had on EMR": (
        lambda d: of(d, "spark", "spark.executor.memoryOverhead"),
        (f"{int(0.1875 * 9397)}m",),
    ),
    "the driver as the log had it": (
        lambda d: of(d, "spark", "spark.driver.memory", "spark.driver.memoryOverhead"),
        ("2048m", "384m"),
    ),
    "drivers on the workers": (lambda d: of(d, "spark", "spark.submit.deployMode"), ("cluster",)),
    "as many executors as planned": (lambda d: of(d, "spark", f"{ALLOCATION}.maxExecutors"), ("2",)),
    "partitions as the planned tasks of the stage that shuffles": (
        lambda d: of(d, "spark", "spark.sql.shuffle.partitions"),
        ("16",),
    ),
    "a default queue": (lambda d: of(d, "capacity-scheduler", f"{QUEUES}.root.queues"), ("mapreduce,default",)),
    "a share for drivers": (lambda d: of(d, "capacity-scheduler", f"{QUEUES}.maximum-am-resource-percent"), ("0.1",)),
    "an end after an idle hour": (lambda d: d["lifecycleConfig"]["idleDeleteTtl"], "3600s"),
}


@pytest.mark.parametrize("what", DATAPROC)
def test_dataproc(what: str, dataproc: dict[str, Any]) -> None:
    figure, expected = DATAPROC[what]
    assert figure(dataproc) == expected


@pytest.fixture(scope="module")
def serverless() -> dict[str, Any]:
    found = mrdsl.export(planned(SHELL), "emr-serverless")
    assert not found.diagnostics
    read: dict[str, Any] = json.loads(found.files["emr-serverless.json"])
    return {**read, "spark": read["runtimeConfiguration"][0]["properties"]}


def workers(d: dict[str, Any], kind: str) -> tuple[int, str, str]:
    found = d["initialCapacity"][kind]
    return found["workerCount"], found["workerConfiguration"]["cpu"], found["workerConfiguration"]["memory"]


SERVERLESS: dict[str, tuple[Callable[[dict[str, Any]], Any], Any]] = {
    "a worker like the log's executor": (lambda d: workers(d, "Executor"), (1, "4 vCPU", f"{-(-ONE // 1024)} GB")),
    "executors as the log had them": (
        lambda d: (d["spark"]["spark.executor.cores"], d["spark"]["spark.executor.memory"]),
        ("4", "20480m"),
    ),
    "the overhead of the log": (lambda d: d["spark"]["spark.executor.memoryOverhead"], "8192m"),
    "a core for each task": (lambda d: d["spark"]["spark.task.cpus"], "1"),
    "the smallest worker for the driver": (lambda d: workers(d, "Driver"), (1, "1 vCPU", f"{-(-MASTER // 1024)} GB")),
    "Spark's own memory of the driver": (
        lambda d: (d["spark"]["spark.driver.memory"], d["spark"]["spark.driver.memoryOverhead"]),
        ("1024m", "384m"),
    ),
    "no more cores than planned": (lambda d: d["maximumCapacity"]["cpu"], f"{4 + 1} vCPU"),
    "no more memory than planned": (lambda d: d["maximumCapacity"]["memory"], f"{28 + 2} GB"),
    "free disks": (lambda d: d["maximumCapacity"]["disk"], f"{2 * 20} GB"),
    "as many executors as planned": (
        lambda d: (d["spark"][f"{ALLOCATION}.initialExecutors"], d["spark"][f"{ALLOCATION}.maxExecutors"]),
        ("1", "1"),
    ),
    "idle executors stay over the longest gap, before the first task": (
        lambda d: d["spark"][f"{ALLOCATION}.executorIdleTimeout"],
        f"{int(103.494 + 31.832) + 1}s",
    ),
    "an end after 15 idle minutes": (
        lambda d: tuple(d["autoStopConfiguration"].values()),
        (True, 15),
    ),
}


@pytest.mark.parametrize("what", SERVERLESS)
def test_emr_serverless(what: str, serverless: dict[str, Any]) -> None:
    figure, expected = SERVERLESS[what]
    assert figure(serverless) == expected


def test_executors_without_a_worker_of_their_cores_are_told(result: mrdsl.Result) -> None:
    """2 executors of 3 cores run 6 tasks, as 3 workers of 2 vCPU; a third of 11,158 MiB for each task are 7.3 GB."""
    found = mrdsl.export(result, "emr-serverless")
    (told,) = found.diagnostics
    assert told.code == "beyond-node"
    assert "3 of 2 vCPU and 8 GB run the tasks of 2" in told.message
    assert workers(json.loads(found.files["emr-serverless.json"]), "Executor") == (3, "2 vCPU", "8 GB")


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
