"""Model files for programs: the format that a solver file names, and what released solvers ask of MPS."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
from pathlib import Path

import highspy
import pyomo.environ as pyo
import pytest

from mrdsl.core.diagnostics import MrdslError
from mrdsl.core.resources import resource
from mrdsl.exchange.model_files import plain_names, write_mps
from mrdsl.planning import solver_contract as contract
from mrdsl.planning.solver_contract import Case
from mrdsl.solving.arrays import linear_program
from mrdsl.solving.declaration import declare
from tests.solving.known_models import CASES
from tests.solving.toy import toy

GLPK = (resource("solvers") / "glpk.toml").read_text(encoding="utf-8")
RELEASED = {
    "cbc": os.environ.get("MRDSL_TEST_CBC") or shutil.which("cbc"),
    "lp_solve": os.environ.get("MRDSL_TEST_LP_SOLVE") or shutil.which("lp_solve"),
}


@pytest.mark.parametrize("case", [c for c in CASES if c.kind in ("LP", "MILP")], ids=str)
def test_a_program_that_reads_lp_gets_lp(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole contract, shadow prices of ranges included."""
    text = GLPK.replace('name = "glpk"', 'name = "by-lp"').replace('writes = "mps"', 'writes = "lp"')
    (tmp_path / "by-lp.toml").write_text(text.replace("--freemps", "--lp"), encoding="utf-8")
    monkeypatch.setenv("MRDSL_SOLVERS", str(tmp_path))
    assert contract.complaints("by-lp", case) == ()


@pytest.mark.parametrize("wanted", ["nl", "xls", ""])
def test_a_format_that_is_not_written_is_refused(wanted: str) -> None:
    data = toy(command={"program": "toy", "arguments": [], "reads": "a:b", "writes": wanted})
    with pytest.raises(MrdslError, match=r"`command\.writes`|unknown format"):
        declare(data, "toy.toml", "test")


def chosen(whole: bool, value: float) -> pyo.ConcreteModel:
    """min value + sum of costs, enough of three kinds: as lp_solve 5.5 was misled by, at a reference spec's numbers."""
    model = pyo.ConcreteModel()
    domain = pyo.Integers if whole else pyo.Reals
    bounds = {"x": (0, None), "y": (0, 40), "a": (9, 10), "b": (18, 20), "c": (4, 6)}
    for name, box in bounds.items():
        setattr(model, name, pyo.Var(domain=domain, bounds=box))
    model.goal = pyo.Objective(
        expr=value + 0.192 * model.x + 0.121 * model.y - 12.5 * model.a - 2.5 * model.b - 20 * model.c
    )
    model.enough = pyo.Constraint(
        expr=23.316940834143402 * model.a
        + 16.33492848839855 * model.b
        + 7.5487471427472945 * model.c
        - model.x
        - model.y
        <= 0
    )
    return model


def mps_of(model: pyo.ConcreteModel, path: Path) -> Path:
    found = linear_program(model)
    assert found is not None
    program = found[0]
    stream = io.StringIO()
    write_mps(stream, program, plain_names("x", len(program.costs)), plain_names("c", len(program.row_lower)))
    path.write_text(stream.getvalue(), encoding="ascii")
    return path


@pytest.mark.parametrize("whole", [False, True])
def test_the_constant_is_whole_where_there_are_whole_columns(whole: bool, tmp_path: Path) -> None:
    """And only there: else a linear program would lose its shadow prices. Read by HiGHS's own reader."""
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("mip_rel_gap", 0.0)
    assert solver.readModel(str(mps_of(chosen(whole, 295.0), tmp_path / "x.mps"))) == highspy.HighsStatus.kOk
    kinds = list(solver.getLp().integrality_)
    assert kinds == ([highspy.HighsVarType.kInteger] * 6 if whole else [])
    solver.run()
    # By hand: every job but two of b pays its VMs; 533 and 40 of them, 295 - 125 - 45 - 120 = 5 for those two.
    assert solver.getObjectiveValue() == pytest.approx(533 * 0.192 + 40 * 0.121 + 5 if whole else 112.07819597)


@pytest.mark.skipif(not RELEASED["lp_solve"], reason="needs the program lp_solve")
def test_lp_solve_finds_the_optimum(tmp_path: Path) -> None:
    done = subprocess.run(
        [str(RELEASED["lp_solve"]), "-fmps", str(mps_of(chosen(True, 295.0), tmp_path / "x.mps")), "-S1"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert float(done.stdout.split()[-1]) == pytest.approx(112.176)


@pytest.mark.skipif(not RELEASED["cbc"], reason="needs a released CBC on PATH")
@pytest.mark.parametrize("case", [c for c in CASES if c.kind in ("LP", "MILP")], ids=str)
def test_a_released_cbc_keeps_the_contract(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (resource("solvers") / "cbc.toml").read_text(encoding="utf-8").replace('name = "cbc"', 'name = "released"')
    text = text.replace('program = "cbc"', f'program = "{Path(str(RELEASED["cbc"])).resolve()}"')
    (tmp_path / "released.toml").write_text(text, encoding="utf-8")
    monkeypatch.setenv("MRDSL_SOLVERS", str(tmp_path))
    assert contract.complaints("released", case) == ()
