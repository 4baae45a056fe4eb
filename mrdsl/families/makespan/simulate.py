"""A makespan plan run: its pools and orders on the cluster's slots, with drawn times of tasks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heapreplace

import numpy as np

from mrdsl.core.diagnostics import Diagnostic
from mrdsl.families.makespan.plan import MakespanPlan
from mrdsl.families.makespan.schedule import Batch, Floats, PoolOrder, batch_of, simulate
from mrdsl.simulation.drawn import Factors, drawing
from mrdsl.simulation.settings import Settings
from mrdsl.simulation.verdicts import Words, verdict_warnings
from mrdsl.spec.spec import Spec, tightest

ENDS = Words("it ends after", "of the runs end in time", "run")


@dataclass(frozen=True)
class Ran:
    """End of each job in one run, and the busy slot time, in ticks."""

    finish: Floats
    busy: float


def simulate_plan(spec: Spec, plan: MakespanPlan, settings: Settings) -> tuple[MakespanPlan, tuple[Diagnostic, ...]]:
    """Simulate a plan in independent runs of the batch: the ends of each job and of the last one.

    Free slots take tasks in the order of the plan: by its pools' orders, or, if its tasks start differently, in the
    sequence of their starts. Without a spread every run is the plan, to the last tick. Limits of ``subject to`` on the
    makespan and on jobs are service levels. Raises MrdslError for options without a meaning here.
    """
    batch = batch_of(spec)
    drawn = drawing(
        spec,
        settings,
        int(batch.map_tasks.sum() + batch.reduce_tasks.sum()),
        slowstart="in the plan a job's reduces start when its maps have ended",
        lose="a makespan spec says how many slots there are, not on which machines",
        once="the whole batch is run once in every run",
    )
    sequence = _Sequence(batch, plan)
    runs = [sequence.run(drawn.factors, run) for run in range(settings.runs)]
    finish = np.array([ran.finish for ran in runs]) * batch.tick
    last = finish.max(axis=1, initial=0.0)
    slots = batch.map_slots + batch.reduce_slots
    use = sum(ran.busy for ran in runs) * batch.tick / (slots * max(float(last.sum()), batch.tick))
    limits = {quantity: bound.value for quantity, bound in tightest(spec).items()}
    whole = drawn.once(last, limits.get(("makespan", "")), use)
    observed = {name: drawn.once(finish[:, j], limits.get(("finish", name))) for j, name in enumerate(batch.names)}
    ran = replace(plan, observed=observed, whole=whole, simulated=drawn.simulated)
    return ran, drawn.told(_told(spec, ran))


def _told(spec: Spec, plan: MakespanPlan) -> Iterator[Diagnostic]:
    for (name, job), bound in tightest(spec).items():
        seen = plan.whole if name == "makespan" else plan.observed.get(job)
        verdict = seen.verdict if seen is not None else None
        yield from verdict_warnings(verdict, f"job {job}" if job else "the batch", bound.span, ENDS)


class _Sequence:
    """The sequence in which the slots of each pool take tasks, and its runs; all times in ticks.

    ``orders`` are those of the pools, in numbers of jobs. ``waves`` is set if the plan's tasks start differently: for
    each pool and phase, the jobs whose tasks start one after another, and the numbers of these tasks.
    """

    def __init__(self, batch: Batch, plan: MakespanPlan) -> None:
        self.batch = batch
        self.pools = plan.pools
        number = {name: j for j, name in enumerate(batch.names)}
        self.orders = [tuple(number[name] for name in pool.order) for pool in plan.pools]
        self.waves: dict[tuple[int, str], list[tuple[int, slice]]] = {}
        if plan.waves and not self._by_rule(plan):
            self.waves = _as_planned(plan, number)

    def _by_rule(self, plan: MakespanPlan) -> bool:
        """Return True if the plan's times are those that its orders make."""
        pools = zip(plan.pools, self.orders, strict=True)
        made = simulate(self.batch, (PoolOrder(p.map_slots, p.reduce_slots, order) for p, order in pools)).waves
        tick = self.batch.tick
        wanted = sorted((self.batch.names[w.job], w.phase, w.count, round(w.start)) for w in made)
        return wanted == sorted((w.job, w.phase, w.count, round(w.start / tick)) for w in plan.waves)

    def run(self, factors: Factors, run: int) -> Ran:
        """Return one run."""
        batch = self.batch
        maps = [self._times(factors, run, j, "map") for j in range(len(batch))]
        reduces = [self._times(factors, run, j, "reduce") for j in range(len(batch))]
        finish = np.zeros(len(batch))
        for index in range(len(self.pools)):
            mapped = self._phase(index, "map", maps, {})
            ended = self._phase(index, "reduce", reduces, mapped)
            for j, end in (mapped | ended).items():
                finish[j] = end
        return Ran(finish, float(sum(each.sum() for each in (*maps, *reduces))))

    def _times(self, factors: Factors, run: int, j: int, phase: str) -> Floats:
        tasks = int((self.batch.map_tasks if phase == "map" else self.batch.reduce_tasks)[j])
        time = float((self.batch.map_time if phase == "map" else self.batch.reduce_time)[j])
        return np.maximum(np.rint(time * factors.of(run, tasks, self.batch.names[j], phase)), 1.0)

    def _phase(self, index: int, phase: str, times: Sequence[Floats], release: dict[int, float]) -> dict[int, float]:
        """Return the end of each job of a pool in its phase."""
        pool = self.pools[index]
        slots = pool.map_slots if phase == "map" else pool.reduce_slots
        if self.waves:
            waves = self.waves.get((index, phase), [])
            return in_turn(((j, times[j][tasks], release.get(j, 0.0)) for j, tasks in waves), slots)
        turn = sorted(self.orders[index], key=lambda j: release.get(j, 0.0))
        return in_turn(((j, times[j], release.get(j, 0.0)) for j in turn if len(times[j])), slots)


def _as_planned(plan: MakespanPlan, number: Mapping[str, int]) -> dict[tuple[int, str], list[tuple[int, slice]]]:
    """Return the waves of a plan by their starts, those that start together by the order of their pool."""
    places = [{name: place for place, name in enumerate(pool.order)} for pool in plan.pools]
    waves: dict[tuple[int, str], list[tuple[int, slice]]] = defaultdict(list)
    begun: dict[tuple[str, str], int] = defaultdict(int)
    for wave in sorted(plan.waves, key=lambda w: (w.start, places[w.pool][w.job])):
        first = begun[wave.job, wave.phase]
        begun[wave.job, wave.phase] = after = first + wave.count
        waves[wave.pool, wave.phase].append((number[wave.job], slice(first, after)))
    return waves


def in_turn(tasks: Iterable[tuple[int, Floats, float]], slots: int) -> dict[int, float]:
    """Return the end of the last task of each job if each task in turn takes the slot that is free first.

    ``tasks``: a job, the times of some tasks of it, and the moment before which none of them starts.
    """
    free = [0.0] * slots
    ends: dict[int, float] = {}
    for job, times, release in tasks:
        last = ends.get(job, 0.0)
        for time in times.tolist():
            end = max(free[0], release) + time
            heapreplace(free, end)
            last = max(last, end)
        ends[job] = last
    return ends
