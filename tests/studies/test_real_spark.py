"""The study of real Spark runs: its tables from runs that are given, and what it says without PySpark."""

from __future__ import annotations

import pytest

from mrdsl.core.diagnostics import MrdslError
from mrdsl.profiling.gathering import Known, Part
from studies import real_spark
from studies.running import study_named
from studies.spark_programs import PROGRAMS

TIMES = (3.0, 1.0, 2.0, 2.0, 1.0, 3.0)


def fake(name, slots, scale, python):
    """Runs of six tasks; every run but the first is 10 % slower, and starts a second later."""
    slower = 1.1 if fake.calls else 1.0
    fake.calls += 1
    known = Known(slower, (Part(6, (), 0.0, tuple(slower * time for time in TIMES)),), 0.0)
    return real_spark.Ran(slots, real_spark.repeated(known, (slots,)), known)


def test_the_tables_of_given_runs(tmp_path, monkeypatch):
    fake.calls = 0
    monkeypatch.setattr(real_spark, "_run", fake)
    monkeypatch.setattr(real_spark.importlib.util, "find_spec", lambda name: name)
    times, plans, errors = real_spark.real_spark(tmp_path, "wide", "1,2,6", 2, 1.0, 1)
    assert [(row[1], row[2]) for row in times.rows] == [(2, "control"), (1, "other slots"), (6, "other slots")]
    assert all(row[5] == pytest.approx(100.0 * (1.0 / 1.1 - 1.0)) for row in times.rows)
    assert all(row[6] == pytest.approx(1.1) and row[8] == pytest.approx(0.0, abs=1e-9) for row in times.rows)
    (plan,) = plans.rows
    assert plan[4] in ("yes", "no")
    assert len(errors.rows) == 5
    page = (tmp_path / "real-spark.md").read_text()
    assert page.startswith("# Validation: real Spark runs")
    assert "| wide | 6 | other slots |" in page


def test_without_pyspark_there_is_a_message(tmp_path, monkeypatch):
    monkeypatch.setattr(real_spark.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MrdslError, match="PySpark"):
        list(real_spark.real_spark(tmp_path))


def test_names_with_both_signs():
    assert study_named("real_spark") is study_named("real-spark")
    assert set(real_spark.ALL.split(",")) == set(PROGRAMS)
