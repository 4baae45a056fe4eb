"""Report, explanation and settings of an order of jobs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from mrdsl.contracts.family import GIVE, PLACE, SET, Operated, Setting
from mrdsl.core.charts import Interval, IntervalChart
from mrdsl.core.diagnostics import number_of
from mrdsl.core.result import Result, Table
from mrdsl.core.rounding import ROUNDING
from mrdsl.core.units import show
from mrdsl.families.makespan.lower_bounds import LowerBounds, lower_bounds
from mrdsl.families.makespan.plan import MakespanPlan
from mrdsl.families.makespan.schedule import Batch, batch_of
from mrdsl.reporting.report import Shown
from mrdsl.spec.spec import Spec

NAMED, DRAWN = 8, 50
"""Most jobs of a pool that the decision names, and most in a chart."""


def report(spec: Spec, result: Result) -> Shown:
    """In which order jobs run and when the last one ends; when the phases of each job end."""
    plan = result.plan
    assert isinstance(plan, MakespanPlan)
    orders = [", ".join(pool.order[:NAMED]) + (", ..." if len(pool.order) > NAMED else "") for pool in plan.pools]
    order = orders[0] if len(orders) == 1 else "; ".join(f"pool {i}: {one}" for i, one in enumerate(orders))
    decision = (
        f"Run the {number_of(len(plan.jobs), 'job')} in this order ({order}): "
        f"all have ended after {show(plan.makespan, 'time')}."
    )
    rows = tuple(
        Interval(name, {"start": job.start, "map end": job.map_end, "finish": job.finish})
        for name, job in list(plan.jobs.items())[:DRAWN]
    )
    return Shown(decision, (IntervalChart("When jobs start and end", "time [s]", rows),), _ASSUMPTIONS)


_ASSUMPTIONS = (
    "All jobs are there at the start; tasks of one phase of a job take the same time and run in waves.",
    "A job's reduces start when its maps have ended and the slots before it in the order are free.",
)


def operated(_: Spec, plan: MakespanPlan) -> Operated:
    """Return the settings of a plan."""
    return Operated(tuple(_settings(plan)))


def _settings(plan: MakespanPlan) -> Iterator[Setting]:
    for number, pool in enumerate(plan.pools):
        yield Setting(GIVE, f"pool {number}", pool.map_slots, "map slots")
        yield Setting(GIVE, f"pool {number}", pool.reduce_slots, "reduce slots")
        yield Setting(SET, f"the order of pool {number}", ", ".join(pool.order))
    for name, times in plan.jobs.items():
        yield Setting(PLACE, f"job {name}", f"pool {times.pool}")


MEANING = {
    "work": "all work of one phase on all its slots, and the least before or after it",
    "critical_job": "the longest job, alone on the cluster",
    "johnson": "Johnson's rule, each phase on all slots",
    "energetic": "the work that windows of time must hold",
}


def why(spec: Spec, result: Result) -> tuple[Table | str, ...]:
    """Build the tables that `mrdsl why` prints for a makespan problem."""
    batch = batch_of(spec)
    bounds = lower_bounds(batch)
    told: list[Table | str] = [_bounds_table(batch, bounds)]
    plan = result.plan
    if isinstance(plan, MakespanPlan):
        told.insert(0, _verdict(plan, result))
        told.append(_machines(plan))
    told.append(_more_slots(batch))
    return tuple(told)


def _verdict(plan: MakespanPlan, result: Result) -> str:
    last = max(plan.jobs, key=lambda name: plan.jobs[name].finish)
    bound = result.objective.bound
    if bound is None:
        return f"The batch ends at {plan.makespan:g} s, with {last}."
    if plan.makespan <= bound * (1 + ROUNDING):
        return f"The batch ends at {plan.makespan:g} s, with {last}; no schedule ends earlier."
    return f"The batch ends at {plan.makespan:g} s, with {last}; no schedule ends before {bound:g} s."


def _bounds_table(batch: Batch, bounds: LowerBounds) -> Table:
    rows = [
        (name.replace("_", " "), batch.seconds(getattr(bounds, name)), meaning) for name, meaning in MEANING.items()
    ]
    return Table("No schedule is shorter than", ("bound", "seconds", "what it counts"), rows)


def _machines(plan: MakespanPlan) -> Table:
    """Return the slot utilization until the batch ends."""
    rows = []
    for phase in ("map", "reduce"):
        waves = [wave for wave in plan.waves if wave.phase == phase]
        slots = sum(getattr(pool, f"{phase}_slots") for pool in plan.pools)
        busy = sum(wave.count * (wave.end - wave.start) for wave in waves)
        first = min((wave.start for wave in waves), default=0.0)
        last = max((wave.end for wave in waves), default=0.0)
        rows.append((phase, slots, 100 * busy / (slots * plan.makespan), first, last))
    return Table("Slots", ("kind", "slots", "busy [%]", "first task [s]", "last end [s]"), rows)


def _more_slots(batch: Batch) -> Table:
    """Return the most that twice the slots of one kind could save: the bound that remains."""
    cases = {
        "as they are": batch,
        "twice the map slots": replace(batch, map_slots=2 * batch.map_slots),
        "twice the reduce slots": replace(batch, reduce_slots=2 * batch.reduce_slots),
    }
    rows = [(name, batch.seconds(lower_bounds(case).best)) for name, case in cases.items()]
    return Table("At least, with more slots", ("slots", "lower bound [s]"), rows)
