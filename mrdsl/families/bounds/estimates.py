"""Estimates of the completion times of all classes of a bounds spec."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.rounding import SAME_SUM, ceiling, floor
from mrdsl.families.bounds.facts import BoundsFacts, Cluster, has_own_slots, is_common, is_fifo, own_classes, sizes_of
from mrdsl.formulas import mapreduce, wave_estimates
from mrdsl.formulas.estimates import LEAST_LENT, is_even, stage_counts
from mrdsl.formulas.estimates import estimates_of as estimates_of_classes
from mrdsl.formulas.mapreduce import Coefficients, Floats, Profile
from mrdsl.formulas.own_times import job_times
from mrdsl.formulas.profiles import profile_of
from mrdsl.formulas.wave_estimates import WaveTimes
from mrdsl.simulation.simulated_means import time_model
from mrdsl.spec.blocks import any_stages, is_plain, stages_of
from mrdsl.spec.columns import Columns, column, parts_of, words
from mrdsl.spec.estimates import default_guarantee


@dataclass(frozen=True)
class Estimates:
    """Profiles and estimates of every class; ``by_name`` holds A, B and C per estimate, waves in smooth form.

    Only ``lower`` and ``upper`` are bounds, and only if the propositions hold; ``average`` lies midway.
    """

    profile: Profile
    times: WaveTimes
    least_times: WaveTimes
    by_name: dict[str, Coefficients]


def estimates_of(facts: BoundsFacts) -> Estimates:
    """Return the estimates of every class; those of a dedicated cluster under ``fifo``.

    On a dedicated cluster a job has all slots from its start. The upper estimate then loses one longest task per phase
    instead of two (Proposition 2.1 in place of 2.5), of stages one critical path (Graham 1969). If every job has
    reserved slots, that would suffice too for jobs of exactly the average work; (2) leaves room for larger jobs.
    """
    classes, growth = facts.classes, growth_of(facts)
    profile = mapreduce.scaled(profile_of(classes), growth) if (growth != 1.0).any() else profile_of(classes)
    times = wave_estimates.midpoints(
        profile,
        column(classes, "map.min"),
        growth * column(classes, "shuffle.min"),
        growth * column(classes, "reduce.min"),
    )
    least_times = wave_estimates.shortest(
        profile,
        column(classes, "map.min"),
        growth * column(classes, "shuffle.first_min"),
        growth * column(classes, "shuffle.min"),
        growth * column(classes, "reduce.min"),
    )
    model = time_model(facts, True)
    if model.exact:
        shared = ~own_classes(facts) & (not (has_own_slots(facts) or is_fifo(facts))) & (_jobs(facts) > 1.0)
        shortest = (
            column(classes, "map.min"),
            growth * column(classes, "shuffle.min"),
            growth * column(classes, "reduce.min"),
        )
        by_name = estimates_of_classes(classes, None, model, job_times(classes, model, profile, None, shared, shortest))
    else:
        low = mapreduce.lower(profile)
        high = mapreduce.dedicated_upper(profile) if is_fifo(facts) else mapreduce.upper(profile)
        by_name = {"lower": low, "average": mapreduce.between(low, high), "upper": high}
    by_name["fractional_waves"] = wave_estimates.coefficients(profile, times)
    return Estimates(profile, times, least_times, by_name)


def _jobs(facts: BoundsFacts) -> float:
    return float(column(facts.classes, "jobs").sum())


def growth_of(facts: BoundsFacts) -> Floats:
    """Return the ratio of each class's data size to that of its measured profile."""
    data, measured = column(facts.classes, "data"), column(facts.classes, "profiled_on")
    return np.where(np.isnan(data) | np.isnan(measured), 1.0, data / measured)


def shares_of(facts: BoundsFacts) -> Floats:
    """Return every class's part of the slots: as given, the rest by the number of jobs of the classes that give
    none.
    """
    given, jobs = column(facts.classes, "share"), column(facts.classes, "jobs")
    free = np.isnan(given)
    if not free.any():
        return given
    rest = 1.0 - given[~free].sum()
    return np.where(free, rest * jobs / jobs[free].sum(), given)


def slots_of_one_job(facts: BoundsFacts) -> tuple[Floats, Floats]:
    """Map and reduce slots of one job of each class: its share of the cluster, the whole of it under ``fifo``."""
    cluster = facts.cluster or Cluster()
    if cluster.slots is None:
        raise ValueError("the cluster has no slots")
    part = shares_of(facts) / column(facts.classes, "jobs")
    if is_fifo(facts):
        part = np.ones_like(part)
    maps, reduces = sizes_of(cluster.slots)
    return part * maps, np.where(stage_counts(facts.classes) > 0, 0.0, part * reduces)


def slots_that_run(facts: BoundsFacts, sized: bool, map_slots: Floats, reduce_slots: Floats) -> tuple[float, float]:
    """Return the map and the reduce slots that jobs run on: the cluster's, or those of a ``sized`` plan, rounded up."""
    slots = facts.cluster.slots if facts.cluster is not None else None
    if slots is not None and not sized:
        return sizes_of(slots)
    jobs = column(facts.classes, "jobs")
    maps, reduces = (max(1.0, float(ceiling(each * jobs).sum())) for each in (map_slots, reduce_slots))
    return maps, reduces


def upper_is_bound(
    facts: BoundsFacts, profile: Profile, map_slots: Floats, reduce_slots: Floats, sizes: tuple[float, float]
) -> NDArray[np.bool_]:
    """Return for each class if the spec meets the premises of the upper estimate, as far as the spec shows.

    ``map_slots`` and ``reduce_slots`` are those of one job in the formula; ``sizes`` are the slots of the cluster that
    jobs run on. Each job has whole slots, at least as many as the formula: reserved ones, all of them as the only job,
    or lent ones.

    If the cluster lends slots, these premises apply too:

    - No class has two phases in one pool.
    - The tasks of other classes in a pool are no longer than the class's longest task.
    - The number of jobs is at most ``jobs``.
    - A job has at least two slots of each kind; with less it has none at times.

    The run must fill the shares of its jobs. No upper estimate is a bound if masters hold slots, if tasks are killed
    for others, if jobs arrive independently, or if the distribution of task times has no longest time.
    """
    classes, p, cluster = facts.classes, profile, facts.cluster or Cluster()
    if cluster.masters == "yes" or _come_by_themselves(classes):
        return np.zeros(len(classes), dtype=bool)
    jobs, reducing = column(classes, "jobs"), ~p.map_only
    kinds = ((map_slots, sizes[0], p.map_tasks > 0.0), (reduce_slots, sizes[1], reducing))
    longest = _have_longest_times(classes)
    if has_own_slots(facts):
        for slots, size, used in kinds:
            longest &= _has_own(facts, slots, size, used)
        return longest
    own = own_classes(facts)
    if own.any():
        for slots, size, used in kinds:
            longest &= _has_own(facts, slots, size, used)
        return np.asarray(own & longest)
    if jobs.sum() <= 1.0:
        return longest
    if is_fifo(facts) or not longest.all():
        return np.zeros(len(classes), dtype=bool)
    whole = np.ones(len(classes), dtype=bool)
    for slots, size, used in kinds:
        whole &= ~used | (is_even(slots * jobs, jobs, shares_of(facts) * size) & (slots >= LEAST_LENT * (1 - SAME_SUM)))
    lent = whole & (cluster.preemption is None) & ((cluster.scheduler != "capacity") | (jobs <= 1.0))
    reduce_max = np.where(reducing, np.fmax(p.shuffle_max, p.shuffle_first_max) + p.reduce_max, 0.0)
    maps, reduces = longest_tasks(classes), np.nan_to_num(reduce_max)
    if is_common(cluster):
        return np.asarray(lent & (stage_counts(classes) <= 1).all() & ~reducing.any() & (maps >= maps.max()))
    alone_in_each = (maps >= maps.max()) & (~reducing | (reduces >= reduces.max()))
    return np.asarray(lent & (stage_counts(classes) <= 1) & alone_in_each)


def _have_longest_times(classes: Sequence[Any]) -> NDArray[np.bool_]:
    """Return for each class if no task takes longer than the profile states, by the distributions of the spec.

    It is False too if a task waits while slots are idle, since it takes several.
    """
    endless = ("exponential", "lognormal")
    found = np.asarray(~np.isin(words(classes, "distribution", "uniform"), endless))
    if not any_stages(classes):
        return found
    of_stages = [
        is_plain(stages) and all(stage.distribution not in endless for stage in stages) for stages in stages_of(classes)
    ]
    return np.asarray(found & np.array(of_stages, dtype=bool))


def _come_by_themselves(classes: Sequence[Any]) -> bool:
    """Return whether jobs of some class arrive at random or at recorded moments, however many are there."""
    if not np.isnan(column(classes, "arrivals")).all():
        return True
    return any(
        "submissions" in part.values if isinstance(part, Columns) else any(node.submissions for node in part)
        for part in parts_of(classes)
    )


def _has_own(facts: BoundsFacts, slots: Floats, size: float, used: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return for each class if its jobs have as many whole slots of a kind as the formula, or need none of it.

    Each class has at least one slot: if that is more than its share, it belongs to another class.
    """
    of_class = shares_of(facts) * size
    own = floor(floor(of_class) / column(facts.classes, "jobs"))
    fits = bool((of_class[used] >= 1.0 - SAME_SUM).all())
    return ~used | (fits & (own >= 1.0) & (own >= slots * (1.0 - SAME_SUM)))


def longest_tasks(classes: Sequence[Any]) -> Floats:
    """Return the longest map task, or task of a stage, of every class."""
    maps = column(classes, "map.max")
    if not any_stages(classes):
        return maps
    return np.array(
        [max((s.max for s in stages), default=m) for m, stages in zip(maps, stages_of(classes), strict=True)]
    )


def completions(estimates: Estimates, jobs: Floats, map_slots: Floats, reduce_slots: Floats) -> dict[str, Floats]:
    """Return the completion times of one job on the given slots by every estimate.

    Waves are whole in ``waves``, (3.14), and in its bounds ``waves_lower``, (3.11), and ``waves_upper``, (3.12). Jobs
    with less than one slot each run on one, one after the other: the time of a job is that of all before it too.
    """
    one, used = np.ones_like(map_slots), (map_slots, np.where(estimates.profile.map_only, 0.0, reduce_slots))
    turns = np.fmax(*(np.where(each > 0.0, np.minimum(1.0 / np.clip(each, 1e-9, 1.0), jobs), 1.0) for each in used))
    map_slots, reduce_slots = (np.where(each > 0.0, np.maximum(each, 1.0), each) for each in (map_slots, reduce_slots))
    times = {
        name: mapreduce.completion(work, one, map_slots, reduce_slots)
        for name, work in estimates.by_name.items()
        if name != "fractional_waves"
    }
    profile = estimates.profile
    for name, waves in (
        ("waves", estimates.times),
        ("waves_lower", estimates.least_times),
        ("waves_upper", wave_estimates.longest(profile)),
    ):
        times[name] = wave_estimates.completion(profile, waves, map_slots, reduce_slots)
    return {name: turns * each for name, each in times.items()}


def guaranteed(facts: BoundsFacts, estimates: Estimates) -> Coefficients:
    """Return the estimate that each class's ``guarantee`` names, in smooth form: for ``waves`` right with a slot per
    task.
    """
    chosen = words(facts.classes, "guarantee", default_guarantee(facts, True))
    chosen = np.where(chosen == "waves", "fractional_waves", chosen)
    work = replace(estimates.by_name["average"], own=None)
    for name, other in estimates.by_name.items():
        work = replace(
            work,
            map_work=np.where(chosen == name, other.map_work, work.map_work),
            reduce_work=np.where(chosen == name, other.reduce_work, work.reduce_work),
            constant=np.where(chosen == name, other.constant, work.constant),
            path=np.where(chosen == name, other.path, work.path),
        )
    owns = {name: each.own for name, each in estimates.by_name.items() if each.own is not None}
    if not owns:
        return work
    names = np.select([chosen == name for name in owns], [each.names for each in owns.values()], default="")
    return replace(work, own=replace(next(iter(owns.values())), names=names))
