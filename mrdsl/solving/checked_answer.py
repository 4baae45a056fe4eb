"""One Pyomo model, one solver, one checked answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyomo.core as pyo

from mrdsl.contracts.family import Needs
from mrdsl.core import watching
from mrdsl.core.answer import Answer, Reply
from mrdsl.core.diagnostics import MrdslError, Span, error
from mrdsl.core.linear_program import Array, LinearProgram, Names
from mrdsl.core.result import Limits, SolutionStatus, Termination
from mrdsl.core.rounding import FEASIBILITY
from mrdsl.solving import flat, registry
from mrdsl.solving.array_answer import checked_point, of_one_solve, refuse_what_it_cannot, refused_point
from mrdsl.solving.arrays import fill_the_unused, linear_program, load_values, scaled_goal
from mrdsl.solving.claims import Point, answer_of
from mrdsl.solving.declaration import SolverFile
from mrdsl.solving.installed import require, version
from mrdsl.solving.nonlinear_file import NonlinearModel, nonlinear_model, variables_of
from mrdsl.solving.programs import in_worker, options_of, solve_program, through_pyomo, without_relaxed_point
from mrdsl.solving.request import Request


def solve_model(
    model: Any,
    solver: str | SolverFile = "highs",
    limits: Limits | None = None,
    needs: Needs | None = None,
    *,
    memory: Memory | None = None,
    span: Span | None = None,
) -> Answer:
    """Solves a Pyomo model and loads a feasible point, if one is found, into its variables.

    ``solver`` is a declared name; ``needs`` what the caller wants beyond what the model shows (duals). ``memory``
    holds the point of the last model of the same shape: where to begin, and where this one's is kept. Any point is
    checked against the model before it counts: bounds, whole numbers, constraints. Raises MrdslError for an unknown
    solver, one that cannot do the model (both exit code 2), or a missing one (exit code 3); everything else that can
    go wrong is a termination.
    """
    declared = registry.find(solver, span) if isinstance(solver, str) else solver
    needs = needs or Needs("LP")
    limits = of_one_solve(limits or Limits())
    if fixed_outside(model):
        return Answer(Termination.INFEASIBLE, SolutionStatus.NONE, solver=declared.name)
    program = linear_program(model)
    kind = program[0].kind if program else None
    nonlinear = None if program else nonlinear_model(model)
    refuse_what_it_cannot(declared, Needs(kind or (nonlinear.kind if nonlinear else ""), needs.duals), span)
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
    """A reply, checked against the program; its point, if it holds, is loaded into the Pyomo variables."""
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
    """Return what the values of a Pyomo model's variables come to, checked against the model; no bound is known.

    Raises MrdslError ``no-plan`` if no variable has a value.
    """
    if all(variable.value is None for variable in variables_of(model)):
        message = "no variable of the model has a value: nothing has solved it"
        hint = "solve it first, such as by `pyomo.environ.SolverFactory('appsi_highs').solve(compiled.model)`"
        raise MrdslError([error("no-plan", message, None, hint)])
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
            plain = flat.of_model(model.model, model.variables)
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
