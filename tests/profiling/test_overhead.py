"""What was lost to attempts that came to nothing, and times that cannot be true: made logs, sums by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from mrdsl import api
from mrdsl.cli import cli
from mrdsl.profiling.phases import LONGEST_WAIT, Overhead, Times, believed
from mrdsl.profiling.report import report

from ..exchange.logs.making import BEGIN, as_json, job_events, spark_events


def task(index: int, launch: int, finish: int, reason: str = "Success", copy: bool = False) -> dict[str, Any]:
    """The end of a task as Spark 3 writes it."""
    end: dict[str, Any] = {"Reason": reason}
    if reason == "TaskKilled":
        end |= {"Kill Reason": "another attempt succeeded", "Accumulator Updates": []}
    info = {"Task ID": 100 * index + copy, "Index": index, "Attempt": int(copy), "Launch Time": BEGIN + launch,
            "Finish Time": BEGIN + finish, "Speculative": copy, "Failed": reason not in ("Success", "TaskKilled"),
            "Killed": reason == "TaskKilled"}  # fmt: skip
    return {"Event": "SparkListenerTaskEnd", "Stage ID": 0, "Stage Attempt ID": 0, "Task Type": "ResultTask",
            "Task End Reason": end, "Task Info": info}  # fmt: skip


def speculated() -> bytes:
    """Four tasks: of 1 the copy wins, of 2 the original, of 3 both are done before either is killed; 0 fails first."""
    ends = [
        task(0, 0, 500, "ExceptionFailure"), task(0, 500, 1500), task(1, 0, 4000, "TaskKilled"),
        task(1, 3000, 4000, copy=True), task(2, 0, 2000), task(2, 1500, 2000, "TaskKilled", copy=True),
        task(3, 0, 5000), task(3, 4000, 5100, copy=True),
    ]  # fmt: skip
    whole = spark_events("etl", BEGIN, [(0, 6000, [(0, (), ((0, 1),) * 4)])]).splitlines()
    others = [line for line in whole if b"TaskEnd" not in line]
    submitted = {"Event": "org.apache.spark.scheduler.SparkListenerSpeculativeTaskSubmitted", "stageId": 0}
    return b"\n".join([*others[:-2], *(json.dumps(each).encode() for each in [submitted, *ends]), *others[-2:]])


def test_speculation_counts_each_task_once(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(speculated())
    found = api.profile([tmp_path])
    assert found.diagnostics == ()
    (each,) = found.stage_classes
    assert each.stages[0].tasks == 4
    assert each.stages[0].times.average == (1 + 1 + 2 + 5) / 4
    assert each.overhead == Overhead(failed=1, killed=3, failed_time=0.5, killed_time=4 + 0.5 + 1.1, work=1 + 1 + 2 + 5)
    shares = [table for table in report(found) if table.title == "Classes of stages"]
    place = shares[0].columns.index("time lost [s]")
    assert shares[0].rows[0][place : place + 2] == (pytest.approx(6.1), pytest.approx(100 * 6.1 / 15.1))


def test_tasks_without_an_index_are_all_their_own(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(speculated().replace(b'"Index"', b'"Untold"'))
    (each,) = api.profile([tmp_path]).stage_classes
    assert (each.overhead.killed, each.overhead.work) == (2, pytest.approx(1 + 1 + 2 + 5 + 1.1))


def history(*lost: tuple[str, int, int]) -> bytes:
    """A job of one map task of 5 s, and attempts that came to nothing."""
    events = job_events("job_1_0001", "etl", BEGIN, [(1000, 6000)], [])
    more: list[Any] = []
    for number, (end, start, finish) in enumerate(lost):
        about = {"taskid": "t", "taskType": "MAP", "attemptId": f"lost{number}"}
        more.append(("MAP_ATTEMPT_STARTED", "TaskAttemptStarted",
                     {**about, "startTime": BEGIN + start, "locality": "x"}))  # fmt: skip
        more.append((f"MAP_ATTEMPT_{end}", "TaskAttemptUnsuccessfulCompletion",
                     {**about, "finishTime": BEGIN + finish, "status": end}))  # fmt: skip
    return as_json([*events[:-1], *more, events[-1]])


def test_slot_time_of_lost_attempts(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(history(("FAILED", 1000, 2500), ("KILLED", 1000, 6000), ("KILLED", 9000, 8000)))
    (each,) = api.profile([tmp_path]).classes
    assert each.overhead == Overhead(failed=1, killed=2, failed_time=1.5, killed_time=5.0, work=5.0)
    assert "1 failed attempt and 2 killed, 56.5% of the slot time" in api.profile([tmp_path]).to_mrspec()


def test_slot_time_of_what_was_left_out(tmp_path: Path) -> None:
    """All that a failed job held was for nothing; what comes twice held its slots once."""
    (tmp_path / "a").write_bytes(history(("FAILED", 1000, 2500)))
    (tmp_path / "b").write_bytes(history(("FAILED", 1000, 2500)))
    failed = history(("FAILED", 1000, 2500)).replace(b"job_1_0001", b"job_1_0002")
    (tmp_path / "c").write_bytes(failed.replace(b'"type":"JOB_FINISHED"', b'"type":"JOB_FAILED"').replace(
        b'"type": "JOB_FINISHED"', b'"type": "JOB_FAILED"'))  # fmt: skip
    found = api.profile([tmp_path])
    assert sorted((each.reason[:8], each.slot_time) for each in found.left_out) == [("it comes", 0), ("it did n", 6.5)]


def test_one_machine_with_another_clock_does_not_move_a_job(tmp_path: Path) -> None:
    """One map of twenty began an hour before the job was submitted; of nineteen it would be too many."""
    for number in (20, 19):
        maps = [(-3_600_000, 5000), *[(1000, 6000)] * (number - 1)]
        (tmp_path / "log").write_bytes(as_json(job_events("job_1_0001", "etl", BEGIN, maps, [])))
        (each,) = api.profile([tmp_path]).classes
        assert any("impossible begin or end" in told for told in each.warnings) == (number == 19)


WEEK = LONGEST_WAIT


@pytest.mark.parametrize(
    ("submitted", "launched", "finished", "expected"),
    [
        (90, 95, 210, Times(90, 210)),
        (100, None, 200, Times(100, 200)),
        (101, 95, 210, Times(95, 210, True)),
        (101, 102, 210, Times(100, 210, True)),
        (0, 95, 210, Times(0, 210)),
        (90, 95, 199, Times(90, 200, True)),
        (None, 95, None, Times(95, 200)),
        (None, None, None, Times(100, 200)),
        (90, 95, 200 + WEEK, Times(90, 200 + WEEK)),
        (90, 95, 201 + WEEK, Times(90, 200, True)),
    ],
)
def test_times_that_can_be(submitted: int | None, launched: int | None, finished: int | None, expected: Times) -> None:
    """Tasks ran from 100 to 200."""
    found = believed(submitted, launched, finished, 100, 200)
    assert replace(found, before=0, after=0) == expected
    assert (found.begin, found.end) == (100 - found.before, 200 + found.after)


def test_a_week_is_the_longest_wait() -> None:
    assert believed(0, None, WEEK + 5, WEEK, WEEK) == Times(0, WEEK + 5, before=WEEK, after=5)
    assert believed(0, None, WEEK + 5, WEEK + 1, WEEK + 1) == Times(WEEK + 1, WEEK + 5, True, after=4)
    assert believed(7, 8, 9, None, None) == Times(7, 9)


@pytest.mark.parametrize("submit", [0, BEGIN + 1001, BEGIN - 13 * 24 * 3_600_000])
def test_a_submission_that_cannot_be_is_told(submit: int, tmp_path: Path) -> None:
    """No time at all, after the first task began, and thirteen days before: the launch counts, half a second in."""
    wrong = history().replace(b'"submitTime":%d' % BEGIN, b'"submitTime":%d' % submit)
    assert wrong != history()
    (tmp_path / "log").write_bytes(wrong)
    found = api.profile([tmp_path])
    (each,) = found.classes
    told = "the times of tasks replace an impossible begin or end of 1 run"
    assert told in each.warnings
    assert each.completion == (pytest.approx(6.7 - 0.5),)
    assert f"# beware: {told}" in found.to_mrspec()
    assert found.jobs[0].submitted == submit
    done = CliRunner().invoke(cli, ["profile", str(tmp_path), "--split", "80%"], standalone_mode=False)
    assert done.exception is None


def test_clusters_of_mixed_logs(tmp_path: Path) -> None:
    """Histories, a trace without counters and event logs: short and long ones of each kind are two classes each."""
    pytest.importorskip("sklearn")
    for number in range(12):
        factor = 100 if number % 2 else 1
        maps = [(1000, 1000 + factor * (2000 + 10 * number))] * 4
        events = job_events(f"job_1_{number:04d}", f"j{number}", BEGIN, maps, [])
        if number < 6:
            text = as_json(events)
            (tmp_path / f"spark{number}").write_bytes(
                spark_events(f"s{number}", BEGIN, [(0, 10**6, [(0, (), tuple(maps))])])
            )
        else:
            attempts = [{"attempts": [{"result": "SUCCESS", "startTime": BEGIN + start, "finishTime": BEGIN + end}],
                         "inputBytes": 10**9} for start, end in maps]  # fmt: skip
            job = {"jobID": f"job_2_{number}", "outcome": "SUCCESS", "submitTime": BEGIN, "finishTime": BEGIN + 10**6}
            text = json.dumps({**job, "mapTasks": attempts, "reduceTasks": []}).encode()
        (tmp_path / f"log{number}").write_bytes(text)
    for options in ({"cluster": True}, {"classes": 2}):
        found = api.profile([tmp_path], **options)  # type: ignore[arg-type]
        assert [(each.name, each.runs) for each in found.classes] == [("class_1", 6), ("class_2", 6)]
        assert [(each.name, each.runs) for each in found.stage_classes] == [("class_1_spark", 3), ("class_2_spark", 3)]
        assert found.silhouette is not None
        assert found.silhouette > 0.5
