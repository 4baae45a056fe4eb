"""From a schedule in ticks and indices to the plan in seconds and names."""

from __future__ import annotations

from mrdsl.families.makespan.batch import Batch
from mrdsl.families.makespan.plan import JobTimes, MakespanPlan, Pool, TaskWave
from mrdsl.families.makespan.schedule import Schedule


def plan_of(batch: Batch, schedule: Schedule, lower_bound: float) -> MakespanPlan:
    """The plan of a schedule; ``lower_bound`` in ticks."""
    names, tick = batch.names, batch.tick
    start: dict[int, float] = {}
    map_end: dict[int, float] = {}
    finish: dict[int, float] = {}
    home: dict[int, int] = {}
    for wave in schedule.waves:
        home[wave.job] = wave.pool
        finish[wave.job] = max(finish.get(wave.job, 0.0), wave.end)
        if wave.phase == "map":
            start[wave.job] = min(start.get(wave.job, wave.start), wave.start)
            map_end[wave.job] = max(map_end.get(wave.job, 0.0), wave.end)
    return MakespanPlan(
        pools=tuple(
            Pool(pool.map_slots, pool.reduce_slots, tuple(names[j] for j in pool.order)) for pool in schedule.pools
        ),
        jobs={
            names[j]: JobTimes(home[j], start[j] * tick, map_end[j] * tick, finish[j] * tick) for j in range(len(batch))
        },
        lower_bound=lower_bound * tick,
        waves=tuple(
            TaskWave(names[w.job], w.phase, w.pool, w.start * tick, w.end * tick, w.count) for w in schedule.waves
        ),
    )
