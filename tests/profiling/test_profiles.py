"""From logs to classes and a spec: definitions by hand, counts by brute force, the shipped logs through all of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import mrdsl
from mrdsl import api
from mrdsl.cli import cli
from mrdsl.core.diagnostics import has_errors
from mrdsl.core.resources import resource
from mrdsl.exchange.logs.records import Attempt, AttemptEnd, MapReduceJob, TaskKind
from mrdsl.profiling.cluster import Running, counts_of
from mrdsl.profiling.gathering import clustered, gather, grouper, normalised
from mrdsl.profiling.phases import Durations, Overhead, phases_of
from mrdsl.profiling.report import report, sample_files
from mrdsl.profiling.spec_text import parse_price

from ..exchange.logs.making import BEGIN, as_json, job_events

LOGS = resource("models") / "logs"
GOOD = AttemptEnd.SUCCEEDED
TIMES = "start", "finish", "shuffled", "sorted"


def job(name: str = "a", later: int = 0, **more: object) -> MapReduceJob:
    """A job of the milliseconds from 0 to 500, or as much later."""
    attempts: tuple[Attempt, ...] = (
        Attempt(TaskKind.MAP, GOOD, 0, 100),
        Attempt(TaskKind.MAP, GOOD, 100, 300),
        Attempt(TaskKind.MAP, AttemptEnd.FAILED, 100, 900),
        Attempt(TaskKind.REDUCE, GOOD, 50, 450, 340, 360),
        Attempt(TaskKind.REDUCE, GOOD, 300, 500, 380, 390),
        Attempt(TaskKind.REDUCE, GOOD, 310, 400, 300, 350),
    )
    if later:
        times = ("start", "finish", "shuffled", "sorted")
        moved = [
            {name: getattr(each, name) + later for name in times if getattr(each, name) is not None}
            for each in attempts
        ]
        attempts = tuple(replace(each, **to) for each, to in zip(attempts, moved, strict=True))
    facts = {"submitted": later, "finished": later + 500, "total_maps": 2, "attempts": attempts, **more}
    return MapReduceJob("log", f"job_{name}", "SUCCESS", name, **facts)  # type: ignore[arg-type]


def test_phases_by_hand() -> None:
    """M is 300: r0 began before it (first shuffle 340 - 300), r1 at it (typical 380 - 300), r2's data lies before."""
    found = phases_of(job())
    assert tuple(found.map.values) == (100, 200)
    assert tuple(found.first_shuffle.values) == (40,)
    assert tuple(found.typical_shuffle.values) == (80,)
    assert tuple(found.sort.values) == (20, 10, 50)
    assert tuple(found.reduce.values) == (90, 110, 50)
    assert found.negative == 1
    assert found.overhead == Overhead(failed=1, failed_time=0.8, work=(100 + 200 + 400 + 200 + 90) / 1000)
    assert found.overhead.share == pytest.approx(800 / (800 + 990))


def test_a_class_states_what_its_jobs_say() -> None:
    found = gather([(job("a"), "c"), (job("b", later=250), "c")])
    (each,) = found.classes
    assert (each.runs, each.map_tasks, each.reduce_tasks) == (2, 2, 3)
    assert (each.map.average, each.map.longest) == (0.15, 0.2)
    assert each.reduce is not None
    assert each.reduce.average == pytest.approx((110 + 120 + 100) / 3000)
    assert (each.jobs_low, each.jobs_high) == (1, 2)
    shuffled = gather([(job("a"), "c")], sort_counts_as="shuffle").classes[0]
    assert shuffled.reduce is not None
    assert shuffled.reduce.average == pytest.approx((90 + 110 + 50) / 3000)


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"status": "KILLED"}, "did not succeed"),
        ({"attempts": ()}, "no map task"),
        ({"total_maps": 5}, "only 2 of its 5"),
    ],
)
def test_what_makes_no_profile_is_told(more: dict[str, object], reason: str) -> None:
    found = gather([(replace(job(), **more), "c")])  # type: ignore[arg-type]
    assert found.classes == ()
    assert reason in found.left_out[0].reason
    assert "comes twice" in gather([(job(), "c"), (job(), "c")]).left_out[0].reason


INTERVALS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=20)


@given(INTERVALS, st.floats(0.01, 1.0))
@settings(max_examples=60, deadline=None)
def test_counts_are_those_of_every_moment(intervals: list[tuple[int, int]], share: float) -> None:
    moments = [sum(a <= moment < b for a, b in intervals) for moment in range(31)]
    counts = counts_of(intervals)
    assert counts.most == max(moments)
    running = sorted(count for count in moments if count)
    wanted = next((c for i, c in enumerate(running, 1) if i >= share * len(running) * (1 - 1e-12)), 0)
    assert counts.quantile(share) == wanted


@given(INTERVALS, INTERVALS)
@settings(max_examples=60, deadline=None)
def test_what_ran_is_that_of_every_moment(some: list[tuple[int, int]], more: list[tuple[int, int]]) -> None:
    parts = [Running.of(*np.array(part, np.int64).reshape(-1, 2).T) for part in (some, more)]
    moments = [sum(a <= moment < b for a, b in some + more) for moment in range(31)]
    busy = [moment for moment, count in enumerate(moments) if count]
    found = Running.together(parts)
    assert (found.most, found.busy, found.covered) == (max(moments), sum(moments), len(busy))
    assert found.length == (busy[-1] + 1 - busy[0] if busy else 0)
    tasks, slots = parts
    counts = [[sum(a <= moment < b for a, b in part) for moment in range(31)] for part in (some, more)]
    assert slots.at(np.arange(31)).tolist() == counts[1]
    starts = [a for a, b in some if a < b]
    assert tasks.most_of(slots) == max((min(counts[0][a], counts[1][a]) for a in starts), default=0)


def test_the_most_at_once_of_more_than_are_looked_at_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mrdsl.profiling.cluster._AT_A_TIME", 3)
    starts = np.arange(20)
    assert Running.of(starts, starts + 7).most == 7


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=40), st.floats(0.0, 1.0))
def test_a_percentile_is_the_nearest_rank(values: list[int], share: float) -> None:
    found = Durations(tuple(values)).percentile(share)
    at_most = [v for v in sorted(values) if sum(w <= v for w in values) >= share * len(values) - 1e-9]
    assert found == at_most[0]


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("Sleep job", "Sleep_job"),
        (
            "oozie:launcher:T=pig:W=etl-2024-03-01:A=x:ID=0000123-190101-oozie-W",
            "oozie_launcher_T=pig_W=etl_A=x_ID=_oozie_W",
        ),
        ("word count 17", "word_count"),
        ("2024-01-02T03:04:05", "unnamed"),
        ("", "unnamed"),
    ],
)
def test_names_lose_dates_numbers_and_ids(name: str, plain: str) -> None:
    assert normalised(name) == plain


def test_a_pattern_names_classes() -> None:
    assert grouper(r"^(\w+)-")(job("clicks-7")) == "clicks"
    assert grouper(r"^(\w+)-")(job("none")) == "other"
    with pytest.raises(ValueError, match="regular expression"):
        grouper("(")


def test_jobs_without_names_go_by_their_tasks() -> None:
    """job() has two maps and three reduces that succeeded; numbers are taken down to a power of two."""
    group = grouper("tasks")
    assert group(job()) == "maps_2_reduces_2"
    maps = tuple(Attempt(TaskKind.MAP, GOOD, 0, 100) for _ in range(127))
    assert group(job(attempts=maps)) == "maps_64"
    assert group(job(attempts=(*maps, maps[0]))) == "maps_128"
    assert group(job(attempts=())) == "maps_0"


def test_clusters_are_found_again() -> None:
    pytest.importorskip("sklearn")
    draw = np.random.RandomState(3)
    rows: list[Sequence[float]] = [
        (base * draw.uniform(0.9, 1.1), 1.0, tasks, 0.0, 0.0)
        for base, tasks in ((10, 4), (1000, 400))
        for _ in range(10)
    ]
    labels, silhouette = clustered(rows, None, 0)
    assert labels == [0] * 10 + [1] * 10
    assert silhouette is not None
    assert silhouette > 0.8
    assert clustered(rows[:1], None, 0) == ([0], None)


@pytest.mark.parametrize("family", ["capacity", "bounds", "joint", "makespan", "energy"])
def test_the_spec_of_the_shipped_logs_is_solved(family: str) -> None:
    found = api.profile([LOGS])
    assert [(each.name, each.runs) for each in found.classes] == [("clicks", 8), ("thumbnails", 4)]
    text = found.to_mrspec(family)
    assert api.fmt(text) == text
    spec = mrdsl.loads(text)
    assert not [d for d in mrdsl.check(spec) if d.severity == "error"]
    assert mrdsl.solve(spec).plan is not None


def test_three_commands(tmp_path: Path) -> None:
    run = CliRunner()
    spec = tmp_path / "night.mrspec"
    done = run.invoke(cli, ["profile", str(LOGS), "-o", str(spec), "--jobs", str(tmp_path / "jobs.csv"), "--profiles",
                            str(tmp_path / "classes.csv")], standalone_mode=False)  # fmt: skip
    assert done.exception is None, done.output
    assert "clicks" in done.output
    assert len((tmp_path / "jobs.csv").read_text().splitlines()) == 13
    for command in ("check", "solve"):
        assert run.invoke(cli, [command, str(spec)], standalone_mode=False).return_value in (0, None)


def test_the_spec_of_schedule_reads_its_table(tmp_path: Path) -> None:
    spec, table = tmp_path / "night.mrspec", tmp_path / "jobs.csv"
    arguments = ["profile", str(LOGS), "--family", "schedule", "-o", str(spec)]
    refused = CliRunner().invoke(cli, arguments, standalone_mode=False)
    assert "add `--arrivals jobs.csv`" in str(refused.exception.diagnostics)  # type: ignore[union-attr]
    done = CliRunner().invoke(cli, [*arguments, "--arrivals", str(table)], standalone_mode=False)
    assert done.exception is None, done.output
    assert not [d for d in mrdsl.check(spec) if d.severity == "error"]
    assert len(table.read_text().splitlines()) == 13
    assert mrdsl.solve(mrdsl.load(spec)).plan is not None


def test_from_python() -> None:
    profiles = mrdsl.profile([LOGS])
    assert mrdsl.solve(profiles.to_spec()).plan is not None
    pytest.importorskip("pandas")
    frame = profiles.to_dataframe()
    assert list(frame["name"]) == ["clicks", "thumbnails"]
    assert list(frame["map.tasks"]) == [16, 8]


def test_recorded_times_are_what_a_simulation_reads(tmp_path: Path) -> None:
    """By hand: a job whose one reduce starts before its last map ends, and its file says what it takes from there."""
    history = as_json(job_events("job_1_0001", "etl", BEGIN, [(0, 4000), (0, 5500)], [(1000, 6000, 6100, 9000)]))
    log, spec, folder = tmp_path / "log.jhist", tmp_path / "night.mrspec", tmp_path / "times"
    log.write_bytes(history)
    arguments = ["profile", str(log), "--family", "bounds", "-o", str(spec), "--samples", str(folder)]
    done = CliRunner().invoke(cli, arguments, standalone_mode=False)
    assert done.exception is None, done.output
    assert (folder / "etl-map.txt").read_text() == "4.000\n5.500\n"
    assert (folder / "etl-reduce.txt").read_text() == "3.500\n"
    observed = mrdsl.simulate(mrdsl.load(spec), runs=2, jobs=5).plan.observed["etl"]
    assert 4.0 + 3.5 + 0.7 <= observed.mean <= 5.5 + 3.5 + 0.7  # it ends 0.7 s after its last task


@pytest.mark.parametrize(
    ("text", "hourly"), [("0.20 USD/h", 0.2), ("3 cent/min", 1.8), ("0.2", None), ("0 USD/h", None), ("2 h/USD", None)]
)
def test_prices(text: str, hourly: float | None) -> None:
    if hourly is None:
        with pytest.raises(ValueError, match="not a price"):
            parse_price(text)
    else:
        assert parse_price(text).hourly == pytest.approx(hourly)


def test_what_the_cluster_costs_is_told(tmp_path: Path) -> None:
    """Two machines at 0.50 USD/h, over two hours from the first task to the last."""
    tasks = [
        {"container.host": f"/rack/node{i % 2}", "container.type": "map", "container.start.ms": i * 3_600_000,
         "container.end.ms": (i + 1) * 3_600_000} for i in range(2)
    ]  # fmt: skip
    (tmp_path / "sls.json").write_text(json.dumps({"job.id": "j", "job.start.ms": 0, "job.tasks": tasks}))
    found = api.profile([tmp_path], price="0.5 USD/h")
    (cluster,) = [table for table in report(found) if table.title.startswith("The cluster")]
    assert cluster.title == "The cluster as it was, over 2 h, in 2 h of which tasks ran"
    assert [row[:2] for row in cluster.rows] == [
        ("map tasks", 1),
        ("VMs", 2),
        ("cost [USD/h]", 1.0),
        ("cost over the logs [USD]", 2.0),
    ]


@pytest.mark.parametrize("pattern", ["*3.jhist", "*.jhist"])
def test_profiles_as_a_table_are_read_back(pattern: str, tmp_path: Path) -> None:
    from mrdsl.core.csv_text import csv_text
    from mrdsl.profiling.report import class_table

    found = api.profile([LOGS / pattern])
    (tmp_path / "classes.csv").write_text(csv_text(*class_table(found.classes)))
    rest = "{ slots { map = 2, reduce = 1 }, deadline = 5 min, penalty = 1 USD }"
    text = (
        'problem capacity "t"\nvm m { on_demand { price = 1 USD/h } }\n'
        f'classes from "classes.csv" {rest}\nminimize cost\n'
    )
    classes = {each.name: each for each in mrdsl.loads(text, folder=tmp_path).facts.classes}
    assert set(classes) == {each.name for each in found.classes}
    assert classes["thumbnails"].map.tasks == 8
    assert mrdsl.solve(mrdsl.loads(text, folder=tmp_path)).plan is not None


@pytest.mark.parametrize(
    "arguments", [["nowhere"], [], ["--max", "p99", str(LOGS)], ["--by", "(", str(LOGS)], ["--classes", "0", str(LOGS)]]
)
def test_mistakes_are_told(arguments: list[str]) -> None:
    from mrdsl.core.diagnostics import MrdslError

    done = CliRunner().invoke(cli, ["profile", *arguments], standalone_mode=False)
    assert isinstance(done.exception, MrdslError)
    assert done.exception.exit_code == 2


def test_bytes_are_counted_on_a_terminal_only() -> None:
    from mrdsl.cli.outputs import STATUS
    from mrdsl.cli.progress import StatusLine, bytes_read
    from mrdsl.core.watching import setting

    with bytes_read(10) as nobody:
        assert nobody is None
    times, shown = iter(range(100)), list[str]()
    line = StatusLine("mrdsl profile", lambda: float(next(times)), shown.append)
    with setting(STATUS, line), bytes_read(10_000_000) as told:
        assert told is not None
        told(3_000_000)
        told(2_000_000)
    assert shown[-2:] == ["\rreading [MB], 2 s: 5 of 10\x1b[K", "\rmrdsl profile, 4 s\x1b[K"]


STRANGE = [
    "",
    " ",
    "x" * 5000,
    "x" * 5000 + "y",
    "a\x07b",
    'a"\\b',
    "é" * 3000,
    "a\nb",
    "name",
    "\u202e",
    "vm {",
    "from",
]


@pytest.mark.parametrize("by", ["name", "user", "queue", ".*", "^", r"(?s)(.+)"])
def test_strange_names_of_jobs_give_a_spec_that_check_accepts(by: str, tmp_path: Path) -> None:
    """Empty, 5,000 characters long, with control characters; two long ones that differ stay two classes."""
    task = {"container.start.ms": 0, "container.end.ms": 5000}
    tasks = [{**task, "container.type": kind} for kind in ("map", "reduce")]
    jobs = [
        {
            "job.id": each,
            "job.user": each,
            "job.queue.name": each,
            "job.start.ms": 0,
            "job.end.ms": 5,
            "job.tasks": tasks,
        }
        for each in STRANGE
    ]
    (tmp_path / "log").write_text("\n".join(map(json.dumps, jobs)), encoding="utf-8")
    found = api.profile([tmp_path / "log"], by=by, price="0.2 USD/h")
    names = [each.name for each in found.classes]
    assert len(set(names)) == len(names)
    assert all(0 < len(each) <= 60 for each in names)
    if by == "user":
        assert len([each for each in names if each.startswith("xxx")]) == 2
    for family in ("capacity", "energy", "bounds", "joint", "makespan"):
        assert not has_errors(mrdsl.check(found.to_spec(family)))
    for name, text in sample_files(found.gathered).items():
        (tmp_path / name).write_text(text, encoding="utf-8")
