"""From a Pyomo model to arrays: one walk over its active constraints, in the order of their declaration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import inf
from typing import Any

import numpy as np
import pyomo.core as pyo
from pyomo.common.modeling import unique_component_name
from pyomo.repn.linear import LinearRepnVisitor
from pyomo.repn.util import OrderedVarRecorder

from mrdsl.core.diagnostics import MrdslError, error
from mrdsl.core.linear_program import LinearProgram, Names


def objective_of(model: Any) -> Any:
    """The model's one active objective; raises ValueError where there is none or several."""
    objectives = list(model.component_data_objects(pyo.Objective, active=True, descend_into=True))
    if len(objectives) != 1:
        raise ValueError(f"the model {model.name!r} has {len(objectives)} active objectives; it needs exactly one")
    return objectives[0]


def constraints_of(model: Any) -> Iterator[Any]:
    """The active constraints in the order of their declaration."""
    yield from model.component_data_objects(pyo.Constraint, active=True, descend_into=True)


def hints_of(model: Any) -> Mapping[str, Mapping[str, Any]]:
    """What ``model.solver_hints`` says for particular solvers: ``{"highs": {"presolve": "off"}}``."""
    return dict(getattr(model, "solver_hints", None) or {})


def linear_program(model: Any) -> tuple[LinearProgram, Names] | None:
    """The model as a linear program and the Pyomo objects behind it; None where an expression is not linear."""
    variables: dict[int, Any] = {}
    order: dict[int, int] = {}
    visitor = LinearRepnVisitor({}, var_recorder=OrderedVarRecorder(variables, order, None))
    goal = objective_of(model)
    objective = visitor.walk_expression(goal.expr)
    if objective.nonlinear is not None:
        return None
    rows = _rows(model, visitor, order)
    if rows is None:
        return None
    place = _places(variables, order)
    costs = np.zeros(len(variables))
    for identity, coefficient in objective.linear.items():
        costs[place[order[identity]]] += coefficient
    lower, upper, integer = _columns(variables)
    program = LinearProgram(
        costs=costs,
        offset=float(objective.constant),
        maximize=goal.sense == pyo.maximize,
        lower=lower,
        upper=upper,
        integer=integer,
        starts=np.array(rows.starts, dtype=np.int64),
        columns=place[np.array(rows.columns, dtype=np.int64)],
        coefficients=np.array(rows.coefficients, dtype=np.float64),
        row_lower=np.array(rows.lower, dtype=np.float64),
        row_upper=np.array(rows.upper, dtype=np.float64),
        hints=hints_of(model),
        fixed=float(getattr(model, "fixed_part", 0.0)),
    )
    return program, Names(list(variables.values()), rows.constraints, goal)


def _places(variables: dict[int, Any], order: dict[int, int]) -> Any:
    """The column of each number of Pyomo's recorder, which numbers the fixed members of an indexed variable too."""
    place = np.full(len(order), -1, dtype=np.int64)
    place[[order[identity] for identity in variables]] = np.arange(len(variables))
    return place


class _Rows:
    """Growing arrays of rows."""

    def __init__(self) -> None:
        self.starts: list[int] = [0]
        self.columns: list[int] = []
        self.coefficients: list[float] = []
        self.lower: list[float] = []
        self.upper: list[float] = []
        self.constraints: list[Any] = []


def _rows(model: Any, visitor: Any, order: dict[int, int]) -> _Rows | None:
    rows = _Rows()
    walk, position = visitor.walk_expression, order.__getitem__
    columns, coefficients = rows.columns, rows.coefficients
    for constraint in constraints_of(model):
        low, body, high = constraint.to_bounded_expression(True)
        if low is None and high is None:
            continue
        form = walk(body)
        if form.nonlinear is not None:
            return None
        columns.extend(map(position, form.linear))
        coefficients.extend(form.linear.values())
        rows.starts.append(len(columns))
        rows.lower.append(-inf if low is None else low - form.constant)
        rows.upper.append(inf if high is None else high - form.constant)
        rows.constraints.append(constraint)
    return rows


def _columns(variables: dict[int, Any]) -> tuple[Any, Any, Any]:
    count = len(variables)
    lower, upper, integer = np.full(count, -inf), np.full(count, inf), np.zeros(count, dtype=bool)
    for i, variable in enumerate(variables.values()):
        low, high = _bounds(variable)
        if low is not None:
            lower[i] = low
        if high is not None:
            upper[i] = high
        integer[i] = variable.is_integer() or variable.is_binary()
    return lower, upper, integer


def _bounds(variable: Any) -> tuple[float | None, float | None]:
    """Raises MrdslError ``number-too-large`` where a variable would have to be infinite."""
    try:
        bounds: tuple[float | None, float | None] = variable.bounds
    except ValueError:
        message = f"the model's variable `{variable.name}` would have to be infinite: no plan satisfies the spec"
        hint = "`mrdsl check` tells which of its promises no plan keeps"
        raise MrdslError([error("number-too-large", message, None, hint)]) from None
    return bounds


@contextmanager
def without_goal(model: Any) -> Iterator[None]:
    """The model with nothing to minimize, for as long as the block lasts."""
    goal = objective_of(model)
    goal.deactivate()
    name = unique_component_name(model, "nothing_to_minimize")
    model.add_component(name, pyo.Objective(expr=0.0))
    try:
        yield
    finally:
        model.del_component(name)
        goal.activate()


@contextmanager
def scaled_goal(model: Any, factor: float) -> Iterator[None]:
    """The model with its goal multiplied by ``factor``, for as long as the block lasts."""
    goal = objective_of(model)
    goal.deactivate()
    name = unique_component_name(model, "scaled_goal")
    model.add_component(name, pyo.Objective(expr=factor * goal.expr, sense=goal.sense))
    try:
        yield
    finally:
        model.del_component(name)
        goal.activate()


def load_values(variables: Any, values: Any) -> None:
    """Writes values into Pyomo variables, whole numbers as whole floats."""
    for variable, value in zip(variables, values.tolist(), strict=True):
        variable.set_value(value, skip_validation=True)


def fill_the_unused(model: Any) -> None:
    """Gives variables that no constraint mentions the value nearest to zero, so that a plan can be read."""
    for variable in model.component_data_objects(pyo.Var, descend_into=True):
        if variable.value is None:
            low, high = variable.bounds
            variable.set_value(
                min(max(0.0, -inf if low is None else low), inf if high is None else high), skip_validation=True
            )
