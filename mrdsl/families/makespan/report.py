"""What a report shows of an order of jobs."""

from __future__ import annotations

from mrdsl.core.charts import Interval, IntervalChart
from mrdsl.core.result import Result
from mrdsl.core.units import show
from mrdsl.families.makespan.plan import MakespanPlan
from mrdsl.reporting.report import Shown
from mrdsl.spec.spec import Spec

NAMED, DRAWN = 8, 50
"""How many jobs of a pool the decision names, and how many are drawn."""


def report(spec: Spec, result: Result) -> Shown:
    """In which order jobs run and when the last one ends; when the phases of each job end."""
    plan = result.plan
    assert isinstance(plan, MakespanPlan)
    orders = [", ".join(pool.order[:NAMED]) + (", ..." if len(pool.order) > NAMED else "") for pool in plan.pools]
    order = orders[0] if len(orders) == 1 else "; ".join(f"pool {i}: {one}" for i, one in enumerate(orders))
    decision = (
        f"Run the {len(plan.jobs)} jobs in this order ({order}): all have ended after {show(plan.makespan, 'time')}."
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
