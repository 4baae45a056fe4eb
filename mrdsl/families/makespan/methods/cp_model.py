"""The CP-SAT model of a batch, run in a process of its own.

Every task is an interval; the intervals of a phase share its slots as a cumulative resource, so that no slot needs a
name. Alike tasks start in the order of their numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from mrdsl.core.answer import Reply
from mrdsl.core.result import Termination
from mrdsl.solving.request import Request

Report = Callable[[Any, float, float | None], None]


@dataclass(frozen=True)
class TaskGroup:
    """The ``count`` alike tasks of one phase of one job, in steps: ``length`` and the window of their starts."""

    job: int
    is_map: bool
    count: int
    length: int
    earliest: int
    latest: int
    hint: tuple[int, ...]


@dataclass(frozen=True)
class CpProblem:
    """Groups, the maps of a job before its reduces; slots; and bounds on the makespan, in steps."""

    groups: tuple[TaskGroup, ...]
    map_slots: int
    reduce_slots: int
    floor: int
    ceiling: int


def solve(request: Request, report: Report) -> Reply:
    """Starts of all tasks, group by group, in steps; options ``seconds``, ``threads``, ``seed``,
    ``gap``, and ``effort``, a limit on CP-SAT's deterministic time, or None."""
    from ortools.sat.python import cp_model

    problem: CpProblem = request.model
    model = cp_model.CpModel()
    makespan = model.new_int_var(problem.floor, problem.ceiling, "makespan")
    starts = [_tasks(model, group) for group in problem.groups]
    _constrain(model, problem, starts, makespan)
    model.minimize(makespan)
    flat = [start for group in starts for start in group]

    class Incumbents(cp_model.CpSolverSolutionCallback):  # type: ignore[misc]
        def on_solution_callback(self) -> None:
            report(
                np.array([self.value(s) for s in flat], dtype=float), self.objective_value, self.best_objective_bound
            )

    solver = cp_model.CpSolver()
    _configure(solver.parameters, request.options)
    status = solver.solve(model, Incumbents())
    known = {
        cp_model.OPTIMAL: Termination.OPTIMAL,
        cp_model.FEASIBLE: Termination.TIME_LIMIT,
        cp_model.UNKNOWN: Termination.TIME_LIMIT,
        cp_model.INFEASIBLE: Termination.INFEASIBLE,
    }
    termination = known.get(status, Termination.ERROR)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return Reply(termination, bound=solver.best_objective_bound if status == cp_model.UNKNOWN else None)
    values = np.array([solver.value(s) for s in flat], dtype=float)
    return Reply(termination, values, solver.objective_value, solver.best_objective_bound)


def _configure(parameters: Any, options: Mapping[str, Any]) -> None:
    parameters.max_time_in_seconds = options["seconds"]
    parameters.num_workers = options["threads"]
    parameters.random_seed = options["seed"]
    parameters.relative_gap_limit = options["gap"]
    if options["effort"] is not None:
        parameters.max_deterministic_time = options["effort"]


def _tasks(model: Any, group: TaskGroup) -> list[Any]:
    name = f"{'map' if group.is_map else 'reduce'} {group.job}"
    starts = [model.new_int_var(group.earliest, group.latest, f"{name} {i}") for i in range(group.count)]
    for first, second in pairwise(starts):
        model.add(first <= second)
    for start, value in zip(starts, group.hint, strict=True):
        model.add_hint(start, value)
    return starts


def _constrain(model: Any, problem: CpProblem, starts: Sequence[list[Any]], makespan: Any) -> None:
    intervals: dict[bool, list[Any]] = {True: [], False: []}
    map_end: dict[int, Any] = {}
    for group, tasks in zip(problem.groups, starts, strict=True):
        intervals[group.is_map] += [model.new_fixed_size_interval_var(s, group.length, "") for s in tasks]
        model.add(makespan >= tasks[-1] + group.length)
        if group.is_map:
            map_end[group.job] = tasks[-1] + group.length
        else:
            model.add(tasks[0] >= map_end[group.job])
    model.add_cumulative(intervals[True], [1] * len(intervals[True]), problem.map_slots)
    model.add_cumulative(intervals[False], [1] * len(intervals[False]), problem.reduce_slots)
