"""Peaks of memory in logs: read as they are, shown with the container, and part of it if its settings are less."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import mrdsl
from mrdsl import api
from mrdsl.exchange.logs.records import Peaks, SparkApplication
from mrdsl.profiling.containers import Containers, Memory, peaks_of, with_peaks
from mrdsl.profiling.findings import UNUSED, findings_of
from tests.exchange.logs.making import BEGIN, Stage, spark_events
from tests.shared_data import shared

MIB = 2**20
STAGES: list[Stage] = [(0, (), ((1000, 4000), (1000, 2000)))]
"""Two tasks, of 3 s and of 1 s."""


def log(**settings: str) -> list[dict[str, Any]]:
    events = [json.loads(line) for line in spark_events("etl", BEGIN, [(0, 5000, STAGES)]).splitlines()]
    properties = {f"spark.{name.replace('_', '.')}": value for name, value in settings.items()}
    place = next(n for n, each in enumerate(events) if each["Event"] == "SparkListenerApplicationStart")
    events.insert(place, {"Event": "SparkListenerEnvironmentUpdate", "Spark Properties": properties})
    added = {"Executor ID": "1", "Timestamp": BEGIN, "Executor Info": {"Host": "h", "Total Cores": 2}}
    events.insert(place + 2, {"Event": "SparkListenerExecutorAdded", **added})
    return events


def metrics(heap: int, *resident: int) -> dict[str, int]:
    names = ("ProcessTreeJVMRSSMemory", "ProcessTreePythonRSSMemory", "ProcessTreeOtherRSSMemory")
    return {"JVMHeapMemory": heap * MIB, **{name: size * MIB for name, size in zip(names, resident, strict=False)}}


def polled(events: list[dict[str, Any]], *each: dict[str, int] | None) -> list[dict[str, Any]]:
    tasks = [event for event in events if event["Event"] == "SparkListenerTaskEnd"]
    for event, memory in zip(tasks, each, strict=True):
        if memory is not None:
            event["Task Executor Metrics"] = memory
    return events


def profiled(folder: Path, events: list[dict[str, Any]]) -> mrdsl.Profiles:
    text = "\n".join(json.dumps(event, separators=(",", ":")) for event in events)
    (folder / "log").write_text(text, encoding="utf-8")
    return api.profile([folder])


def one(found: mrdsl.Profiles) -> SparkApplication:
    (application,) = found.applications
    return application


def test_peaks_of_tasks_are_the_largest_and_count_by_time(tmp_path: Path) -> None:
    """The task of 3 s was polled, and that of 1 s was not: it has zeros, or no metrics at all."""
    events = polled(log(), metrics(900, 1500, 200, 10), metrics(0))
    durations = [e["Task Info"]["Finish Time"] - e["Task Info"]["Launch Time"] for e in events if "Task Info" in e]
    share = durations[0] / sum(durations)
    assert one(profiled(tmp_path, events)).peaks == Peaks(900 * MIB, 1710 * MIB, share)
    assert one(profiled(tmp_path, polled(log(), None, None))).peaks == Peaks()


def test_peaks_of_stages_cover_the_whole_run_and_drivers_do_not_count(tmp_path: Path) -> None:
    events = log()
    for executor, heap in (("driver", 5000), ("1", 700), ("2", 800)):
        about = {"Executor ID": executor, "Stage ID": 0, "Stage Attempt ID": 0, "Executor Metrics": metrics(heap, heap)}
        events.insert(-2, {"Event": "SparkListenerStageExecutorMetrics", **about})
    assert one(profiled(tmp_path, events)).peaks == Peaks(800 * MIB, 800 * MIB, 1.0)


@pytest.mark.parametrize(("resident", "overhead"), [(0, 384), (1408, 384), (1409, 385), (5000, 3976)])
def test_a_container_has_the_resident_memory_of_the_log(resident: int, overhead: int) -> None:
    found = with_peaks(Containers("yarn", 2, 2, Memory(1024, 384)), Peaks(0, resident * MIB, 1.0))
    assert found.memory == Memory(1024, overhead)


def test_a_spec_has_peaks_in_container_and_machine(tmp_path: Path) -> None:
    events = polled(log(master="spark://host", executor_memory="4g"), metrics(900, 6000), metrics(0))
    text = profiled(tmp_path, events).to_mrspec("capacity")
    assert "memory = 6000 MiB" in text
    assert "at most 900 used" in text
    spec = mrdsl.loads(text)
    assert spec.facts.vms[0].memory >= 6000 * MIB


@pytest.mark.parametrize(
    ("heap", "peak", "polled_share", "level"),
    [("8g", 1000, 1.0, 4), ("8g", 7000, 1.0, 0), ("2g", 10, 1.0, 0), ("8g", 1000, 0.2, 0), ("8g", 4000, 0.25, 2)],
)
def test_a_heap_far_above_its_peak_is_found(
    heap: str, peak: int, polled_share: float, level: int, tmp_path: Path
) -> None:
    """Against the peak and 300 MiB: 1.25, 1.5, 2 and 3 times; only above 2 GiB, and only if it was measured."""
    run = one(profiled(tmp_path, log(master="yarn", executor_memory=heap)))
    run = replace(run, peaks=Peaks(peak * MIB, 0, polled_share))
    found = [each for each in findings_of(run) if each.rule is UNUSED]
    assert [each.level for each in found] == ([level] if level else [])


def test_the_peaks_of_runs_are_their_largest() -> None:
    runs = [SparkApplication("", "", "", peaks=Peaks(*each)) for each in ((1, 5, 1.0), (3, 4, 0.5))]
    assert peaks_of(runs) == Peaks(3, 5, 0.5)


def test_peaks_of_a_real_log_are_those_of_its_text() -> None:
    path = shared("data/spark/delight/example_spark_event_log.txt")
    every = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if "TaskEnd" in line[:40]]
    measured = [each["Task Executor Metrics"] for each in every if each.get("Task Executor Metrics")]
    found = one(api.profile([path])).peaks
    assert found.heap == max(each["JVMHeapMemory"] for each in measured) > 0
    assert sum(each["JVMHeapMemory"] > 0 for each in measured) == 13
    assert 0.0 < found.polled < 0.1
