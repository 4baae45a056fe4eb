"""What a solver claims counts as far as it agrees with what is known: bounds, optima, "infeasible"."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import mrdsl
from mrdsl.core.answer import Reply
from mrdsl.core.diagnostics import MrdslError
from mrdsl.core.linear_program import NATURAL, natural_scale
from mrdsl.core.resources import resource
from mrdsl.core.result import Limits, SolutionStatus, Termination
from mrdsl.planning import solver_contract as contract
from mrdsl.solving import registry, worker
from mrdsl.solving.backends import highs
from mrdsl.solving.checked_answer import solve_model
from mrdsl.solving.declaration import declare
from mrdsl.solving.worker import close_all

MODELS = resource("models")


@pytest.fixture(autouse=True)
def _fresh_workers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A worker that waits since an earlier test would not know what is patched here, nor a later one that it was."""
    monkeypatch.setattr(worker, "_may_fork", lambda: sys.platform == "linux")
    close_all()
    yield
    close_all()


@pytest.mark.parametrize("solver", ["highs", "glpk", "cbc", "scip"])
def test_a_goal_of_half_a_cent_has_one_optimum(solver: str) -> None:
    """One n1-highcpu-16 for 17.1 s and two n1-standard-2 … cost 0.47545 cents by HiGHS, GLPK and SCIP alike."""
    text = (MODELS / "energy" / "classif-small.mrspec").read_text(encoding="utf-8")
    spec = mrdsl.loads(text.replace("minimize energy", "minimize cost"))
    result = mrdsl.solve(spec, solver)
    assert result.solution is SolutionStatus.OPTIMAL
    assert result.objective.value == pytest.approx(0.00475445, rel=2e-6)


@pytest.mark.parametrize("largest", [1e-12, 0.0123, 1.0, 1024.0, 5e17])
def test_the_natural_scale_is_a_power_of_two(largest: float) -> None:
    factor = natural_scale(largest)
    assert np.frexp(factor)[0] == 0.5, "one bit is set, so that nothing is rounded"
    assert NATURAL <= largest * factor < 2 * NATURAL


def test_nothing_to_minimize_is_not_scaled() -> None:
    assert natural_scale(0.0) == 1.0


@pytest.mark.parametrize("price", ["1e6", "1e10", "1e12"])
@pytest.mark.parametrize("solver", ["highs", "scip"])
def test_a_price_that_no_plan_pays_changes_no_other(solver: str, price: str) -> None:
    """Four jobs take three VMs each, on spot for 0.4 USD, in each of two periods."""
    text = f"""
problem capacity
vm a {{ on_demand {{ price = {price} USD/h }}, reserved {{ price = 0.7 USD/h, available = 9 }} }}
vm b {{ on_demand {{ price = 1.1 USD/h }}, spot {{ price = 0.4 USD/h, interruptions = 0/h }} }}
demand {{ periods = 2, day = flat }}
class c {{ coefficients {{ A = 5400 s, B = 0 s, C = 0 s }}, slots {{ map = 1, reduce = 1 }}, jobs = 0..4,
  deadline = 30 min, penalty = 9 USD }}
minimize cost
"""
    result = mrdsl.solve(mrdsl.loads(text), solver)
    assert result.objective.value == pytest.approx(9.6)
    assert result.objective.bound == pytest.approx(9.6)


@pytest.mark.parametrize("factor", [1e-9, 1e-3, 1.0, 1e7])
@pytest.mark.parametrize("solver", ["highs", "glpk", "cbc", "scip"])
def test_value_bound_and_duals_come_back_in_the_goals_own_unit(solver: str, factor: float) -> None:
    """``max 3x + 2y`` over ``x + y <= 4, x + 3y <= 7, x <= 3``: (3, 1), worth 11, the first row's price 2."""
    model = pyo.ConcreteModel()
    model.x, model.y = pyo.Var(bounds=(0, 3)), pyo.Var(bounds=(0, None))
    model.goal = pyo.Objective(expr=factor * (3 * model.x + 2 * model.y), sense=pyo.maximize)
    model.first = pyo.Constraint(expr=model.x + model.y <= 4)
    model.second = pyo.Constraint(expr=model.x + 3 * model.y <= 7)
    duals = "duals" in registry.find(solver).offers
    answer = solve_model(model, solver, needs=contract.Needs("LP", duals))
    assert answer.solution is SolutionStatus.OPTIMAL
    assert answer.value == pytest.approx(11 * factor, rel=1e-9)
    assert answer.bound == pytest.approx(11 * factor, rel=2e-6)
    if duals:
        assert answer.duals["first"] == pytest.approx(2 * factor, rel=1e-9)


def small(whole: bool = True) -> Any:
    """``min 2x`` with ``x >= 3``."""
    model = pyo.ConcreteModel()
    model.x = pyo.Var(domain=pyo.NonNegativeIntegers if whole else pyo.NonNegativeReals, bounds=(0, 10))
    model.goal = pyo.Objective(expr=2 * model.x)
    model.enough = pyo.Constraint(expr=model.x >= 3)
    return model


def says(monkeypatch: pytest.MonkeyPatch, termination: Termination, x: float | None, bound: float | None) -> None:
    """HiGHS gives this point and claims this bound, in the goal's own unit."""

    def solve(request: Any, _: Any) -> Reply:
        size = float(request.program.costs[0]) / 2
        return Reply(
            termination,
            None if x is None else np.array([x]),
            None if x is None else 2 * x * size,
            None if bound is None else bound * size,
        )

    monkeypatch.setattr(highs, "solve", solve)


def test_a_bound_beyond_the_value_is_the_solvers_error(monkeypatch: pytest.MonkeyPatch) -> None:
    says(monkeypatch, Termination.OPTIMAL, 3.0, 6.001)
    answer = solve_model(small(), "highs")
    assert (answer.termination, answer.solution) == (Termination.COMPLETED, SolutionStatus.FEASIBLE)
    assert (answer.value, answer.bound) == (6.0, None)
    assert answer.doubts == ("it claims that no plan is below 6.001, and gives one worth 6: its bound is left out",)


@pytest.mark.parametrize("beyond", [-1e-6, 1e-6])
def test_last_digits_are_no_error(beyond: float, monkeypatch: pytest.MonkeyPatch) -> None:
    says(monkeypatch, Termination.OPTIMAL, 3.0, 6.0 + beyond)
    answer = solve_model(small(), "highs")
    assert (answer.termination, answer.solution, answer.doubts) == (Termination.OPTIMAL, SolutionStatus.OPTIMAL, ())
    assert answer.bound == pytest.approx(6.0, abs=1.1e-6)
    assert answer.bound is not None
    assert answer.bound <= 6.0


@pytest.mark.parametrize("bound", [None, 5.0])
def test_optimal_without_a_bound_that_proves_it_is_not_optimal(
    bound: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    says(monkeypatch, Termination.OPTIMAL, 3.0, bound)
    answer = solve_model(small(), "highs")
    assert (answer.termination, answer.solution) == (Termination.COMPLETED, SolutionStatus.FEASIBLE)
    assert answer.bound == bound


@pytest.mark.parametrize("x", [2.9999, 3.2, 10.5, -1.0])
def test_a_point_is_checked_before_it_is_clipped_or_rounded(x: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Below a row, not whole, beyond either bound."""
    says(monkeypatch, Termination.OPTIMAL, x, 2 * x)
    answer = solve_model(small(), "highs")
    assert (answer.termination, answer.solution) == (Termination.ERROR, SolutionStatus.NONE)


CAPACITY = """problem capacity "x"
vm m5 { on_demand { price = 0.2 USD/h } }
class a {
  coefficients { A = 5400 s, B = 1250 s, C = 95 s }
  slots { map = 4, reduce = 2 }
  jobs = 1 .. 6
  deadline = 10 min
  penalty = 20 USD
}
minimize cost
"""


def on_capacity(monkeypatch: pytest.MonkeyPatch, *, infeasible: bool = False) -> Any:
    """HiGHS takes 20 VMs too many for all 6 jobs and proves it: 4 USD more than needed."""
    real = highs.solve

    def solve(request: Any, report: Any) -> Reply:
        if infeasible:
            return Reply(Termination.INFEASIBLE)
        found = real(request, report)
        values = found.values.copy()
        dear = int(np.flatnonzero(request.program.costs > 0.0)[0])
        values[dear] += 20.0
        value = request.program.objective(values)
        return Reply(Termination.OPTIMAL, values, value, value)

    monkeypatch.setattr(highs, "solve", solve)
    return mrdsl.loads(CAPACITY)


def test_a_plan_that_closed_forms_find_withdraws_a_false_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = mrdsl.solve(mrdsl.loads(CAPACITY), "direct")
    result = mrdsl.solve(on_capacity(monkeypatch), "highs")
    assert (result.termination, result.solution) == (Termination.COMPLETED, SolutionStatus.FEASIBLE)
    assert result.objective.value == pytest.approx((honest.objective.value or 0.0) + 4.0)
    assert result.objective.bound == pytest.approx(honest.objective.value)
    assert [d.code for d in result.diagnostics] == ["contradicted-claim"]
    assert "but `direct` found one with value" in result.diagnostics[0].message


def test_infeasible_is_an_error_where_a_plan_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    result = mrdsl.solve(on_capacity(monkeypatch, infeasible=True), "highs")
    assert result.termination is Termination.ERROR
    assert [d.code for d in result.diagnostics] == ["solver-failed"]
    assert "it claims that no plan exists, but `direct` found one with value" in result.diagnostics[0].message


TOML = {
    "kind": "solver",
    "name": "toy",
    "summary": "a toy",
    "solves": ["LP"],
    "install": "pip install toy",
    "worker": {"call": "a:b"},
    "options": {"quiet": True},
}


def test_a_distrusted_version_gets_its_options() -> None:
    known = {"versions": r"2\.1.*", "kinds": ["MILP"], "reason": "it errs", "options": {"presolve": "off"}}
    solver = declare({**TOML, "distrust": [known]}, "toy.toml", "here")
    assert dict(solver.careful("2.10", "MILP").options) == {"quiet": True, "presolve": "off"}
    assert dict(solver.careful("2.2", "MILP").options) == {"quiet": True}
    assert dict(solver.careful("2.10", "LP").options) == {"quiet": True}
    assert dict(solver.careful(None, "MILP").options) == {"quiet": True, "presolve": "off"}, "it may be that version"


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ([{"versions": "(", "reason": "x", "options": {}}], "`distrust[1].versions` must be a regular expression"),
        ([{"versions": "1", "reason": "x"}], "missing key `options` in `distrust[1]`"),
        ([{"versions": "1", "reason": "x", "options": {}, "kinds": ["QP"]}], "unknown kind of model `QP`"),
        ([{"versions": "1", "reason": "x", "options": {}, "why": "y"}], "unknown key `why` in `distrust[1]`"),
        ({"versions": "1"}, "`distrust` must be a list of tables"),
    ],
)
def test_a_mistake_in_what_is_distrusted_is_told(wrong: Any, words: str) -> None:
    with pytest.raises(MrdslError, match="bad-solver-file") as caught:
        declare({**TOML, "distrust": wrong}, "toy.toml", "here")
    assert any(words in d.message for d in caught.value.diagnostics)


def test_the_embedded_cbc_runs_without_preprocessing() -> None:
    solver = registry.find("cbc").careful("devel (git:146ce89)", "MILP")
    assert solver.options["-preprocess"] == "off"
    assert "-preprocess" not in registry.find("cbc").careful("2.10.8", "MILP").options


def test_a_limit_of_the_gap_that_was_asked_for_counts() -> None:
    """All is well: 3 is the optimum, and a gap of a half proves it as well as none."""
    for gap in (0.0, 0.5):
        assert solve_model(small(), "highs", Limits(gap=gap)).solution is SolutionStatus.OPTIMAL
