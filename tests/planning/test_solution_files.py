"""Solution files of external solvers become the same checked plan as a run of mrdsl itself."""

from __future__ import annotations

from pathlib import Path

import pytest

import mrdsl
from mrdsl.core.diagnostics import MrdslError
from mrdsl.core.resources import resource
from mrdsl.core.result import SolutionStatus, Termination
from mrdsl.planning import solver_files
from mrdsl.planning.solve_spec import build_model
from mrdsl.planning.solver_files import Proof, read_solution, write_model
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
    with pytest.raises(MrdslError, match="there is no such file"):
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


INFEASIBLE = {
    "cbc": "Infeasible - objective value 3.0\n",
    "glpk": "c Status: INTEGER EMPTY\ns mip 1 1 n 0\ni 1 0\nj 1 0\ne o f\n",
    "glpk, relaxed": "s bas 1 1 n n 0\ni 1 b 0 0\nj 1 b 0 0\ne o f\n",
    "highs": "Model status\nInfeasible\n\n# Primal solution values\nNone\n",
    "scip": "solution status: infeasible\nno solution available\n",
}
STOPPED = {
    "basis": "c Status: UNDEFINED\ns bas 1 1 i f 0\ni 1 b 0 0\nj 1 b 0 0\ne o f\n",
    "undefined": "c Status: UNDEFINED\ns bas 1 1 u u 0\ni 1 b 0 0\nj 1 b 0 0\ne o f\n",
    "integer": "c Status: INTEGER UNDEFINED\ns mip 1 1 u 0\ni 1 0\nj 1 0\ne o f\n",
}
"""What glpsol writes at the end of its time, before it knows of a plan or that there is none."""
LATE = """problem capacity
vm m5 { on_demand { price = 0.192 USD/h }, available = 1 }
class a { coefficients { A = 5400 s, B = 1250 s, C = 95 s }, slots { map = 4, reduce = 2 }
  jobs = 4..6, deadline = 10 min, penalty = 20 USD }
minimize cost
"""
ENERGY = resource("models") / "energy" / "reference.mrspec"


def read_again(spec: mrdsl.Spec, text: str, folder: Path, with_names: bool = True) -> mrdsl.Result:
    path = folder / "x.sol"
    path.write_text(text, encoding="utf-8")
    _, names = write_model(build_model(spec), folder / "x.mps")
    return read_solution(spec, path, proof=Proof(names if with_names else None))


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("solver", INFEASIBLE)
def test_infeasible_is_refused_where_a_plan_is_known(solver: str, named: bool, tmp_path: Path) -> None:
    result = read_again(mrdsl.load(REFERENCE), INFEASIBLE[solver], tmp_path, named)
    assert (result.termination, result.plan) == (Termination.ERROR, None)
    assert [each.code for each in result.diagnostics] == ["solver-failed"]
    assert "it claims that no plan exists, but `direct` found one with value" in result.diagnostics[0].message


@pytest.mark.parametrize("solver", INFEASIBLE)
def test_infeasible_that_nothing_refutes_is_a_claim_and_no_proof(solver: str, tmp_path: Path) -> None:
    result = read_again(mrdsl.load(ENERGY), INFEASIBLE[solver], tmp_path)
    assert (result.termination, result.solution) == (Termination.COMPLETED, SolutionStatus.NONE)
    assert [each.code for each in result.diagnostics] == ["unproven-solution"]
    assert "its claim that no plan exists was not checked" in result.diagnostics[0].message


def test_infeasible_is_a_proof_where_closed_forms_prove_it_too(tmp_path: Path) -> None:
    """One VM cannot hold four jobs that need more: fewest slots are 4 * 5400 s / 505 s, on 6 a VM."""
    result = read_again(mrdsl.loads(LATE), INFEASIBLE["scip"], tmp_path)
    assert (result.termination, result.plan) == (Termination.INFEASIBLE, None)


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("stopped", STOPPED)
def test_what_a_stopped_glpsol_writes_is_no_claim(stopped: str, named: bool, tmp_path: Path) -> None:
    for number, spec in enumerate((mrdsl.load(REFERENCE), mrdsl.load(ENERGY), mrdsl.loads(LATE))):
        folder = tmp_path / str(number)
        folder.mkdir()
        result = read_again(spec, STOPPED[stopped], folder, named)
        assert (result.termination, result.solution) == (Termination.COMPLETED, SolutionStatus.NONE)
        assert not result.diagnostics


LIMITS = {
    "highs": ("Memory limit reached", "Bound on objective reached", "Target for objective reached", "Unknown"),
    "scip": (
        "stall node limit reached",
        "memory limit reached",
        "solution limit reached",
        "solution improvement limit reached",
        "restart limit reached",
        "primal limit reached",
        "dual limit reached",
        "termination signal received",
        "unknown",
    ),
    "cbc": ("Stopped on solutions", "Stopped on nodes", "Stopped on time"),
}


@pytest.mark.parametrize(("solver", "status"), [(solver, status) for solver in LIMITS for status in LIMITS[solver]])
def test_the_plan_of_a_solver_that_a_limit_stopped_is_kept(solver: str, status: str, tmp_path: Path) -> None:
    spec = mrdsl.load(REFERENCE)
    model, names = write_model(build_model(spec), tmp_path / "x.mps")
    _, solution = run_outside(solver, model)
    said = {"highs": "Optimal", "scip": "optimal solution found", "cbc": "Optimal"}[solver]
    solution.write_text(solution.read_text(encoding="utf-8").replace(said, status, 1), encoding="utf-8")
    result = read_solution(spec, solution, proof=Proof(names))
    assert result.solution is SolutionStatus.FEASIBLE
    assert result.termination not in (Termination.OPTIMAL, Termination.ERROR)


@pytest.mark.parametrize(
    "header", ["s bas 1 1 x f 0", "s bas 1 1 f y 0", "s mip 1 1 i 0", "s bas 1 1", "s ipt 1 1 o 0", "s bas 1 1 fi n 0"]
)
def test_an_unknown_letter_of_glpk_is_an_error_at_its_line(header: str, tmp_path: Path) -> None:
    path = tmp_path / "x.sol"
    path.write_text(f"c a comment\n{header}\ne o f\n", encoding="utf-8")
    with pytest.raises(MrdslError) as caught:
        read_solution(mrdsl.load(REFERENCE), path)
    (told,) = caught.value.diagnostics
    assert (told.code, told.span and told.span.line) == ("unreadable-solution", 2)


def test_a_bound_that_a_known_plan_contradicts_is_withdrawn(tmp_path: Path) -> None:
    spec = mrdsl.load(REFERENCE)
    model, names = write_model(build_model(spec), tmp_path / "x.mps")
    _, solution = run_outside("highs", model)
    own = mrdsl.solve(spec, "direct").objective.value or 0.0
    result = read_solution(spec, solution, proof=Proof(names, bound=own * 1.5))
    assert result.solution is not SolutionStatus.OPTIMAL or (result.objective.bound or 0.0) <= own * (1.0 + 1e-6)


def test_only_claims_are_compared_with_the_plan_of_another_method(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file without a bound claims nothing, so that it is read without a search."""
    spec = mrdsl.load(REFERENCE)
    model, names = write_model(build_model(spec), tmp_path / "x.lp")
    _, solution = run_outside("highs", model)
    searched = []
    monkeypatch.setattr(solver_files, "_known", lambda *_: searched.append(1))
    assert read_solution(spec, solution).plan is not None
    assert not searched
    assert read_solution(spec, solution, proof=Proof(names, gap=0.0)).bound is not None
    assert searched
