"""Sweeps: the values that are run, the table, interruption and resumption, processes and a Dask cluster."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import mrdsl
from mrdsl.core.diagnostics import MrdslError
from mrdsl.sweeping import executors
from mrdsl.sweeping.cells import Axis, Setting, cells, parse_axis, parse_seeds
from mrdsl.sweeping.sweep import check_ending, journal_of, sweep, write_table
from tests.command_lines import run_here
from tests.sweeping.cluster import Cluster

ROOT = Path(__file__).resolve().parents[2]
SPEC = """problem capacity "two classes"
param peak = 1.0
param slack = 0 s
vm m5 { on_demand { price = 0.192 USD/h }, reserved { price = 0.121 USD/h, available = 5 } }
class a {
  coefficients { A = 5400 s, B = 1250 s, C = 95 s }
  slots { map = 4, reduce = 2 }
  jobs = 4 .. 6 * peak
  deadline = 10 min + slack
  penalty = 20 USD
}
class b {
  coefficients { A = uniform(3000, 4000) * 1 s, B = 900 s, C = 60 s }
  slots { map = 2, reduce = 1 }
  jobs = 2 .. 9
  deadline = 20 min
  penalty = 0.02 USD
}
seed = 1
minimize cost
"""


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "two.mrspec"
    path.write_text(SPEC, encoding="utf-8")
    return path


AXES = {
    "peak=0.8:1.4:0.1": ("0.8", "0.9", "1", "1.1", "1.2", "1.3", "1.4"),
    "peak=1:2:0.3": ("1", "1.3", "1.6", "1.9"),
    "peak=3:1:-1": ("3", "2", "1"),
    "scale=1,2": ("1", "2"),
    "scale=1,2,1": ("1", "2"),
    "deadline=10 min:20 min:5 min": ("10 min", "15 min", "20 min"),
    "deadline=600:1200:300 s": ("600 s", "900 s", "1200 s"),
    "peak=5:5:1": ("5",),
}


@pytest.mark.parametrize("text", AXES)
def test_axes(text: str) -> None:
    assert parse_axis(text).values == AXES[text]


@pytest.mark.parametrize(
    "text",
    [
        "peak",
        "=1",
        "peak=",
        "peak=1:2",
        "peak=1:2:0",
        "peak=1:2:-1",
        "peak=a:b:c",
        "peak=1 s:2 min:1 s",
        "peak=1,,2",
        "a b=1",
        "peak=0:1:0.0000001",
    ],
)
def test_axes_that_are_wrong(text: str) -> None:
    with pytest.raises(MrdslError, match="invalid value"):
        parse_axis(text)


def test_seeds() -> None:
    assert parse_seeds("1..4") == (1, 2, 3, 4)
    assert parse_seeds("7,1,7") == (7, 1)
    for wrong in ("", "4..1", "a", "1...3", "-1..2"):
        with pytest.raises(MrdslError):
            parse_seeds(wrong)


def test_every_combination_once_the_last_fastest() -> None:
    found = cells([Axis("p", ("1", "2")), Axis("q", ("x", "y"))], (5, 6))
    assert [(c.number, c.parameters["p"], c.parameters["q"], c.seed) for c in found][:5] == [
        (1, "1", "x", 5),
        (2, "1", "x", 6),
        (3, "1", "y", 5),
        (4, "1", "y", 6),
        (5, "2", "x", 5),
    ]
    assert len(found) == 8


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def without_seconds(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    return [{k: v for k, v in row.items() if k != "seconds"} for row in rows]


def test_rows_are_what_single_runs_say(spec: Path, tmp_path: Path) -> None:
    import mrdsl

    output = tmp_path / "out.csv"
    done = sweep(Setting(str(spec), "highs"), [parse_axis("peak=1:1.5:0.25")], (1, 2), output, workers=1)
    assert (done.rows, done.total, done.resumed, done.interrupted) == (6, 6, 0, False)
    assert not output.with_name("out.csv.part").exists()
    for row in read(output):
        own = mrdsl.solve(mrdsl.load(spec, {"peak": row["peak"]}, seed=int(row["seed"])), "highs")
        assert float(row["value"]) == pytest.approx(own.objective.value)
        assert row["termination"] == "optimal"
        assert float(row["plan.cost"]) == pytest.approx(float(row["value"]))


def test_processes_give_the_same_table(spec: Path, tmp_path: Path) -> None:
    tables = []
    for workers in (1, 2):
        output = tmp_path / f"out{workers}.csv"
        sweep(Setting(str(spec), "highs"), [parse_axis("peak=1:2:0.25")], (), output, workers=workers)
        tables.append(without_seconds(read(output)))
    assert tables[0] == tables[1]


def test_a_run_without_a_plan_is_a_row_too(spec: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    sweep(Setting(str(spec)), [parse_axis("slack=-9.9 min,0 s,-1 h")], (), output, workers=1)
    rows = [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]
    assert [row["termination"] for row in rows] == ["infeasible", "optimal", "error"]
    assert all(row["message"] for row in (rows[0], rows[2]))


def interrupt_after(count: int) -> Any:
    def progress(done: int, total: int) -> None:
        if done >= count:
            raise KeyboardInterrupt

    return progress


def test_an_interrupted_sweep_goes_on_where_it_stopped(spec: Path, tmp_path: Path) -> None:
    axes, output, setting = [parse_axis("peak=1:2:0.125")], tmp_path / "out.csv", Setting(str(spec), "highs")
    first = sweep(setting, axes, (), output, workers=1, progress=interrupt_after(4))
    assert (first.rows, first.interrupted) == (4, True)
    assert len(read(output)) == 4
    journal = output.with_name("out.csv.part")
    journal.write_text(journal.read_text(encoding="utf-8") + '{"run": 5, "cut o', encoding="utf-8")
    second = sweep(setting, axes, (), output, workers=1)
    assert (second.rows, second.resumed, second.interrupted) == (9, 4, False)
    whole = tmp_path / "whole.csv"
    sweep(setting, axes, (), whole, workers=1)
    assert without_seconds(read(output)) == without_seconds(read(whole))


def test_a_sweep_without_any_run_leaves_the_old_table(
    spec: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*given: object, **named: object) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(executors, "run_on_processes", interrupted)
    axes, output, setting = [parse_axis("peak=1,2")], tmp_path / "out.csv", Setting(str(spec), "highs")
    output.write_text("precious,table\n1,2\n", encoding="utf-8")
    done = sweep(setting, axes, (), output, workers=1, force=True)
    assert (done.rows, done.interrupted) == (0, True)
    assert output.read_text(encoding="utf-8") == "precious,table\n1,2\n"
    assert not journal_of(output).exists()
    output.unlink()
    sweep(setting, axes, (), output, workers=1)
    assert not output.exists()


def test_a_journal_without_runs_is_no_leave_to_write_over_a_table(spec: Path, tmp_path: Path) -> None:
    axes, output, setting = [parse_axis("peak=1,2")], tmp_path / "out.csv", Setting(str(spec), "highs")
    with pytest.raises(KeyboardInterrupt):
        sweep(setting, axes, (), output, workers=1, progress=interrupt_after(0))
    assert len(journal_of(output).read_text(encoding="utf-8").splitlines()) == 1
    output.write_text("precious,table\n1,2\n", encoding="utf-8")
    with pytest.raises(MrdslError, match="already exists"):
        sweep(setting, axes, (), output, workers=1)
    assert output.read_text(encoding="utf-8") == "precious,table\n1,2\n"


def test_processes_beside_dask_are_refused(spec: Path, tmp_path: Path) -> None:
    """Before anything is written, as an experiment refuses them."""
    ran = run_here(("sweep", str(spec), "-o", "out.csv", "-j", "2", "--executor", "dask://there:8786"), tmp_path)
    assert ran.exit_code == 2
    assert "does not work with a Dask executor" in ran.output
    assert list(tmp_path.iterdir()) == [spec]


def test_another_sweep_does_not_go_on_there(spec: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.csv"
    sweep(Setting(str(spec)), [parse_axis("peak=1,2,3")], (), output, workers=1, progress=interrupt_after(1))
    with pytest.raises(MrdslError, match="another sweep"):
        sweep(Setting(str(spec)), [parse_axis("peak=1,2,4")], (), output, workers=1)


def test_what_is_wrong_is_told_before_the_first_run(spec: Path, tmp_path: Path) -> None:
    for axis, words in (("pek=1,2", "no param"), ("peak=red", "red")):
        with pytest.raises(MrdslError, match=words):
            sweep(Setting(str(spec)), [parse_axis(axis)], (), tmp_path / "out.csv", workers=1)
    with pytest.raises(MrdslError, match="unknown file extension"):
        check_ending(tmp_path / "out.xlsx")
    assert not (tmp_path / "out.csv.part").exists()


def test_an_axis_of_words(tmp_path: Path) -> None:
    """Each row is the run of its word; a word that the item does not take is told at its place before any run."""
    path = tmp_path / "words.mrspec"
    reference = (ROOT / "models" / "bounds" / "slots.mrspec").read_text(encoding="utf-8")
    text = reference.replace("sizing = least_slots", "sizing = size") + "param size = least_slots\n"
    path.write_text(text, encoding="utf-8")
    output = tmp_path / "out.csv"
    sweep(Setting(str(path)), [parse_axis("size=least_slots,fixed_reduce")], (), output, workers=1)
    with output.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["size"] for row in rows] == ["least_slots", "fixed_reduce"]
    for row in rows:
        spec = mrdsl.loads(reference.replace("= least_slots", f"= {row['size']}"))
        assert float(row["value"]) == mrdsl.solve(spec).objective.value
    assert float(rows[0]["value"]) < float(rows[1]["value"])
    with pytest.raises(MrdslError, match="cannot be `least`") as caught:
        sweep(Setting(str(path)), [parse_axis("size=fixed_reduce,least")], (), tmp_path / "no.csv", workers=1)
    (told,) = caught.value.diagnostics
    assert told.hint == "did you mean `least_slots`?"
    assert told.span is not None
    assert text.split("\n")[told.span.line - 1].startswith("sizing = size")


def test_columns_that_some_rows_lack(tmp_path: Path) -> None:
    rows = [{"run": 1, "message": "no"}, {"run": 2, "value": 3.5, "seconds": 1, "message": ""}]
    write_table(tmp_path / "x.csv", rows)
    assert (tmp_path / "x.csv").read_text(encoding="utf-8") == "run,value,seconds,message\n1,,,no\n2,3.5,1,\n"


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_ctrl_c_on_the_command_line_leaves_a_table_and_no_process(spec: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.csv"
    command = [
        sys.executable,
        "-m",
        "mrdsl",
        "sweep",
        str(spec),
        "--over",
        "peak=1:200:0.01",
        "-o",
        str(output),
        "-j",
        "2",
        "--solver",
        "highs",
    ]
    process = subprocess.Popen(
        command, env={**os.environ, "PYTHONPATH": str(ROOT)}, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    journal = output.with_name("out.csv.part")
    while not journal.exists() or journal.stat().st_size < 500:
        assert process.poll() is None
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 4
    assert "run the same command again to continue" in said
    assert "Traceback" not in said
    assert read(output)
    assert not alive_in_group(process.pid)


def alive_in_group(group: int) -> list[str]:
    """Processes of the group that still run half a second later."""
    found: list[str] = []
    for _ in range(50):
        listed = subprocess.run(["ps", "-eo", "pgid=,stat=,args="], capture_output=True, text=True, check=True)
        rows = [line.split(None, 2) for line in listed.stdout.splitlines()]
        found = [" ".join(row) for row in rows if row[0] == str(group) and not row[1].startswith("Z")]
        if not found:
            return []
        time.sleep(0.02)
    return found


def test_a_dask_cluster_of_processes_gives_the_same_table(spec: Path, tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    axes, setting = [parse_axis("peak=1:1.5:0.25")], Setting(str(spec), "highs")
    sweep(setting, axes, (), tmp_path / "here.csv", workers=1)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        address = cluster.scheduler_address.replace("tcp://", "dask://")
        sweep(setting, axes, (), tmp_path / "there.csv", executor=address)
    assert without_seconds(read(tmp_path / "there.csv")) == without_seconds(read(tmp_path / "here.csv"))


def test_a_scheduler_that_is_not_there_is_one_message(spec: Path, tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    with pytest.raises(MrdslError, match="no Dask scheduler answers"):
        sweep(Setting(str(spec)), [parse_axis("peak=1,2")], (), tmp_path / "x.csv", executor="dask://127.0.0.1:1")


def test_a_run_that_ends_its_workers_is_a_row(spec: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster(poisonous=frozenset({2}))
    monkeypatch.setattr(executors, "_connect", cluster.connect)
    output = tmp_path / "out.csv"
    done = sweep(Setting(str(spec), "highs"), [parse_axis("peak=1,1.25,1.5")], (), output, executor="dask://head:1")
    assert (done.rows, done.total, done.interrupted) == (3, 3, False)
    assert [(row["run"], row["termination"], bool(row["value"])) for row in read(output)] == [
        ("1", "optimal", True),
        ("2", "error", False),
        ("3", "optimal", True),
    ]
    assert "died" in read(output)[1]["message"]
    assert read(output)[1]["peak"] == "1.25"
    assert cluster.closed
    assert not journal_of(output).exists()


def test_a_lost_scheduler_keeps_what_is_done(spec: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the sweep goes on afterwards, here or there."""
    monkeypatch.setattr(executors, "_connect", Cluster(lost_after=2).connect)
    axes, setting, output = [parse_axis("peak=1:1.5:0.125")], Setting(str(spec), "highs"), tmp_path / "out.csv"
    with pytest.raises(MrdslError, match="no longer answers") as told:
        sweep(setting, axes, (), output, executor="dask://head:1")
    assert [d.code for d in told.value.diagnostics] == ["lost-scheduler"]
    assert [row["run"] for row in read(output)] == ["4", "5"]
    done = sweep(setting, axes, (), output, workers=1)
    assert (done.rows, done.resumed) == (5, 2)
    sweep(setting, axes, (), tmp_path / "whole.csv", workers=1)
    assert without_seconds(read(output)) == without_seconds(read(tmp_path / "whole.csv"))


def test_a_cluster_without_workers_is_one_message(spec: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executors, "_connect", Cluster(workers=0).connect)
    with pytest.raises(MrdslError, match="has no workers"):
        sweep(Setting(str(spec)), [parse_axis("peak=1,2")], (), tmp_path / "x.csv", executor="dask://head:1")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["two.mrspec"]


def test_a_true_scheduler_that_is_killed(spec: Path, tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    place = tmp_path / "scheduler.json"
    line = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard"]
    scheduler = subprocess.Popen([*line, "--scheduler-file", str(place)], stderr=subprocess.DEVNULL)
    while not place.exists() or not place.stat().st_size:
        assert scheduler.poll() is None
        time.sleep(0.05)
    address = json.loads(place.read_text(encoding="utf-8"))["address"]
    worker = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-nanny"],
        stderr=subprocess.DEVNULL,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )

    def kill_after_two(done: int, total: int) -> None:
        if done == 2:
            scheduler.kill()

    output = tmp_path / "out.csv"
    try:
        with pytest.raises(MrdslError, match="no longer answers"):
            sweep(
                Setting(str(spec), "highs"),
                [parse_axis("peak=1:3:0.01")],
                (),
                output,
                executor=address.replace("tcp://", "dask://"),
                progress=kill_after_two,
            )
        assert len(read(output)) >= 2
    finally:
        for process in (scheduler, worker):
            process.kill()
            process.wait()


def test_rows_hold_what_people_choose_by(tmp_path: Path) -> None:
    """What a plan costs and what of it, and how many jobs are late, as numbers beside the goal."""
    output = tmp_path / "out.jsonl"
    small = ROOT / "models" / "schedule" / "small.mrspec"
    sweep(Setting(str(small)), [], (1,), output, workers=1)
    (row,) = [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]
    import mrdsl

    plan: Any = mrdsl.solve(mrdsl.load(small, seed=1)).plan
    assert row["plan.cost.total"] == plan.cost.total == pytest.approx(plan.cost.on_demand + plan.cost.spot)
    assert row["plan.jobs.tardy_share"] == plan.jobs.tardy / plan.jobs.count
    assert {"termination", "solution", "gap", "bound", "seconds"} <= set(row)


VALUES = {
    "peak=0.8,1,1_000,1e3": ("peak", (0.8, 1, 1000, 1000)),
    "deadline=10 min:20 min:5 min": ("deadline [min]", (10, 15, 20)),
    "share=5%,7.5%": ("share [%]", (5, 7.5)),
    "slack=10 s,1 min": ("slack", ("10 s", "1 min")),
    "slack=0,1 min": ("slack", ("0", "1 min")),
    "policy=mdasa,ndasa": ("policy", ("mdasa", "ndasa")),
    "peak=1,1e999": ("peak", ("1", "1e999")),
    "peak=9007199254740993,1": ("peak", (9007199254740992.0, 1)),
}


@pytest.mark.parametrize("text", VALUES)
def test_values_are_numbers_in_the_table(text: str) -> None:
    axis = parse_axis(text)
    assert (axis.head, axis.shown) == VALUES[text]
    assert [type(value) for value in axis.shown] == [type(value) for value in VALUES[text][1]]
    assert [(c.parameters, c.shown) for c in cells([axis])] == [
        ({axis.name: value}, {axis.head: shown}) for value, shown in zip(axis.values, axis.shown, strict=True)
    ]


def test_columns_of_parquet_are_numbers(spec: Path, tmp_path: Path) -> None:
    """Those without any value too: of what text there is, all is said by its head."""
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    output = tmp_path / "out.parquet"
    sweep(Setting(str(spec), "highs"), [parse_axis("peak=1,1.25"), parse_axis("slack=0 s,5 s")], (), output, workers=1)
    types = {field.name: str(field.type) for field in parquet.read_table(output).schema}
    texts = {"termination", "solution", "unit", "solver", "formulation", "message"}
    assert {name for name, kind in types.items() if kind == "string"} == texts
    assert {kind for name, kind in types.items() if name not in texts} <= {"double", "int64"}
    assert (types["seed"], types["peak"], types["slack [s]"]) == ("double", "double", "int64")
