"""The examples of docs/how-to/run-every-hour.md: a script, functions, and jobs of Airflow and Dagster."""

from __future__ import annotations

import importlib
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.command_lines import run_here

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "how-to" / "run-every-hour.md").read_text(encoding="utf-8")
LOGS = ROOT / "models" / "logs"
MODULES = ("hourly_plan", "airflow_dag", "dagster_job")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with the modules of the page."""
    for name in MODULES:
        (text,) = re.findall(rf"^```python\n(# file: {name}\.py\n.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for name in MODULES:
        sys.modules.pop(name, None)


def test_the_lines_of_the_script_run_in_their_order(tmp_path: Path) -> None:
    (script,) = re.findall(r"^```sh\n(#!/bin/sh\n.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    lines = [line.strip() for line in script.splitlines() if line.strip().startswith(("mrdsl ", "mv "))]
    for hour in (1, 2):
        for line in lines:
            words = shlex.split(line.partition(" > ")[0].replace('"$1"', shlex.quote(str(LOGS))))
            if words[0] == "mv":
                shutil.move(tmp_path / words[1], tmp_path / words[2])
            elif words[1] != "diff" or hour > 1:
                done = run_here(tuple(words[1:]), tmp_path)
                assert done.exit_code == 0, done.output
    assert "mrdsl_has_plan" in (tmp_path / "plan.prom").read_text()
    if shutil.which("sh"):
        assert subprocess.run(["sh", "-n"], input=script, text=True, check=False).returncode == 0


def test_the_functions_keep_the_last_plan_until_it_changes(folder: Path) -> None:
    hourly: Any = importlib.import_module("hourly_plan")
    hourly.measure(LOGS, folder)
    hourly.decide(folder)
    assert hourly.changes(folder)
    hourly.apply(folder)
    assert (folder / "emr.json").exists()
    hourly.decide(folder)
    assert hourly.changes(folder) == ""
    (folder / "today.mrspec").write_text((folder / "today.mrspec").read_text().replace("jobs     = 1", "jobs     = 9"))
    hourly.decide(folder)
    assert "rent" in hourly.changes(folder)


def test_the_job_of_dagster_runs(folder: Path) -> None:
    pytest.importorskip("dagster", reason="dagster is not installed")
    module: Any = importlib.import_module("dagster_job")
    module.FOLDER, module.LOGS = folder, LOGS
    assert module.hourly.execute_in_process().success
    assert (folder / "plan.json").exists()
    assert module.schedule.cron_schedule == "5 * * * *"


def test_the_tasks_of_airflow_follow_each_other(folder: Path) -> None:
    pytest.importorskip("airflow.sdk", reason="Airflow is not installed")
    module: Any = importlib.import_module("airflow_dag")
    tasks = module.hourly().task_dict
    assert tasks["measure"].downstream_task_ids == {"decide"}
    assert tasks["changes"].downstream_task_ids == {"apply"}
