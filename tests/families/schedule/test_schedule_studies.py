"""The studies run by one command; the printed tables are those of the thesis."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mrdsl.core.diagnostics import MrdslError
from studies import schedule_gap as schedule_gap
from studies import schedule_tables as schedule
from tests.shared_data import shared


def test_printed_values_are_those_of_the_thesis() -> None:
    thesis = shared("papers/003_8cafda9652224917.txt")
    text = thesis.read_text(encoding="utf-8")
    titles = schedule.INSTANCES | schedule.ALGORITHMS
    for printed in (schedule.PRINTED_LATE, schedule.PRINTED_COST):
        for name, (w1, w2) in printed.items():
            row = rf"\| {titles[name]} +\| {w1:g}(\.0)? +\| {w2:g}(\.0)? +\|"
            assert re.search(row, text), (name, row)


def test_tables_on_the_models_own_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MRDSL_SHARED", str(tmp_path))
    tables = {table.title: table for table in schedule.tables(tmp_path, runs=2)}
    assert list(tables["Workloads"].rows) == [("jobs.tsv", "all of it", "all of it")]
    late = {row[0]: row for row in tables["Table 4.3: late jobs [%]"].rows}
    cost = {row[0]: row for row in tables["Table 4.4: cost of the VMs [USD]"].rows}
    assert late["MDASA"][1] == 18.7
    assert late["frugal, 2% late"][1] is None
    assert late["frugal, 2% late"][2] < late["MDASA"][2]
    assert cost["frugal, 2% late, broken hours paid"][2] < cost["MDASA, broken hours paid"][2]
    assert cost["MDASA"][2] < cost["MDASA, broken hours paid"][2]
    assert late["MDASA"][2] < late["MDASA, idle slots as sized"][2]
    assert cost["MDASA"][2] == cost["MDASA"][5]  # the model's jobs stand for both workloads
    assert len(tables["Claims"].rows) == 7
    assert cost["MDASA"][2] < cost["MDASA, as printed"][2]  # a slot for every task, whatever is idle
    assert cost["NDASA"][2] < cost["NDASA, as printed"][2]
    drawn = sorted(file.name for file in tmp_path.iterdir())
    assert drawn == ["cost_W1.svg", "cost_W2.svg", "late_W1.svg", "late_W2.svg"]


def test_other_studies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MRDSL_SHARED", str(tmp_path))
    (table,) = schedule.promise(tmp_path, runs=1)
    assert {row[0] for row in table.rows} >= {"MDASA", "NDASA", "frugal, at most 2%"}
    (table,) = schedule_gap.gaps(tmp_path, instances=1)
    assert all(row[3] >= -1e-4 for row in table.rows)
    (table,) = schedule.one_run(tmp_path)
    assert len(table.rows) == 5
    with pytest.raises(MrdslError):
        list(schedule.tables(tmp_path, trace="nowhere.tsv"))
