"""Exact schedules by constraint programming: OR-tools CP-SAT, the extra ``cp``, in a separate process.

Every task is an interval. The intervals of a phase share its slots as a cumulative resource, so that no slot needs a
name. Alike tasks start in the order of their numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

import numpy as np

from mrdsl.contracts.pipeline import Draft
from mrdsl.core.answer import Reply
from mrdsl.core.diagnostics import note
from mrdsl.core.result import Termination
from mrdsl.core.rounding import begun
from mrdsl.families.makespan.methods.orders import Progress, cut_short, late, offer_schedule, work_of
from mrdsl.families.makespan.schedule import Floats, Phase, Schedule, Wave, in_order_of_start
from mrdsl.solving.claims import failure
from mrdsl.solving.request import Request
from mrdsl.solving.worker import run_in_worker

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
    """Return starts of all tasks, group by group, in steps; options ``seconds``, ``threads``, ``seed``,
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


def cp_sat(draft: Draft, seconds: float = 60.0, most_tasks: int = 20_000) -> Draft:
    """Find the optimum, or the best schedule and bound, in the rest of ``limits.time``, otherwise in ``seconds``.

    The search starts from the best schedule so far. It uses one thread unless ``limits.threads`` sets more: then a run
    may give another schedule of the same makespan. Times are counted in steps that divide all task times, so the model
    is exact.
    """
    progress = work_of(draft)
    draft = replace(draft, state=progress)
    tasks = int(progress.batch.map_tasks.sum() + progress.batch.reduce_tasks.sum())
    if progress.proven or progress.schedule is None:
        return draft
    if tasks > most_tasks:
        told = note(
            "too-large",
            f"{tasks} tasks are too many for CP-SAT, which was left out",
            hint="`--solver portfolio` has no such limit",
        )
        return replace(draft, diagnostics=(*draft.diagnostics, told))
    if (stopped := cut_short(draft, progress)) is not None:
        return stopped
    return _searched(draft, progress, progress.schedule, draft.seconds_left() or seconds, draft.limits.threads or 1)


def where_installed(draft: Draft, most_tasks: int = 600, effort: float = 4.0, seconds: float = 60.0) -> Draft:
    """Run CP-SAT on a batch of at most ``most_tasks`` tasks if OR-tools is installed; otherwise return the draft.

    It uses one thread, and ``effort`` of the solver's deterministic time, about a second each. So a run ends the same
    everywhere unless a time limit, or ``seconds``, ends it before.
    """
    progress = work_of(draft)
    draft = replace(draft, state=progress)
    tasks = int(progress.batch.map_tasks.sum() + progress.batch.reduce_tasks.sum())
    if progress.proven or progress.schedule is None or tasks > most_tasks or find_spec("ortools") is None:
        return draft
    if (stopped := cut_short(draft, progress)) is not None:
        return stopped
    searched = _searched(draft, progress, progress.schedule, draft.seconds_left() or seconds, 1, effort)
    if searched.termination is Termination.ERROR or late(draft):
        return searched
    return replace(searched, termination=draft.termination)


def _searched(
    draft: Draft, progress: Progress, known: Schedule, seconds: float, threads: int, effort: float | None = None
) -> Draft:
    problem = _problem(progress, known)
    options = {
        "seconds": seconds,
        "threads": threads,
        "seed": draft.seed % 2**31,
        "gap": draft.limits.gap or 0.0,
        "effort": effort,
    }
    reply = run_in_worker(solve, Request(model=problem, options=options), seconds, fresh=True)
    return _understood(draft, progress, problem, reply)


def _understood(draft: Draft, progress: Progress, problem: CpProblem, reply: Reply) -> Draft:
    if reply.termination in (Termination.ERROR, Termination.INFEASIBLE):
        why = reply.message or "it refutes a schedule that exists"
        return replace(
            draft,
            termination=Termination.ERROR,
            diagnostics=(*draft.diagnostics, failure("cp-sat", why, draft.spec.span)),
        )
    if reply.bound is not None:
        progress = replace(progress, bound=max(progress.bound, begun(reply.bound) * progress.batch.unit))
    stopped = draft.termination if reply.termination is Termination.OPTIMAL else reply.termination
    draft = replace(draft, state=progress, termination=stopped)
    return (
        draft if reply.values is None else offer_schedule(draft, progress, _schedule(progress, problem, reply.values))
    )


def _problem(progress: Progress, known: Schedule) -> CpProblem:
    batch, unit = progress.batch, progress.batch.unit
    return CpProblem(
        tuple(_groups(progress, known)),
        batch.map_slots,
        batch.reduce_slots,
        int(np.ceil(progress.bound / unit)),
        int(known.makespan / unit),
    )


def _groups(progress: Progress, known: Schedule) -> Iterator[TaskGroup]:
    batch, unit = progress.batch, progress.batch.unit
    heads, tails = batch.phases(batch.map_slots, batch.reduce_slots)
    ceiling = int(known.makespan / unit)
    begun: dict[tuple[int, Phase], list[int]] = {}
    for wave in known.waves:
        begun.setdefault((wave.job, wave.phase), []).extend([int(wave.start / unit)] * wave.count)
    for j in range(len(batch)):
        length = int(batch.map_time[j] / unit)
        yield TaskGroup(
            j,
            True,
            int(batch.map_tasks[j]),
            length,
            0,
            ceiling - int(tails[j] / unit) - length,
            tuple(sorted(begun[j, "map"])),
        )
        if batch.reduce_tasks[j]:
            length = int(batch.reduce_time[j] / unit)
            yield TaskGroup(
                j,
                False,
                int(batch.reduce_tasks[j]),
                length,
                int(heads[j] / unit),
                ceiling - length,
                tuple(sorted(begun[j, "reduce"])),
            )


def _schedule(progress: Progress, problem: CpProblem, starts: Floats) -> Schedule:
    unit, at = progress.batch.unit, 0
    waves = []
    for group in problem.groups:
        values, counts = np.unique(np.rint(starts[at : at + group.count]), return_counts=True)
        at += group.count
        waves += [
            Wave(group.job, "map" if group.is_map else "reduce", float(v) * unit, group.length * unit, int(c))
            for v, c in zip(values, counts, strict=True)
        ]
    return in_order_of_start(progress.batch, waves)
