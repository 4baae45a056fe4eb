"""Shares of work with failed jobs, lost last events, events out of order, and attempts of one application."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from mrdsl import api
from mrdsl.exchange.logs.records import SparkApplication
from mrdsl.profiling.profiles import Profiles
from mrdsl.profiling.report import report
from tests.shared_data import shared

from .logs_of_runs import Executor, events, job, write

TWO: list[Executor] = [("1", "h1", 2, 0, None), ("2", "h2", 2, 0, 10)]


def profiled(folder: Path, *logs: list[dict[str, Any]]) -> Profiles:
    for place, each in enumerate(logs):
        write(folder / f"log{place}", each)
    return api.profile([folder])


def cells(found: Profiles, title: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for table in report(found) if table.title.startswith(title) for row in table.rows]


def test_the_work_of_a_failed_job_is_in_the_shares() -> None:
    """20 s of 80 s: six of the eight tasks of the failed job ended."""
    found = api.profile([shared("cases/failed_job_holds_the_work.log")])
    assert found.gathered.slot_time == 80
    assert found.gathered.share(found.stage_classes) == 0.25
    assert any(each.code == "partial-classes" for each in found.diagnostics)
    assert [row[1:] for row in cells(found, "Left out")] == [(None, 60)]


@pytest.mark.parametrize(("failed", "share"), [((), 1.0), ((0,), 0.75), ((1, 2), 0.25), ((0, 1, 2), None)])
def test_shares_are_those_of_all_jobs(failed: tuple[int, ...], share: float | None, tmp_path: Path) -> None:
    """Jobs of 10, 20 and 10 s; without a job that ended well the run is left out with all its work."""
    times = (10, 20, 10)
    jobs = [job(n, [(40 * n, 40 * n + time)], failed=n in failed) for n, time in enumerate(times)]
    found = profiled(tmp_path, events(jobs, TWO[:1], (0, 120)))
    assert found.gathered.slot_time == 40
    assert found.gathered.share(found.stage_classes) == (0.0 if share is None else share)
    assert [each.reason for each in found.left_out] == (["every job of it failed"] if share is None else [])


@pytest.mark.parametrize("name", ["last_events_lost.log", "last_events_lost_tiny.log"])
def test_lost_last_events_are_not_a_failure(name: str) -> None:
    found = api.profile([shared(f"cases/{name}")])
    assert not found.left_out
    assert found.gathered.share(found.stage_classes) == 1.0
    assert found.gathered.slot_time == {"last_events_lost.log": 20, "last_events_lost_tiny.log": 3600}[name]


def test_a_task_that_is_missing_is_one(tmp_path: Path) -> None:
    """Two of three tasks are there, or one comes twice: the job did not end well, and did not fail either."""
    for place, tasks in enumerate(([(0, 10), (0, 10)], [(0, 10), (0, 10), (10, 20)])):
        lost = events([job(0, tasks, planned=3)[:-2]], TWO[:1], (0, 30), name=f"a{place}")
        if place:
            next(e for e in lost if e.get("Task Info", {}).get("Index") == 2)["Task Info"]["Index"] = 1
        folder = tmp_path / str(place)
        folder.mkdir()
        found = profiled(folder, lost)
        assert [each.reason for each in found.left_out] == ["no job of it ended well"]


def test_a_failed_stage_with_all_its_tasks_failed(tmp_path: Path) -> None:
    """Its last event has a reason, and the end of its job is lost."""
    found = profiled(tmp_path, events([job(0, [(0, 10)], failed=True)[:-1]], TWO[:1], (0, 30)))
    assert not found.stage_classes


def test_the_jobs_after_a_lost_end_come_after_it(tmp_path: Path) -> None:
    jobs = [job(0, [(0, 10)])[:-2], job(1, [(10, 30)])]
    (each,) = profiled(tmp_path, events(jobs, TWO[:1], (0, 30))).stage_classes
    assert [stage.after for stage in each.stages] == [(), (0,)]


def test_a_removal_before_its_addition_counts() -> None:
    """2 x 110 s and 2 x 10 s of slots, and 240 s of tasks."""
    found = api.profile([shared("cases/removed_before_added.log")])
    assert found.cluster.task.use == 1.0


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_events_does_not_matter(seed: int, tmp_path: Path) -> None:
    """Four executors of which two replace others, a job that fails, and a copy of a task."""
    lives: list[Executor] = [
        ("1", "h1", 2, 0, 50),
        ("2", "h2", 2, 0, None),
        ("3", "h3", 4, 50, 90),
        ("4", "h1", 2, 60, 80),
    ]
    tasks = [(0.0, 20.0), (0.0, 30.0), (20.0, 50.0), (20.0, 60.0)]
    jobs = [job(0, tasks), job(1, [(60, 70), (60, 90)], failed=True), job(2, [(90, 100)])]
    found = events(jobs, lives, (0, 100))
    copy = json.loads(json.dumps(next(e for e in found if "Task Info" in e)))
    copy["Task Info"] |= {"Task ID": 77, "Finish Time": copy["Task Info"]["Finish Time"] + 5000, "Speculative": True}
    found.insert(len(found) - 1, copy)
    mixed = list(found)
    random.Random(seed).shuffle(mixed)
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (one,), (other,) = (profiled(tmp_path / name, each).runs for name, each in (("a", found), ("b", mixed)))
    assert isinstance(one, SparkApplication)
    assert isinstance(other, SparkApplication)
    assert (one.cores, one.executors, one.hosts, one.host_cores) == (8, 3, ("h1", "h2", "h3"), 4)
    assert (other.cores, other.executors, other.hosts, other.host_cores) == (8, 3, ("h1", "h2", "h3"), 4)
    assert (one.jobs, one.started, one.finished) == (other.jobs, other.started, other.finished)
    assert sorted(one.lives, key=str) == sorted(other.lives, key=str)
    spans = [[sorted(zip(s.launches, s.finishes, strict=True)) for s in run.stages] for run in (one, other)]
    assert spans[0] == spans[1]
    assert [(s.completed, s.killed, s.killed_time) for s in one.stages] == [
        (s.completed, s.killed, s.killed_time) for s in other.stages
    ]


def test_an_executor_can_come_back(tmp_path: Path) -> None:
    """The same id twice on one host: 10 s and 30 s, in any order of the events."""
    lives: list[Executor] = [("1", "h1", 2, 0, 10), ("1", "h1", 2, 20, 50)]
    (run,) = profiled(tmp_path, events([job(0, [(0, 10), (20, 50)])], lives, (0, 50))).applications
    assert [(each.added, each.removed) for each in run.lives if each.added is not None and each.removed is not None]
    assert [(each.removed or 0) - (each.added or 0) for each in run.lives] == [10_000, 30_000]
    assert (run.cores, run.host_cores) == (2, 2)


def test_attempts_of_one_application_are_one_submission() -> None:
    """Three attempts of 4 x 600 s: the last one is the run, 2000 s after the first start; 4800 s are lost."""
    found = api.profile([shared("cases/attempts_of_one_application")])
    (each,) = found.stage_classes
    assert (len(found.runs), each.runs, each.completion, each.before) == (1, 1, (2000.0,), 0.0)
    assert (each.overhead.attempts, each.overhead.time, each.overhead.work) == (8, 4800, 2400)
    assert found.cluster.task.use == 1.0
    assert "earlier attempts" in " ".join(each.warnings)
    assert (found.cluster.requests, found.cluster.machines.hours) == ((0,), 2000 / 3600)
    assert [name for name, _ in found.cluster.machines.passing] == ["h1"]


def test_copies_of_attempts_count_once(tmp_path: Path) -> None:
    """Attempt 10 is the last one, attempt 2 comes twice, and so does attempt 10; another application has none."""
    logs = [
        events([job(0, [(begin, begin + 10)])], TWO[:1], (begin, begin + 10), "application_1_0001", attempt)
        for begin, attempt in ((0, "2"), (100, "10"), (0, "2"), (100, "10"))
    ]
    found = profiled(tmp_path, *logs, events([job(0, [(0, 10)])], TWO[:1], (0, 10), "application_1_0002"))
    (each,) = found.stage_classes
    assert (each.runs, sorted(each.completion), each.overhead.attempts) == (2, [10, 110], 1)
    assert [left.reason for left in found.left_out] == ["it comes twice; the first one counts"]
    assert found.gathered.slot_time == 30
