"""``--json``: one JSON object on standard output, whatever is wrong, and the documented exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mrdsl.cli import cli
from mrdsl.cli.boundary import run
from mrdsl.core.resources import resource

ROOT = Path(__file__).resolve().parents[2]
QUICK = str(resource("models") / "capacity" / "quickstart.mrspec")
BOUNDS = str(resource("models") / "bounds" / "reference.mrspec")

WRONG = {
    "no file": (["solve", "--json"], 2, "wrong-option"),
    "no such option": (["solve", QUICK, "--json", "--bogus"], 2, "wrong-option"),
    "a time limit that is none": (["solve", QUICK, "--json", "--time-limit", "3 GB"], 2, "wrong-option"),
    "a gap below zero": (["solve", QUICK, "--json", "--gap", "-1"], 2, "out-of-range"),
    "a param without a value": (["solve", QUICK, "--json", "-D", "x"], 2, "wrong-option"),
    "no such data file": (["solve", QUICK, "--json", "--data", "no-such.toml"], 2, "unreadable-file"),
    "a folder to write": (["solve", QUICK, "--json", "-o", str(ROOT)], 2, "unwritable-file"),
    "a file as folder": (["solve", QUICK, "--json", "-o", QUICK + "/x.json"], 2, "unwritable-file"),
    "no such folder": (["solve", QUICK, "--json", "-o", "no/such.json"], 2, "unwritable-file"),
    "a folder without specs": (["check", ".", "--format", "json"], 2, "no-specs"),
    "no such solution": (["read", QUICK, "--json", "--solution", "no-such.sol"], 2, "unreadable-solution"),
    "no such solver to list": (["solvers", "no-such", "--json"], 2, "unknown-solver"),
    "a folder as spec": (["solve", str(ROOT), "--json"], 2, "unreadable-file"),
    "a folder as data file": (["solve", QUICK, "--json", "--data", str(ROOT)], 2, "unreadable-file"),
    "a folder as plan": (["verify", str(ROOT), "--json"], 2, "unreadable-file"),
    "one spec of two": (["compare", QUICK, "no-such.mrspec", "--json"], 2, "unreadable-file"),
    "an option of check": (["check", QUICK, "--format", "json", "-D", "x"], 2, "wrong-option"),
    "a sweep's executor": (["sweep", QUICK, "-o", "x.csv", "--executor", "no-such", "--json"], 2, "wrong-option"),
    "a model of an estimate": (["solve", BOUNDS, "--json", "--solver", "scip"], 2, "unknown-formulation"),
    "no time at all": (["solve", QUICK, "--json", "--solver", "highs", "--time-limit", "0"], 4, "stopped-early"),
}


@pytest.mark.parametrize("case", WRONG)
def test_one_object_says_what_is_wrong(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments, code, diagnostic = WRONG[case]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["mrdsl", *arguments])
    assert run(cli) == code
    found = json.loads(capsys.readouterr().out)
    assert [each["code"] for each in found["diagnostics"]] == [diagnostic]
    assert not list(tmp_path.iterdir())


def test_a_plan_is_printed_before_a_file_that_cannot_be_written(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    monkeypatch.setattr(sys, "argv", ["mrdsl", "solve", QUICK, "--json", "-o", "x.json"])
    assert run(cli) == 2
    shown = capsys.readouterr()
    assert json.loads(shown.out)["solution"] == "optimal"
    assert "error[unwritable-file]: `x.json` cannot be written: No space left on device" in shown.err


@pytest.mark.skipif(os.name != "posix", reason="a pipe and a full device")
@pytest.mark.parametrize(
    ("arguments", "target", "code"),
    [
        ("explain", "| head -n 1", 0),
        (f"solve {QUICK} --json", "| head -n 1", 0),
        (f"solve {QUICK} --json", "> /dev/full", 3),
        ("check no_such.mrspec", "2>&1 | (exec <&-; sleep 2)", 2),
        ("solve no_such.mrspec", "2>&1 | (exec <&-; sleep 2)", 2),
    ],
)
def test_a_reader_that_leaves(arguments: str, target: str, code: int) -> None:
    """The exit code is mrdsl's, not the reader's: a pipe that closes is no failure, a full disk is."""
    line = f"set -o pipefail; {sys.executable} -m mrdsl {arguments} {target}"
    done = subprocess.run(
        ["bash", "-c", line],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == code
    assert "Traceback" not in done.stderr


LOST = "error[system-refuses]: standard output cannot be written: No space left on device"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a full device")
@pytest.mark.parametrize(
    ("arguments", "target", "code", "said"),
    [
        (f"solve {QUICK}", "2> /dev/full", 0, ""),
        (f"solve {QUICK} --solver highs --time-limit 0", "2> /dev/full", 4, ""),
        ("solve no_such.mrspec", "2> /dev/full", 2, ""),
        ("verify no_such.json", "2> /dev/full", 2, ""),
        (f"solve {QUICK} --bogus", "2> /dev/full", 2, ""),
        (f"solve {QUICK}", "> /dev/full 2>&1", 3, ""),
        (f"solve {QUICK}", "> /dev/full", 3, LOST),
        (f"solve {QUICK} --json", "> /dev/full", 3, LOST),
        ("check no_such.mrspec --format json", "> /dev/full", 3, LOST),
        ("explain", "> /dev/full", 3, LOST),
    ],
)
def test_a_full_device(arguments: str, target: str, code: int, said: str) -> None:
    """Standard error that takes nothing changes no exit code; a lost output is told, in whatever form it was asked."""
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m mrdsl {arguments} {target}"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == code
    assert done.stderr.partition("\n")[0] == said


def test_one_module_prints() -> None:
    """So that no print forgets what a full device means."""
    modules = sorted((ROOT / "mrdsl" / "cli").glob("*.py"))
    assert [path.stem for path in modules if "click.echo" in path.read_text(encoding="utf-8")] == ["outputs"]


def test_a_date_is_no_value_of_a_param(tmp_path: Path) -> None:
    from mrdsl.cli.options import parameters
    from mrdsl.core.diagnostics import MrdslError

    (tmp_path / "data.toml").write_text("peak = 2026-01-01\n", encoding="utf-8")
    with pytest.raises(MrdslError, match="must contain only names and values"):
        parameters({"defines": (), "data": tmp_path / "data.toml", "scales": ()})
