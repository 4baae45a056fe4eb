"""The formulation that solvers get: the time-indexed program with the goal in seconds, and `subject to`."""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo

from mrdsl.contracts.own_goals import Aim, aim_of
from mrdsl.core.diagnostics import MrdslError, error
from mrdsl.families.makespan.batch import Batch, batch_of
from mrdsl.families.makespan.decode import plan_of
from mrdsl.families.makespan.lower_bounds import johnson_order, lower_bounds
from mrdsl.families.makespan.models.time_indexed import Grid, grid_of, time_indexed, waves_of
from mrdsl.families.makespan.plan import MakespanPlan
from mrdsl.families.makespan.schedule import in_order_of_start, simulate, whole_cluster
from mrdsl.spec.expression import Constant, Expression, Operation, quantities_in
from mrdsl.spec.linear import terms_of
from mrdsl.spec.spec import Constraint, Spec

MOST_VARIABLES = 200_000
MOST_TERMS = 10_000_000
"""In all rows together: those that make reduces follow maps have a term per step before."""


def build(spec: Spec, relax: bool = False) -> pyo.ConcreteModel:
    """The model of a spec, its objective in seconds. Raises MrdslError ``too-large`` and ``unable-solver``."""
    if relax:
        raise MrdslError(
            [
                error(
                    "unable-solver",
                    "the makespan problem has no relaxation that is a plan",
                    spec.span,
                    "leave out --relax: every plan comes with a lower_bound",
                )
            ]
        )
    batch = batch_of(spec)
    grid = grid_of(batch)
    floor, ceiling = grid.steps(lower_bounds(batch).best), grid.steps(_horizon(spec, batch))
    if grid.variables(ceiling) > MOST_VARIABLES or len(grid.jobs) * ceiling**2 > MOST_TERMS:
        step = f"{batch.seconds(grid.unit):g} s"
        raise MrdslError(
            [
                error(
                    "too-large",
                    f"in steps of {step}, which divide all task times, the batch takes {ceiling} steps:"
                    " too many for one model",
                    spec.span,
                    "round the task times, or let `portfolio` or `cp-sat` solve it",
                )
            ]
        )
    model = time_indexed(grid, floor, ceiling)
    _offer_quantities(spec, batch, model, grid, ceiling)
    model.steps_busy.deactivate()
    model.makespan = pyo.Objective(expr=model.plan_quantities["makespan", ""])
    model.spans = _spans(spec)
    return model


def decode(spec: Spec, model: Any, relax: bool = False) -> MakespanPlan:
    """The plan in a solved model, every task where the model has it."""
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
        if not _is_kept_by_haste(c) and not isinstance(c, Aim)
    )
    return float(lists) + max(waits, default=0.0) / batch.tick


def _refuse_waiting(spec: Spec) -> None:
    """A goal that gains by a later finish has no horizon: it would have plans wait without end."""
    aim = aim_of(spec)
    sign = -1.0 if aim is not None and aim.maximizes else 1.0
    if aim is None or all(sign * factor >= 0.0 for factor in terms_of(aim.left).factors.values()):
        return
    message = "a goal that is better where jobs finish later has plans wait without end"
    raise MrdslError([error("unable-solver", message, aim.span, "minimize sums of times, each with a positive factor")])


def _is_kept_by_haste(comparison: Constraint) -> bool:
    """Whether a comparison only bounds finishing from above, so that no plan has to wait for it."""
    low, high = comparison.left, comparison.right
    if comparison.comparison == ">=":
        low, high = high, low
    return comparison.comparison != "=" and _grows(low) and not quantities_in(high)


def _grows(expression: Expression) -> bool:
    """Whether an expression is larger where its quantities are, as far as its form says."""
    match expression:
        case Operation("+" | "min" | "max", operands):
            return all(map(_grows, operands))
        case Operation():
            return not quantities_in(expression)
        case _:
            return True


def _largest(expression: Expression) -> float:
    """The largest constant in an expression: a plan may have to wait for that long."""
    match expression:
        case Constant(value):
            return abs(value)
        case Operation(_, operands):
            return max(map(_largest, operands), default=0.0)
        case _:
            return 0.0


def _offer_quantities(spec: Spec, batch: Batch, model: pyo.ConcreteModel, grid: Grid, ceiling: int) -> None:
    """``model.plan_quantities``: the makespan, and the finish of every job that `subject to` mentions.

    ``ended[j, t]`` says that all of job j has ended by step t, and that exactly, as a comparison may ask for a later
    finish; so is ``busy`` where it may ask for a longer makespan.
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
    """Which lines of the spec the constraints stand for."""
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
