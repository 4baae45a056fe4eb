"""Plans from orders of jobs, for methods that are not part of mrdsl."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mrdsl.core.decisions import place_among, plan_builder, wrong
from mrdsl.core.diagnostics import Diagnostic, MrdslError
from mrdsl.families.makespan.lower_bounds import lower_bounds
from mrdsl.families.makespan.plan import MakespanPlan, Pool
from mrdsl.families.makespan.schedule import Batch, PoolOrder, batch_of, plan_of, simulate
from mrdsl.spec.spec import Spec


@plan_builder("makespan")
def plan_with(spec: Spec, order: Sequence[str] | Sequence[Pool]) -> MakespanPlan:
    """Return the plan in which the jobs run in this order, each task as early as it can.

    Args:
        spec: The spec.
        order: The names of all jobs in order, on the whole cluster; or pools, each with its slots and its jobs.

    Returns:
        The plan. mrdsl checks it against the spec when a method returns it.

    Raises:
        MrdslError: `unknown-name`, or `wrong-value` if a job is missing or listed twice, or if a pool has no slot.
    """
    batch = batch_of(spec)
    names = [each for each in order if isinstance(each, str)]
    pools = [each for each in order if isinstance(each, Pool)] if not names else []
    if len(names) + len(pools) != len(order):
        raise MrdslError(
            [wrong("the order must be names of jobs, or pools", "write Pool(map_slots, reduce_slots, jobs)")]
        )
    pools = pools or [Pool(batch.map_slots, batch.reduce_slots, tuple(names))]
    rows = [[place_among(name, batch.names, "job") for name in pool.order] for pool in pools]
    mistakes = list(_mistakes(batch, pools, [job for row in rows for job in row]))
    if mistakes:
        raise MrdslError(mistakes)
    found = [PoolOrder(pool.map_slots, pool.reduce_slots, tuple(row)) for pool, row in zip(pools, rows, strict=True)]
    return plan_of(batch, simulate(batch, found), lower_bounds(batch).best)


def _mistakes(batch: Batch, pools: Sequence[Pool], jobs: Sequence[int]) -> Iterator[Diagnostic]:
    for job, name in enumerate(batch.names):
        if jobs.count(job) != 1:
            yield wrong(f"job `{name}` must be in the order once, got {jobs.count(job)} times")
    for pool in pools:
        if pool.map_slots < 1 or (pool.reduce_slots < 1 and batch.reduce_tasks.any()):
            yield wrong(f"a pool must have at least 1 slot of each kind, got {pool.map_slots} and {pool.reduce_slots}")
