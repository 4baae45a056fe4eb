"""A study that goes on says that it takes the rows of its journal on trust."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

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
