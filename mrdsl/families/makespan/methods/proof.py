"""Proof for small batches with the solver of a plain install: HiGHS refutes makespans one after the other.

A makespan of T steps is impossible if the time-indexed program for T has no solution. Its linear relaxation refutes
most of the makespans that the bounds leave open. The first T that whole numbers do not refute has a schedule, which is
then optimal.

If the steps that divide all task times are too many, the relaxation on coarser steps, with times rounded down, still
refutes.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from mrdsl.contracts.pipeline import Draft
from mrdsl.core.result import Limits, SolutionStatus, Termination
from mrdsl.families.makespan.methods.orders import Progress, offer_schedule, work_of
from mrdsl.families.makespan.models import grid_of, time_indexed, waves_of
from mrdsl.families.makespan.schedule import Schedule, earlier
from mrdsl.solving.checked_answer import solve_model

FEWEST_STEPS = 30


def prove(draft: Draft, solver: str = "highs", most_variables: int = 2000, nodes: int = 50, programs: int = 4) -> Draft:
    """Raise the bound, and find an optimal schedule, if the program is small.

    The proof solves at most ``programs`` programs in whole numbers, each to at most ``nodes`` nodes (or
    ``limits.nodes``), so that a run ends the same everywhere. ``limits.time`` ends it in any case.
    """
    progress = work_of(draft)
    if progress.schedule is None or progress.proven:
        return replace(draft, state=progress)
    batch, most_steps = progress.batch, most_variables // (3 * len(progress.batch))
    if most_steps < FEWEST_STEPS:
        return replace(draft, state=progress)
    unit = max(batch.unit, float(np.ceil(progress.schedule.makespan / most_steps)))
    return _Proof(replace(draft, state=progress), progress, solver, draft.limits.nodes or nodes, unit).run(programs)


class _Proof:
    """One proof: its bound rises, and its schedule is found, as programs are solved."""

    def __init__(self, draft: Draft, progress: Progress, solver: str, nodes: int, unit: float) -> None:
        self.draft, self.progress, self.solver, self.nodes = draft, progress, solver, nodes
        self.grid = grid_of(progress.batch, unit)
        self.ends_at = draft.started + draft.limits.time if draft.limits.time is not None else None
        self.found: Schedule | None = None

    def run(self, programs: int) -> Draft:
        """Return the draft with the proven bound and schedule."""
        assert self.progress.schedule is not None
        known = self.grid.whole_steps(self.progress.schedule.makespan)
        low, high = self.grid.whole_steps(self.progress.bound), known
        while low < high:
            middle = (low + high) // 2
            if self._refutes(middle, relaxed=True):
                low = middle + 1
            else:
                high = middle
        programs = programs if self.grid.unit == self.progress.batch.unit else 0
        while low < known and programs > 0 and self._refutes(low, relaxed=False):
            low, programs = low + 1, programs - 1
        progress = replace(self.progress, bound=max(self.progress.bound, low * self.grid.unit))
        late = self._seconds_left() == 0.0
        draft = replace(
            self.draft, state=progress, termination=Termination.TIME_LIMIT if late else self.draft.termination
        )
        return offer_schedule(draft, progress, self.found) if self.found else draft

    def _refutes(self, steps: int, relaxed: bool) -> bool:
        """Return True if no schedule takes at most ``steps`` steps; store the schedule if one is found instead."""
        from pyomo.environ import TransformationFactory

        seconds = self._seconds_left()
        if seconds == 0.0:
            return False
        model = time_indexed(self.grid, steps, steps)
        if relaxed:
            TransformationFactory("core.relax_integer_vars").apply_to(model)
        answer = solve_model(model, self.solver, Limits(time=seconds, gap=0.0, nodes=self.nodes, threads=1))
        if answer.solution is not SolutionStatus.NONE and not relaxed:
            self.found = earlier(self.progress.batch, waves_of(self.progress.batch, model))
        return answer.termination is Termination.INFEASIBLE

    def _seconds_left(self) -> float | None:
        return None if self.ends_at is None else max(0.0, self.ends_at - time.monotonic())
