"""One model file per formulation, as bytes: what a change of a formulation does to its model is seen in review.

Write them anew with ``MRDSL_UPDATE_GOLDEN=1 pytest tests/solving/test_golden_models.py`` and look at the difference.
What is compared as text is then solved: each linear file has the same optimum in GLPK and HiGHS, the spec's own.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import mrdsl
from mrdsl.core.resources import resource
from mrdsl.families import SHIPPED, family
from mrdsl.planning.model_files import write_model
from mrdsl.planning.solve_spec import build_model
from mrdsl.solving.arrays import linear_program
from tests.solving.outside import run_outside

GOLDEN = Path(__file__).parent / "golden"
UPDATE = bool(os.environ.get("MRDSL_UPDATE_GOLDEN"))


def single_models() -> list[tuple[str, str]]:
    """Every family's formulations that are one model."""
    found = []
    for name in SHIPPED:
        known = family(name)
        assert known is not None
        found.extend((name, formulation.name) for formulation in known.formulations if formulation.build)
    return found


def spec_of(name: str) -> Path:
    """The golden folder's own small spec of a family, else the family's reference spec."""
    own = GOLDEN / f"{name}.mrspec"
    return own if own.exists() else resource("models") / name / "reference.mrspec"


@pytest.mark.parametrize(("name", "formulation"), single_models())
def test_the_model_is_the_golden_one(name: str, formulation: str, tmp_path: Path) -> None:
    spec = mrdsl.load(spec_of(name))
    model = build_model(spec, formulation)
    linear = linear_program(model) is not None
    path = tmp_path / f"{name}-{formulation}{'.lp' if linear else '.nl'}"
    write_model(model, path)
    golden = GOLDEN / path.name
    if UPDATE:
        golden.write_bytes(path.read_bytes())
    assert golden.exists(), f"{name} {formulation} has no golden model: see this file's first lines"
    assert path.read_text(encoding="ascii").splitlines() == golden.read_text(encoding="ascii").splitlines()
    if linear:
        expected = mrdsl.solve(spec, "highs", formulation=formulation).objective.value
        for solver in ("glpk", "highs"):
            assert run_outside(solver, path)[0] == pytest.approx(expected, rel=1e-5), solver


def test_no_golden_model_is_left_over() -> None:
    known = {f"{name}-{formulation}" for name, formulation in single_models()}
    assert {path.stem for path in GOLDEN.glob("*.[ln][pl]")} <= known
