"""One Pyomo model, one solver, one checked answer.

A model that is not linear is handed over as AMPL's nl file and checked by evaluating its expressions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np
import pyomo.core as pyo
from pyomo.repn import generate_standard_repn

from mrdsl.contracts.family import Needs
from mrdsl.core import watching
from mrdsl.core.answer import Answer, Reply
from mrdsl.core.diagnostics import Span, one_error
from mrdsl.core.guarded import scratch_folder
from mrdsl.core.linear_program import INTEGRALITY, Array, LinearProgram, Names, natural_scale
from mrdsl.core.result import Limits, SolutionStatus, Termination
from mrdsl.core.rounding import FEASIBILITY
from mrdsl.exchange.model_files import plain_names
from mrdsl.solving import arrays, registry
from mrdsl.solving.arrays import (
    constraints_of,
    fill_the_unused,
    hints_of,
    linear_program,
    load_values,
    objective_of,
    scaled_goal,
)
from mrdsl.solving.claims import Point, answer_of
from mrdsl.solving.declaration import SolverFile
from mrdsl.solving.processes import ended_late
from mrdsl.solving.programs import (
    checked_point,
    in_worker,
    of_one_solve,
    options_of,
    refuse_unsupported,
    refused_point,
    solve_program,
    through_pyomo,
    without_relaxed_point,
)
from mrdsl.solving.registry import require, version
from mrdsl.solving.request import Request

TOLERANCE = 1e-5


@dataclass
class NonlinearModel:
    """A Pyomo model that is written as an nl file; ``variables`` in the file's order once it is written."""

    model: Any
    kind: str
    maximize: bool
    hints: Mapping[str, Mapping[str, Any]]
    variables: list[Any]

    @contextmanager
    def as_file(self) -> Iterator[str]:
        """Yield the path of the nl file, with the names x0, x1, ... of the columns in a .col file next to it."""
        from pyomo.repn.plugins.nl_writer import NLWriter

        with scratch_folder() as folder:
            path = folder / "model.nl"
            with path.open("w", encoding="ascii") as stream:
                information = NLWriter().write(self.model, stream, linear_presolve=False, scale_model=False)
            self.variables = list(information.variables)
            names = "".join(f"{name}\n" for name in plain_names("x", len(self.variables)))
            path.with_suffix(".col").write_text(names, encoding="ascii")
            yield str(path)

    def load_checked(self, values: Array) -> tuple[float, str | None, float | None]:
        """Load the point and give the worst relative violation, where it is, and the goal's value.

        A point that violates the model is taken out again, and the value is None.
        """
        before = self._values()
        fill_the_unused(self.model)
        self._load(values.tolist())
        worst, where = self._worst()
        if worst > TOLERANCE:
            self._restore(before)
            return worst, where, None
        self._load([_whole(variable, value) for variable, value in zip(self.variables, values.tolist(), strict=True)])
        if self._worst()[0] > TOLERANCE:
            self._load(values.tolist())
        return worst, where, float(pyo.value(objective_of(self.model)))

    def is_only_fractional(self, values: Array) -> bool:
        """Return True if the point keeps the model, and only its whole numbers are fractions."""
        before = self._values()
        fill_the_unused(self.model)
        self._load(values.tolist())
        worst, relaxed = self._worst()[0], self._worst(relaxed=True)[0]
        self._restore(before)
        return worst > TOLERANCE >= relaxed

    def _values(self) -> list[tuple[Any, Any]]:
        return [(each, each.value) for each in self.model.component_data_objects(pyo.Var, descend_into=True)]

    def _restore(self, before: list[tuple[Any, Any]]) -> None:
        for variable, value in before:
            variable.set_value(value, skip_validation=True)

    def natural_scale(self) -> float:
        """Return the power of two that brings the largest linear coefficient of the objective to its natural size.

        If there is none, its constant is used; the scale is 1 without either.
        """
        found = generate_standard_repn(objective_of(self.model).expr, quadratic=False)
        return natural_scale(max((abs(c) for c in found.linear_coefs), default=0.0) or abs(found.constant))

    def goal_size(self) -> float:
        """Return the largest term of the goal at the point in the model, the constant included."""
        form = generate_standard_repn(objective_of(self.model).expr, quadratic=False)
        terms = [float(c) * v.value for c, v in zip(form.linear_coefs, form.linear_vars, strict=True)]
        rest = 0.0 if form.nonlinear_expr is None else float(pyo.value(form.nonlinear_expr))
        return float(max(abs(term) for term in (*terms, rest, form.constant)))

    def _load(self, values: list[Any]) -> None:
        for variable, value in zip(self.variables, values, strict=True):
            variable.set_value(value, skip_validation=True)

    def _worst(self, relaxed: bool = False) -> tuple[float, str | None]:
        worst, where = 0.0, None
        for variable in self.variables:
            low, high = variable.bounds
            violation = _beyond(variable.value, low, high)
            if variable.is_integer() and not relaxed:
                violation = max(violation, abs(variable.value - round(variable.value)) * TOLERANCE / INTEGRALITY)
            if violation > worst:
                worst, where = violation, variable.name
        for constraint in constraints_of(self.model):
            low, body, high = constraint.to_bounded_expression(True)
            violation = _beyond(_evaluated(body), low, high)
            if violation > worst:
                worst, where = violation, constraint.name
        return worst, where


def nonlinear_model(model: Any) -> NonlinearModel:
    """Return the model with its kind: MINLP if an unfixed variable is whole, otherwise NLP."""
    variables = model.component_data_objects(pyo.Var, descend_into=True)
    whole = any(not v.fixed and (v.is_integer() or v.is_binary()) for v in variables)
    return NonlinearModel(
        model=model,
        kind="MINLP" if whole else "NLP",
        maximize=objective_of(model).sense == pyo.maximize,
        hints=hints_of(model),
        variables=[],
    )


def variables_of(model: Any) -> list[Any]:
    """Return the unfixed variables of a model, in the order of their declaration."""
    return [v for v in model.component_data_objects(pyo.Var, descend_into=True) if not v.fixed]


def _whole(variable: Any, value: float) -> float:
    low, high = variable.bounds
    value = min(max(value, low if low is not None else value), high if high is not None else value)
    return float(round(value)) if variable.is_integer() or variable.is_binary() else value


def _evaluated(body: Any) -> float:
    try:
        return float(pyo.value(body))
    except (ArithmeticError, ValueError):
        return float("nan")


def _beyond(value: float, low: float | None, high: float | None) -> float:
    if not isfinite(value):
        return float("inf")
    beyond = max(low - value if low is not None else 0.0, value - high if high is not None else 0.0)
    return max(0.0, beyond / max(1.0, abs(value), abs(low or 0.0), abs(high or 0.0)))


def solve_model(
    model: Any,
    solver: str | SolverFile = "highs",
    limits: Limits | None = None,
    needs: Needs | None = None,
    *,
    memory: Memory | None = None,
    span: Span | None = None,
) -> Answer:
    """Solve a Pyomo model and load a feasible point, if one is found, into its variables.

    Any point is checked against the model before it counts: bounds, whole numbers, constraints.

    Args:
        solver: A declared name.
        needs: Features that the caller needs in addition to those of the model (duals).
        memory: The point of the last model of the same shape, to start from, which is replaced by that of this model.

    Raises:
        MrdslError: An unknown solver, or one that cannot solve the model (exit code 2); a missing one (exit code
            3). All other failures are terminations.
    """
    declared = registry.find(solver, span) if isinstance(solver, str) else solver
    needs = needs or Needs("LP")
    if fixed_outside(model):
        return Answer(Termination.INFEASIBLE, SolutionStatus.NONE, solver=declared.name)
    with ended_late():
        program = linear_program(model)
    limits = of_one_solve(limits or Limits())
    kind = program[0].kind if program else None
    nonlinear = None if program else nonlinear_model(model)
    refuse_unsupported(declared, Needs(kind or (nonlinear.kind if nonlinear else ""), needs.duals), span)
    require(declared, span)
    declared = declared.careful(version(declared), kind or (nonlinear.kind if nonlinear else ""))
    if program:
        answer = _solve_linear(declared, *program, limits, needs.duals, memory)
    else:
        assert nonlinear is not None
        answer = _solve_nonlinear(declared, nonlinear, limits)
    if answer.solution is not SolutionStatus.NONE:
        fill_the_unused(model)
    return answer


@dataclass
class Memory:
    """The point that the last model of a loop ended at."""

    values: Array | None = None


def _solve_linear(
    solver: SolverFile, program: LinearProgram, names: Names, limits: Limits, want_duals: bool, memory: Memory | None
) -> Answer:
    start = memory.values if memory is not None and "start" in solver.offers else None
    if start is not None and len(start) != len(program.costs):
        start = None
    reply = solve_program(solver, program, limits, want_duals, start)
    if memory is not None and reply.values is not None:
        memory.values = reply.values
    return judge(solver.name, version(solver), reply, program, names, limits)


def judge(
    solver: str, solver_version: str | None, reply: Reply, program: LinearProgram, names: Names, limits: Limits
) -> Answer:
    """Return a reply, checked against the program; its point, if it holds, is loaded into the Pyomo variables."""
    limits = of_one_solve(limits)
    point, refused = checked_point(solver, solver_version, reply, program, lambda row: str(names.constraints[row].name))
    if refused is not None:
        return refused
    if point is not None:
        load_values(names.variables, point.values)
    duals = _duals(reply, names)
    return answer_of(solver, solver_version, reply, point, limits, program.maximize, duals)


def fixed_outside(model: Any) -> str:
    """Return the name of a variable that is fixed outside its bounds, "" if none is."""
    for variable in model.component_data_objects(pyo.Var, descend_into=True):
        if variable.fixed and variable.value is not None:
            low, high = variable.bounds
            slack = FEASIBILITY * max(1.0, abs(variable.value))
            if (low is not None and variable.value < low - slack) or (
                high is not None and variable.value > high + slack
            ):
                return str(variable.name)
    return ""


def answer_in(model: Any, solver: str) -> Answer:
    """Return the answer of the values in a Pyomo model, checked against the model; there is no bound.

    Raises MrdslError ``no-plan`` if no variable has a value.
    """
    if all(variable.value is None for variable in variables_of(model)):
        message = "no variable of the model has a value: solve the model first"
        hint = "solve it first, such as by `pyomo.environ.SolverFactory('appsi_highs').solve(compiled.model)`"
        raise one_error("no-plan", message, None, hint)
    outside = fixed_outside(model)
    if outside:
        return refused_point(solver, None, 1.0, f"that bounds {outside}")
    fill_the_unused(model)
    extracted = linear_program(model)
    if extracted is not None:
        program, names = extracted
        values = np.array([variable.value for variable in names.variables], dtype=np.float64)
        reply = Reply(Termination.COMPLETED, values)
        return judge(solver, None, reply, program, names, Limits())
    nonlinear = nonlinear_model(model)
    nonlinear.variables = variables_of(model)
    values = np.array([variable.value for variable in nonlinear.variables], dtype=np.float64)
    worst, row, value = nonlinear.load_checked(values)
    if value is None:
        return refused_point(solver, None, worst, row)
    point = Point(values, value, nonlinear.goal_size())
    reply = Reply(Termination.COMPLETED, values)
    return answer_of(solver, None, reply, point, of_one_solve(Limits()), nonlinear.maximize, {})


def _solve_nonlinear(solver: SolverFile, model: NonlinearModel, limits: Limits) -> Answer:
    factor = model.natural_scale()
    if solver.pyomo is not None:
        model.variables = variables_of(model.model)
        with scaled_goal(model.model, factor):
            plain = arrays.of_model(model.model, model.variables)
        reply = through_pyomo(solver, limits, model=plain)
        return _judge_nonlinear(solver, reply.times(1.0 / factor), model, limits)
    if solver.worker is None:
        message = "mrdsl hands models that are not linear to solvers by [worker] or [pyomo] only"
        return Answer(Termination.ERROR, SolutionStatus.NONE, solver=solver.name, message=message)
    with scaled_goal(model.model, factor), model.as_file() as path:
        options = {**model.hints.get(solver.name, {}), **options_of(solver, limits)}
        with watching.times(1.0 / factor):
            reply = in_worker(solver, Request(nl=path, options=options), limits)
    return _judge_nonlinear(solver, reply.times(1.0 / factor), model, limits)


def _judge_nonlinear(solver: SolverFile, reply: Reply, model: NonlinearModel, limits: Limits) -> Answer:
    point, reply = None, without_relaxed_point(reply, model)
    if reply.values is not None:
        worst, row, value = model.load_checked(reply.values)
        if value is None:
            return refused_point(solver.name, version(solver), worst, row)
        point = Point(reply.values, value, model.goal_size())
    return answer_of(solver.name, version(solver), reply, point, limits, model.maximize, {})


def _duals(reply: Reply, names: Names) -> dict[str, float]:
    if reply.duals is None:
        return {}
    return {c.name: float(d) for c, d in zip(names.constraints, reply.duals, strict=True)}
