"""A study that goes on says that it takes the rows of its journal on trust."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import pytest

from mrdsl.sweeping import sweep as sweeping
from tests.command_lines import run_here
from tests.sweeping.test_study_file import WITH_PARAMS

STUDY = 'title = "One"\n[[runs]]\nspecs = "one.mrspec"\nmethods = ["direct"]\nparams = { more = [1] }\n'


def test_rows_of_a_journal_are_said_to_be_on_trust(tmp_path: Path) -> None:
    (tmp_path / "one.mrspec").write_text(WITH_PARAMS, encoding="utf-8")
    (tmp_path / "night.toml").write_text(STUDY, encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "mrdsl",
        "study",
        str(tmp_path / "night.toml"),
        "-o",
        str(tmp_path / "out"),
        "--no-plots",
    ]
    first = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "on trust" not in first.stderr
    journal = tmp_path / "out" / "runs.jsonl"
    lines = journal.read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    forged = [{**row, "value": 0.5, "bound": 0.5} if "value" in row else row for row in rows]
    journal.write_text("".join(json.dumps(row) + "\n" for row in forged), encoding="utf-8")
    again = subprocess.run(command, capture_output=True, text=True, check=True)
    said = "1 of them from an earlier run (values and bounds read from runs.jsonl, not checked again)"
    assert said in again.stderr
    shown = run_here(("study", "out"), tmp_path)
    assert "not checked again" in shown.output


def test_rows_of_a_sweep_that_goes_on_are_said_to_be_on_trust(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forged rows of the journal stand in the table, and standard error says how many were not checked again."""
    (tmp_path / "one.mrspec").write_text(WITH_PARAMS, encoding="utf-8")
    line = "sweep one.mrspec --over more=1,2 --solver direct -j 1 -o out.csv"
    real, runs = sweeping.append, []

    def stopped(stream: IO[str], row: Mapping[str, Any], **how: Any) -> None:
        if runs:
            raise KeyboardInterrupt
        runs.append(row)
        real(stream, row, **how)

    monkeypatch.setattr(sweeping, "append", stopped)
    run_here(tuple(line.split()), tmp_path)
    monkeypatch.setattr(sweeping, "append", real)
    assert len(runs) == 1
    journal = tmp_path / "out.csv.part"
    head, row = journal.read_text(encoding="utf-8").splitlines()
    journal.write_text(f"{head}\n{json.dumps({**json.loads(row), 'value': 0.5, 'bound': 0.5})}\n", encoding="utf-8")
    again = run_here(tuple(line.split()), tmp_path)
    assert again.exit_code == 0
    assert "1 of them from an earlier run (values and bounds read from its journal, not checked again)" in again.output
    assert ",0.5," in (tmp_path / "out.csv").read_text(encoding="utf-8")
