"""Every solver that Pyomo knows is one of mrdsl's by two lines of TOML: every family's models, optima equal to HiGHS's.

Pyomo's `scip` starts a program of that name, which SCIP's Python package does not bring: here it is a script that gives
the model to that package. `scip_direct` and `scip_persistent` are Pyomo's own interfaces to the package.
"""

from __future__ import annotations

import os
import stat
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import Any

import pytest

import mrdsl
from mrdsl.contracts.family import Needs
from mrdsl.core.result import Limits, SolutionStatus, Termination
from mrdsl.planning import solver_contract as contract
from mrdsl.planning.solve_spec import build_model
from mrdsl.planning.solver_contract import RealModel
from mrdsl.solving.checked_answer import solve_model
from tests.solving.known_models import CASES
from tests.solving.test_limits import fresh_workers

assert fresh_workers, "a fixture that is used by its name"

FACTORIES = ("appsi_highs", "highs", "cbc", "glpk", "scip", "scip_direct", "scip_persistent")
LIMITS = Limits(time=60.0)
PROGRAMS = {"glpk": "glpsol", "cbc": "cbc"}
REAL = [case for case in contract.real_models() if case.kind in ("LP", "MILP")]
SMALL = [case for case in CASES if case.kind in ("LP", "MILP")]
SAYS_NOTHING_OF = {"glpk": (("infeasible LP", "infeasible"), ("unbounded MILP", "unbounded"))}
"""Models that Pyomo's interface gives no status for where there is no solution: `other`, which is told as it is."""
SCIP = Path(__file__).parent / "foreign" / "scip_program.py"


@pytest.fixture(params=FACTORIES)
def factory(
    fresh_workers: None, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> str:
    """A solver `two-lines`, declared by its factory alone."""
    name: str = request.param
    programs = tmp_path / "programs"
    programs.mkdir()
    monkeypatch.setenv("PATH", os.pathsep.join([str(programs), str(Path(sys.executable).parent), os.environ["PATH"]]))
    if name.startswith("scip") and find_spec("pyscipopt") is None:
        pytest.skip("SCIP is not installed")
    if name == "scip":
        script = programs / "scip"
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{SCIP}" "$@"\n', encoding="utf-8")
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
    if name in PROGRAMS and which(PROGRAMS[name]) is None:
        pytest.skip(f"{PROGRAMS[name]} is not on the path")
    lines = f'[pyomo]\nfactory = "{name}"\n'
    assert len(lines.splitlines()) == 2
    (tmp_path / "two-lines.toml").write_text(lines, encoding="utf-8")
    monkeypatch.setenv("MRDSL_SOLVERS", str(tmp_path))
    return name


FEWER = {"energy per_task": ("tasks = 17", "tasks = 5")}
"""Words of a shipped spec that are changed, since a binary per task and slot of the whole takes any solver a minute."""


def model_of(case: RealModel) -> Any:
    text = case.path.read_text(encoding="utf-8")
    old, new = FEWER.get(str(case), ("problem", "problem"))
    assert old in text
    return build_model(mrdsl.loads(text.replace(old, new), folder=case.path.parent), case.formulation)


@cache
def optimum(case: RealModel) -> float | None:
    """HiGHS's own, by mrdsl's own interface."""
    answer = solve_model(model_of(case), "highs", LIMITS, Needs(case.kind))
    assert answer.solution is SolutionStatus.OPTIMAL, (case, answer)
    return answer.value


def test_every_familys_models_have_the_optimum_of_highs(factory: str) -> None:
    assert {case.family for case in REAL} >= {"capacity", "joint", "energy", "makespan", "schedule"}
    told = {}
    for case in REAL:
        answer = solve_model(model_of(case), "two-lines", LIMITS, Needs(case.kind))
        told[str(case)] = (answer.termination, answer.solution, answer.message)
        assert answer.value == pytest.approx(optimum(case), rel=contract.TOLERANCE), (case, answer)
    wanted = (Termination.OPTIMAL, SolutionStatus.OPTIMAL, "")
    assert {case: ended for case, ended in told.items() if ended != wanted} == {}


def test_the_contract_of_solvers(factory: str) -> None:
    told = [text for case in SMALL for text in contract.complaints("two-lines", case)]
    silent = [f"{name}: it ends with error, not {wanted}" for name, wanted in SAYS_NOTHING_OF.get(factory, ())]
    assert [text.partition(" Pyomo")[0] for text in told] == silent
