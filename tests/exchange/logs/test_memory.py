"""Logs of any length need the memory of their largest object, and of what is kept of each job."""

from __future__ import annotations

import gc
import json
import tracemalloc
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from mrdsl.exchange.logs import hadoop_history, opening
from mrdsl.exchange.logs.formats import LogFormat, OpenedLog, Telling
from mrdsl.exchange.logs.hadoop_history import FORMAT as HISTORY
from mrdsl.exchange.logs.opening import chunks
from mrdsl.exchange.logs.records import Run
from mrdsl.exchange.logs.spark_events import FORMAT as SPARK
from mrdsl.exchange.logs.traces import RUMEN
from mrdsl.profiling.classes import sort_out

from .making import BEGIN, as_json, job_events, spark_events

TASKS = 60
PER_TASK, PER_JOB = 30, 1500
"""Of a task four times and a duration in four bytes each; of a job its names and times, and some small objects."""


def rumen(number: int) -> bytes:
    attempt = {"result": "SUCCESS", "hostName": "/r/n1", "attemptID": "a" * 400}
    tasks = [{"attempts": [{**attempt, "startTime": BEGIN + place, "finishTime": BEGIN + 9 * place}], "taskID": "t"}
             for place in range(TASKS)]  # fmt: skip
    job = {"jobID": f"job_1_{number}", "outcome": "SUCCESS", "submitTime": BEGIN, "finishTime": BEGIN + 10**6}
    return json.dumps({**job, "mapTasks": tasks, "reduceTasks": []}, indent=1).encode()


def history(number: int) -> bytes:
    return as_json(job_events(f"job_1_{number}", "etl", BEGIN, [(place, 9 * place) for place in range(TASKS)], []))


def spark(number: int) -> bytes:
    stage = (0, (), tuple((place, 9 * place) for place in range(TASKS)))
    return spark_events(f"etl{number}", BEGIN, [(0, 10**6, [stage])])


def kept(text: Iterator[bytes], log_format: LogFormat) -> Iterator[Run]:
    yield from log_format.read(OpenedLog("log", iter([("log", text)])), Telling())


def read(kind: str, jobs: int) -> Iterator[Run]:
    if kind == "rumen":
        yield from kept((rumen(number) for number in range(jobs)), RUMEN)
    else:
        make, log_format = (history, HISTORY) if kind == "history" else (spark, SPARK)
        for number in range(jobs):
            yield from kept(iter([make(number)]), log_format)


def traced(runs: Iterator[Run], hold: bool) -> tuple[int, int]:
    """Bytes that are held at the end, and at most."""
    tracemalloc.start()
    try:
        held: list[Any] = []
        for run in runs:
            if hold:
                held.append(run)
        used = sort_out((run, "a") for run in held if hasattr(run, "job"))
        most = tracemalloc.get_traced_memory()[1]
        gc.collect()
        now = tracemalloc.get_traced_memory()[0]
        del used
        return now, most
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("kind", ["rumen", "history", "spark"])
def test_what_is_not_kept_needs_no_memory(kind: str) -> None:
    """Four times as many jobs, the same peak, once the buffers are nearly full: ten jobs do not fill them."""
    traced(read(kind, 2), hold=False)
    many, few = (traced(read(kind, jobs), hold=False)[1] for jobs in (80, 20))
    assert many <= 1.1 * few


@pytest.mark.parametrize("kind", ["rumen", "history", "spark"])
def test_what_is_kept_of_a_job(kind: str) -> None:
    traced(read(kind, 2), hold=True)
    more = traced(read(kind, 20), hold=True)[0] - traced(read(kind, 5), hold=True)[0]
    assert more / 15 <= PER_TASK * TASKS + PER_JOB


def test_of_the_settings_of_a_job_few_are_kept() -> None:
    """There are a thousand or more."""
    assert len(hadoop_history.KEPT) < 20


class Endless:
    """A line without end."""

    def __init__(self, size: int) -> None:
        self.left = size

    def read(self, size: int) -> bytes:
        taken = min(size, self.left)
        self.left -= taken
        return b"{" + b"a" * (taken - 1) if taken else b""


@pytest.mark.parametrize("log_format", [SPARK, RUMEN, HISTORY])
def test_one_gigantic_line(log_format: LogFormat, monkeypatch: pytest.MonkeyPatch) -> None:
    """Told, and held at most twice over: once as it grows, once as what it is looked at."""
    monkeypatch.setattr(opening, "LONGEST_LINE", 2**23)
    monkeypatch.setattr("mrdsl.exchange.logs.traces.LARGEST", 2**23)

    def reading() -> Iterable[Run]:
        telling = Telling()
        parts = iter([("log", chunks(Endless(2**26)))])
        try:
            yield from log_format.read(OpenedLog("log", parts), telling)
        except opening.UnreadableLogError as cause:
            telling.fail("broken-log", str(cause), "log")
        assert any("larger than" in each.message or "longer than" in each.message for each in telling.diagnostics())

    assert traced(iter(reading()), hold=False)[1] < 3 * 2**23
