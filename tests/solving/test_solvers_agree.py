"""No answer of any solver differs from another's by more than its own stated gap, in every family with a model.

Fifty random instances of capacity stand in ``tests/families/capacity/test_capacity_solvers.py``.
"""

from __future__ import annotations

import pytest

import mrdsl
from mrdsl.core.resources import resource
from mrdsl.core.result import SolutionStatus
from tests.solving.test_golden_models import GOLDEN

SOLVERS = ("highs", "glpk", "cbc", "scip")
SPECS = {
    "capacity": resource("models") / "capacity" / "reference.mrspec",
    "joint": resource("models") / "joint" / "reference.mrspec",
    "deadline": resource("models") / "deadline" / "reference.mrspec",
    "energy": GOLDEN / "energy.mrspec",
    "makespan": GOLDEN / "makespan.mrspec",
}
FORMULATIONS = {"makespan": "time-indexed"}


@pytest.mark.parametrize("family", SPECS)
def test_all_solvers_agree_within_their_gaps(family: str) -> None:
    spec = mrdsl.load(SPECS[family])
    values = {}
    for solver in SOLVERS:
        result = mrdsl.solve(spec, solver, formulation=FORMULATIONS.get(family))
        assert result.solution is SolutionStatus.OPTIMAL, (solver, result.termination, result.diagnostics)
        assert result.objective.gap is not None
        assert result.objective.gap <= 2e-6
        values[solver] = result.objective.value
    found = [value for value in values.values() if value is not None]
    assert len(found) == len(SOLVERS)
    assert max(found) - min(found) <= 2e-6 * max(1.0, abs(found[0])), values
