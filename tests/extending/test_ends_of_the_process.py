"""Plug-ins that end the process, or never end: the check says so, with an exit code that is not 0."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import mrdsl
from mrdsl import extending
from mrdsl.cli import cli
from mrdsl.cli.boundary import SOLVER_FAILED, run
from tests.extending.plugins import kit, write

ENDS = {
    "os._exit(0)": "ended the process that checks it (exit code 0)",
    "os._exit(7)": "ended the process that checks it (exit code 7)",
    "os.abort()": "ended the process that checks it (exit code -6)",
    "raise SystemExit(0)": "SystemExit: 0",
    "sys.exit()": "SystemExit",
    "raise KeyboardInterrupt": "KeyboardInterrupt",
    "while True: pass": "does not end",
    "time.sleep(1e6)": "does not end",
    "signal.pause()": "does not end",
}
IMPORTS = "import os, signal, sys, time\n"


def plugin(kind: str, end: str, folder: Path) -> None:
    """The kit's plug-in, of which every module of one name ends the process when it is imported."""
    write(kit(kind, "broken"), folder)
    modules = [path for path in folder.rglob("*.py") if "test" not in path.name]
    assert modules
    for path in modules:
        path.write_text(f"{IMPORTS}{end}\n", encoding="utf-8")


@pytest.fixture(autouse=True)
def _short(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    ends = ENDS.get(request.getfixturevalue("end"), "") if "end" in request.fixturenames else "does not end"
    monkeypatch.setattr(extending, "LONGEST", 0.5 if ends == "does not end" else 120.0)


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("kind", ["solver", "family", "pipeline"])
def test_a_module_that_ends_the_process_is_a_complaint(
    kind: str, end: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plugin(kind, end, tmp_path)
    monkeypatch.setattr(sys, "argv", ["mrdsl", "check-plugin", str(tmp_path), "--json"])
    assert run(cli) == SOLVER_FAILED
    document = json.loads(capsys.readouterr().out)
    assert not document["passes"]
    assert document["checked"]


@pytest.mark.parametrize("end", ENDS)
def test_the_complaint_says_how_it_ended(end: str, tmp_path: Path) -> None:
    """A family's module is imported in the process of the check itself."""
    plugin("family", end, tmp_path)
    report = mrdsl.check_plugin(tmp_path)
    assert ENDS[end] in " ".join(each.message for each in report.complaints)
