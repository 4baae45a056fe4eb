"""The solvers as a user would run them by hand on a model file, without any of mrdsl's own code between."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import highspy
import pyscipopt

from mrdsl.solving import registry
from mrdsl.solving.registry import locate

SOLVERS = ("glpk", "cbc", "highs", "scip")


def run_outside(solver: str, model: Path) -> tuple[float, Path]:
    """Solves a model file; the optimum that the solver itself states, and its solution file."""
    solution = model.with_suffix(f".{solver}.sol")
    return {"glpk": _glpk, "cbc": _cbc, "highs": _highs, "scip": _scip}[solver](model, solution), solution


def _program(name: str, arguments: list[str]) -> str:
    command = registry.find(name).command
    assert command is not None
    found = locate(command)
    assert found is not None
    done = subprocess.run(
        [found.path, *arguments],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        env={**os.environ, **found.environment},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _glpk(model: Path, solution: Path) -> float:
    form = {".lp": "--lp", ".mps": "--freemps"}[model.suffix]
    _program("glpk", [form, str(model), "--write", str(solution)])
    header = next(line for line in solution.read_text(encoding="utf-8").splitlines() if line.startswith("s "))
    return float(header.split()[-1])


def _cbc(model: Path, solution: Path) -> float:
    _program("cbc", [str(model), "-ratioGap", "0", "-allowableGap", "0", "-solve", "-solution", str(solution)])
    found = re.match(r"Optimal.* - objective value (\S+)", solution.read_text(encoding="utf-8"))
    assert found, solution.read_text(encoding="utf-8")[:200]
    return float(found[1])


def _highs(model: Path, solution: Path) -> float:
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("mip_rel_gap", 0.0)
    assert solver.readModel(str(model)) == highspy.HighsStatus.kOk
    solver.run()
    solver.writeSolution(str(solution), 0)
    return float(solver.getObjectiveValue())


def _scip(model: Path, solution: Path) -> float:
    solver = pyscipopt.Model()
    solver.hideOutput()
    solver.readProblem(str(model))
    solver.optimize()
    assert solver.getStatus() == "optimal"
    solver.writeBestSol(str(solution))
    text = f"solution status: optimal solution found\n{solution.read_text(encoding='utf-8')}"
    solution.write_text(text, encoding="utf-8")
    return float(solver.getObjVal())
