"""Why a batch takes as long as it does: what bounds it, how busy the slots are, what more slots would be worth."""

from __future__ import annotations

from dataclasses import replace

from mrdsl.core.result import Result, Table
from mrdsl.core.tolerances import ROUNDING
from mrdsl.families.makespan.batch import Batch, batch_of
from mrdsl.families.makespan.lower_bounds import LowerBounds, lower_bounds
from mrdsl.families.makespan.plan import MakespanPlan
from mrdsl.spec.spec import Spec

MEANING = {
    "work": "all work of one phase on all its slots, and the least before or after it",
    "critical_job": "the longest job, alone on the cluster",
    "johnson": "Johnson's rule, each phase on all slots",
    "energetic": "the work that windows of time must hold",
}


def why(spec: Spec, result: Result) -> tuple[Table | str, ...]:
    """What `mrdsl why` prints for a makespan problem."""
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
    """How busy the slots are until the batch ends."""
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
    """What twice the slots of one kind could be worth at most: the bound that is left."""
    cases = {
        "as they are": batch,
        "twice the map slots": replace(batch, map_slots=2 * batch.map_slots),
        "twice the reduce slots": replace(batch, reduce_slots=2 * batch.reduce_slots),
    }
    rows = [(name, batch.seconds(lower_bounds(case).best)) for name, case in cases.items()]
    return Table("At least, with more slots", ("slots", "lower bound [s]"), rows)
