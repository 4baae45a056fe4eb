"""What a command writes: one rule for all of them, told before the work begins."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mrdsl.cli import cli
from mrdsl.cli.boundary import run
from mrdsl.cli.outputs import Outputs
from mrdsl.core import reading
from mrdsl.core.diagnostics import MrdslError
from mrdsl.core.resources import resource
from mrdsl.reporting.document import FORMAT

ROOT = Path(__file__).resolve().parents[2]
MODELS = resource("models")
Shown = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with specs of several families, one of them with an import, a table and a data file."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(MODELS / "capacity" / "quickstart.mrspec", "q.mrspec")
    for family in ("deadline", "bounds", "joint", "makespan"):
        shutil.copy(MODELS / family / "reference.mrspec", f"{family}.mrspec")
    text = (MODELS / "capacity" / "quickstart.mrspec").read_text(encoding="utf-8")
    Path("imported.mrspec").write_text("param unused = 1\n", encoding="utf-8")
    Path("main.mrspec").write_text(f'import "imported.mrspec"\n{text}', encoding="utf-8")
    Path("data.toml").write_text("", encoding="utf-8")
    Path("there").write_text("precious", encoding="utf-8")
    for ending in ("lp", "csv"):
        Path(f"there.{ending}").write_text("precious", encoding="utf-8")
    Path("x.sol").write_text("precious", encoding="utf-8")


def mrdsl(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["mrdsl", *arguments])
    return run(cli)


def files() -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(Path().rglob("*")) if path.is_file()}


THERE = {
    "solve -o": "solve q.mrspec -o there",
    "solve --gantt": "solve makespan.mrspec --gantt there",
    "solve --graph": "solve deadline.mrspec --graph there",
    "a spec that is wrong": "solve there.lp -o there",
    "simulate -o": "simulate bounds.mrspec --runs 1 -o there",
    "simulate --gantt": "simulate bounds.mrspec --runs 1 --gantt there",
    "simulate --trace": "simulate bounds.mrspec --runs 1 --jobs 2 --trace there",
    "read": "read q.mrspec --solution x.sol -o there",
    "compare": "compare q.mrspec q.mrspec -o there",
    "compile": "compile q.mrspec -o there.lp",
    "sweep": "sweep q.mrspec --seeds 1..2 -o there.csv",
    "new": "new capacity -o there",
}


@pytest.mark.parametrize("case", THERE)
def test_a_file_that_is_there_is_kept(case: str, monkeypatch: pytest.MonkeyPatch, capsys: Shown) -> None:
    before = files()
    assert mrdsl(monkeypatch, *THERE[case].split()) == 2
    assert "file-exists" in capsys.readouterr().err
    assert files() == before


def test_a_model_in_two_formats_has_the_names_of_both(monkeypatch: pytest.MonkeyPatch) -> None:
    for ending in ("lp", "mps", "nl", "gms"):
        assert mrdsl(monkeypatch, "compile", "q.mrspec", "-o", f"m.{ending}") == 0
        assert Path(f"m.{ending}.names.json").is_file()


def test_no_command_prints_the_help_line_by_line(monkeypatch: pytest.MonkeyPatch, capsys: Shown) -> None:
    assert mrdsl(monkeypatch) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("Usage: mrdsl [OPTIONS] COMMAND [ARGS]...\n\n")
    assert "\n  solve " in shown.err
    assert "\\n" not in shown.err


def test_names_beside_a_model_are_kept_too(monkeypatch: pytest.MonkeyPatch, capsys: Shown) -> None:
    Path("m.lp.names.json").write_text("precious", encoding="utf-8")
    assert mrdsl(monkeypatch, "compile", "q.mrspec", "-o", "m.lp") == 2
    assert "`m.lp.names.json` already exists" in capsys.readouterr().err
    assert not Path("m.lp").exists()


def test_an_export_is_kept(monkeypatch: pytest.MonkeyPatch, capsys: Shown) -> None:
    assert mrdsl(monkeypatch, "export", "joint.mrspec", "yarn", "-o", "queues/day") == 0
    before = files()
    assert mrdsl(monkeypatch, "export", "joint.mrspec", "yarn", "-o", "queues/day") == 2
    assert "file-exists" in capsys.readouterr().err
    assert files() == before
    assert mrdsl(monkeypatch, "export", "joint.mrspec", "yarn", "-o", "queues/day", "--force") == 0
    assert set(files()) == set(before)


@pytest.mark.parametrize(
    "case",
    [
        "solve q.mrspec -o there",
        "simulate bounds.mrspec --runs 1 --jobs 2 --trace there",
        "compare q.mrspec q.mrspec -o there",
        "compile q.mrspec -o there.lp",
        "sweep q.mrspec --seeds 1..2 -o there.csv -j 1",
        "new capacity -o there",
    ],
)
def test_force_writes_over_it(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert mrdsl(monkeypatch, *case.split(), "--force") == 0
    target = next(word for word in case.split() if word.startswith("there"))
    assert Path(target).read_bytes() not in (b"", b"precious")


INPUTS = {
    "the spec": "solve main.mrspec -o main.mrspec",
    "by another name": "solve main.mrspec -o link",
    "by a second name": "solve main.mrspec -o second",
    "an import": "solve main.mrspec -o imported.mrspec",
    "a data file": "solve main.mrspec --data data.toml -o data.toml",
    "a drawing": "solve makespan.mrspec --gantt makespan.mrspec",
    "a model": "compile main.mrspec --format lp -o main.mrspec",
    "a solution": "read q.mrspec --solution x.sol -o x.sol",
    "a trace": "simulate bounds.mrspec --runs 1 --trace bounds.mrspec",
    "one of two": "compare q.mrspec main.mrspec -o main.mrspec",
    "a sweep's": "sweep in.csv --seeds 1..2 -o in.csv",
    "a sweep's journal": "sweep x.csv.part --seeds 1..2 -o x.csv",
}


@pytest.mark.parametrize("case", INPUTS)
def test_an_input_is_never_written(case: str, monkeypatch: pytest.MonkeyPatch, capsys: Shown) -> None:
    Path("link").symlink_to("main.mrspec")
    os.link("main.mrspec", "second")
    Path("folder").mkdir()
    for name in ("folder/in.mrspec", "in.csv", "x.csv.part"):
        shutil.copy("q.mrspec", name)
    before = files()
    assert mrdsl(monkeypatch, *INPUTS[case].split(), "--force") == 2
    assert "output-is-input" in capsys.readouterr().err
    assert files() == before


def test_a_table_is_an_input(monkeypatch: pytest.MonkeyPatch, capsys: Shown) -> None:
    shutil.copytree(MODELS / "joint", "joint")
    spec, table = next(
        (path, table)
        for path in sorted(Path("joint").glob("*.mrspec"))
        for table in sorted(Path("joint").glob("*.csv"))
        if f'"{table.name}"' in path.read_text(encoding="utf-8")
    )
    before = files()
    assert mrdsl(monkeypatch, "solve", str(spec), "-o", str(table), "--force") == 2
    assert f"`{table}` is read by this command" in capsys.readouterr().err
    assert files() == before


def test_one_file_takes_one_output(monkeypatch: pytest.MonkeyPatch, capsys: Shown) -> None:
    for arguments in (
        "-o x --gantt x",
        "-o x --gantt ./x",
        "--gantt x --graph x",
        "-o - --gantt -",
        "--json --gantt -",
        "-o - --gantt /dev/stdout",
    ):
        assert mrdsl(monkeypatch, "solve", "makespan.mrspec", *arguments.split()) == 2
        assert "wrong-option" in "".join(capsys.readouterr())
    assert not Path("x").exists()


def test_a_hyphen_is_standard_output(monkeypatch: pytest.MonkeyPatch, capsys: Shown) -> None:
    for command, version in (
        ("solve q.mrspec", FORMAT),
        ("compare q.mrspec q.mrspec", 1),
        ("simulate bounds.mrspec --runs 1", FORMAT),
    ):
        assert mrdsl(monkeypatch, *command.split(), "-o", "-") == 0
        assert json.loads(capsys.readouterr().out)["format"] == version
        assert mrdsl(monkeypatch, *command.split(), "--json", "-o", "-") == 0
        assert json.loads(capsys.readouterr().out)["format"] == version
    assert mrdsl(monkeypatch, "solve", "makespan.mrspec", "--gantt", "-") == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("<svg") or shown.out.startswith("<?xml")
    assert shown.out.rstrip().endswith("</svg>")
    assert "makespan" in shown.err
    assert mrdsl(monkeypatch, "compile", "q.mrspec", "--format", "lp", "-o", "-") == 0
    assert capsys.readouterr().out.rstrip().endswith("end")
    assert mrdsl(monkeypatch, "new", "capacity", "-o", "-") == 0
    assert capsys.readouterr().out == (MODELS / "capacity" / "reference.mrspec").read_text(encoding="utf-8")
    assert mrdsl(monkeypatch, "export", "q.mrspec", "emr", "--vm", "m5=m5.xlarge", "-o", "-") == 0
    assert json.loads(capsys.readouterr().out)["ReleaseLabel"]
    assert mrdsl(monkeypatch, "export", "joint.mrspec", "yarn", "-o", "-") == 2
    assert "pass a folder with `-o`" in capsys.readouterr().err
    assert not Path("-").exists()


def test_a_wrong_spec_tells_it_there_too(monkeypatch: pytest.MonkeyPatch, capsys: Shown) -> None:
    assert mrdsl(monkeypatch, "solve", "there", "-o", "-") == 2
    assert json.loads(capsys.readouterr().out)["diagnostics"]


NOTHING = {
    "a chart": ("solve q.mrspec --gantt x.svg", "no Gantt chart"),
    "a graph": ("solve q.mrspec --graph x.svg", "no graph"),
    "a chart beside others": ("solve q.mrspec --gantt x.svg -o x.json", "no Gantt chart"),
}


@pytest.mark.parametrize("case", NOTHING)
def test_nothing_to_write_is_no_success(case: str, monkeypatch: pytest.MonkeyPatch, capsys: Shown) -> None:
    arguments, words = NOTHING[case]
    assert mrdsl(monkeypatch, *arguments.split()) == 2
    shown = capsys.readouterr()
    assert f"error[nothing-to-write]: {words}" in shown.err
    assert "cost" in shown.out
    assert not Path("x.svg").exists()
    assert Path("x.json").exists() == ("x.json" in arguments)


def test_a_missing_folder_is_told_before_the_work(monkeypatch: pytest.MonkeyPatch, capsys: Shown) -> None:
    for arguments in (
        "solve q.mrspec -o missing/x",
        "compile q.mrspec -o missing/x.lp",
        "sweep q.mrspec -o missing/x.csv",
        "new capacity -o missing/x",
        "simulate bounds.mrspec --trace missing/x",
    ):
        assert mrdsl(monkeypatch, *arguments.split()) == 2
        shown = capsys.readouterr()
        assert "does not exist" in shown.err
        assert not shown.out
    assert not Path("missing").exists()


def test_a_journal_that_is_none_is_kept(monkeypatch: pytest.MonkeyPatch, capsys: Shown) -> None:
    Path("x.csv.part").write_text("notes of mine\n", encoding="utf-8")
    assert mrdsl(monkeypatch, "sweep", "q.mrspec", "--seeds", "1..2", "-o", "x.csv", "--force") == 2
    assert "other-sweep" in capsys.readouterr().err
    assert Path("x.csv.part").read_text(encoding="utf-8") == "notes of mine\n"


@pytest.fixture
def slow_sweep() -> Iterator[subprocess.Popen[str]]:
    """A sweep of many runs that has begun to write."""
    command = [sys.executable, "-m", "mrdsl", "sweep", "q.mrspec", "--seeds", "1..5000", "-o", "out.csv", "-j", "1"]
    process = subprocess.Popen(
        command, env={**os.environ, "PYTHONPATH": str(ROOT)}, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    journal = Path("out.csv.part")
    while not journal.exists() or journal.stat().st_size < 300:
        assert process.poll() is None
        time.sleep(0.02)
    yield process
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


@pytest.mark.skipif(os.name != "posix", reason="locks are POSIX's")
def test_two_sweeps_into_one_table_do_not_mix(
    slow_sweep: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for seeds in ("1..5000", "1..2"):
        assert mrdsl(monkeypatch, "sweep", "q.mrspec", "--seeds", seeds, "-o", "out.csv", "-j", "1", "--force") == 2
        assert "busy-output" in capsys.readouterr().err
    os.killpg(slow_sweep.pid, signal.SIGINT)
    slow_sweep.communicate(timeout=60)
    assert slow_sweep.returncode == 4
    runs = [line.split(",")[0] for line in Path("out.csv").read_text(encoding="utf-8").splitlines()[1:]]
    assert runs == [str(number) for number in range(1, len(runs) + 1)]


def test_a_spec_with_an_error_leaves_no_file_in_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Path("q.mrspec").read_text(encoding="utf-8")
    Path("a.mrspec").write_text(right.replace("15 min", "15 mm"), encoding="utf-8")
    assert mrdsl(monkeypatch, "solve", "a.mrspec", "-o", "plan.json") == 2
    assert not Path("plan.json").exists()
    Path("a.mrspec").write_text(right, encoding="utf-8")
    assert mrdsl(monkeypatch, "solve", "a.mrspec", "-o", "plan.json") == 0
    assert Path("plan.json").exists()


def test_many_outputs_are_compared_without_pairs_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Path] = []
    target_of = reading.target_of

    def counted(path: Path) -> reading.Target:
        asked.append(path)
        return target_of(path)

    monkeypatch.setattr(reading, "target_of", counted)
    files = {str(number): tmp_path / str(number) for number in range(200)}
    Outputs(files, force=False).check()
    assert len(asked) <= 3 * 200
    (tmp_path / "link").symlink_to(tmp_path / "7")
    with pytest.raises(MrdslError, match="`7` and `link` would write the same file"):
        Outputs({**files, "link": tmp_path / "link"}, force=False).check()
