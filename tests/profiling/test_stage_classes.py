"""Spark applications as classes of stages: order of stages and jobs, retries, runs that differ, solved specs."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner

import mrdsl
from mrdsl import api
from mrdsl.cli import cli
from mrdsl.exchange.logs.spark_events import operator
from mrdsl.profiling.cluster import Slots
from mrdsl.profiling.profiles import Profiles
from mrdsl.profiling.ran import Ran, alike
from mrdsl.profiling.stage_classes import StageClass

from ..exchange.logs.making import BEGIN, Stage, as_json, job_events, spark_events
from ..shared_data import shared

TASKS = tuple((1000, 3000 + 500 * i) for i in range(4))
LATER = ((6000, 8000),)
FIRST: list[Stage] = [(0, (), TASKS), (1, (0,), LATER)]
SECOND: list[Stage] = [(2, (), ()), (3, (2,), ((9000, 10_000),)), (4, (3,), ((10_000, 12_000),))]
JOBS = [(500, 8500, FIRST), (8600, 12_500, SECOND)]


def profiles(folder: Path, **logs: bytes) -> Profiles:
    for name, data in logs.items():
        (folder / name).write_bytes(data)
    return api.profile([folder], price="0.30 USD/h")


def test_stages_follow_their_parents_and_the_jobs_before(tmp_path: Path) -> None:
    """Stage 2 is skipped, so stage 3 comes after the last stage of the job before, which had ended by then."""
    found = profiles(tmp_path, a=spark_events("etl", BEGIN, JOBS))
    (each,) = found.stage_classes
    assert [(stage.title, stage.tasks, stage.after) for stage in each.stages] == [
        ("step 0", 4, ()),
        ("step 1", 1, (0,)),
        ("step 3", 1, (1,)),
        ("step 4", 1, (2,)),
    ]
    assert each.stages[0].times.average == pytest.approx((2 + 2.5 + 3 + 3.5) / 4)
    assert each.stages[0].times.longest == 3.5


def test_jobs_that_run_side_by_side_do_not_wait(tmp_path: Path) -> None:
    side_by_side = [(500, 8500, FIRST), (600, 12_500, SECOND)]
    (each,) = profiles(tmp_path, a=spark_events("etl", BEGIN, side_by_side)).stage_classes
    assert [stage.after for stage in each.stages] == [(), (0,), (), (2,)]


def test_a_retried_stage_is_one(tmp_path: Path) -> None:
    """Its times are those of all its tasks; only the stage of four tasks begins its first attempt with a failure."""
    plain = profiles(tmp_path, a=spark_events("etl", BEGIN, JOBS)).stage_classes[0]
    (again,) = profiles(tmp_path, a=spark_events("etl", BEGIN, JOBS, retried=1)).stage_classes
    assert again.stages == plain.stages
    assert again.overhead.failed == 1


def test_a_run_without_some_of_the_stages_counts(tmp_path: Path) -> None:
    """One of four runs ends after its first job: its work is in stages that all have."""
    logs = {f"log{i}": spark_events(f"etl-{i}", BEGIN + i * 5000, JOBS) for i in range(3)}
    found = profiles(tmp_path, **logs, other=spark_events("etl-9", BEGIN, JOBS[:1]))
    (each,) = found.stage_classes
    assert (each.name, each.runs) == ("etl", 4)
    assert [(stage.title, stage.tasks, stage.after) for stage in each.stages] == [
        ("step 0", 4, ()),
        ("step 1", 1, (0,)),
        ("step 3", 1, (1,)),
        ("step 4", 1, (2,)),
    ]
    assert any("runs without some of its stages: 1 of 4" in told for told in each.warnings)
    assert found.gathered.share(found.stage_classes) == 1.0


def named(log: bytes, *titles: str) -> bytes:
    """The log with other titles of its stages, in order."""
    for number, title in enumerate(titles):
        log = log.replace(b'"Stage Name": "step %d"' % number, b'"Stage Name": "%s"' % title.encode())
    return log


def test_runs_that_alternate_between_two_graphs_are_two_classes(tmp_path: Path) -> None:
    """Six runs load and count, three load and sort for much longer; together they are all of the work."""
    short: list[Stage] = [(0, (), ((0, 4000),) * 2), (1, (0,), ((5000, 6000),))]
    long: list[Stage] = [(0, (), ((0, 1000),) * 2), (1, (0,), ((2000, 12_000),) * 4)]
    for number in range(9):
        job = short if number % 3 else long
        log = spark_events("etl", BEGIN + number * 60_000, [(0, 13_000, job)])
        (tmp_path / f"log{number}").write_bytes(named(log, "load", "count" if number % 3 else "sort"))
    found = api.profile([tmp_path])
    assert [(each.name, each.runs) for each in found.stage_classes] == [("etl", 6), ("etl_2", 3)]
    titles = [[stage.title for stage in each.stages] for each in found.stage_classes]
    assert titles == [["load", "count"], ["load", "sort"]]
    work = 6 * (2 * 4 + 1), 3 * (2 * 1 + 4 * 10)
    shares = [found.gathered.share([each]) for each in found.stage_classes]
    assert shares == pytest.approx([each / sum(work) for each in work])
    assert {name for _, name in found.gathered.applications} == {"etl", "etl_2"}
    spec = found.to_spec()
    assert sum(len(runs) for runs in (node.took for node in spec.facts.classes)) == 9
    assert mrdsl.solve(spec).plan is not None


def test_stages_are_known_by_their_title_and_operators(tmp_path: Path) -> None:
    """Line numbers do not matter. A run with its first stage cached has the others only, in a later place."""
    whole: list[Stage] = [(0, (), ((0, 1000),) * 2), (1, (0,), ((2000, 6000),) * 4), (2, (1,), ((7000, 8000),))]
    cached: list[Stage] = [(0, (), ((2000, 6000),) * 4), (1, (0,), ((7000, 8000),))]
    for number in range(4):
        log = spark_events("etl", BEGIN + number * 60_000, [(0, 8000, cached if number == 3 else whole)])
        titles = [f"join at A.scala:{number}", f"save at A.scala:{number + 1}"]
        (tmp_path / f"log{number}").write_bytes(named(log, *(titles if number == 3 else ["scan", *titles])))
    (each,) = api.profile([tmp_path]).stage_classes
    assert [(stage.tasks, stage.after) for stage in each.stages] == [(2, ()), (4, (0,)), (1, (1,))]
    assert each.stages[1].times.average == 4.0
    assert len(each.stages[0].durations.values) == 6


def test_equal_programs_are_one_class(tmp_path: Path) -> None:
    """Spark lists the data sets of a stage in any order, and a call site can be unknown."""
    found = api.profile([shared("cases/torn_classes")])
    assert [(each.name, each.runs, len(each.stages)) for each in found.stage_classes] == [("etl", 2, 1)]
    log = (shared("cases/torn_classes") / "app-1.log").read_text()
    sites = ("<unknown>:0", "NativeMethodAccessorImpl.java:0", "DirectMethodHandleAccessor.java:0")
    for number, site in enumerate(sites):
        text = log.replace("app-1", f"app-{number}").replace("a.py:1", site)
        (tmp_path / f"{number}.log").write_text(text.replace('\\":\\"', '\\" : \\"') if number else text)
    (one,) = api.profile([tmp_path]).stage_classes
    assert (one.runs, len(one.stages)) == (3, 1)


@pytest.mark.parametrize(
    ("program", "runs", "tasks"),
    [
        ("etl", 13, [12, 16, 40, 64]),
        ("branches", 10, [8, 8, 16, 48]),
        ("wide", 11, [6, 9, 12]),
        ("kmeans", 2, [8, 32] * 5),
        ("skew", 1, [4, 32, 32, 48]),
    ],
)
def test_every_real_program_is_one_class(program: str, runs: int, tasks: list[int]) -> None:
    """Task counts of each stage are those of ``facts.tsv``: no run lacks a stage, or has two of one kind exchanged."""
    logs = [each for each in shared("data/spark-real").iterdir() if each.suffix in (".zstd", ".lz4") or each.is_dir()]
    found = [each for each in _real_classes(tuple(sorted(logs))) if each.name.startswith(program)]
    assert [(each.name, each.runs) for each in found] == [(program, runs)]
    assert sorted(stage.tasks for stage in found[0].stages) == sorted(tasks)
    assert not any("runs" in told for told in found[0].warnings)


@cache
def _real_classes(logs: tuple[Path, ...]) -> tuple[StageClass, ...]:
    return api.profile(list(logs)).stage_classes


def test_stages_that_exchange_their_numbers_are_the_same() -> None:
    """Two scans of one kind, each with a follower of one kind; a run can submit either scan first."""

    def run(*tasks: int) -> tuple[Ran, ...]:
        scans = tuple(Ran(place, "scan", count, (1000,) * count, ()) for place, count in enumerate(tasks))
        joins = tuple(Ran(place + len(tasks), "sum", 10 + count, (1,), (place,)) for place, count in enumerate(tasks))
        return (*scans, *joins)

    (one,) = alike([run(64, 16, 3), run(16, 3, 64), run(3, 64, 16)])
    assert [{stage.tasks for stage in each if stage} for each in one.stages] == [{64}, {16}, {3}, {74}, {26}, {13}]
    assert one.after == ((), (), (), (0,), (1,), (2,))


def test_graphs_that_contradict_each_other_are_kept_apart() -> None:
    def run(*titles: str) -> tuple[Ran, ...]:
        return tuple(Ran(n, title, 1, (1000,), (n - 1,) if n else ()) for n, title in enumerate(titles))

    kinds = alike([run("a", "b"), run("b", "a"), run("a", "b")])
    assert [kind.runs for kind in kinds] == [(0, 2), (1,)]
    (one,) = alike([run("a", "b", "d"), run("a", "c", "b", "d")])
    assert [stage[1].title for stage in one.stages if stage[1]] == ["a", "c", "b", "d"]
    assert one.after == ((), (0,), (0, 1), (2,))


@pytest.mark.parametrize(
    ("data", "wanted"),
    [
        ({"Name": "MapPartitionsRDD", "Scope": '{"id":"4","name":"WholeStageCodegen (12)"}'}, "WholeStageCodegen"),
        ({"Name": "ParallelCollectionRDD[7]"}, "ParallelCollectionRDD[]"),
        ({"Name": 4, "Scope": None}, ""),
        (None, ""),
    ],
)
def test_operators_of_data_sets(data: object, wanted: str) -> None:
    assert operator(data) == wanted


def test_classes_of_less_than_most_of_the_work_are_warned_of(tmp_path: Path) -> None:
    failed = spark_events("etl-7", BEGIN + 60_000, JOBS).replace(b"JobSucceeded", b"JobFailed")
    found = profiles(tmp_path, a=spark_events("etl", BEGIN, JOBS), b=failed)
    assert found.gathered.share(found.stage_classes) == pytest.approx(0.5)
    assert "partial-classes" in [each.code for each in found.diagnostics]
    assert "stand for 50% of the slot time" in found.to_mrspec()
    (tmp_path / "b").write_bytes(spark_events("etl-7", BEGIN + 60_000, JOBS))
    assert "partial-classes" not in [each.code for each in api.profile([tmp_path]).diagnostics]


def test_the_cluster_of_executors(tmp_path: Path) -> None:
    found = profiles(tmp_path, a=spark_events("etl", BEGIN, JOBS))
    cluster = found.cluster
    busy = sum(last - first for stages in (FIRST, SECOND) for _, _, tasks in stages for first, last in tasks)
    assert (cluster.vms, cluster.map) == (2, Slots())
    assert cluster.task == Slots(4, 4, busy / (2 * 4 * max(ended for _, ended, _ in JOBS)))
    assert cluster.cost(0.30) == 0.60
    assert cluster.busy * 3600 == pytest.approx(3.5 + 2 + 3)


@pytest.mark.parametrize("family", ["capacity", "joint"])
def test_a_spec_of_both_kinds_is_solved(family: str, tmp_path: Path) -> None:
    history = as_json(job_events("job_1_0001", "etl", BEGIN, [(1000, 5000)], [(2000, 6000, 6100, 8000)]))
    found = profiles(tmp_path, a=spark_events("etl", BEGIN, JOBS), b=history)
    text = found.to_mrspec(family)
    assert api.fmt(text) == text
    spec = found.to_spec(family)
    assert [each.name for each in spec.facts.classes] == ["etl", "etl_spark"]
    assert not [d for d in mrdsl.check(spec) if d.severity == "error"]
    assert mrdsl.solve(spec).plan is not None


def test_what_makes_no_class_of_stages(tmp_path: Path) -> None:
    whole = spark_events("etl", BEGIN, JOBS)
    lines = whole.splitlines(keepends=True)
    failed = whole.replace(b"JobSucceeded", b"JobFailed").replace(b"etl", b"bad")
    found = profiles(
        tmp_path, a=whole, b=whole, cut=b"".join(lines[:10]).replace(b"etl", b"cut"), failed=failed,
        none=b"".join(line for line in lines if b"TaskEnd" not in line).replace(b"etl", b"none"),
    )  # fmt: skip
    assert sorted(each.reason for each in found.left_out) == [
        "every job of it failed",
        "it comes twice; the first one counts",
        "its log ends before a job of it does",
        "too many ends of its tasks are lost",
    ]


def test_a_log_without_an_end_counts_up_to_its_last_job(tmp_path: Path) -> None:
    """Of the second log the second job has neither an end nor its last stage."""
    lines = spark_events("etl", BEGIN, JOBS).splitlines(keepends=True)
    whole = profiles(tmp_path, a=b"".join(lines)).stage_classes[0]
    (endless,) = profiles(tmp_path, a=b"".join(lines[:-1])).stage_classes
    assert endless.stages == whole.stages
    assert endless.completion == (12.5,)
    assert "1 run without an end, used up to the last job that ended" in endless.warnings
    (one_job,) = profiles(tmp_path, a=b"".join(lines[:-3])).stage_classes
    assert one_job.stages == whole.stages[:2]
    assert one_job.completion == (8.5,)


def test_a_failed_job_is_dropped_and_the_others_count(tmp_path: Path) -> None:
    """The last of two jobs failed; a stage that another job needs stays."""
    log = spark_events("etl", BEGIN, JOBS)
    head, _, tail = log.rpartition(b"JobSucceeded")
    whole = profiles(tmp_path, a=log).stage_classes[0]
    (each,) = profiles(tmp_path, a=head + b"JobFailed" + tail).stage_classes
    assert each.stages == whole.stages[:2]
    assert "Spark jobs left out, which failed or did not end: 1 of 2" in each.warnings


def test_families_without_stages_say_so(tmp_path: Path) -> None:
    found = profiles(tmp_path, a=spark_events("etl", BEGIN, JOBS))
    with pytest.raises(ValueError, match="no class for a spec of makespan"):
        found.to_mrspec("makespan")


def test_recorded_times_of_stages_and_jobs_are_simulated(tmp_path: Path) -> None:
    """Tasks of a stage, alone and in order, take what the log says: no run is shorter than the shortest of each."""
    logs, spec, folder = tmp_path / "logs", tmp_path / "night.mrspec", tmp_path / "times"
    logs.mkdir()
    (logs / "a").write_bytes(spark_events("etl", BEGIN, JOBS))
    (logs / "b").write_bytes(
        as_json(job_events("job_1_0001", "sort", BEGIN, [(1000, 5000)], [(2000, 6000, 6100, 8000)]))
    )
    done = CliRunner().invoke(
        cli, ["profile", str(logs), "-o", str(spec), "--samples", str(folder)], standalone_mode=False
    )
    assert done.exception is None, done.output
    assert (folder / "etl-s0.txt").read_text() == "2.000\n2.500\n3.000\n3.500\n"
    assert (folder / "sort-reduce.txt").read_text() == "3.000\n"
    observed = mrdsl.simulate(mrdsl.load(spec), runs=2, jobs=4).plan.observed
    assert observed["etl"].mean >= 2.0 + 2.0 + 1.0 + 2.0
    assert observed["sort"].mean == pytest.approx(8.7, rel=0.1)  # 1 + 4 + 3 + 0.7 s, times the factors of runs


def test_clusters_of_applications(tmp_path: Path) -> None:
    """Six runs of one shape, three of them a hundred times as long: two classes, whatever they are called."""
    pytest.importorskip("sklearn")
    for number in range(6):
        factor = 100 if number % 2 else 1
        tasks = tuple((1000, 1000 + factor * (2000 + 10 * number)) for _ in range(4))
        log = spark_events(f"run{number}", BEGIN + number, [(0, 10**6, [(0, (), tasks)])])
        (tmp_path / f"{number}").write_bytes(log)
    found = mrdsl.profile([tmp_path], cluster=True)
    assert [(each.name, each.runs) for each in found.stage_classes] == [("class_1", 3), ("class_2", 3)]
    assert found.silhouette is not None
    assert found.silhouette > 0.5


def test_waiting_for_an_executor_on_a_shared_cluster_is_not_startup(tmp_path: Path) -> None:
    """The executor comes at the start, and 0.6 s after it; without another run nothing is known to be shared."""
    added = rf'("SparkListenerExecutorAdded", ?"Timestamp": ?){BEGIN}'.encode()
    late = re.sub(added, rb"\g<1>%d" % (BEGIN + 600), spark_events("etl", BEGIN, JOBS))
    assert late != spark_events("etl", BEGIN, JOBS)
    for name in ("one", "both"):
        (tmp_path / name).mkdir()
    (alone,) = profiles(tmp_path / "one", a=late).stage_classes
    assert (alone.waited, alone.before) == (0.0, pytest.approx(alone.before))
    other = spark_events("other", BEGIN + 500, JOBS)
    classes = profiles(tmp_path / "both", a=late, b=other).stage_classes
    waited = {each.name: (each.waited, each.before) for each in classes}
    assert waited["etl"] == (pytest.approx(0.6), pytest.approx(alone.before - 0.6))
    assert waited["other"][0] == 0.0
    assert "0.6 s of waiting for an executor do not count" in profiles(tmp_path / "both").to_mrspec("capacity")


def test_a_night_on_a_shared_cluster() -> None:
    """Three applications 12 s apart; their first executors came 12, 22 and 29 s after their start."""
    logs = [shared(f"data/spark-real/eventlog_v2_app-20261128{each}") for each in NIGHT]
    classes = {each.name: each for each in mrdsl.profile(logs).stage_classes}
    assert [classes[name].waited for name in ("etl", "kmeans", "skew")] == pytest.approx([12.127, 22.096, 29.494])
    assert classes["etl"].before + classes["etl"].waited == pytest.approx(47.737)
    (alone,) = mrdsl.profile(logs[:1]).stage_classes
    assert alone.waited == pytest.approx(12.127), "spark.cores.max is set"


NIGHT = ("143920-0000", "143940-0001", "144005-0002")
