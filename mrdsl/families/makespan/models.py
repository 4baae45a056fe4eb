"""Mixed-integer models of a batch: the tasks that start at each step of a common grid.

They prove small batches with the solver of a plain install: HiGHS refutes makespans one after the other.

A makespan of T steps is impossible if the time-indexed program for T has no solution. Its linear relaxation refutes
most of the makespans that the bounds leave open. The first T that whole numbers do not refute has a schedule, which is
then optimal.

If the steps that divide all task times are too many, the relaxation on coarser steps, with times rounded down, still
refutes.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

import numpy as np
import pyomo.environ as pyo

from mrdsl.contracts.pipeline import Draft
from mrdsl.contracts.plan_expressions import aim_of
from mrdsl.core.diagnostics import one_error
from mrdsl.core.result import Limits, SolutionStatus, Termination
from mrdsl.families.makespan.lower_bounds import johnson_order, lower_bounds
from mrdsl.families.makespan.methods.orders import Progress, offer_schedule, work_of
from mrdsl.families.makespan.plan import MakespanPlan
from mrdsl.families.makespan.schedule import (
    Batch,
    Floats,
    Phase,
    Schedule,
    Wave,
    batch_of,
    earlier,
    in_order_of_start,
    plan_of,
    simulate,
    whole_cluster,
)
from mrdsl.solving.checked_answer import solve_model
from mrdsl.spec.expression import Constant, Expression, Operation, quantities_in, terms_of
from mrdsl.spec.spec import Aim, Constraint, Spec


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
        """Return ticks in steps, rounded up."""
        return ceil(ticks / self.unit)

    def whole_steps(self, ticks: float) -> int:
        """Return ticks in steps, rounded down."""
        return int(ticks // self.unit)


def grid_of(batch: Batch, unit: float | None = None) -> Grid:
    """Return the batch in steps of ``unit`` ticks, by default the batch's unit, which is exact.

    A coarser unit rounds every task time down. Starts rounded down then leave every schedule feasible, so if the grid
    refutes a makespan, it is impossible. A makespan of C ticks takes ``floor(C / unit)`` steps at most.
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
    """Build the model for makespans from ``floor`` to ``ceiling`` steps; infeasible if none of them is possible.

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
    _reduces_follow_maps(model, grid)
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


def _reduces_follow_maps(model: pyo.ConcreteModel, grid: Grid) -> None:
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
    """Return the waves of a solved model's counts, on the batch's grid."""

    def waves(phase: Phase, counts: Any, times: Floats) -> list[Wave]:
        counted = ((j, t, round(variable.value or 0.0)) for (j, t), variable in counts.items())
        return [Wave(j, phase, t * batch.unit, float(times[j]), count) for j, t, count in counted if count > 0]

    return waves("map", model.maps, batch.map_time) + waves("reduce", model.reduces, batch.reduce_time)


MOST_VARIABLES = 200_000
MOST_TERMS = 10_000_000
"""In all rows together: those that make reduces follow maps have a term per step before."""


def build(spec: Spec, relax: bool = False) -> pyo.ConcreteModel:
    """Return the model of a spec, its objective in seconds. Raises MrdslError ``too-large`` and ``unable-solver``."""
    if relax:
        raise one_error(
            "unable-solver",
            "the makespan problem has no relaxation that is a plan",
            spec.span,
            "leave out --relax: every plan comes with a lower_bound",
        )
    batch = batch_of(spec)
    grid = grid_of(batch)
    floor, ceiling = grid.steps(lower_bounds(batch).best), grid.steps(_horizon(spec, batch))
    if grid.variables(ceiling) > MOST_VARIABLES or len(grid.jobs) * ceiling**2 > MOST_TERMS:
        step = f"{batch.seconds(grid.unit):g} s"
        raise one_error(
            "too-large",
            f"in steps of {step}, which divide all task times, the batch takes {ceiling} steps: too many for one model",
            spec.span,
            "pass `--solver portfolio` or `--solver cp-sat`, or round the task times",
        )
    model = time_indexed(grid, floor, ceiling)
    _offer_quantities(spec, batch, model, grid, ceiling)
    model.steps_busy.deactivate()
    model.makespan = pyo.Objective(expr=model.plan_quantities["makespan", ""])
    model.spans = _spans(spec)
    return model


def decode(spec: Spec, model: Any, relax: bool = False) -> MakespanPlan:
    """Return the plan in a solved model, every task at its time in the model."""
    batch = batch_of(spec)
    return plan_of(batch, in_order_of_start(batch, waves_of(batch, model)), lower_bounds(batch).best)


def _horizon(spec: Spec, batch: Batch) -> float:
    """Ticks within which a best plan ends: a known schedule's makespan, or with `subject to` what any list takes."""
    if not spec.constraints:
        orders = (range(len(batch)), johnson_order(*batch.phases(batch.map_slots, batch.reduce_slots)).tolist())
        return min(simulate(batch, whole_cluster(batch, order)).makespan for order in orders)
    lists = (
        batch.map_work.sum() / batch.map_slots
        + batch.map_time.max()
        + batch.reduce_work.sum() / batch.reduce_slots
        + batch.reduce_time.max()
    )
    _refuse_waiting(spec)
    waits = (
        _largest(c.left) + _largest(c.right)
        for c in spec.constraints
        if not _meets_by_speed(c) and not isinstance(c, Aim)
    )
    return float(lists) + max(waits, default=0.0) / batch.tick


def _refuse_waiting(spec: Spec) -> None:
    """Refuse an objective that gains by a later finish: its plans would wait without end, so it has no horizon."""
    aim = aim_of(spec)
    sign = -1.0 if aim is not None and aim.maximizes else 1.0
    if aim is None or all(sign * factor >= 0.0 for factor in terms_of(aim.left).factors.values()):
        return
    message = "an objective that improves if jobs finish later makes plans wait forever"
    raise one_error("unable-solver", message, aim.span, "minimize sums of times, each with a positive factor")


def _meets_by_speed(comparison: Constraint) -> bool:
    """Return True if a comparison only bounds finishing from above, so that no plan has to wait for it."""
    low, high = comparison.left, comparison.right
    if comparison.comparison == ">=":
        low, high = high, low
    return comparison.comparison != "=" and _grows(low) and not quantities_in(high)


def _grows(expression: Expression) -> bool:
    """Return True if the form of an expression shows that it increases with its quantities."""
    match expression:
        case Operation("+" | "min" | "max", operands):
            return all(map(_grows, operands))
        case Operation():
            return not quantities_in(expression)
        case _:
            return True


def _largest(expression: Expression) -> float:
    """Return the largest constant in an expression: a plan may have to wait for that long."""
    match expression:
        case Constant(value):
            return abs(value)
        case Operation(_, operands):
            return max(map(_largest, operands), default=0.0)
        case _:
            return 0.0


def _offer_quantities(spec: Spec, batch: Batch, model: pyo.ConcreteModel, grid: Grid, ceiling: int) -> None:
    """Set ``model.plan_quantities``: the makespan, and the finish of every job that `subject to` mentions.

    ``ended[j, t]`` is true exactly if all of job j has ended by step t, as a comparison may require a later finish. So
    is ``busy`` if a comparison may require a longer makespan.
    """
    second = batch.seconds(grid.unit)
    model.plan_quantities = {("makespan", ""): second * model.steps_busy.expr}
    mentioned = {
        q.argument
        for c in spec.constraints
        for side in (c.left, c.right)
        for q in quantities_in(side)
        if q.name == "finish"
    }
    jobs = [j for j in grid.jobs if batch.names[j] in mentioned]
    first = {j: grid.heads[j] + grid.tails[j] for j in jobs}
    model.ended = pyo.Var([(j, t) for j in jobs for t in range(first[j], ceiling)], domain=pyo.Binary)

    def later(m: Any, j: int, t: int) -> Any:
        starts, steps = (m.reduces, grid.reduce_steps) if grid.reduce_tasks[j] else (m.maps, grid.map_steps)
        return pyo.quicksum(starts[j, s] for s in range(max(0, t - steps[j] + 1), ceiling) if (j, s) in starts)

    def nothing_later(m: Any, j: int, t: int) -> Any:
        return later(m, j, t) <= (grid.reduce_tasks[j] or grid.map_tasks[j]) * (1 - m.ended[j, t])

    def something_later(m: Any, j: int, t: int) -> Any:
        return later(m, j, t) >= 1 - m.ended[j, t]

    def stays(m: Any, j: int, t: int) -> Any:
        return m.ended[j, t] >= m.ended[j, t - 1] if (j, t - 1) in m.ended else pyo.Constraint.Skip

    model.nothing_later = pyo.Constraint(list(model.ended), rule=nothing_later)
    model.something_later = pyo.Constraint(list(model.ended), rule=something_later)
    model.ended_stays = pyo.Constraint(list(model.ended), rule=stays)
    if any(q.name == "makespan" for c in spec.constraints for side in (c.left, c.right) for q in quantities_in(side)):
        model.busy_with_something = pyo.Constraint(
            list(model.busy), rule=lambda m, t: m.busy[t] <= pyo.quicksum(later(m, j, t) for j in grid.jobs)
        )
    for j in jobs:
        waits = pyo.quicksum(1 - model.ended[j, t] for t in range(first[j], ceiling))
        model.plan_quantities["finish", batch.names[j]] = second * (first[j] + waits)


def _spans(spec: Spec) -> dict[Any, Any]:
    """Return the lines of the spec for the constraints."""
    slots = spec.facts.cluster.slots
    jobs = [job.span for job in spec.facts.jobs]
    for cls in spec.facts.classes:
        jobs += [cls.span] * cls.jobs
    spans: dict[Any, Any] = {
        "map_slots": slots.span_of("map"),
        "reduce_slots": slots.span_of("reduce"),
        "busy_in_one_piece": spec.span,
    }
    for name in (
        "all_maps",
        "all_reduces",
        "maps_first",
        "then_reduces",
        "mapped_stays",
        "nothing_later",
        "ended_stays",
    ):
        spans[name] = spec.facts.cluster.span
        spans |= {(name, j): span for j, span in enumerate(jobs)} if name.startswith("all") else {}
    return spans


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
