"""Solution files of external solvers become the same checked plan as a run of mrdsl itself."""

from __future__ import annotations

from pathlib import Path

import pytest

import mrdsl
from mrdsl.core.diagnostics import MrdslError
from mrdsl.core.resources import resource
from mrdsl.core.result import SolutionStatus, Termination
from mrdsl.planning.model_files import write_model
from mrdsl.planning.solution_files import Proof, read_solution
from mrdsl.planning.solve_spec import build_model
from tests.solving.outside import SOLVERS, run_outside

REFERENCE = resource("models") / "capacity" / "reference.mrspec"


@pytest.mark.parametrize("ending", ["lp", "mps"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_file_gives_the_same_plan_as_a_run(solver: str, ending: str, tmp_path: Path) -> None:
    spec = mrdsl.load(REFERENCE)
    model, names = write_model(build_model(spec), tmp_path / f"x.{ending}")
    _, solution = run_outside(solver, model)
    proof = Proof(names, gap=0.0)
    result = read_solution(spec, solution, proof=proof)
    own = mrdsl.solve(spec, "highs")
    assert result.solver["name"] == solver, "the file's format is recognized by its look"
    assert (result.termination, result.solution) == (Termination.OPTIMAL, SolutionStatus.OPTIMAL)
    assert result.plan is not None
    assert result.objective.value == pytest.approx(own.objective.value)
    assert result.plan.document() == own.plan.document()  # type: ignore[union-attr]
    assert read_solution(spec, solution, solver, proof=proof).objective == result.objective


DAMAGED = {
    "empty": "",
    "junk": "\x00\x01 not a solution",
    "of another model": "Optimal - objective value 3.0\n      0 wibble    3      1\n",
    "cut": "c Status\ns mip 1 5 o 3\nj 1 2\n",
    "words for numbers": "Model status\nOptimal\n\n# Primal solution values\nFeasible\n# Columns 1\nx lots\n",
}


@pytest.mark.parametrize("case", DAMAGED)
def test_a_damaged_file_is_one_message(case: str, tmp_path: Path) -> None:
    path = tmp_path / "x.sol"
    path.write_text(DAMAGED[case], encoding="utf-8")
    with pytest.raises(MrdslError) as caught:
        read_solution(mrdsl.load(REFERENCE), path)
    assert [d.code for d in caught.value.diagnostics] == ["unreadable-solution"]
    assert caught.value.exit_code == 2


def test_a_missing_file_is_one_message(tmp_path: Path) -> None:
    with pytest.raises(MrdslError, match="No such file"):
        read_solution(mrdsl.load(REFERENCE), tmp_path / "x.sol")


def test_a_point_that_breaks_the_model_is_no_plan(tmp_path: Path) -> None:
    path = tmp_path / "x.sol"
    path.write_text(
        "solution status: optimal solution found\nobjective value: 1\non_demand 3 \t(obj:0.192)\n", encoding="utf-8"
    )
    result = read_solution(mrdsl.load(REFERENCE), path)
    assert (result.termination, result.solution, result.plan) == (Termination.ERROR, SolutionStatus.NONE, None)
    assert "violates" in result.diagnostics[0].message


def test_fractional_points_of_cbc_are_no_plan(tmp_path: Path) -> None:
    """The trap: without an integer solution CBC writes the point of the relaxation."""
    path = tmp_path / "x.sol"
    path.write_text(
        "Stopped on time (no integer solution - continuous used) - objective value 112.07\n"
        "      0 on_demand    557.3      0\n",
        encoding="utf-8",
    )
    result = read_solution(mrdsl.load(REFERENCE), path)
    assert (result.termination, result.solution, result.plan) == (Termination.TIME_LIMIT, SolutionStatus.NONE, None)
