"""Real files of real solvers that prove nothing, or no longer: the plan is read, its proof is not invented."""

from __future__ import annotations

import re
from pathlib import Path

import highspy
import pyscipopt
import pytest

import mrdsl
from mrdsl.core.diagnostics import MrdslError
from mrdsl.core.resources import resource
from mrdsl.core.result import Result, SolutionStatus, Termination
from mrdsl.planning.solve_spec import build_model
from mrdsl.planning.solver_files import Proof, read_solution, write_model
from mrdsl.spec.spec import Spec
from tests.solving.outside import _program, run_outside

MODELS = resource("models")
WIDE = 0.3


def highs_at_a_wide_gap(model: Path, solution: Path) -> None:
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("mip_rel_gap", WIDE)
    solver.readModel(str(model))
    solver.run()
    solver.writeSolution(str(solution), 0)


def scip_at_a_wide_gap(model: Path, solution: Path) -> None:
    solver = pyscipopt.Model()
    solver.hideOutput()
    solver.setParam("limits/gap", WIDE)
    solver.readProblem(str(model))
    solver.optimize()
    solver.writeBestSol(str(solution))
    status = {"gaplimit": "gap limit reached", "optimal": "optimal solution found"}[solver.getStatus()]
    solution.write_text(f"solution status: {status}\n{solution.read_text(encoding='utf-8')}", encoding="utf-8")


def cbc_at_a_wide_gap(model: Path, solution: Path) -> None:
    _program("cbc", [str(model), "-ratioGap", str(WIDE), "-solve", "-solution", str(solution)])


def glpk_at_a_wide_gap(model: Path, solution: Path) -> None:
    _program("glpk", ["--freemps", str(model), "--mipgap", str(WIDE), "--write", str(solution)])


AT_A_WIDE_GAP = {
    "highs": highs_at_a_wide_gap,
    "scip": scip_at_a_wide_gap,
    "cbc": cbc_at_a_wide_gap,
    "glpk": glpk_at_a_wide_gap,
}


def unproven(result: Result) -> bool:
    """There is a plan, and nothing is claimed of it."""
    assert result.plan is not None
    codes = [d.code for d in result.diagnostics]
    return (result.termination, result.solution, result.objective.bound, codes.count("unproven-solution")) == (
        Termination.COMPLETED,
        SolutionStatus.FEASIBLE,
        None,
        1,
    )


@pytest.mark.parametrize("solver", AT_A_WIDE_GAP)
def test_optimal_within_a_wide_gap_is_no_proof(solver: str, tmp_path: Path) -> None:
    """The optimum of the makespan reference is 40 s (``tests/makespan``); 47 s was "optimal" at a gap of 0.3.

    GLPK takes seconds for it: it solves two jobs, whose optimum is 24 s by Johnson's rule.
    """
    name, optimum = ("two-jobs", 24.0) if solver == "glpk" else ("reference", 40.0)
    spec = mrdsl.load(MODELS / "makespan" / f"{name}.mrspec")
    model, names = write_model(build_model(spec), tmp_path / "x.mps")
    solution = tmp_path / "x.sol"
    AT_A_WIDE_GAP[solver](model, solution)
    assert unproven(read_solution(spec, solution))
    assert unproven(read_solution(spec, solution, proof=Proof(names)))
    told = read_solution(spec, solution, proof=Proof(names, gap=WIDE))
    assert told.objective.bound is not None
    assert told.objective.bound <= optimum


def solved(tmp_path: Path, solver: str = "cbc", relax: bool = False) -> tuple[Spec, Path, Path]:
    """The capacity reference, its names.json and a real solution file."""
    spec = mrdsl.load(MODELS / "capacity" / "reference.mrspec")
    model, names = write_model(build_model(spec, relax=relax), tmp_path / "x.mps")
    return spec, names, run_outside(solver, model)[1]


def test_a_stale_file_proves_nothing(tmp_path: Path) -> None:
    """A price has changed since: the plan still holds, that it is the best does not follow."""
    _, names, solution = solved(tmp_path)
    text = (MODELS / "capacity" / "reference.mrspec").read_text(encoding="utf-8")
    dearer = mrdsl.loads(text.replace("0.192 USD/h", "0.292 USD/h"))
    assert unproven(read_solution(dearer, solution))
    with pytest.raises(MrdslError) as caught:
        read_solution(dearer, solution, proof=Proof(names, gap=0.0))
    assert ([d.code for d in caught.value.diagnostics], caught.value.exit_code) == (["stale-model"], 2)
    _, fresh = write_model(build_model(dearer), tmp_path / "y.mps")
    told = read_solution(dearer, solution, proof=Proof(fresh, gap=0.0))
    assert unproven(told), "the names are this model's, the value that the file states is the old one's"
    assert "it states" in told.diagnostics[-1].message


@pytest.mark.parametrize("solver", ["cbc", "glpk", "highs", "scip"])
def test_a_header_that_claims_another_value_proves_nothing(solver: str, tmp_path: Path) -> None:
    spec, names, solution = solved(tmp_path, solver)
    text = solution.read_text(encoding="utf-8")
    pattern = {
        "cbc": r"(objective value )\s*\S+",
        "glpk": r"(?m)^(s mip .* )\S+$",
        "highs": r"(?m)^(Objective )\S+$",
        "scip": r"(?m)^(objective value:\s+)\S+",
    }[solver]
    changed, count = re.subn(pattern, r"\g<1>1", text, count=1)
    assert count == 1
    solution.write_text(changed, encoding="utf-8")
    told = read_solution(spec, solution, proof=Proof(names, gap=0.0))
    assert unproven(told)
    assert "it states an objective of 1," in told.diagnostics[-1].message


CHANGES = {
    "deleted": (r"(?m)^.*admitted\.sort.*\n", ""),
    "beyond its bound": (r"(admitted\.sort\s+)\S+", r"\g<1>21"),
    "below its bound": (r"(admitted\.sort\s+)\S+", r"\g<1>17"),
    "not whole": (r"(admitted\.sort\s+)\S+", r"\g<1>18.5"),
    "too few VMs": (r"(on_demand\s+)\S+", r"\g<1>1"),
}


@pytest.mark.parametrize("solver", ["cbc", "scip"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_line_is_no_plan(change: str, solver: str, tmp_path: Path) -> None:
    """18 to 20 whole jobs of ``sort`` may be admitted; a line that is missing stands for 0."""
    spec, names, solution = solved(tmp_path, solver)
    pattern, new = CHANGES[change]
    changed, count = re.subn(pattern, new, solution.read_text(encoding="utf-8"), count=1)
    assert count == 1
    solution.write_text(changed, encoding="utf-8")
    result = read_solution(spec, solution, proof=Proof(names, gap=0.0))
    assert (result.termination, result.plan, result.objective.bound) == (Termination.ERROR, None, None)
    assert "violates" in result.diagnostics[0].message


def test_a_bound_that_the_plan_passes_is_withdrawn(tmp_path: Path) -> None:
    spec, names, solution = solved(tmp_path)
    value = mrdsl.solve(spec, "highs").objective.value or 0.0
    told = read_solution(spec, solution, proof=Proof(names, bound=1.1 * value))
    assert (told.termination, told.solution, told.objective.bound) == (
        Termination.COMPLETED,
        SolutionStatus.FEASIBLE,
        None,
    )
    assert "contradicted-claim" in [d.code for d in told.diagnostics]
    lower = read_solution(spec, solution, proof=Proof(names, bound=0.9 * value))
    assert lower.objective.bound == pytest.approx(0.9 * value)
    assert lower.solution is SolutionStatus.FEASIBLE


def test_shadow_prices_in_a_file_prove_its_relaxation(tmp_path: Path) -> None:
    """By weak duality, whatever the prices are: wrong ones give a bound that is weaker, never a false one."""
    spec, names, solution = solved(tmp_path, "glpk", relax=True)
    best = mrdsl.solve(spec, "direct", relax=True).objective.value
    told = read_solution(spec, solution, relax=True, proof=Proof(names))
    assert told.solution is SolutionStatus.OPTIMAL
    assert told.objective.bound == pytest.approx(best, rel=1e-8)
    lines = solution.read_text(encoding="utf-8").splitlines()
    wrong = [f"{line.rsplit(' ', 1)[0]} 0" if line.startswith("i ") else line for line in lines]
    solution.write_text("\n".join(wrong) + "\n", encoding="utf-8")
    weak = read_solution(spec, solution, relax=True, proof=Proof(names))
    assert weak.solution is SolutionStatus.FEASIBLE
    assert weak.objective.bound is None or weak.objective.bound < (best or 0.0)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"fingerprint": 3}', "[" * 100_000])
def test_what_is_no_names_file_is_told(text: str, tmp_path: Path) -> None:
    spec, _, solution = solved(tmp_path)
    path = tmp_path / "wrong.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(MrdslError) as caught:
        read_solution(spec, solution, proof=Proof(path))
    assert caught.value.diagnostics[0].code in ("unreadable-names", "stale-model")
