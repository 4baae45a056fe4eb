"""Every shipped solver and a deliberately foreign one pass the contract, and a bad one is found out."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mrdsl.core.answer import Answer
from mrdsl.core.result import SolutionStatus, Termination
from mrdsl.planning import solver_contract as contract
from mrdsl.planning.solver_contract import Case
from tests.solving.known_models import CASES, cases_for

SHIPPED = ("highs", "glpk", "cbc", "scip")
HERE = Path(__file__).parent
FOREIGN = f'''kind = "solver"
name = "corners"
summary = "tries all corners"
solves = ["LP", "MILP"]
install = "it lies in tests/solving/foreign"
[command]
program = "{sys.executable}"
arguments = ["{HERE / "foreign" / "corners.py"}", "{{model}}", "{{solution}}"]
reads = "tests.solving.foreign_reader:read"
[limits]
time = ["--patience", "{{value}}"]
'''


@pytest.mark.parametrize(("solver", "case"), [(s, c) for s in SHIPPED for c in cases_for(s)], ids=str)
def test_shipped_solvers_keep_the_contract(solver: str, case: Case) -> None:
    assert contract.complaints(solver, case) == ()


@pytest.fixture
def foreign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "corners.toml").write_text(FOREIGN, encoding="utf-8")
    monkeypatch.setenv("MRDSL_SOLVERS", str(tmp_path))
    return "corners"


@pytest.mark.parametrize("case", [c for c in CASES if c.kind in ("LP", "MILP")], ids=str)
def test_a_foreign_solver_keeps_it_with_a_toml_and_a_reader(foreign: str, case: Case) -> None:
    assert case in cases_for(foreign)
    assert contract.complaints(foreign, case) == ()


WRONG = {
    "says optimal where there is no solution": (
        Answer(Termination.OPTIMAL, SolutionStatus.OPTIMAL, 0.0, 0.0),
        "infeasible LP",
        "ends with optimal, not infeasible",
    ),
    "stops short": (Answer(Termination.OPTIMAL, SolutionStatus.OPTIMAL, 15.0, 15.0), "whole", "the optimum is 20"),
    "proves nothing": (Answer(Termination.OPTIMAL, SolutionStatus.FEASIBLE, 20.0, 21.0), "whole", "does not prove"),
    "gives up": (Answer(Termination.ERROR, SolutionStatus.NONE), "corner", "ends with error"),
}


@pytest.mark.parametrize("fault", WRONG)
def test_a_bad_solver_is_found_out(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    answer, name, words = WRONG[fault]
    monkeypatch.setattr(contract, "solve_model", lambda *_: answer)
    case = next(c for c in CASES if c.name == name)
    monkeypatch.setattr("pyomo.environ.value", lambda _: answer.value)
    assert words in contract.complaints("highs", case)[0]


def test_every_kind_of_model_has_a_case_for_plug_ins() -> None:
    assert {c.kind for c in contract.CASES} == {"LP", "MILP", "MINLP", "NLP"}


THROUGH_PYOMO = """kind = "solver"
name = "borrowed"
summary = "HiGHS by way of Pyomo"
solves = ["LP", "MILP"]
install = "pip install highspy"
[pyomo]
factory = "appsi_highs"
[limits]
time = "time_limit"
gap = "mip_rel_gap"
"""


@pytest.mark.parametrize("case", [c for c in CASES if c.kind in ("LP", "MILP")], ids=str)
def test_a_solver_of_pyomos_keeps_it_with_a_toml_alone(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "borrowed.toml").write_text(THROUGH_PYOMO, encoding="utf-8")
    monkeypatch.setenv("MRDSL_SOLVERS", str(tmp_path))
    assert contract.complaints("borrowed", case) == ()


@pytest.mark.parametrize("reads", ["no_such_module:read", "mrdsl.exchange.solutions.glpk:nothing"])
def test_a_reader_that_is_not_there_is_one_message(reads: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = FOREIGN.replace("tests.solving.foreign_reader:read", reads)
    (tmp_path / "corners.toml").write_text(text, encoding="utf-8")
    monkeypatch.setenv("MRDSL_SOLVERS", str(tmp_path))
    assert "cannot be loaded" in contract.complaints("corners", CASES[0])[0]
