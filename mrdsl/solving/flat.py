"""Models made plain for another process: numbered variables and rows, and none of the rules that do not pickle."""

from __future__ import annotations

from math import inf
from typing import Any

import pyomo.core as pyo
from pyomo.core.expr.numeric_expr import LinearExpression
from pyomo.core.expr.visitor import replace_expressions

from mrdsl.core.linear_program import LinearProgram
from mrdsl.solving.arrays import constraints_of, objective_of


def of_program(program: LinearProgram) -> Any:
    """A linear program as a Pyomo model; ``model.x[i]`` is its column i, ``model.rows[i + 1]`` its row i."""
    model = _with_columns(len(program.costs))
    columns = [model.x[i] for i in range(len(program.costs))]
    bounds = zip(columns, program.lower.tolist(), program.upper.tolist(), program.integer.tolist(), strict=True)
    for column, low, high, whole in bounds:
        column.domain = pyo.Integers if whole else pyo.Reals
        column.setlb(None if low == -inf else low)
        column.setub(None if high == inf else high)
    coefficients, places = program.coefficients.tolist(), program.columns.tolist()
    starts = program.starts.tolist()
    for i, (low, high) in enumerate(zip(program.row_lower.tolist(), program.row_upper.tolist(), strict=True)):
        inside = slice(starts[i], starts[i + 1])
        body = LinearExpression(linear_coefs=coefficients[inside], linear_vars=[columns[k] for k in places[inside]])
        if starts[i] == starts[i + 1] or (low == -inf and high == inf):
            continue
        sides = (low, body) if low == high else (None if low == -inf else low, body, None if high == inf else high)
        model.rows.add(sides)
    goal = LinearExpression(constant=program.offset, linear_coefs=program.costs.tolist(), linear_vars=columns)
    model.goal = pyo.Objective(expr=goal, sense=pyo.maximize if program.maximize else pyo.minimize)
    return model


def of_model(model: Any, variables: list[Any]) -> Any:
    """A model that is not linear, over numbered variables in the order given; all others are fixed and put in."""
    flat = _with_columns(len(variables))
    known: dict[int, Any] = {id(variable): flat.x[i] for i, variable in enumerate(variables)}
    for column, variable in zip(flat.x.values(), variables, strict=True):
        low, high = variable.bounds
        column.domain = pyo.Integers if variable.is_integer() or variable.is_binary() else pyo.Reals
        column.setlb(low)
        column.setub(high)
        column.set_value(variable.value, skip_validation=True)
    for variable in model.component_data_objects(pyo.Var, descend_into=True):
        known.setdefault(id(variable), variable.value)
    for constraint in constraints_of(model):
        low, body, high = constraint.to_bounded_expression(True)
        if low is not None or high is not None:
            flat.rows.add((low, _over(body, known), high) if low != high else (low, _over(body, known)))
    goal = objective_of(model)
    flat.goal = pyo.Objective(expr=_over(goal.expr, known), sense=goal.sense)
    return flat


def _over(expression: Any, known: dict[int, Any]) -> Any:
    return replace_expressions(expression, known, descend_into_named_expressions=True, remove_named_expressions=True)


def _with_columns(count: int) -> Any:
    model = pyo.ConcreteModel()
    model.x = pyo.Var(list(range(count)))
    model.rows = pyo.ConstraintList()
    return model
