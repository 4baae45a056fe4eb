"""Logs that lost events: what is scaled, what is refused, and summaries that add up."""

from __future__ import annotations

import json
import random
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mrdsl
from mrdsl import api
from mrdsl.core.diagnostics import MrdslError
from mrdsl.exchange.logs.records import SparkApplication
from mrdsl.profiling.losses import JUMP, LONGEST_IDLE, estimated_work, lost_tasks
from mrdsl.profiling.profiles import Profiles
from mrdsl.profiling.report import report

from ..exchange.logs.making import BEGIN, Stage, as_json, job_events, spark_events
from ..shared_data import shared

HOURS = 3_600_000


def log(times: list[int], slots: int = 50, more: int = 4) -> bytes:
    """One job: a stage of tasks of these times [ms] in waves, then one of ``more`` tasks of a second."""
    waves = [(place // slots) * max(times) for place in range(len(times))]
    tasks = tuple((1000 + wave, 1000 + wave + time) for wave, time in zip(waves, times, strict=True))
    end = max(finish for _, finish in tasks)
    last = tuple((end + 500, end + 1500) for _ in range(more))
    jobs: list[tuple[int, int, list[Stage]]] = [(500, end + 2000, [(0, (), tasks), (1, (0,), last)])]
    events = [json.loads(line) for line in spark_events("etl", BEGIN, jobs).splitlines()]
    for number, event in enumerate(each for each in events if each["Event"] == "SparkListenerTaskEnd"):
        event["Task Info"]["Task ID"] = number
        event["Task Metrics"]["Executor Run Time"] = (
            event["Task Info"]["Finish Time"] - event["Task Info"]["Launch Time"]
        )
    for event in list(events):
        if event["Event"] == "SparkListenerJobEnd":
            infos = next(each for each in events if each["Event"] == "SparkListenerJobStart")["Stage Infos"]
            for info in infos:
                events.insert(events.index(event), {"Event": "SparkListenerStageCompleted", "Stage Info": info})
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


def without_ends(text: bytes, stage: int, keep: Any) -> bytes:
    """The log without the ends of tasks of a stage whose numbers do not fulfil ``keep``."""
    kept, number = [], 0
    for line in text.splitlines(keepends=True):
        event = json.loads(line)
        if event["Event"] == "SparkListenerTaskEnd" and event["Stage ID"] == stage:
            number += 1
            if not keep(number - 1):
                continue
        kept.append(line)
    return b"".join(kept)


def profiled(folder: Path, strict: bool = False, **logs: bytes) -> Profiles:
    for name, data in logs.items():
        (folder / name).write_bytes(data)
    return api.profile([folder], strict=strict)


DRAW = random.Random(5)
TIMES = [DRAW.randint(2000, 9000) for _ in range(2000)]


def test_the_number_of_tasks_is_that_of_the_record(tmp_path: Path) -> None:
    """Of 2,000 tasks 40 % of the ends are lost: their number and their work, up to the error, are those of the log."""
    draw = random.Random(1)
    kept = {number for number in range(len(TIMES)) if draw.random() > 0.4}
    found = profiled(tmp_path, strict=True, a=without_ends(log(TIMES), 0, kept.__contains__))
    (each,) = found.stage_classes
    assert [stage.tasks for stage in each.stages] == [2000, 4]
    work = each.stages[0].tasks * each.stages[0].times.average * 1000
    (loss,) = lost_tasks(found.applications[0])
    assert (loss.stage, loss.tasks, loss.read) == (0, 2000, len(kept))
    _, error = estimated_work(found.applications[0], [loss])
    assert abs(work - sum(TIMES)) < 3 * error
    assert f"stage 0 has {len(kept):,} of 2,000" in found.diagnostics[-1].message
    assert any("1 stage with lost ends of tasks" in warning for warning in each.warnings)
    (table,) = [table for table in report(found) if table.title == "Ends of tasks that the logs lost"]
    assert [row[2:6] for row in table.rows] == [(0, "step 0", 2000, len(kept))]


def test_the_error_is_that_of_all_samples() -> None:
    """Of six tasks every sample of three: the estimates' mean is the work, the errors' mean square their variance."""
    times = [1000, 3000, 4000, 9000, 2000, 6000]
    estimates, variances = [], []
    for sample in combinations(times, 3):
        application = _application([*sample], 6)
        work, error = estimated_work(application, lost_tasks(application))
        estimates.append(work)
        variances.append(error**2)
    assert np.mean(estimates) == pytest.approx(sum(times))
    assert np.mean(variances) == pytest.approx(np.var(estimates))


def _application(times: list[int], tasks: int) -> SparkApplication:
    from array import array

    from mrdsl.exchange.logs.records import StageRun

    launches, finishes = array("q", [0] * len(times)), array("q", times)
    stage = StageRun(0, 0, "s", "ResultTask", (), launches, finishes, planned=tasks, completed=True)
    return SparkApplication("log", "a", "a", started=0, finished=10_000, stages=(stage,))


@pytest.mark.parametrize("keep", [0, 1, 3], ids=["none", "one", "three that differ"])
def test_what_the_rest_does_not_determine_is_refused(keep: int, tmp_path: Path) -> None:
    """Three of eight tasks of very different times do not determine the work of the stage to 5 %."""
    text = without_ends(log([1000, 90_000, 5000, 30_000, 1000, 7000, 20_000, 60_000]), 0, lambda number: number < keep)
    found = profiled(tmp_path, a=text)
    assert [(each.reason, each.damaged) for each in found.left_out] == [("too many ends of its tasks are lost", True)]
    assert not found.stage_classes
    with pytest.raises(MrdslError) as refused:
        api.profile([tmp_path], strict=True)
    assert [each.code for each in refused.value.diagnostics] == ["lost-events"]


def test_a_job_of_mapreduce_that_lost_reduces_is_left_out(tmp_path: Path) -> None:
    events = job_events("job_1_0001", "etl", BEGIN, [(0, 4000)], [(1000, 5000, 5000, 9000), (1000, 5000, 5000, 8000)])
    without = [each for each in events if each[0] != "REDUCE_ATTEMPT_FINISHED" or each[2]["finishTime"] == BEGIN + 9000]
    found = profiled(tmp_path, a=as_json(without))
    assert [(each.reason, each.damaged) for each in found.left_out] == [
        ("only 1 of its 2 reduce tasks are in the log", True)
    ]


def test_doubled_ends_count_once(tmp_path: Path) -> None:
    text = log(TIMES[:100])
    whole = profiled(tmp_path, a=text)
    doubled = b"".join(line * (1 + (b"TaskEnd" in line)) for line in text.splitlines(keepends=True))
    found = profiled(tmp_path, a=doubled)
    assert found.stage_classes == whole.stage_classes
    assert [each.message for each in found.diagnostics] == ["104 ends of tasks come twice; the first ones count"]


@pytest.mark.parametrize(("kept", "used"), [((1, 2, 3), True), ((2, 3), False), ((1, 3), False)])
def test_files_of_a_rolled_log_that_are_missing(kept: tuple[int, ...], used: bool, tmp_path: Path) -> None:
    home = tmp_path / "eventlog_v2_app"
    home.mkdir()
    lines = log(TIMES[:100]).splitlines(keepends=True)
    for number, part in enumerate((lines[:20], lines[20:60], lines[60:]), 1):
        if number in kept:
            (home / f"events_{number}_app").write_bytes(b"".join(part))
    found = profiled(tmp_path)
    assert bool(found.stage_classes) == used
    assert ("cut-log" in {each.code for each in found.diagnostics}) != used


def test_a_compacted_file_replaces_those_before_it(tmp_path: Path) -> None:
    """Spark removes the events of finished jobs there, so the application cannot be used."""
    home = tmp_path / "eventlog_v2_app"
    home.mkdir()
    for name in ("events_1_app", "events_2_app.compact", "events_3_app"):
        (home / name).write_bytes(log(TIMES[:100]))
    found = profiled(tmp_path)
    assert [each.reason for each in found.left_out] == ["files of its log are missing"]
    assert len(found.applications[0].stages[0].launches) == 100


def jumped(text: bytes, moment: int, by: int) -> bytes:
    """The log of a driver whose clock is set by so many milliseconds at a moment."""
    names = "Launch Time", "Finish Time", "Timestamp", "Submission Time", "Completion Time"
    lines = []
    for line in text.splitlines():
        event = json.loads(line)
        for part in (event, event.get("Task Info", {})):
            for name in names:
                if part.get(name, 0) >= BEGIN + moment:
                    part[name] += by
        lines.append(json.dumps(event).encode() + b"\n")
    return b"".join(lines)


@pytest.mark.parametrize("by", [2 * JUMP, 48 * HOURS, -48 * HOURS])
def test_a_clock_that_jumps_while_tasks_run(by: int, tmp_path: Path) -> None:
    """Of 100 tasks in two waves the clock jumps in the second one; the application does not take two days."""
    found = profiled(tmp_path, a=jumped(log(TIMES[:100]), 1000 + max(TIMES[:100]) + 2000, by))
    (left,) = found.left_out
    assert left.damaged
    if by > 0:
        assert left.reason == f"its clock jumps by {by / 60_000:,.0f} min"


def test_a_clock_that_jumps_between_stages(tmp_path: Path) -> None:
    end = 1000 + max(TIMES[:50]) + 1
    for by, damaged in ((LONGEST_IDLE + 1, True), (LONGEST_IDLE - 2000, False), (-2 * 60_000, True)):
        text = jumped(log(TIMES[:50]), end, by)
        found = profiled(tmp_path, a=text)
        assert [each.damaged for each in found.left_out] == [True] * damaged


def test_an_application_that_outlives_its_jobs_by_far_ends_with_them(tmp_path: Path) -> None:
    text = log(TIMES[:50])
    *rest, last = text.splitlines(keepends=True)
    event = json.loads(last)
    event["Timestamp"] += 48 * HOURS
    (each,) = profiled(tmp_path, a=b"".join(rest) + json.dumps(event).encode()).stage_classes
    assert max(each.completion) < 60
    assert any("impossible begin or end of 1 run" in warning for warning in each.warnings)


def _adds_up(found: Profiles) -> None:
    assert len(found.runs) == found.gathered.runs + len(found.left_out)
    assert found.gathered.runs == sum(each.runs for each in (*found.classes, *found.stage_classes))
    assert len({run.source for run in found.runs}) + found.barren == found.logs


@given(seed=st.integers(0, 2**32), share=st.floats(0.0, 1.0))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_summaries_add_up_whatever_is_lost(seed: int, share: float, tmp_path: Path) -> None:
    """Lines are lost and doubled; a class has the tasks of the records, or the run is left out."""
    draw = random.Random(seed)
    lines = [
        line * draw.choice((1, 1, 2)) for line in log(TIMES[:40]).splitlines(keepends=True) if draw.random() >= share
    ]
    (tmp_path / "a").write_bytes(b"".join(lines))
    (tmp_path / "b").write_bytes(log(TIMES[:40]).replace(b'"etl-', b'"other-'))
    found = mrdsl.profile([tmp_path])
    _adds_up(found)


@pytest.mark.parametrize("folder", ["spark", "hadoop", "hadoop/rumen/mr2011"])
def test_summaries_of_real_logs_add_up(folder: str) -> None:
    _adds_up(api.profile([shared(f"data/{folder}")]))
