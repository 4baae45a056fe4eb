"""Comparisons of methods: means, excess over a reference, and the shipped ones on a part of their specs."""

from __future__ import annotations

from pathlib import Path

import pytest

import mrdsl
from mrdsl.core.resources import resource
from studies.methods import above, makespan_quality, pivot, runs

OPTIMA = Path(__file__).parents[1] / "families" / "makespan" / "optima.tsv"
ROWS = [
    {"spec": "a", "method": "x", "value": 10.0, "bound": 8.0},
    {"spec": "a", "method": "y", "value": 12.0, "bound": None},
    {"spec": "b", "method": "x", "value": None, "bound": 4.0},
    {"spec": "b", "method": "y", "value": 5.0, "bound": None},
]


def test_means_leave_out_runs_without_a_plan() -> None:
    assert pivot("t", ROWS, "spec").rows == [("a", 10.0, 12.0), ("b", None, 5.0)]
    assert pivot("t", ROWS, "method", part="spec").rows == [("x", 10.0, None), ("y", 12.0, 5.0)]


def test_excess_is_over_the_same_instance() -> None:
    assert [row["above"] for row in above(ROWS, ("spec",), "x", "bound")] == [25.0, 50.0, None, 25.0]
    assert [row["above"] for row in above(ROWS, ("spec",), "x")] == [0.0, pytest.approx(20.0), None, None]


def test_makespan_quality_proves_the_optimum_that_is_known(tmp_path: Path) -> None:
    known = float(OPTIMA.read_text(encoding="utf-8").splitlines()[1].split("\t")[1])
    makespans, excess = makespan_quality(tmp_path, 1)
    values = dict(zip(makespans.columns[1:], makespans.rows[0][1:], strict=True))
    assert values["exact"] == pytest.approx(known) == pytest.approx(min(values.values()))
    assert {row[0]: row[1] for row in excess.rows}["exact"] == pytest.approx(0.0)


def test_a_run_is_that_of_a_solve() -> None:
    file = resource("models") / "hybrid" / "weights.mrspec"
    (row,) = runs([Path(file)], ("threshold",), {"V": "32"}, "1")
    own = mrdsl.solve(mrdsl.load(file, {"V": 32}, seed=1), "threshold").of(mrdsl.HybridPlan).plan
    assert own is not None
    assert row["value"] == pytest.approx(own.cost.average)
