"""Points of the relaxation that a solver leaves when its limit stops it: no plan, and no fault of the solver."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyomo.environ as pyo
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mrdsl
from mrdsl.core.answer import Answer, Reply
from mrdsl.core.linear_program import Names
from mrdsl.core.resources import resource
from mrdsl.core.result import Limits, SolutionStatus, Termination
from mrdsl.solving.arrays import linear_program
from mrdsl.solving.backends import highs, scip
from mrdsl.solving.checked_answer import judge, solve_model
from mrdsl.solving.processes import kept
from tests.solving.test_limits import easy, fake_program, fresh_workers  # noqa: F401

AT_ONCE, PLENTY = 1e-6, 1e4
"""Time limits that every run exceeds and that none exceeds."""
NO_PLAN = (Termination.TIME_LIMIT, SolutionStatus.NONE, None, None)

FILES = {
    "cbc": "Optimal - objective value {x}\\n 0 x0 {x} 0\\n",
    "cbc-stopped": "Stopped on time - objective value {x}\\n 0 x0 {x} 0\\n",
    "cbc-nodes": "Stopped on nodes - objective value {x}\\n 0 x0 {x} 0\\n",
    "glpk": "s mip 1 1 o {x}\\ni 1 7\\nj 1 {x}\\ne o f\\n",
    "glpk-stopped": "s mip 1 1 f {x}\\ni 1 7\\nj 1 {x}\\ne o f\\n",
}
WRITES = 'for a; do case "$a" in *.sol) printf "{text}" > "$a";; esac; done\necho "{printed}"\n'


def summary(answer: Answer) -> tuple[object, ...]:
    return answer.termination, answer.solution, answer.value, answer.bound


def answered(name: str, x: float, limits: Limits, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Answer:
    """The answer of a program that writes the solution file ``name`` of the one column."""
    solver = name.partition("-")[0]
    printed = "TIME LIMIT EXCEEDED" if name == "glpk-stopped" else ""
    fake_program(folder, solver, WRITES.format(text=FILES[name].format(x=x), printed=printed))
    monkeypatch.setenv("MRDSL_SOLVERS", str(folder))
    return solve_model(easy(), f"fake-{solver}", limits)


@pytest.mark.parametrize("model", ["quickstart", "reference", "table2_20"])
def test_cbc_that_its_limit_stops_before_it_branches(model: str) -> None:
    """CBC calls the relaxation's point optimal then; no such plan has a whole number of VMs."""
    spec = mrdsl.load(resource("models") / "capacity" / f"{model}.mrspec")
    result = mrdsl.solve(spec, "cbc", formulation="P2", limits=Limits(time=AT_ONCE))
    assert (result.termination, result.solution, result.plan) == (Termination.TIME_LIMIT, SolutionStatus.NONE, None)
    assert not [d for d in result.diagnostics if d.severity == "error"]


@pytest.mark.parametrize("name", ["cbc", "cbc-stopped", "glpk", "glpk-stopped"])
def test_a_fraction_at_the_time_limit_is_no_plan(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert summary(answered(name, 7 / 3, Limits(time=AT_ONCE), tmp_path, monkeypatch)) == NO_PLAN


def test_a_fraction_at_the_node_limit_is_no_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = answered("cbc-nodes", 7 / 3, Limits(nodes=1), tmp_path, monkeypatch)
    assert summary(answer) == (Termination.NODE_LIMIT, SolutionStatus.NONE, None, None)


@pytest.mark.parametrize("name", FILES)
def test_a_whole_point_at_the_time_limit_is_a_plan(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = answered(name, 3, Limits(time=AT_ONCE), tmp_path, monkeypatch)
    assert (answer.value, answer.solution is SolutionStatus.NONE) == (3.0, False)


@pytest.mark.parametrize("name", ["cbc", "glpk"])
@pytest.mark.parametrize("limits", [Limits(), Limits(time=PLENTY), Limits(nodes=1)])
def test_a_fraction_long_before_the_time_limit_is_the_solvers_fault(
    limits: Limits, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = answered(name, 7 / 3, limits, tmp_path, monkeypatch)
    assert (answer.termination, answer.solution) == (Termination.ERROR, SolutionStatus.NONE)
    assert "whole number" in answer.message


@pytest.mark.parametrize("name", ["cbc-stopped", "cbc"])
@pytest.mark.parametrize("x", [2, 7 / 3 - 0.1])
def test_a_point_that_breaks_a_row_stays_a_fault(
    name: str, x: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = answered(name, x, Limits(time=AT_ONCE), tmp_path, monkeypatch)
    assert (answer.termination, "enough" in answer.message) == (Termination.ERROR, True)


@pytest.mark.parametrize(("solver", "backend"), [("highs", highs), ("scip", scip)])
@pytest.mark.parametrize("said", [Termination.TIME_LIMIT, Termination.NODE_LIMIT, Termination.INTERRUPTED])
def test_functions_that_leave_a_fraction(
    solver: str, backend: object, said: Termination, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backend, "solve", lambda request, report: Reply(said, np.array([7 / 3]), 7 / 3, None))
    with kept():
        assert summary(solve_model(easy(), solver)) == (said, SolutionStatus.NONE, None, None)


def test_a_nonlinear_model_has_no_fractions_either(monkeypatch: pytest.MonkeyPatch) -> None:
    model = easy()
    model.round = pyo.Constraint(expr=model.x**2 <= 50)
    monkeypatch.setattr(scip, "solve", lambda request, report: Reply(Termination.TIME_LIMIT, np.array([2.5]), 2.5))
    assert summary(solve_model(model, "scip")) == NO_PLAN
    assert model.x.value is None
    monkeypatch.setattr(scip, "solve", lambda request, report: Reply(Termination.TIME_LIMIT, np.array([1.5]), 1.5))
    from mrdsl.solving import worker

    worker.close_all()
    assert solve_model(model, "scip").termination is Termination.ERROR


STOPPED = [Termination.TIME_LIMIT, Termination.NODE_LIMIT, Termination.INTERRUPTED]


@given(x=st.floats(7 / 3, 40), said=st.sampled_from(STOPPED))
def test_a_drawn_point_is_a_plan_if_it_is_whole(x: float, said: Termination) -> None:
    """Whatever keeps the row is a plan or nothing, never a fault; by hand: whole within 1e-5 of a whole number."""
    found = linear_program(easy())
    assert found is not None
    program, names = found
    assert isinstance(names, Names)
    answer = judge("drawn", None, Reply(said, np.array([x]), x, None), program, names, Limits())
    assert answer.termination is said
    if abs(x - round(x)) > 1.1e-4:
        assert summary(answer) == (said, SolutionStatus.NONE, None, None)
    if x == round(x):
        assert (answer.solution, answer.value) == (SolutionStatus.FEASIBLE, x)
