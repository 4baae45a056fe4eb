"""Commitments over several periods, against an own program that tries all of them."""

from __future__ import annotations

from math import isinf
from pathlib import Path

import pytest

import mrdsl
from tests.families.capacity.commitment_oracle import Drawn, drawn


def loaded(case: Drawn, folder: Path) -> mrdsl.Spec:
    (folder / "day.csv").write_text(case.table(), encoding="utf-8")
    (folder / "spec.mrspec").write_text(case.text("day.csv"), encoding="utf-8")
    return mrdsl.load(folder / "spec.mrspec")


@pytest.mark.parametrize("tens", range(13))
def test_no_commitments_and_placements_are_cheaper(tens: int, tmp_path: Path) -> None:
    for seed in range(10 * tens, 10 * tens + 10):
        case = drawn(seed)
        best, result = case.optimum(), mrdsl.solve(loaded(case, tmp_path), "highs", limits=mrdsl.Limits(gap=1e-9))
        if isinf(best):
            assert result.plan is None, seed
            assert str(result.termination) == "infeasible", seed
            continue
        assert result.plan is not None, (seed, result.diagnostics)
        assert result.objective.value == pytest.approx(best, rel=1e-6, abs=1e-9), seed
        assert str(result.solution) == "optimal", seed
        assert result.objective.bound == pytest.approx(best, rel=1e-6, abs=1e-9), seed


@pytest.mark.parametrize("tens", range(13))
def test_groups_of_periods_bound_the_best_plan(tens: int, tmp_path: Path) -> None:
    """With a group for each period the bound is that of the relaxation, and the plan is near."""
    for seed in range(10 * tens, 10 * tens + 10):
        case = drawn(seed)
        best, result = case.optimum(), mrdsl.solve(loaded(case, tmp_path), "direct")
        if isinf(best):
            assert result.plan is None, seed
            continue
        assert result.objective.bound is not None, seed
        assert result.objective.bound <= best * (1 + 1e-6) + 1e-9, seed
        if result.plan is not None:
            assert result.objective.value >= best * (1 - 1e-6) - 1e-9, seed
            assert result.plan.without >= 0.0


def test_many_periods_are_planned_from_groups(tmp_path: Path) -> None:
    """150 different periods of four types: the bound of fewer groups is below that of the whole program."""
    rows = "\n".join(f"{20 + 7 * n % 31},{n % 50}" for n in range(150))
    (tmp_path / "day.csv").write_text(f"c0,c1\n{rows}\n", encoding="utf-8")
    types = "".join(
        f"vm t{n} {{ on_demand {{ price = {p} USD/h }}, reserved {{ price = {0.6 * p} USD/h, available = 90 }} }}\n"
        for n, p in enumerate((0.1, 0.17, 0.3, 0.5))
    )
    classes = "".join(
        f"class c{n} {{ coefficients {{ A = {a} s, B = 900 s, C = 0 s }}, slots {{ map = 2, reduce = 2 }}\n"
        f"on t1 {{ speed = {1.4 + 0.4 * n} }}\non t2 {{ speed = {3.2 - 0.5 * n} }}\non t3 {{ speed = 4.6 }}\n"
        f"jobs = 9, deadline = 20 min, penalty = 50 USD }}\n"
        for n, a in enumerate((2000, 5000))
    )
    text = (
        f'problem capacity\nwhole = no\n{types}demand {{ periods = 150, from = "day.csv" }}\n{classes}minimize cost\n'
    )
    (tmp_path / "spec.mrspec").write_text(text, encoding="utf-8")
    spec = mrdsl.load(tmp_path / "spec.mrspec")
    found, relaxed = mrdsl.solve(spec, "direct"), mrdsl.solve(spec, "highs", relax=True)
    assert found.plan is not None
    assert relaxed.objective.value is not None
    assert found.objective.bound == pytest.approx(relaxed.objective.value, rel=5e-3)
    assert found.objective.value == pytest.approx(found.objective.bound, rel=2e-2)
    assert found.plan.at_least
    assert 0.0 < found.plan.without - found.plan.total < found.plan.total
