"""Studies: rows that say what single runs say, nothing run twice, tables and profiles that can be added up by hand."""

from __future__ import annotations

import csv
import hashlib
import json
import math
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import mrdsl
from mrdsl.core.diagnostics import MrdslError
from mrdsl.core.tables import print_tables
from mrdsl.core.watching import Progress, watched
from mrdsl.sweeping import executors
from mrdsl.sweeping.study.runs import COLUMNS
from mrdsl.sweeping.study.study import Studied, Way, run_study_file, tables_in
from tests.sweeping.cluster import Cluster
from tests.sweeping.counted import install
from tests.sweeping.test_study_file import WITH_PARAMS

ROOT = Path(__file__).resolve().parents[2]
KILLS = max(2, int(os.environ.get("MRDSL_KILLS", "0")) // 20)
QUIET = Way(workers=1, pictures=False)
STUDY = """
title = "Two methods"
[[runs]]
specs = "one.mrspec"
methods = ["direct", "highs"]
params = { more = [1, 2] }
seeds = [5, 6]
limits = { time = "1 min" }
[[tables]]
rows = "more"
value = "value"
[[tables]]
rows = "more"
value = "plan.vms"
statistic = "max"
above = "highs"
[[profiles]]
measure = "value"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "one.mrspec").write_text(WITH_PARAMS, encoding="utf-8")
    (tmp_path / "night.toml").write_text(STUDY, encoding="utf-8")
    return tmp_path


@pytest.fixture
def counts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where ``counted`` notes its runs."""
    monkeypatch.setenv("MRDSL_SOLVERS", str(install(folder)))
    monkeypatch.setenv("MRDSL_TEST_COUNTS", str(folder / "counts"))
    text = (
        STUDY.replace('"direct", "highs"', '"counted"')
        .split("[[tables]]")[0]
        .replace("seeds = [5, 6]", 'seeds = "1..6"')
    )
    (folder / "night.toml").write_text(text, encoding="utf-8")
    return folder / "counts"


def run(folder: Path, way: Way = QUIET) -> Studied:
    return run_study_file(folder / "night.toml", folder / "out", way)


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n")[:-1] if path.exists() else []


def without_times(done: Studied) -> list[dict[str, Any]]:
    return [{k: v for k, v in row.items() if k not in ("seconds", "cpu_seconds")} for row in done.table]


def test_rows_are_what_single_runs_say(folder: Path) -> None:
    done = run(folder)
    assert (done.total, done.resumed, done.interrupted, len(done.table)) == (8, 0, False, 8)
    for row in done.table:
        own = mrdsl.solve(
            mrdsl.load(folder / "one.mrspec", {"more": row["param.more"]}, seed=row["seed"]), row["method"]
        )
        assert row["value"] == pytest.approx(own.objective.value)
        assert row["plan.cost"] == pytest.approx(own.objective.value)
        assert (row["termination"], row["time_limit [s]"], row["mrdsl"]) == ("optimal", 60.0, mrdsl.__version__)
        assert row["solver_version"] == own.solver["version"]
        assert row["cpu_seconds"] >= 0.0
        assert row["seconds"] > 0.0


def test_a_folder_has_runs_tables_and_what_repeats_them(folder: Path) -> None:
    done = run(folder)
    out = folder / "out"
    with (out / "runs.csv").open(encoding="utf-8", newline="") as stream:
        found = list(csv.DictReader(stream))
    assert [(row["run"], row["method"], row["seed"]) for row in found[:3]] == [
        ("1", "direct", "5"),
        ("2", "highs", "5"),
        ("3", "direct", "6"),
    ]
    manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["complete"]
    assert {name for name in found[0] if not name.startswith(("param.", "plan."))} == set(COLUMNS)
    assert [table["title"] for table in manifest["tables"]] == [table.title for table in done.tables]
    assert all((out / table["file"]).is_file() for table in manifest["tables"])


def test_tables_by_hand(folder: Path) -> None:
    done = run(folder)
    methods, values, above, profile = done.tables
    assert [row[:5] for row in methods.rows] == [("direct", 4, 4, 4, 0), ("highs", 4, 4, 4, 0)]
    costs = {
        more: mrdsl.solve(mrdsl.load(folder / "one.mrspec", {"more": more}), "direct").objective.value
        for more in (1, 2)
    }
    assert values.columns == ("more", "direct", "highs")
    assert [row[0] for row in values.rows] == [1, 2]
    for more, *found in values.rows:
        assert found == pytest.approx([costs[more]] * 2)
    assert all(list(row[1:]) == pytest.approx([0.0, 0.0], abs=1e-6) for row in above.rows)
    assert [row[1] for row in profile.rows] == [100.0, 100.0]
    assert [row[-1] for row in profile.rows] == [4, 4]


def test_processes_give_the_same_rows_in_the_same_order(folder: Path) -> None:
    first = run(folder)
    again = run_study_file(folder / "night.toml", folder / "other", Way(workers=2, pictures=False))
    assert without_times(first) == without_times(again)


def test_nothing_is_run_again(folder: Path, counts: Path) -> None:
    run(folder)
    assert len(lines(counts)) == 12
    again = run(folder)
    assert (again.resumed, again.total) == (12, 12)
    assert len(lines(counts)) == 12
    text = (folder / "night.toml").read_text(encoding="utf-8").replace('"1..6"', '"2..7"')
    (folder / "night.toml").write_text(text, encoding="utf-8")
    wider = run(folder)
    assert (wider.resumed, wider.total) == (10, 12)
    assert lines(counts)[12:] == ["1 7", "2 7"]
    assert [row["seed"] for row in wider.table] == [2, 3, 4, 5, 6, 7] * 2


def test_after_kills_at_random_moments_no_run_that_has_its_row_is_run_again(folder: Path, counts: Path) -> None:
    drawn, journal = random.Random("kills of a study"), folder / "out" / "runs.jsonl"
    command = [sys.executable, "-m", "mrdsl", "study", "night.toml", "-o", "out", "-j", "2", "--no-plots"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "MRDSL_TEST_SECONDS": "0.1"}
    begun = 0
    for _ in range(KILLS):
        kept = {row["key"] for row in map(json.loads, lines(journal)[1:])}
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL)
        while process.poll() is None and len(lines(counts)) == begun:
            time.sleep(0.01)
        time.sleep(drawn.uniform(0.0, 0.3))
        process.send_signal(drawn.choice([signal.SIGKILL, signal.SIGTERM]))
        process.wait(timeout=60)
        begun = len(lines(counts))
        assert kept <= {row["key"] for row in map(json.loads, lines(journal)[1:])}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in lines(journal)[1:]]
    assert len({row["key"] for row in rows}) == len(rows) == 12
    assert len(set(lines(counts))) == 12
    assert len(lines(counts)) <= 12 + 2 * KILLS, "of each kill, what ran at that moment in two processes, and no more"


def test_a_row_that_was_cut_off_is_run_again(folder: Path, counts: Path) -> None:
    first = run(folder)
    journal = folder / "out" / "runs.jsonl"
    for cut, missing in ((lines(journal)[0][:5], 12), ("\n".join(lines(journal)[:4]) + '\n{"key": "a', 9)):
        counts.unlink()
        journal.write_text(cut, encoding="utf-8")
        again = run(folder)
        assert len(lines(counts)) == missing
        assert without_times(again) == without_times(first)


def test_a_run_that_dies_or_fails_is_a_row(folder: Path, counts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MRDSL_TEST_POISON", "2 3")
    done = run(folder)
    lost = [row for row in done.table if row["termination"] == "error"]
    assert [(row["param.more"], row["seed"]) for row in lost] == [(2, 3)]
    assert "`counted` ended its process" in lost[0]["message"]
    assert run(folder).resumed == 12
    monkeypatch.delenv("MRDSL_TEST_POISON")
    retried = run(folder, Way(workers=1, pictures=False, retry=True))
    assert (retried.resumed, {row["termination"] for row in retried.table}) == (11, {"completed"})
    assert lines(counts).count("2 3") == 2


def test_runs_without_a_plan_are_rows(folder: Path) -> None:
    text = '[[runs]]\nspecs = "one.mrspec"\nmethods = ["direct", "highs"]\nparams.limit = ["15 min", "1 s"]\n'
    (folder / "night.toml").write_text(text, encoding="utf-8")
    done = run(folder)
    assert [row["termination"] for row in done.table] == ["optimal", "optimal", "infeasible", "infeasible"]
    assert done.table[2]["message"]
    assert done.tables[1].rows[0][-2:] == (100.0, 1), "the goal of what has no plan is compared with nothing"


def test_on_dask(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = run(folder)
    cluster = Cluster()
    monkeypatch.setattr(executors, "_connect", cluster.connect)
    there = run_study_file(folder / "night.toml", folder / "other", Way(executor="dask://there:8786", pictures=False))
    assert without_times(here) == without_times(there)
    assert cluster.addresses == ["there:8786"]


def test_a_lost_scheduler_leaves_the_rows_that_came(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executors, "_connect", Cluster(lost_after=3).connect)
    with pytest.raises(MrdslError, match="no longer answers"):
        run(folder, Way(executor="dask://there:8786", pictures=False))
    assert run(folder).resumed == 3


def test_a_folder_with_anything_else_in_it_is_refused(folder: Path) -> None:
    (folder / "out").mkdir()
    (folder / "out" / "thesis.txt").write_text("dear", encoding="utf-8")
    with pytest.raises(MrdslError, match="not empty"):
        run(folder)
    (folder / "out" / "runs.jsonl").write_text('{"run": 1}\n', encoding="utf-8")
    with pytest.raises(MrdslError, match="is not a study journal"):
        run(folder)
    assert (folder / "out" / "thesis.txt").read_text(encoding="utf-8") == "dear"


def test_a_journal_that_somebody_else_wrote_does_no_harm(folder: Path) -> None:
    first = run(folder)
    journal = folder / "out" / "runs.jsonl"
    head, *rows = (json.loads(line) for line in lines(journal))
    for row in rows:
        row.update(
            {"value": "=HYPERLINK(1)", "bound": [1, {}], "seconds": None, "method": "\x1b[0m", "cpu_seconds": 1e999}
        )
    journal.write_text("".join(json.dumps(row) + "\n" for row in (head, *rows)), encoding="utf-8")
    done = run(folder)
    assert [row["method"] for row in done.table] == [row["method"] for row in first.table]
    text = (folder / "out" / "runs.csv").read_text(encoding="utf-8")
    assert "'=HYPERLINK(1)" in text
    assert "\x1b" not in text


STRANGE = (
    10**400,
    -(10**400),
    1e308,
    5e-324,
    -0.0,
    math.nan,
    math.inf,
    [],
    {"a": []},
    "",
    "\ud800",
    "=1+1",
    None,
    True,
)


def test_a_journal_with_any_values_at_any_places_does_no_harm(folder: Path) -> None:
    """A real one, mangled from fixed seeds: tables may say anything of it, but they are there."""
    tables = (
        "[[tables]]\nvalue = 'value'\nabove = 'best'\nrows = 'title'\ncolumns = 'unit'\nstatistic = ['mean', 'sum']\n"
        "[[tables]]\nvalue = 'seconds'\nshare_of = 'bound'\nrows = 'value'\n"
        "[[profiles]]\nmeasure = 'cpu_seconds'\nwithin = '1%'\n"
    )
    (folder / "night.toml").write_text(STUDY + tables, encoding="utf-8")
    written = len(run(folder).tables)
    journal = folder / "out" / "runs.jsonl"
    head, *rows = (json.loads(line) for line in lines(journal))
    for seed in range(40):
        drawn = random.Random(seed)
        mangled = [{**row, **{name: drawn.choice(STRANGE) for name in drawn.sample(sorted(row), 4)}} for row in rows]
        kept = [{**each, "key": row["key"]} for each, row in zip(mangled, rows, strict=True)]
        journal.write_text("".join(json.dumps(row) + "\n" for row in (head, *kept)), encoding="utf-8")
        done = run(folder)
        assert done.resumed == len(rows)
        assert len(done.tables) == written
        assert print_tables(done.tables)


def test_what_plans_do_not_say_is_told_and_the_runs_are_kept(folder: Path) -> None:
    path = folder / "night.toml"
    path.write_text(STUDY.replace('"plan.vms"', '"plan.vmz"') + "[[profiles]]\nmeasure = 'plan.nodes'\n", "utf-8")
    with pytest.raises(MrdslError) as failure:
        run(folder)
    assert [str(each.span).rpartition("/")[2] for each in failure.value.diagnostics] == [
        "night.toml:14:9",
        "night.toml:20:11",
    ]
    path.write_text(STUDY, encoding="utf-8")
    assert run(folder).resumed == 8


def test_tables_without_plans_are_empty(folder: Path) -> None:
    text = STUDY.replace("params = { more = [1, 2] }", "params = { more = 1, limit = '1 s' }")
    (folder / "night.toml").write_text(text.replace("plan.vms", "plan.whatever"), encoding="utf-8")
    done = run(folder)
    assert {row["termination"] for row in done.table} == {"infeasible"}
    assert [cell for row in done.tables[2].rows for cell in row[1:]] == [None, None]


def test_a_table_above_a_method_that_is_not_installed_is_left_out(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mrdsl.solving.registry.where", lambda solver: None if solver.name == "scip" else "here")
    text = STUDY.replace('"highs"]', '"highs", { solver = "scip", optional = true }]').replace(
        'above = "highs"', 'above = "scip"\ntitle = "Above SCIP"'
    )
    (folder / "night.toml").write_text(text, encoding="utf-8")
    done = run(folder)
    assert (done.left_out, done.left_out_tables) == (("scip",), ("Above SCIP",))
    assert [each.title for each in done.tables][:2] == ["Methods", "Mean value [USD] by more"]
    assert len(done.tables) == 3


def test_the_tables_of_a_folder_are_shown_again(folder: Path) -> None:
    done = run(folder)
    shown = tables_in(folder / "out")
    assert [(each.title, each.columns) for each in shown] == [(each.title, each.columns) for each in done.tables]
    for again, first in zip(shown, done.tables, strict=True):
        assert [list(row) for row in again.rows] == [list(row) for row in first.rows]


def test_a_study_that_was_changed_leaves_no_table_of_its_former_self(folder: Path) -> None:
    """Three tables share a title: two of them remain, of which one changes."""
    out, path = folder / "out", folder / "night.toml"
    alike = "[[tables]]\ntitle = 'T'\nrows = 'more'\nvalue = '{}'\n"
    before = "profiles = []\n" + STUDY.split("[[tables]]")[0]
    path.write_text(before + "".join(map(alike.format, ("value", "seed", "plan.vms"))), encoding="utf-8")
    run(folder)
    assert sorted(each.name for each in out.glob("0*")) == ["01-methods.csv", "02-t.csv", "03-t.csv", "04-t.csv"]
    changed = (out / "02-t.csv").read_bytes()
    (out / "02-t.csv").write_bytes(changed + b"mine\n")
    for name in ("04-t.svg", "05-notes.csv", "other.csv"):
        (out / name).write_text("mine", encoding="utf-8")
    path.write_text(before + "".join(map(alike.format, ("seed", "time_limit [s]"))), encoding="utf-8")
    done = run(folder)
    shown = tables_in(out)
    assert [[list(row) for row in each.rows] for each in shown] == [
        [list(row) for row in each.rows] for each in done.tables
    ]
    assert [row[1:] for each in shown[1:] for row in each.rows] == [(5.5, 5.5), (5.5, 5.5), (60.0, 60.0), (60.0, 60.0)]
    left = {each.name for each in out.iterdir()} - {"runs.csv", "runs.jsonl", "manifest.json", ".mrdsl.lock"}
    assert left == {"01-methods.csv", "02-t.csv", "03-t.csv", "04-t.svg", "05-notes.csv", "other.csv"}


def test_a_manifest_that_somebody_else_wrote_removes_nothing(folder: Path) -> None:
    run(folder)
    out = folder / "out"
    (folder / "02-night.csv").write_text("mine", encoding="utf-8")
    (out / "02-link.csv").symlink_to(folder / "02-night.csv")
    mine = {"bytes": 4, "sha256": hashlib.sha256(b"mine").hexdigest()}
    names = ("../02-night.csv", "02-link.csv", "runs.jsonl", "thesis.csv", str(folder / "02-night.csv"))
    (out / "thesis.csv").write_text("mine", encoding="utf-8")
    for text in (
        json.dumps({"tables": [{"file": each} for each in names], "files": [{"name": each, **mine} for each in names]}),
        json.dumps({"tables": [{"file": 3}], "files": [None]}),
        json.dumps({"tables": {"file": []}, "files": 3}),
        "[" * 100_000,
    ):
        (out / "manifest.json").write_text(text, encoding="utf-8")
        assert run(folder).resumed == 8
        assert [(out / each).read_text(encoding="utf-8") for each in ("thesis.csv", names[0], names[1])] == ["mine"] * 3


MANIFESTS = {
    "no JSON": "{",
    "no tables": "{}",
    "a table elsewhere": '{"tables": [{"title": "x", "file": "../night.toml"}]}',
    "no title": '{"tables": [{"file": "runs.csv"}]}',
    "no such file": '{"tables": [{"title": "x", "file": "none.csv"}]}',
    "no table": '{"tables": [{"title": "x", "file": "uneven.csv"}]}',
    "deep": "[" * 100_000,
}


@pytest.mark.parametrize("name", MANIFESTS)
def test_a_manifest_that_somebody_else_wrote_shows_nothing_else(name: str, tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text(MANIFESTS[name], encoding="utf-8")
    (tmp_path / "uneven.csv").write_text("a,b\n1\n", encoding="utf-8")
    with pytest.raises(MrdslError, match="cannot be read"):
        tables_in(tmp_path)


def test_work_is_told_run_by_run(folder: Path) -> None:
    seen: list[Progress] = []
    with watched(seen.append):
        run(folder)
    told = dict.fromkeys((each.what, each.done, each.total) for each in seen if not each.over)
    assert list(told) == [("runs", done, 8) for done in range(9)]
    assert seen[-1].over


def test_ctrl_c_leaves_a_table_and_goes_on(folder: Path, counts: Path) -> None:
    command = [sys.executable, "-m", "mrdsl", "study", "night.toml", "-o", "out", "-j", "1", "--no-plots"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "MRDSL_TEST_SECONDS": "0.3"}
    process = subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True)
    while process.poll() is None and len(lines(counts)) < 3:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    told = process.communicate(timeout=60)[1]
    assert process.returncode == 4, told
    assert "interrupted; run the same command again to continue" in told
    kept = len(lines(folder / "out" / "runs.jsonl")) - 1
    assert 2 <= kept < 12
    assert len(lines(folder / "out" / "runs.csv")) == 1 + kept
    assert run(folder).resumed == kept


def test_from_python(folder: Path) -> None:
    pandas = pytest.importorskip("pandas")
    seen: list[tuple[int, int]] = []
    done = mrdsl.study(
        folder / "night.toml",
        folder / "out",
        processes=1,
        plots=False,
        progress=lambda now, total: seen.append((now, total)),
    )
    assert seen == [(n, 8) for n in range(9)]
    frame = done.to_dataframe()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame["param.more"]) == [1, 1, 1, 1, 2, 2, 2, 2]


def test_the_command_prints_tables_and_writes_files(folder: Path) -> None:
    pytest.importorskip("altair")
    command = ["study", "night.toml", "-o", "out", "-j", "1", "--table", "runs.parquet", "--report", "night.md"]
    if not _is_installed("pyarrow"):
        command[7] = "runs.jsonl"
    ran = subprocess.run(
        [sys.executable, "-m", "mrdsl", *command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert "out: 8 of 8 runs" in ran.stderr
    assert "Performance profile of value" in ran.stdout
    assert (folder / command[7]).stat().st_size
    assert "# Study Two methods" in (folder / "night.md").read_text(encoding="utf-8")
    assert len(list((folder / "out").glob("*.svg"))) == 3


def _is_installed(name: str) -> bool:
    from importlib.util import find_spec

    return find_spec(name) is not None
