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
