"""Arrays of a Pyomo model, from one walk over its active constraints in the order of their declaration.

A flat model can be sent to another process: numbered variables and rows, and none of the rules that do not pickle. A
linear model's fingerprint shows whether a solution file belongs to the spec's own model.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pyomo.core as pyo
from pyomo.common.modeling import unique_component_name
from pyomo.core.expr.numeric_expr import LinearExpression
from pyomo.core.expr.visitor import replace_expressions
from pyomo.repn.linear import LinearRepnVisitor
from pyomo.repn.util import OrderedVarRecorder

from mrdsl.core.diagnostics import Span, one_error
from mrdsl.core.linear_program import LinearProgram, Names
from mrdsl.core.reading import UnreadableError, read_bytes


def objective_of(model: Any) -> Any:
    """Return the one active objective of the model; raises ValueError if there is none or more than one."""
    objectives = list(model.component_data_objects(pyo.Objective, active=True, descend_into=True))
    if len(objectives) != 1:
        raise ValueError(f"the model {model.name!r} has {len(objectives)} active objectives; it needs exactly one")
    return objectives[0]


def constraints_of(model: Any) -> Iterator[Any]:
    """Yield the active constraints in the order of their declaration."""
    yield from model.component_data_objects(pyo.Constraint, active=True, descend_into=True)


def hints_of(model: Any) -> Mapping[str, Mapping[str, Any]]:
    """Return ``model.solver_hints`` for particular solvers: ``{"highs": {"presolve": "off"}}``."""
    return dict(getattr(model, "solver_hints", None) or {})


def linear_program(model: Any) -> tuple[LinearProgram, Names] | None:
    """Return the model as a linear program with its Pyomo objects, or None if an expression is not linear."""
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
    """Return the column of each number of Pyomo's recorder, which numbers the fixed members of an indexed
    variable too.
    """
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
    """Return the bounds of a variable. Raises MrdslError ``number-too-large`` if it would have to be infinite."""
    try:
        bounds: tuple[float | None, float | None] = variable.bounds
    except ValueError:
        message = f"the model's variable `{variable.name}` would have to be infinite: no plan satisfies the spec"
        hint = "run `mrdsl check` for the constraints that no plan meets"
        raise one_error("number-too-large", message, None, hint) from None
    return bounds


@contextmanager
def without_goal(model: Any) -> Iterator[None]:
    """Yield the model without an objective during the ``with`` block."""
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
    """Yield the model with its objective multiplied by ``factor`` during the ``with`` block."""
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
    """Write values into Pyomo variables, whole numbers as whole floats."""
    for variable, value in zip(variables, values.tolist(), strict=True):
        variable.set_value(value, skip_validation=True)


def fill_the_unused(model: Any) -> None:
    """Give variables that no constraint mentions the value nearest to zero, so that a plan can be read."""
    for variable in model.component_data_objects(pyo.Var, descend_into=True):
        if variable.value is None:
            low, high = variable.bounds
            variable.set_value(
                min(max(0.0, -inf if low is None else low), inf if high is None else high), skip_validation=True
            )


def of_program(program: LinearProgram) -> Any:
    """Return a linear program as a Pyomo model; ``model.x[i]`` is its column i, ``model.rows[i + 1]`` its row i."""
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
    """Return a model that is not linear, over numbered variables in the order given; all others are fixed and
    put in.
    """
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


def fingerprint(program: LinearProgram, columns: Sequence[str]) -> str:
    """``sha256:…`` over every number of the program, prices included, and the names of its columns."""
    digest = hashlib.sha256("\n".join([*columns, "maximize" if program.maximize else "minimize"]).encode())
    for numbers in (
        program.costs,
        np.array([program.offset]),
        program.lower,
        program.upper,
        program.coefficients,
        program.row_lower,
        program.row_upper,
    ):
        digest.update((np.asarray(numbers, dtype="<f8") + 0.0).tobytes() + b";")
    for places in (program.integer, program.starts, program.columns):
        digest.update(np.asarray(places, dtype="<i8").tobytes() + b";")
    return f"sha256:{digest.hexdigest()}"


def require_match(path: Path, program: LinearProgram, columns: Sequence[str]) -> None:
    """Raise MrdslError ``unreadable-names``, or ``stale-model`` if the model was compiled from another spec."""
    place = Span(str(path), 1, 1, 1, 1)
    try:
        stored = json.loads(read_bytes(path))
        known = stored["fingerprint"]
    except (UnreadableError, ValueError, KeyError, TypeError, RecursionError):
        raise one_error(
            "unreadable-names",
            f"{path} is not the names.json of a linear model",
            place,
            "give the one that mrdsl compile wrote next to the model, or compile and solve again",
        ) from None
    if known != fingerprint(program, columns):
        raise one_error(
            "stale-model",
            f"{path} belongs to another model than this spec has now",
            place,
            "compile and solve again, or leave out --names to read the plan without its proof",
        )
