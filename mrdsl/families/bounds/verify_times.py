"""Slots and completion times of a bounds spec, from the input data alone; for verification only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mrdsl.checking import work
from mrdsl.checking.exact import exact_works, needs_exact
from mrdsl.checking.scheduled import mean_of
from mrdsl.checking.work import PHASES, Described, Floats, Work
from mrdsl.core.rounding import ceiling
from mrdsl.families.bounds.facts import BoundsFacts
from mrdsl.simulation.stated import stated_jobs
from mrdsl.spec.blocks import any_stages, stages_of
from mrdsl.spec.columns import column, words
from mrdsl.spec.estimates import OWN, PAPER, default_guarantee


@dataclass(frozen=True)
class Jobs:
    """Data of one job of each class, scaled to the size of its future data; one element per class."""

    described: Described
    shortest: dict[str, Floats]
    staged: np.ndarray[tuple[int], np.dtype[np.bool_]]
    fifo: bool

    @property
    def tasks(self) -> tuple[Floats, Floats]:
        """Map and reduce tasks that can run concurrently."""
        return work.tasks_at_once(self.described)

    @property
    def reducing(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """True for classes with reduce tasks."""
        return np.asarray(np.nan_to_num(self.described["reduce.tasks"]) > 0.0)


def jobs_of(facts: BoundsFacts) -> Jobs:
    """Read the jobs; more data means more map tasks, and longer shuffles and reduce tasks (Vishal 2015, 3.3)."""
    classes = facts.classes
    described = work.described(classes, blocks=PHASES)
    data, measured = column(classes, "data"), column(classes, "profiled_on")
    growth = np.where(np.isnan(data / measured), 1.0, data / measured)
    items = {path: values if path.startswith("map.") else values * growth for path, values in described.items.items()}
    items["map.tasks"] = np.where(
        growth == 1.0, items["map.tasks"], np.maximum(ceiling(items["map.tasks"] * growth), 1)
    )
    items["reduce.tasks"] = described["reduce.tasks"]
    shortest = {
        "map": column(classes, "map.min"),
        "first": growth * column(classes, "shuffle.first_min"),
        "shuffle": growth * column(classes, "shuffle.min"),
        "reduce": growth * column(classes, "reduce.min"),
    }
    staged = np.array([bool(each) for each in stages_of(classes)]) if any_stages(classes) else np.zeros(len(data), bool)
    cluster = facts.cluster
    fifo = cluster is not None and cluster.scheduler == "fifo"
    return Jobs(
        Described(items, described.stages, described.speed, described.startup, described.written),
        shortest,
        staged,
        fifo,
    )


def estimates_of(facts: BoundsFacts, jobs: Jobs) -> dict[str, Work]:
    """Compute (1), (2) and (3) of Malekimajd et al. 2015; under ``fifo`` each phase by Proposition 2.1."""
    found = work.estimates(jobs.described)
    if needs_exact(facts):
        printed = _printed(facts, jobs)
        every = np.arange(len(printed))
        found = exact_works(
            facts,
            jobs.described,
            every,
            found,
            lambda row: facts.classes[row],
            mean_of(stated_jobs),
            printed,
            jobs.shortest,
        )
    elif jobs.fifo:
        low, high = found["lower"], work.alone(jobs.described)
        middle = Work(
            (low.maps + high.maps) / 2, (low.reduces + high.reduces) / 2, (low.rest + high.rest) / 2, low.path
        )
        found = {"lower": low, "average": middle, "upper": high}
    first, shuffle, reduce = (_typical(jobs, name) for name in ("first", "shuffle", "reduce"))
    tasks = jobs.described["reduce.tasks"]
    found["fractional_waves"] = Work(
        jobs.described["map.tasks"] * _typical(jobs, "map"),
        np.where(jobs.reducing, tasks * (shuffle + reduce), 0.0),
        np.where(jobs.reducing, first - shuffle, 0.0) + jobs.described.startup,
        np.zeros_like(tasks),
    )
    return found


def _printed(facts: BoundsFacts, jobs: Jobs) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Find the classes whose bounds are those of paper 000: by the spec, or as their jobs share slots."""
    if facts.estimates == PAPER:
        return np.ones(len(jobs.staged), dtype=bool)
    cluster = facts.cluster
    kept = cluster is not None and cluster.work_conserving == "no" and cluster.scheduler == "fair"
    alone = kept or jobs.fifo or column(facts.classes, "jobs").sum() <= 1.0
    return np.zeros(len(jobs.staged), dtype=bool) if alone else ~own_by_class(facts, jobs)


def own_by_class(facts: BoundsFacts, jobs: Jobs) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Find the classes whose jobs have their own slots by `sharing`."""
    said = words(facts.classes, "sharing")
    default = jobs.staged if facts.estimates != PAPER else np.zeros(len(said), dtype=bool)
    return np.asarray((said == OWN) | ((said == "") & default))


def waves_of(jobs: Jobs, map_slots: Floats, reduce_slots: Floats) -> dict[str, Floats]:
    """Compute the times in whole waves of Vishal 2015: (3.14), (3.11) and (3.12); NaN for classes of stages."""
    maps, reduces = (jobs.described[f"{kind}.tasks"] for kind in ("map", "reduce"))
    with np.errstate(divide="ignore", invalid="ignore"):
        map_waves, reduce_waves = ceiling(maps / map_slots), ceiling(np.where(jobs.reducing, reduces / reduce_slots, 1))
    times = {}
    for name, of in (("waves", _typical), ("waves_lower", _shortest), ("waves_upper", _longest)):
        map_time, first, shuffle, reduce = (of(jobs, kind) for kind in ("map", "first", "shuffle", "reduce"))
        later = first + (reduce_waves - 1.0) * shuffle + reduce_waves * reduce
        time = map_waves * map_time + np.where(jobs.reducing, later, 0.0) + jobs.described.startup
        times[name] = np.where(jobs.staged, np.nan, time)
    return times


def times_of(facts: BoundsFacts, jobs: Jobs, map_slots: Floats, reduce_slots: Floats) -> dict[str, Floats]:
    """Compute the time of one job by each estimate [s]; jobs that share one slot take turns on it."""
    least = 1.0 / np.maximum(column(facts.classes, "jobs"), 1.0)
    slots, turns = [], np.ones(len(least))
    for each, counts in ((map_slots, True), (reduce_slots, jobs.reducing)):
        used = np.where(each > 0.0, np.maximum(each, least), 1.0)
        turns = np.maximum(turns, np.where(counts, 1.0 / np.minimum(used, 1.0), 1.0))
        slots.append(np.where(each > 0.0, np.maximum(used, 1.0), each))
    times = {name: each.time(*slots) for name, each in estimates_of(facts, jobs).items()} | waves_of(jobs, *slots)
    return {name: each * turns for name, each in times.items()}


def promised(facts: BoundsFacts, jobs: Jobs, map_slots: Floats, reduce_slots: Floats) -> Floats:
    """Compute the time of one job by the estimate that its class guarantees [s]."""
    chosen = words(facts.classes, "guarantee", default_guarantee(facts, True))
    times = times_of(facts, jobs, map_slots, reduce_slots)
    result = times["average"]
    for name, time in times.items():
        result = np.where(chosen == name, time, result)
    return result


def shares_of(facts: BoundsFacts) -> Floats:
    """Give every class its part of the slots: as written; the rest in proportion to the jobs of the others."""
    share, jobs = column(facts.classes, "share"), column(facts.classes, "jobs")
    open_ = np.isnan(share)
    left = 1.0 - share[~open_].sum()
    return np.where(open_, left * jobs / max(jobs[open_].sum(), 1.0), share)


def cluster_slots(facts: BoundsFacts) -> tuple[float, float]:
    """Read the map and the reduce slots of the cluster; one pool counts for both."""
    assert facts.cluster is not None
    slots = facts.cluster.slots
    assert slots is not None
    if slots.task is not None:
        return float(slots.task), float(slots.task)
    return float(slots.map or 0), float(slots.reduce or 0)


def slots_of_a_job(facts: BoundsFacts, jobs: Jobs) -> tuple[Floats, Floats]:
    """Give one job of each class its part of the cluster's slots, all of them under ``fifo``."""
    maps, reduces = cluster_slots(facts)
    part = np.ones(len(facts.classes)) if jobs.fifo else shares_of(facts) / column(facts.classes, "jobs")
    return part * maps, np.where(jobs.staged, 0.0, part * reduces)


def _longest(jobs: Jobs, kind: str) -> Floats:
    return jobs.described["shuffle.first_max" if kind == "first" else f"{kind}.max"]


def _average(jobs: Jobs, kind: str) -> Floats:
    if kind != "first":
        return jobs.described[f"{kind}.avg"]
    given = jobs.described["shuffle.first_avg"]
    return np.where(np.isnan(given), jobs.described["shuffle.first_max"], given)


def _shortest(jobs: Jobs, kind: str) -> Floats:
    """Give the shortest time: as written, or ``2 avg - max``, at least 0."""
    default = np.fmax(2.0 * _average(jobs, kind) - _longest(jobs, kind), 0.0)
    return np.where(np.isnan(jobs.shortest[kind]), default, jobs.shortest[kind])


def _typical(jobs: Jobs, kind: str) -> Floats:
    """Give the time halfway between shortest and longest, (3.13); of a first shuffle its average, (3.7)."""
    if kind == "first":
        return _average(jobs, kind)
    return (_shortest(jobs, kind) + _longest(jobs, kind)) / 2.0
