"""Executors and drivers of specs are those that the logs configure, by the rules of their platforms."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import mrdsl
from mrdsl.exchange.logs.records import Executor, SparkApplication
from mrdsl.exchange.markup import read_spark_settings
from mrdsl.profiling.containers import Containers, Memory, containers_of
from mrdsl.profiling.profiles import profile
from tests.exchange.logs.making import BEGIN, Stage, spark_events
from tests.shared_data import shared

GIB = 2**30


def application(version: str = "3.5.1", cores: int = 16, **settings: str) -> SparkApplication:
    named = {f"spark.{name.replace('_', '.')}": value for name, value in settings.items()}
    return SparkApplication("log", "app", "app", version=version, lives=(Executor(cores),) * 8, configuration=named)


@pytest.mark.parametrize(
    ("log", "executor", "driver"),
    [
        ("nvidia/e2e__join_agg_on_yarn_eventlog.zstd", (3, 9397, int(0.1875 * 9397)), (1, 2048, 384)),
        ("sparklint/application_1472176676028_407508_1", (4, 16 * 1024, int(0.1 * 16 * 1024)), (1, 2048, 384)),
        ("sparklint/event_log_1", (4, 6 * 1024, 614), (1, 1024, 384)),
        ("delight/example_spark_event_log.txt", (3, 3 * 1024, int(0.4 * 3 * 1024)), (1, 1024, int(0.4 * 1024))),
        ("nvidia/profiling__malformed_json_eventlog.zstd", (4, 20 * 1024, 8 * 1024), None),
        ("dr-elephant/event_log_1", (2, 1024, 384), (1, 2048, 384)),
    ],
)
def test_containers_of_real_logs(log: str, executor: tuple[int, int, int], driver: tuple[int, int, int] | None) -> None:
    """Heaps are in the logs; overhead by the platforms' factors, with at least 384 MiB."""
    found = containers_of(profile([shared(f"data/spark/{log}")]).applications[0])
    assert found is not None
    assert (found.cores, found.memory.heap, found.memory.overhead) == executor
    held = None if found.driver is None else (found.driver_cores, found.driver.heap, found.driver.overhead)
    assert held == driver


def test_a_driver_that_ran_outside_the_cluster_is_in_the_planned_one() -> None:
    found = containers_of(application(master="yarn", submit_deployMode="client", driver_memory="8g"))
    assert found is not None
    assert (found.driver, found.outside) == (Memory(8192, 819), True)


def test_off_heap_and_python_memory_are_part_of_the_container() -> None:
    found = containers_of(
        application(
            master="yarn",
            executor_memory="40g",
            executor_memoryOverhead="8g",
            memory_offHeap_enabled="true",
            memory_offHeap_size=str(2 * GIB),
            executor_pyspark_memory="1g",
            task_cpus="4",
        )
    )
    assert found is not None
    assert found.memory == Memory(40 * 1024, 9 * 1024, 2 * 1024)


@pytest.mark.parametrize(
    ("master", "expected"),
    [
        ("local[*]", Containers("local", 16, 16, Memory(1024, 384))),
        ("spark://host:7077", Containers("standalone", 16, 16, Memory(1024, 384), 1, Memory(1024, 384))),
        ("k8s://host", Containers("kubernetes", 16, 16, Memory(1024, 384), 1, Memory(1024, 384))),
    ],
)
def test_platforms_differ(master: str, expected: Containers) -> None:
    assert containers_of(application(master=master)) == expected


def test_a_log_without_settings_or_executors_has_no_containers() -> None:
    assert containers_of(SparkApplication("log", "app", "app")) is None
    assert containers_of(SparkApplication("log", "app", "app", lives=(Executor(4),))) is None


def log_of(folder: Path) -> Path:
    """8 executors with 16 cores, 40 GiB of heap and 10 GiB of overhead, on a host each."""
    settings = {
        "spark.app.name": "nightly",
        "spark.master": "yarn",
        "spark.submit.deployMode": "cluster",
        "spark.executor.memory": "40g",
        "spark.executor.memoryOverhead": "10g",
        "spark.driver.memory": "4g",
    }
    events: list[dict[str, object]] = [
        {"Event": "SparkListenerLogStart", "Spark Version": "3.5.1"},
        {"Event": "SparkListenerEnvironmentUpdate", "Spark Properties": settings},
        {
            "Event": "SparkListenerApplicationStart",
            "App Name": "nightly",
            "App ID": "a1",
            "Timestamp": 1_700_000_000_000,
            "User": "u",
        },
    ]
    for number in range(8):
        info = {"Host": f"h{number}", "Total Cores": 16}
        events.append(
            {
                "Event": "SparkListenerExecutorAdded",
                "Timestamp": 1_700_000_001_000,
                "Executor ID": str(number),
                "Executor Info": info,
            }
        )
    stage = {"Stage ID": 0, "Stage Name": "scan", "Number of Tasks": 256}
    events.append(
        {"Event": "SparkListenerJobStart", "Job ID": 0, "Submission Time": 1_700_000_002_000, "Stage IDs": [0]}
    )
    events.append({"Event": "SparkListenerStageSubmitted", "Stage Info": stage})
    for number in range(256):
        begin = 1_700_000_002_000 + 20_000 * (number // 128)
        info = {
            "Task ID": number,
            "Index": number,
            "Host": f"h{number % 8}",
            "Launch Time": begin,
            "Finish Time": begin + 20_000,
        }
        events.append(
            {
                "Event": "SparkListenerTaskEnd",
                "Stage ID": 0,
                "Task Type": "ResultTask",
                "Task End Reason": {"Reason": "Success"},
                "Task Info": info,
            }
        )
    events.append({"Event": "SparkListenerStageCompleted", "Stage Info": stage})
    ended = {"Job ID": 0, "Completion Time": 1_700_000_042_000, "Job Result": {"Result": "JobSucceeded"}}
    events.append({"Event": "SparkListenerJobEnd", **ended})
    events.append({"Event": "SparkListenerApplicationEnd", "Timestamp": 1_700_000_043_000})
    path = folder / "nightly"
    path.write_text("".join(json.dumps(each, separators=(",", ":")) + "\n" for each in events))
    return path


def test_a_plan_of_a_log_has_its_executors(tmp_path: Path) -> None:
    """51 slots of one core were 51 executors before; now they come in those of 16 cores that the log has."""
    text = profile([log_of(tmp_path)]).to_mrspec("capacity")
    assert "executor { cores = 16, memory = 51200 MiB, overhead = 10240 MiB, tasks = 16 }" in text
    spec = mrdsl.loads(text.replace("deadline_nightly = 2 min", "deadline_nightly = 70 s"))
    plan = mrdsl.solve(spec).plan
    of_class = plan.document()["classes"]["nightly"]
    assert of_class["executors"] * 16 == of_class["whole_slots"]["task"]
    assert of_class["executors"] > 1


SETTINGS = {"executor.memory": "7g", "executor.cores": "4", "driver.memory": "3g"}
HELD = {
    "spark.executor.cores": "4",
    "spark.executor.memory": "7168m",
    "spark.executor.memoryOverhead": "716m",
    "spark.driver.memory": "3072m",
    "spark.driver.memoryOverhead": "384m",
}


@pytest.mark.parametrize(
    ("master", "more", "expected"),
    [
        ("yarn", {}, {}),
        ("spark://m:7077", {}, {}),
        ("local[4]", {}, {}),
        ("k8s://https://m", {}, {}),
        (
            "local[4]",
            {"executor.memory": ""},
            {"spark.executor.memory": "3072m", "spark.executor.memoryOverhead": "384m"},
        ),
        (
            "spark://m:7077",
            {"executor.memoryOverhead": "2g", "driver.memoryOverhead": "1g", "driver.cores": "2"},
            {
                "spark.executor.memoryOverhead": "2048m",
                "spark.driver.memoryOverhead": "1024m",
                "spark.driver.cores": "2",
            },
        ),
    ],
)
def test_executors_survive_the_way_to_exports(
    master: str, more: dict[str, str], expected: dict[str, str], tmp_path: Path
) -> None:
    """An executor of 4 cores and 7 GiB of heap, whose overhead is a tenth; the shuffle has the tasks of its stage."""
    scan: Stage = (0, (), ((0, 4000),) * 24)
    (tmp_path / "log").write_bytes(configured(spark_events("etl", BEGIN, [(0, 9000, [scan, SUM])]), master, more))
    plan = mrdsl.solve(mrdsl.loads(profile([tmp_path]).to_mrspec("capacity")))
    found = read_spark_settings(mrdsl.export(plan, "spark").files["spark-defaults.conf"])
    wanted = {**HELD, **expected, "spark.sql.shuffle.partitions": "6", "spark.default.parallelism": "6"}
    assert {name: found[name] for name in wanted} == wanted


def test_executors_of_a_night_survive_the_way_to_exports(tmp_path: Path) -> None:
    """Runs an hour apart are a timetable. Classes with other executors than each other have slots there."""
    scan: Stage = (0, (), ((0, 4000),) * 24)
    for number in range(3):
        log = spark_events("etl", BEGIN + number * 3_600_000, [(0, 9000, [scan, SUM])])
        (tmp_path / f"log{number}").write_bytes(configured(log, "yarn", {}))
    text = profile([tmp_path]).to_mrspec()
    assert "problem timetable" in text
    found = read_spark_settings(mrdsl.export(mrdsl.solve(mrdsl.loads(text)), "spark").files["spark-defaults.conf"])
    names = [name for name in HELD if "executor" in name]
    assert [found[name] for name in names] == [HELD[name] for name in names]
    other = spark_events("ads", BEGIN + 600_000, [(0, 9000, [scan, SUM])])
    (tmp_path / "other").write_bytes(configured(other, "yarn", {"executor.memory": "9g"}))
    mixed = profile([tmp_path]).to_mrspec()
    assert "executor {" not in mixed
    assert mrdsl.solve(mrdsl.loads(mixed)).plan is not None


SUM: Stage = (1, (0,), ((5000, 8000),) * 6)


def configured(log: bytes, master: str, more: dict[str, str]) -> bytes:
    """The log of an application with these settings, whose second stage reads a shuffle."""
    chosen = {"master": master, **SETTINGS, **more}
    text = json.dumps({f"spark.{name}": value for name, value in chosen.items() if value})
    log = log.replace(b'{"spark.yarn.queue": "night"}', text.encode())
    lines = [json.loads(line) for line in log.splitlines()]
    for event in lines:
        if event["Event"] == "SparkListenerTaskEnd" and event["Stage ID"] == 1:
            event["Task Metrics"] = {"Shuffle Read Metrics": {"Remote Bytes Read": 10**6, "Local Bytes Read": 0}}
    return "\n".join(map(json.dumps, lines)).encode()
