"""A sweep that goes on says that it takes the rows of its journal on trust."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import pytest

from mrdsl.core.resources import resource
from mrdsl.sweeping import sweep as sweeping
from tests.command_lines import run_here

SPEC = (resource("models") / "capacity" / "quickstart.mrspec").read_text(encoding="utf-8")
WITH_PARAMS = "param more = 1\nparam limit = 15 min\n" + SPEC.replace("9..10", "9..10 * more").replace(
    "deadline = 15 min", "deadline = limit"
)


def test_rows_of_a_sweep_that_goes_on_are_said_to_be_on_trust(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forged rows of the journal stand in the table, and standard error says how many were not checked again."""
    (tmp_path / "one.mrspec").write_text(WITH_PARAMS, encoding="utf-8")
    line = "sweep one.mrspec --over more=1,2 --solver direct -j 1 -o out.csv"
    real, runs = sweeping.append, []

    def stopped(stream: IO[str], row: Mapping[str, Any]) -> None:
        if runs:
            raise KeyboardInterrupt
        if "run" in row:
            runs.append(row)
        real(stream, row)

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
