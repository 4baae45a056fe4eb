"""Exact schedules by constraint programming: OR-tools CP-SAT, the extra ``cp``.

Every task is an interval; the intervals of a phase share its slots as a cumulative resource, so that no slot needs a
name. Alike tasks start in the order of their numbers. Times are divided by the greatest common divisor of all
durations: where some schedule is optimal, so is one in which every task starts at a sum of durations.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

from mrdsl.diagnostics import note
from mrdsl.heuristics.makespan import Work, offer_schedule, work_of
from mrdsl.heuristics.pipeline import Draft
from mrdsl.outcome import Termination
from mrdsl.problems.makespan.schedule import Schedule, in_order_of_start
from mrdsl.simulation.waves import Phase, Wave


def cp_sat(draft: Draft, seconds: float = 60.0, most_tasks: int = 20_000) -> Draft:
    """The optimum, or the best schedule and bound after ``limits.time`` or else ``seconds`` seconds.

    Starts from the best schedule yet. One thread unless ``limits.threads`` says more: then a run may give another
    schedule of the same makespan.
    """
    work = work_of(draft)
    tasks = int(work.batch.map_tasks.sum() + work.batch.reduce_tasks.sum())
    if work.proven:
        return replace(draft, work=work)
    if tasks > most_tasks:
        told = note("too-large", f"{tasks} tasks are too many for CP-SAT, which was left out",
                    hint="the pipelines `portfolio` and `slot-search` have no such limit")
        return replace(draft, work=work, diagnostics=(*draft.diagnostics, told))
    return _Search(work, draft).run(draft.limits.time or seconds)


class _Search:
    """One CP-SAT model and its run."""

    def __init__(self, work: Work, draft: Draft) -> None:
        from ortools.sat.python import cp_model

        self.cp, self.work, self.draft = cp_model, work, draft
        self.unit = work.batch.unit
        self.model = cp_model.CpModel()
        self.starts: dict[tuple[int, Phase], list[Any]] = {}
        self._build()

    def _build(self) -> None:
        batch, model, unit = self.work.batch, self.model, self.unit
        heads, tails = batch.phases(batch.map_slots, batch.reduce_slots)
        assert self.work.schedule is not None
        horizon = int(self.work.schedule.makespan / unit)
        floor = -int(-self.work.bound // unit)
        self.makespan = model.new_int_var(floor, horizon, "makespan")
        intervals: dict[Phase, list[Any]] = {"map": [], "reduce": []}
        for j in range(len(batch)):
            count, length = int(batch.map_tasks[j]), int(batch.map_time[j] / unit)
            latest = horizon - int(tails[j] / unit) - length
            maps = self._tasks(j, "map", count, length, 0, latest, intervals)
            end = model.new_int_var(int(heads[j] / unit), horizon - int(tails[j] / unit), f"end {j}")
            model.add(end >= maps[-1] + length)
            count, length = int(batch.reduce_tasks[j]), int(batch.reduce_time[j] / unit)
            if count:
                latest = horizon - length
                reduces = self._tasks(j, "reduce", count, length, int(heads[j] / unit), latest, intervals)
                model.add(reduces[0] >= end)
                model.add(self.makespan >= reduces[-1] + length)
            else:
                model.add(self.makespan >= end)
        model.add_cumulative(intervals["map"], [1] * len(intervals["map"]), batch.map_slots)
        model.add_cumulative(intervals["reduce"], [1] * len(intervals["reduce"]), batch.reduce_slots)
        model.minimize(self.makespan)
        self._hint()

    def _tasks(self, job: int, phase: Phase, count: int, length: int, earliest: int, latest: int,
               intervals: dict[Phase, list[Any]]) -> list[Any]:
        starts = [self.model.new_int_var(earliest, latest, f"{phase} {job} {i}") for i in range(count)]
        for first, second in pairwise(starts):
            self.model.add(first <= second)
        intervals[phase] += [self.model.new_fixed_size_interval_var(s, length, "") for s in starts]
        self.starts[job, phase] = starts
        return starts

    def _hint(self) -> None:
        assert self.work.schedule is not None
        known: dict[tuple[int, Phase], list[int]] = {}
        for wave in self.work.schedule.waves:
            known.setdefault((wave.job, wave.phase), []).extend([int(wave.start / self.unit)] * wave.count)
        for key, starts in self.starts.items():
            for variable, value in zip(starts, sorted(known[key]), strict=True):
                self.model.add_hint(variable, value)

    def run(self, seconds: float) -> Draft:
        """Solves, and offers what was found."""
        solver = self.cp.CpSolver()
        solver.parameters.max_time_in_seconds = seconds
        solver.parameters.num_workers = self.draft.limits.threads or 1
        solver.parameters.random_seed = self.draft.seed % 2**31
        solver.parameters.relative_gap_limit = self.draft.limits.gap or 0.0
        status = solver.solve(self.model)
        bound = max(self.work.bound, float(round(solver.best_objective_bound)) * self.unit)
        if status == self.cp.INFEASIBLE:
            raise RuntimeError("CP-SAT refutes a schedule that exists")
        work = replace(self.work, bound=bound)
        draft = replace(self.draft, work=work)
        if status in (self.cp.OPTIMAL, self.cp.FEASIBLE):
            draft = offer_schedule(draft, work, self._schedule(solver))
        proven = status == self.cp.OPTIMAL
        return replace(draft, termination=draft.termination if proven else Termination.TIME_LIMIT)

    def _schedule(self, solver: Any) -> Schedule:
        batch = self.work.batch
        waves = []
        for (job, phase), starts in self.starts.items():
            length = float((batch.map_time if phase == "map" else batch.reduce_time)[job])
            values = [solver.value(start) for start in starts]
            waves += [Wave(job, phase, v * self.unit, length, values.count(v)) for v in sorted(set(values))]
        return in_order_of_start(batch, waves)
