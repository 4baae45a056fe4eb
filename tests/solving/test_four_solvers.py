"""Every solver says the same of the same small models: optimal, infeasible, unbounded, and the right optimum."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pyomo.environ as pyo
import pytest

from mrdsl.core.result import SolutionStatus, Termination
from mrdsl.solving.checked_answer import solve_model

SOLVERS = ("highs", "glpk", "cbc", "scip")


def knapsack(sense: int) -> pyo.ConcreteModel:
    """Six whole columns, a free continuous one, a range row, a constant in the goal."""
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(6), domain=pyo.NonNegativeIntegers, bounds=(0, 2))
    model.y = pyo.Var(bounds=(-2.5, None))
    worth = sum((i + 2.5) * model.x[i] for i in range(6)) - model.y + 7
    model.goal = pyo.Objective(expr=sense * worth, sense=pyo.maximize if sense > 0 else pyo.minimize)
    model.room = pyo.Constraint(expr=sum((i + 3) * model.x[i] for i in range(6)) <= 29 + 0.5 * model.y)
    model.between = pyo.Constraint(expr=(-4, model.x[0] - model.x[1] + model.y, 9))
    return model


def best_knapsack() -> float:
    """By trying every choice of whole columns; the free one is then as small as its rows allow."""
    best = float("-inf")
    for x in product(range(3), repeat=6):
        need = 2 * (sum((i + 3) * x[i] for i in range(6)) - 29)
        low, high = max(-2.5, need, -4 - x[0] + x[1]), 9 - x[0] + x[1]
        if low <= high:
            best = max(best, sum((i + 2.5) * x[i] for i in range(6)) - low + 7)
    return best


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("sense", [1, -1])
def test_all_find_the_optimum_that_enumeration_finds(solver: str, sense: int) -> None:
    model = knapsack(sense)
    answer = solve_model(model, solver)
    assert (answer.termination, answer.solution) == (Termination.OPTIMAL, SolutionStatus.OPTIMAL)
    assert answer.value == pytest.approx(sense * best_knapsack(), abs=1e-6)
    assert answer.bound == pytest.approx(answer.value, rel=1.1e-6)
    assert pyo.value(model.goal) == pytest.approx(answer.value)
    assert all(model.x[i].value == round(model.x[i].value) for i in range(6))


def without_solution(whole: bool) -> pyo.ConcreteModel:
    model = pyo.ConcreteModel()
    model.x = pyo.Var(domain=pyo.Integers if whole else pyo.Reals, bounds=(0, 10))
    model.y = pyo.Var(bounds=(0, 5))
    model.goal = pyo.Objective(expr=model.x + model.y)
    model.low = pyo.Constraint(expr=model.x + model.y >= 4)
    model.high = pyo.Constraint(expr=model.x + model.y <= 3.5)
    return model


def without_integers() -> pyo.ConcreteModel:
    """The relaxation has solutions, whole numbers have none."""
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(3), domain=pyo.Integers, bounds=(0, 9))
    model.goal = pyo.Objective(expr=model.x[0])
    model.odd = pyo.Constraint(expr=2 * model.x[0] + 4 * model.x[1] + 6 * model.x[2] == 31)
    return model


def unbounded(whole: bool) -> pyo.ConcreteModel:
    model = pyo.ConcreteModel()
    model.x = pyo.Var(domain=pyo.Integers if whole else pyo.Reals)
    model.y = pyo.Var(bounds=(0, None))
    model.goal = pyo.Objective(expr=model.y - model.x)
    model.c = pyo.Constraint(expr=model.x >= model.y + 0.5)
    return model


def unbounded_looking_but_infeasible(whole: bool) -> pyo.ConcreteModel:
    model = unbounded(whole)
    model.d = pyo.Constraint(expr=model.x <= model.y)
    return model


CASES: dict[str, tuple[Callable[[], pyo.ConcreteModel], Termination]] = {
    "infeasible LP": (lambda: without_solution(False), Termination.INFEASIBLE),
    "infeasible MILP": (lambda: without_solution(True), Termination.INFEASIBLE),
    "no whole solution": (without_integers, Termination.INFEASIBLE),
    "unbounded LP": (lambda: unbounded(False), Termination.UNBOUNDED),
    "unbounded MILP": (lambda: unbounded(True), Termination.UNBOUNDED),
    "infeasible with a free goal, LP": (lambda: unbounded_looking_but_infeasible(False), Termination.INFEASIBLE),
    "infeasible with a free goal, MILP": (lambda: unbounded_looking_but_infeasible(True), Termination.INFEASIBLE),
}


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("case", CASES)
def test_no_solution_is_told_by_its_right_name(solver: str, case: str) -> None:
    build, termination = CASES[case]
    model = build()
    answer = solve_model(model, solver)
    assert (answer.termination, answer.solution) == (termination, SolutionStatus.NONE)
    assert answer.value is None
    assert model.x[0].value is None if case == "no whole solution" else model.x.value is None
