"""Times outside tasks in logs: measured by brute force, written into specs, and repeated in the engine."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import mrdsl
from mrdsl import api
from mrdsl.cli import cli
from mrdsl.exchange.logs.records import SparkApplication
from mrdsl.profiling.ran import delays_of
from mrdsl.profiling.replay import replayed

from ..exchange.logs.making import BEGIN, Stage, as_json, job_events, spark_events
from ..shared_data import shared

CHAIN: list[Stage] = [(0, (), ((2000, 5000), (2000, 6000))), (1, (0,), ((7500, 9000),))]
LAST: list[Stage] = [(2, (), ((12_000, 13_000),))]
JOBS = [(500, 9500, CHAIN), (10_000, 13_200, LAST)]


def application(folder: Path, data: bytes) -> SparkApplication:
    (folder / "log").write_bytes(data)
    (found,) = api.profile([folder]).applications
    return found


def test_times_outside_tasks_are_written_into_the_spec(tmp_path: Path) -> None:
    """2 s before the first task, 1.5 s and 3 s before later stages, and 0.2 s after the last task."""
    (tmp_path / "log").write_bytes(spark_events("etl", BEGIN, JOBS))
    found = api.profile([tmp_path])
    (node,) = found.to_spec().facts.classes
    assert node.startup == pytest.approx(2.2)
    assert [stage.delay for stage in node.stages] == pytest.approx([0.0, 1.5, 3.0])
    assert node.deadline >= 13.2
    assert "# 2 s before the first task, 0.2 s after the last task" in found.to_mrspec()


def test_a_timetable_has_all_of_it_before_the_first_task(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(spark_events("etl", BEGIN, JOBS))
    (node,) = api.profile([tmp_path]).to_spec("timetable").facts.classes
    assert node.startup == pytest.approx(2.0 + 1.5 + 3.0 + 0.2)
    assert not any(stage.delay for stage in node.stages)


def test_a_job_of_mapreduce_has_a_startup(tmp_path: Path) -> None:
    """Its first map starts 1 s after its submission; making.py lets a job end 0.7 s after its last task."""
    (tmp_path / "log").write_bytes(as_json(job_events("job_1_0001", "sort", BEGIN, [(1000, 5000)], [])))
    for family in ("capacity", "bounds", "joint"):
        (node,) = api.profile([tmp_path]).to_spec(family).facts.classes
        assert node.startup == pytest.approx(1.7)


def test_the_time_of_a_failed_job_is_no_delay(tmp_path: Path) -> None:
    """The failed job takes from 10 s to 60 s, so the stage after it waits from 9 s to 10 s and from 60 s to 62 s."""
    failed: list[Stage] = [(2, (), ((11_000, 55_000),))]
    late: list[Stage] = [(3, (), ((62_000, 63_000),))]
    log = spark_events("etl", BEGIN, [(500, 9500, CHAIN), (10_000, 60_000, failed), (61_000, 63_500, late)])
    head, tail = log.split(b'"Job ID": 1, "Completion Time"')
    text = head + b'"Job ID": 1, "Completion Time"' + tail.replace(b"JobSucceeded", b"JobFailed", 1)
    (tmp_path / "log").write_bytes(text)
    (each,) = api.profile([tmp_path]).stage_classes
    assert [stage.delay for stage in each.stages] == pytest.approx([0.0, 1.5, 1.0 + 2.0])


def test_delays_are_those_of_every_millisecond(tmp_path: Path) -> None:
    random = np.random.default_rng(4)
    for number in range(40):
        stages: list[Stage] = []
        for stage in range(int(random.integers(1, 5))):
            parents = tuple(other for other in range(stage) if random.uniform() < 0.5)
            begin = max((max(end for _, end in stages[other][2]) for other in parents), default=0)
            starts = begin + random.integers(0, 40, size=int(random.integers(1, 4)))
            stages.append((stage, parents, tuple((int(s), int(s + random.integers(1, 30))) for s in starts)))
        end = max(finish for _, _, tasks in stages for _, finish in tasks)
        folder = tmp_path / str(number)
        folder.mkdir()
        found = application(folder, spark_events("etl", BEGIN, [(0, end, stages)]))
        spans = [span for _, _, tasks in stages for span in tasks]
        idle = [not any(first <= moment < last for first, last in spans) for moment in range(end)]
        first = min(begin for begin, _ in spans)
        expected = []
        for _, parents, tasks in stages:
            begin = max((max(last for _, last in stages[other][2]) for other in parents), default=first)
            expected.append(sum(idle[begin : min(launch for launch, _ in tasks)]))
        assert delays_of(found, [each[0] for each in stages], [each[1] for each in stages]) == expected


def test_a_run_in_the_engine_takes_what_its_log_says(tmp_path: Path) -> None:
    """Eight slots from the start: nothing waits, so the time is that of the log."""
    run = replayed(application(tmp_path, spark_events("etl", BEGIN, JOBS)))
    assert run is not None
    assert (run.tasks, run.slots) == (4, 8)
    assert run.took == run.simulated == pytest.approx(13.2)
    assert run.outside == pytest.approx((2.0, 4.5, 0.2))
    assert run.tasks_only == pytest.approx(4.0 + 1.5 + 1.0)
    alone = replayed(application(tmp_path, spark_events("etl", BEGIN, JOBS)), slots=1)
    assert alone is not None
    assert alone.simulated == pytest.approx(13.2 + 3.0)


def test_executors_come_and_go(tmp_path: Path) -> None:
    """One executor of a core until 5 s, when a second one comes; at 6 s the first one leaves, after its task."""
    tasks = tuple((1000 + 4000 * place, 5000 + 4000 * place) for place in range(4))
    log = spark_events("etl", BEGIN, [(0, 17_000, [(0, (), tasks)])]).replace(b'"Total Cores": 4', b'"Total Cores": 1')
    lines = log.splitlines()
    second = next(place for place, line in enumerate(lines) if b"worker1" in line)
    lines[second] = lines[second].replace(b'"Timestamp": %d' % BEGIN, b'"Timestamp": %d' % (BEGIN + 5000))
    gone = b'{"Event":"SparkListenerExecutorRemoved","Timestamp":%d,"Executor ID":"1"}' % (BEGIN + 6000)
    run = replayed(application(tmp_path, b"\n".join([*lines[:-2], gone, *lines[-2:]])))
    assert run is not None
    # From 1 s on the first one, from 5 s on both, the first one leaves at 9 s, and the last task ends at 13 s.
    assert run.simulated == pytest.approx(13.0)


def logs(folder: Path) -> list[Path]:
    """The real logs that have tasks, each as one path; of the rolled one its folder."""
    home = folder / "eventlog_v2_local-1623876083964"
    home.mkdir()
    found = [folder]
    for path in sorted(shared("data/spark").glob("*/*")):
        if "events_" in path.name:
            number = 1 if "events_1" in path.name else 2
            os.symlink(path, home / f"events_{number}_local.zstd")
        else:
            found.append(path)
    return found


def test_real_runs_take_what_their_logs_say_and_keep_the_deadlines_of_their_plans(tmp_path: Path) -> None:
    """At least nine of the ten logs with tasks within 10 %; on the slots of its plan each ends by its deadline."""
    off = []
    for path in logs(tmp_path):
        found = api.profile([path], allow_outside=True)
        for run in found.replay():
            off.append(abs(run.simulated / run.took - 1.0))
        if not found.stage_classes:
            continue
        spec = found.to_spec()
        document = mrdsl.solve(spec).plan.document()
        (planned,) = document["classes"].values()
        (application,) = found.applications
        on_plan = replayed(application, int(planned["task_slots"]))
        assert on_plan is not None
        assert on_plan.simulated <= spec.facts.classes[0].deadline, path
    assert len(off) == 10
    assert sum(each <= 0.10 for each in off) >= 9


def test_the_command_prints_the_runs(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(spark_events("etl", BEGIN, JOBS))
    done = CliRunner().invoke(cli, ["profile", str(tmp_path), "--replay"], standalone_mode=False)
    assert done.exception is None, done.output
    assert "Runs repeated in the engine" in done.output
