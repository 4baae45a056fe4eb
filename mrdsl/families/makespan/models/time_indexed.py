"""The makespan problem as a mixed-integer program over time steps, with a count of tasks per step.

One step is the greatest common divisor of all task times; where some schedule is optimal, so is one in which every
task starts at a sum of task times, hence at a step. ``maps[j, t]`` and ``reduces[j, t]`` count the tasks of job j
that start at step t; slots need no names, since tasks that never exceed the slots at any step can always be given
one each. ``mapped[j, t]`` says that all maps of j have ended by step t, ``busy[t]`` that the batch still runs in step
t. Between a proven lower bound and the makespan of a known schedule the objective counts the busy steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
import pyomo.environ as pyo

from mrdsl.families.makespan.batch import Batch, Floats
from mrdsl.simulation.waves import Phase, Wave


@dataclass(frozen=True)
class Grid:
    """A batch in steps: tasks, steps per task, the least steps of both phases alone on the cluster."""

    jobs: range
    map_tasks: tuple[int, ...]
    map_steps: tuple[int, ...]
    reduce_tasks: tuple[int, ...]
    reduce_steps: tuple[int, ...]
    heads: tuple[int, ...]
    tails: tuple[int, ...]
    map_slots: int
    reduce_slots: int
    unit: float

    def variables(self, ceiling: int) -> int:
        """About how many variables the model for makespans up to ``ceiling`` steps has."""
        return 3 * len(self.jobs) * ceiling

    def steps(self, ticks: float) -> int:
        """Ticks in steps, rounded up."""
        return ceil(ticks / self.unit)

    def whole_steps(self, ticks: float) -> int:
        """Ticks in steps, rounded down."""
        return int(ticks // self.unit)


def grid_of(batch: Batch, unit: float | None = None) -> Grid:
    """The batch in steps of ``unit`` ticks, by default its own, which is exact.

    A coarser unit rounds every task time down: starts rounded down then keep every schedule feasible, so what the
    grid refutes is impossible. A makespan of C ticks takes ``floor(C / unit)`` steps at most.
    """
    unit = unit or batch.unit

    def whole(values: Floats) -> tuple[int, ...]:
        return tuple(int(value) for value in values)

    map_steps, reduce_steps = np.floor(batch.map_time / unit), np.floor(batch.reduce_time / unit)
    heads = np.ceil(batch.map_tasks / batch.map_slots) * map_steps
    tails = np.ceil(batch.reduce_tasks / batch.reduce_slots) * reduce_steps
    return Grid(
        range(len(batch)),
        whole(batch.map_tasks),
        whole(map_steps),
        whole(batch.reduce_tasks),
        whole(reduce_steps),
        whole(heads),
        whole(tails),
        batch.map_slots,
        batch.reduce_slots,
        unit,
    )


def time_indexed(grid: Grid, floor: int, ceiling: int) -> pyo.ConcreteModel:
    """The model for makespans from ``floor`` to ``ceiling`` steps; infeasible where none of them can be reached.

    The objective is the makespan in steps.
    """
    model = pyo.ConcreteModel("makespan")
    spans = {
        j: (
            range(ceiling - grid.tails[j] - grid.map_steps[j] + 1),
            range(grid.heads[j], ceiling - grid.reduce_steps[j] + 1) if grid.reduce_tasks[j] else range(0),
        )
        for j in grid.jobs
    }
    model.maps = pyo.Var([(j, t) for j in grid.jobs for t in spans[j][0]], domain=pyo.NonNegativeIntegers)
    model.reduces = pyo.Var([(j, t) for j in grid.jobs for t in spans[j][1]], domain=pyo.NonNegativeIntegers)
    model.mapped = pyo.Var(
        [(j, t) for j in grid.jobs if grid.reduce_tasks[j] for t in range(grid.heads[j], ceiling - grid.tails[j])],
        domain=pyo.Binary,
    )
    model.busy = pyo.Var(range(floor, ceiling), domain=pyo.Binary)
    model.steps_busy = pyo.Objective(expr=floor + pyo.quicksum(model.busy.values()))
    _count_tasks(model, grid)
    _reduces_follow_maps(model, grid, ceiling)
    _share_slots(model, grid, floor, ceiling)
    model.busy_in_one_piece = pyo.Constraint(range(floor + 1, ceiling), rule=lambda m, t: m.busy[t] <= m.busy[t - 1])
    return model


def _count_tasks(model: pyo.ConcreteModel, grid: Grid) -> None:
    starts: dict[str, dict[int, list[Any]]] = {name: {j: [] for j in grid.jobs} for name in ("maps", "reduces")}
    for name, by_job in starts.items():
        for (j, _), variable in getattr(model, name).items():
            by_job[j].append(variable)
            slots, tasks = (
                (grid.map_slots, grid.map_tasks) if name == "maps" else (grid.reduce_slots, grid.reduce_tasks)
            )
            variable.setub(min(slots, tasks[j]))
    model.all_maps = pyo.Constraint(grid.jobs, rule=lambda m, j: pyo.quicksum(starts["maps"][j]) == grid.map_tasks[j])
    model.all_reduces = pyo.Constraint(
        [j for j in grid.jobs if grid.reduce_tasks[j]],
        rule=lambda m, j: pyo.quicksum(starts["reduces"][j]) == grid.reduce_tasks[j],
    )


def _reduces_follow_maps(model: pyo.ConcreteModel, grid: Grid, ceiling: int) -> None:
    def maps_first(m: Any, j: int, t: int) -> Any:
        ended = pyo.quicksum(m.maps[j, s] for s in range(t - grid.map_steps[j] + 1))
        return ended >= grid.map_tasks[j] * m.mapped[j, t]

    def then_reduces(m: Any, j: int, t: int) -> Any:
        started = pyo.quicksum(m.reduces[j, s] for s in range(grid.heads[j], t + 1) if (j, s) in m.reduces)
        return started <= grid.reduce_tasks[j] * m.mapped[j, t]

    def stays(m: Any, j: int, t: int) -> Any:
        return m.mapped[j, t] >= m.mapped[j, t - 1] if (j, t - 1) in m.mapped else pyo.Constraint.Skip

    model.maps_first = pyo.Constraint(list(model.mapped), rule=maps_first)
    model.then_reduces = pyo.Constraint(list(model.mapped), rule=then_reduces)
    model.mapped_stays = pyo.Constraint(list(model.mapped), rule=stays)


def _share_slots(model: pyo.ConcreteModel, grid: Grid, floor: int, ceiling: int) -> None:
    def running(starts: Any, steps: tuple[int, ...], t: int) -> Any:
        return pyo.quicksum(starts[j, s] for j in grid.jobs for s in range(t - steps[j] + 1, t + 1) if (j, s) in starts)

    def slots(m: Any, t: int, starts: Any, steps: tuple[int, ...], number: int) -> Any:
        load = running(starts, steps, t)
        if isinstance(load, int | float):
            return pyo.Constraint.Skip
        return load <= (number * m.busy[t] if t >= floor else number)

    model.map_slots = pyo.Constraint(
        range(ceiling), rule=lambda m, t: slots(m, t, m.maps, grid.map_steps, grid.map_slots)
    )
    model.reduce_slots = pyo.Constraint(
        range(ceiling), rule=lambda m, t: slots(m, t, m.reduces, grid.reduce_steps, grid.reduce_slots)
    )


def waves_of(batch: Batch, model: Any) -> list[Wave]:
    """The waves that a solved model's counts stand for, on the batch's own grid."""

    def waves(phase: Phase, counts: Any, times: Floats) -> list[Wave]:
        counted = ((j, t, round(variable.value or 0.0)) for (j, t), variable in counts.items())
        return [Wave(j, phase, t * batch.unit, float(times[j]), count) for j, t, count in counted if count > 0]

    return waves("map", model.maps, batch.map_time) + waves("reduce", model.reduces, batch.reduce_time)
