"""Start times in logs: recurrences, the family that follows from them, and the plans that they give."""

from __future__ import annotations

import re
from array import array
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import mrdsl
from mrdsl import api
from mrdsl.cli import cli
from mrdsl.exchange.logs.records import Executor, SparkApplication, StageRun
from mrdsl.families.capacity.plan import CapacityPlan
from mrdsl.families.timetable.plan import TimetablePlan
from mrdsl.profiling.cluster import Slots, cluster_of
from mrdsl.profiling.spec_text import never_together, recurrence
from tests.shared_data import shared

from ..exchange.logs.making import BEGIN, as_json, job_events, spark_events
from .test_stage_classes import JOBS

LOGS = Path(__file__).resolve().parents[2] / "models" / "logs"
DAY = 86_400


def one_host(name: str, begin: int) -> bytes:
    """A log of two executors on one host with eight cores, and five tasks in four waves."""
    return spark_events(name, begin, JOBS).replace(b"worker1", b"worker0")


def copies(folder: Path, count: int, apart: int) -> Path:
    for number in range(count):
        (folder / f"log{number}").write_bytes(one_host("etl", BEGIN + number * apart * 1000))
    return folder


@pytest.mark.parametrize(
    ("starts", "every"),
    [
        ([0], None),
        ([5, 5], None),
        ([0, 60], 60),
        ([0, 61, 119, 180], 60),
        ([0, 60, 180], None),
        ([7, 7 + 3600, 7 + 7200], 3600),
        ([0, DAY + 20, 2 * DAY - 20, 3 * DAY + 5], DAY),
        ([0, DAY + 90, 2 * DAY, 3 * DAY], None),
        ([0, 7, 14, 21], 7),
        ([0, 100, 200, 300], 100),
    ],
)
def test_regular_starts_are_a_recurrence(starts: list[int], every: int | None) -> None:
    assert recurrence(starts) == every


@pytest.mark.parametrize(("count", "apart"), [(20, 120), (200, 120), (20, 15)])
def test_copies_of_one_log_get_the_machine_that_they_ran_on(tmp_path: Path, count: int, apart: int) -> None:
    found = api.profile([copies(tmp_path, count, apart)])
    assert (found.cluster.vms, found.cluster.task.on_one) == (1, 8)
    text = found.to_mrspec()
    assert f"times = {count}" in text
    spec = mrdsl.loads(text)
    assert spec.problem == "timetable"
    result = mrdsl.solve(spec).of(TimetablePlan)
    assert result.solution == "optimal"
    assert result.plan is not None
    cheapest = mrdsl.solve(mrdsl.loads(text, {"way": "cheapest"})).of(TimetablePlan).plan
    assert cheapest is not None
    assert cheapest.cost <= result.plan.cost
    assert (result.plan.machines, len(result.plan.runs)) == (1, count)


def test_copies_of_a_recorded_log_need_no_more_machines_than_it_had(tmp_path: Path) -> None:
    text = shared("data/spark/sparklint/event_log_1").read_text()
    identity = re.findall(r'"App ID":"([^"]*)"', text)[0]
    for number in range(20):
        moved = re.sub(r"\b1[4-8]\d{11}\b", lambda found, by=number: str(int(found[0]) + by * 240_000), text)
        (tmp_path / f"log{number}").write_text(moved.replace(identity, f"{identity}{number:04d}"))
    found = api.profile([tmp_path])
    result = mrdsl.solve(found.to_spec()).of(TimetablePlan)
    assert result.solution == "optimal"
    assert result.plan is not None
    assert 1 <= result.plan.machines <= found.cluster.vms == 2


def test_one_run_one_start_and_runs_that_all_overlap_are_a_capacity(tmp_path: Path) -> None:
    assert "problem capacity" in api.profile([copies(tmp_path, 1, 60)]).to_mrspec()
    assert "problem capacity" in api.profile([copies(tmp_path, 5, 1)]).to_mrspec()
    (tmp_path / "other").write_bytes(one_host("other", BEGIN + 11_000))
    assert "problem capacity" in api.profile([tmp_path]).to_mrspec()
    (tmp_path / "other").write_bytes(one_host("other", BEGIN + 14_000))
    assert "problem timetable" in api.profile([tmp_path]).to_mrspec()


def test_most_at_once_is_no_more_than_the_cores_there_were(tmp_path: Path) -> None:
    """Four copies that overlap, of up to four tasks at once each, on a host of eight cores."""
    found = api.profile([copies(tmp_path, 4, 1)])
    assert (found.cluster.task.most, found.cluster.task.on_one) == (8, 8)
    assert isinstance(found.cluster.task, Slots)


def test_used_is_the_share_of_the_slots_that_executors_had() -> None:
    """Four slots are there from 0 s to 20 s, and two from 30 s to the end at 40 s: 100 s in total.

    A third task seems to start a millisecond before one of two slots is free.
    """
    launches = array("q", [5_000, 15_000, 30_000, 30_000, 39_999])
    finishes = array("q", [15_000, 25_000, 40_000, 40_000, 40_000])
    stage = StageRun(0, 0, "", "", (), launches, finishes)
    lives = (Executor(8, 0, 20_000), Executor(4, 30_000))
    run = SparkApplication("log", "a", "a", started=0, finished=40_000, stages=(stage,), task_cpus=2, lives=lives)
    found = cluster_of([], [run]).task
    assert found.most == 2
    assert found.use == pytest.approx((10 + 10 + 10 + 10 + 0.001) / (4 * 20 + 2 * 10))
    unknown = cluster_of([], [replace(run, lives=())]).task
    assert (unknown.most, unknown.use) == (3, pytest.approx(40.001 / (3 * 35)))


def test_a_capacity_says_that_classes_never_ran_at_once(tmp_path: Path) -> None:
    for number, name in enumerate(("load", "clean", "report")):
        (tmp_path / name).write_bytes(one_host(name, BEGIN + number * 60_000))
    text = api.profile([tmp_path]).to_mrspec("capacity")
    assert "never_together turns { classes = [clean, load, report] }" in text
    assert "beware: this plans" not in text
    plan = mrdsl.solve(mrdsl.loads(text)).of(CapacityPlan).plan
    assert plan is not None
    assert plan.rented == 1 + 1, "the one machine of the logs, and a master"
    assert "never_together" not in api.profile([tmp_path / "load"]).to_mrspec("capacity")


def test_a_capacity_warns_of_classes_that_overlap_two_at_a_time(tmp_path: Path) -> None:
    for number, names in enumerate(combinations(("load", "clean", "report"), 2)):
        for name in names:
            (tmp_path / f"{name} {number}").write_bytes(one_host(name, BEGIN + number * 60_000))
    text = api.profile([tmp_path]).to_mrspec("capacity")
    assert "beware: this plans for 3 jobs at once, and 2 ran at once at most" in text
    assert "never_together" not in text


SPANS = st.lists(st.tuples(st.integers(0, 60), st.integers(1, 9)), min_size=1, max_size=6)


@given(st.lists(SPANS, min_size=1, max_size=5))
@settings(max_examples=40, deadline=None)
def test_groups_of_classes_that_never_overlap(classes: list[list[tuple[int, int]]]) -> None:
    """Minute by minute at most one class of a group runs, and no class fits into an earlier group."""
    spans = [sorted((begin, begin + length) for begin, length in each) for each in classes]
    summaries = [SimpleNamespace(name=f"c{n}", spans=tuple(own)) for n, own in enumerate(spans)]
    groups = never_together(summaries)  # type: ignore[arg-type]
    running = {each.name: {moment for begin, end in each.spans for moment in range(begin, end)} for each in summaries}
    assert sorted(each.name for group in groups for each in group) == sorted(running)
    for place, group in enumerate(groups):
        for one, other in combinations(group, 2):
            assert not running[one.name] & running[other.name]
        for each in group:
            for earlier in groups[:place]:
                assert any(running[each.name] & running[other.name] for other in earlier)


def test_starts_on_several_days_have_dates(tmp_path: Path) -> None:
    found = api.profile([copies(tmp_path, 3, DAY)])
    text = found.to_mrspec()
    assert re.search(r"from = \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d, every = 24 h, times = 3", text)
    result = mrdsl.solve(mrdsl.loads(text)).of(TimetablePlan)
    assert result.plan is not None
    assert [run.release - result.plan.runs[0].release for run in result.plan.runs] == [0.0, DAY, 2.0 * DAY]


def test_jobs_of_both_kinds_share_the_slots(tmp_path: Path) -> None:
    history = as_json(job_events("job_1_0001", "etl", BEGIN, [(1000, 5000)], [(2000, 6000, 6100, 8000)]))
    (tmp_path / "history.jhist").write_bytes(history)
    (tmp_path / "spark").write_bytes(one_host("etl", BEGIN + 60_000))
    found = api.profile([tmp_path])
    text = found.to_mrspec()
    assert api.fmt(text) == text
    spec = mrdsl.loads(text)
    assert [each.name for each in spec.facts.classes] == ["etl", "etl_spark"]
    assert mrdsl.solve(spec).plan is not None


def test_the_command_writes_a_timetable_unless_a_family_is_given(tmp_path: Path) -> None:
    for options, family in (([], "timetable"), (["--family", "capacity"], "capacity")):
        spec = tmp_path / f"{family}.mrspec"
        done = CliRunner().invoke(cli, ["profile", str(LOGS), *options, "-o", str(spec)], standalone_mode=False)
        assert done.exception is None, done.output
        assert f"problem {family}" in spec.read_text()
        assert not [each for each in mrdsl.check(spec) if each.severity == "error"]
