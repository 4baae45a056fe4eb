"""Models with known answers beyond those that `mrdsl check-plugin` gives a solver; each docstring shows its optimum."""

from __future__ import annotations

from math import log
from typing import Any

import pyomo.environ as pyo

from mrdsl.core.result import Termination
from mrdsl.planning import solver_contract as contract
from mrdsl.planning.solver_contract import Case, cone
from mrdsl.planning.solver_contract import small_model as _model
from mrdsl.solving import registry

_OPTIMAL, _INFEASIBLE = Termination.OPTIMAL, Termination.INFEASIBLE


def largest() -> Any:
    """Maximize 3x - y - 1 with -2 <= x - y <= 2 (a range), x <= 5: x = 5, y = 3, value 11; one unit of the range is
    worth 1.
    """
    model = _model(x=(None, 5), y=(0, None))
    model.goal = pyo.Objective(expr=3 * model.x - model.y - 1, sense=pyo.maximize)
    model.between = pyo.Constraint(expr=(-2, model.x - model.y, 2))
    return model


def free_and_fixed() -> Any:
    """min x with x + y = -7 and y fixed at 2 by its bounds, z idle: -9."""
    model = _model(x=(None, None), y=(2, 2), z=(-4, None))
    model.goal = pyo.Objective(expr=model.x)
    model.sum = pyo.Constraint(expr=model.x + model.y + 0 * model.z == -7)
    return model


def bounds_only() -> Any:
    """min x - 2y over a box: 1 - 12."""
    model = _model(x=(1, 9), y=(-3, 6))
    model.goal = pyo.Objective(expr=model.x - 2 * model.y)
    return model


def nothing_to_minimize() -> Any:
    """No goal but a constant, and a constraint that holds: 5."""
    model = _model(x=(0, 1), y=(0, 1))
    model.goal = pyo.Objective(expr=5.0)
    model.both = pyo.Constraint(expr=model.x + model.y == 1)
    return model


def negative_whole() -> Any:
    """min x + y/2 with 2x >= -7, y >= -2.5, x whole: -3 - 1.25."""
    model = pyo.ConcreteModel()
    model.x = pyo.Var(domain=pyo.Integers)
    model.y = pyo.Var(bounds=(-2.5, None))
    model.goal = pyo.Objective(expr=model.x + model.y / 2)
    model.low = pyo.Constraint(expr=2 * model.x >= -7)
    return model


def yes_or_no() -> Any:
    """Return a knapsack of 10 with items 6/30, 3/14, 4/16, 2/9: the first and the third, 46."""
    model = pyo.ConcreteModel()
    model.take = pyo.Var(range(4), domain=pyo.Binary)
    worth, size = (30, 14, 16, 9), (6, 3, 4, 2)
    model.goal = pyo.Objective(expr=sum(worth[i] * model.take[i] for i in range(4)), sense=pyo.maximize)
    model.room = pyo.Constraint(expr=sum(size[i] * model.take[i] for i in range(4)) <= 10)
    return model


def odd() -> Any:
    """2x + 4y = 7 has fractional solutions only."""
    model = pyo.ConcreteModel()
    model.x = pyo.Var(domain=pyo.Integers, bounds=(0, 9))
    model.y = pyo.Var(domain=pyo.Integers, bounds=(0, 9))
    model.goal = pyo.Objective(expr=model.x)
    model.parity = pyo.Constraint(expr=2 * model.x + 4 * model.y == 7)
    return model


def idle_column() -> Any:
    """:func:`cone`'s problem with a third variable of weight 0 in its constraint: 5 still."""
    model = cone()
    model.idle = pyo.Var(bounds=(0.0, 0.0))
    model.time.set_value(4 / model.s + 9 / model.t + 0.0 * model.idle <= 5)
    model.between = pyo.Constraint(expr=0.0 * model.idle - model.s <= 0)
    return model


def logarithm() -> Any:
    """max ln x + ln y with x + 2y <= 8: x = 4, y = 2, ln 8."""
    model = _model(x=(0.01, 10), y=(0.01, 10))
    model.goal = pyo.Objective(expr=pyo.log(model.x) + pyo.log(model.y), sense=pyo.maximize)
    model.time = pyo.Constraint(expr=model.x + 2 * model.y <= 8)
    return model


def not_convex() -> Any:
    """Minimize the concave x (1 - x) over 0.2 .. 0.7: 0.16 at the left end, 0.21 at the right, where a local search
    stops.
    """
    model = _model(x=(0.2, 0.7))
    model.x.set_value(0.69)
    model.goal = pyo.Objective(expr=model.x * (1 - model.x))
    return model


def nonlinear_contradiction() -> Any:
    """x² + y² <= 1 and x + y >= 2."""
    model = _model(x=(-5, 5), y=(-5, 5))
    model.goal = pyo.Objective(expr=model.x)
    model.disc = pyo.Constraint(expr=model.x**2 + model.y**2 <= 1)
    model.far = pyo.Constraint(expr=model.x + model.y >= 2)
    return model


CASES: tuple[Case, ...] = (
    *contract.CASES,
    Case("largest, with a range", "LP", largest, _OPTIMAL, 11.0, (("between", 1.0),)),
    Case("free and fixed columns", "LP", free_and_fixed, _OPTIMAL, -9.0),
    Case("bounds only", "LP", bounds_only, _OPTIMAL, -11.0),
    Case("nothing to minimize", "LP", nothing_to_minimize, _OPTIMAL, 5.0),
    Case("negative whole", "MILP", negative_whole, _OPTIMAL, -4.25),
    Case("yes or no", "MILP", yes_or_no, _OPTIMAL, 46.0),
    Case("no whole solution", "MILP", odd, _INFEASIBLE),
    Case("cone with an idle column", "NLP", idle_column, _OPTIMAL, 5.0),
    Case("logarithm", "NLP", logarithm, _OPTIMAL, log(8.0)),
    Case("not convex", "NLP", not_convex, _OPTIMAL, 0.16),
    Case("infeasible NLP", "NLP", nonlinear_contradiction, _INFEASIBLE),
)


def cases_for(solver: str) -> tuple[Case, ...]:
    """All cases that a shipped solver must pass, from the features in its file."""
    declared = registry.find(solver)
    return tuple(case for case in CASES if case.kind in declared.solves)
