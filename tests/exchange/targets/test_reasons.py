"""Each setting of Spark has its reason and number, and an export shows what changes against those of now."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import mrdsl
from mrdsl.exchange.markup import read_spark_settings
from mrdsl.planning.exporting import changes
from tests.command_lines import run_here
from tests.exchange.targets.plans import STAGES, exported
from tests.exchange.targets.test_nodes import EXECUTORS


@pytest.mark.parametrize("text", [EXECUTORS, STAGES])
def test_a_line_beside_each_setting_says_why(text: str) -> None:
    for file in exported(text, "spark").files.values():
        lines = file.splitlines()
        for name in read_spark_settings(file):
            place = next(n for n, line in enumerate(lines) if line.startswith(f"{name} "))
            assert lines[place - 1].startswith("# "), name
    numbers = [each for each in exported(text, "spark").settings if re.search("[0-9]", each.why)]
    assert {"spark.executor.memory", "spark.dynamicAllocation.maxExecutors"} <= {each.name for each in numbers}


@pytest.mark.parametrize("form", ["spark", "emr"])
def test_what_changes_is_shown_and_what_stays_is_not(form: str) -> None:
    now = {"spark.executor.memory": "15g", "spark.executor.cores": "5", "spark.driver.memory": "8g"}
    rows = {row[1]: row[2:4] for row in changes(exported(EXECUTORS, form), now).rows}
    assert "spark.executor.memory" not in rows
    assert rows["spark.executor.cores"] == ("5", "4")
    assert rows["spark.driver.memory"] == ("8g", "1536m")
    assert rows["spark.executor.memoryOverhead"] == (None, "4096m")


def test_a_target_without_settings_is_not_compared() -> None:
    with pytest.raises(mrdsl.MrdslError, match="the export has none"):
        changes(exported(EXECUTORS, "yarn"), {"spark.executor.cores": "5"})


def test_the_command_compares_and_refuses_what_are_no_settings(tmp_path: Path) -> None:
    (tmp_path / "a.mrspec").write_text(EXECUTORS, encoding="utf-8")
    (tmp_path / "now.conf").write_text("spark.executor.cores 5\n", encoding="utf-8")
    (tmp_path / "wrong.conf").write_text("cores\n", encoding="utf-8")
    ran = run_here(("export", "a.mrspec", "emr", "-o", "a.json", "--against", "now.conf"), tmp_path)
    assert ran.exit_code == 0
    assert "spark.executor.cores" in ran.output
    for wrong in ("wrong.conf", "none.conf"):
        refused = run_here(("export", "a.mrspec", "emr", "-o", "b.json", "--against", wrong), tmp_path)
        assert refused.exit_code == 2
        assert not (tmp_path / "b.json").exists()
