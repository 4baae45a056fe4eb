"""Where the upper estimate of a bounds spec is a bound, from the facts as they are written; for verification alone.

Source: Malekimajd et al. 2015, Propositions 2.1 and 2.5, whose premises are read one by one.
"""

from __future__ import annotations

from math import floor

import numpy as np
from numpy.typing import NDArray

from mrdsl.checking.work import Floats
from mrdsl.core.tolerances import ROUNDING, SAME_SUM
from mrdsl.families.bounds.facts import BoundsFacts, Cluster
from mrdsl.families.bounds.verify_times import Jobs, shares_of
from mrdsl.spec.columns import Columns, column, parts_of
from mrdsl.spec.stages import any_stages, stages_of

LEAST = 2.0
"""A job that lends slots needs so many of each kind: with fewer it has none at times."""


def upper_is_bound(facts: BoundsFacts, jobs: Jobs, slots: tuple[Floats, Floats], there: tuple[float, float]) -> Floats:
    """Judge each class.

    Args:
        facts: The facts of the spec.
        jobs: Its jobs.
        slots: Map and reduce slots of one job in the formula.
        there: Map and reduce slots that the jobs of all classes run on.

    Returns:
        1 for classes whose upper estimate bounds every job, 0 for others.
    """
    cluster = facts.cluster or Cluster()
    count = column(facts.classes, "jobs")
    if cluster.masters == "yes" or _arrive(facts):
        return np.zeros(len(count))
    if cluster.work_conserving == "no" and cluster.scheduler == "fair" and facts.cluster is not None:
        return _keeps_its_own(facts, jobs, slots, there)
    if count.sum() <= 1.0:
        return np.ones(len(count))
    if jobs.fifo:
        return np.zeros(len(count))
    return _lends(facts, cluster, jobs, slots, there)


def _arrive(facts: BoundsFacts) -> bool:
    """Return True if jobs of some class come at moments of their own."""
    if (column(facts.classes, "arrivals") >= 0.0).any():
        return True
    for part in parts_of(facts.classes):
        if isinstance(part, Columns):
            if "submissions" in part.values:
                return True
        elif any(node.submissions is not None for node in part):
            return True
    return False


def _kinds(
    jobs: Jobs, slots: tuple[Floats, Floats], there: tuple[float, float]
) -> list[tuple[NDArray[np.bool_], Floats, float]]:
    every = np.ones(len(jobs.staged), dtype=bool)
    return [(every, slots[0], there[0]), (jobs.reducing, slots[1], there[1])]


def _keeps_its_own(facts: BoundsFacts, jobs: Jobs, slots: tuple[Floats, Floats], there: tuple[float, float]) -> Floats:
    """Judge jobs that keep slots to themselves: whole ones, at least as many as the formula has."""
    share, count = shares_of(facts), column(facts.classes, "jobs")
    good = np.ones(len(count), dtype=bool)
    for used, part, size in _kinds(jobs, slots, there):
        of_class = share * size
        if (of_class[used] < 1.0 - SAME_SUM).any():  # a class takes a slot that is another's
            good &= ~used
        whole = np.array([floor(floor(each * (1 + ROUNDING)) / n) for each, n in zip(of_class, count, strict=True)])
        good &= ~used | ((whole >= 1.0) & (whole >= part * (1.0 - SAME_SUM)))
    return good.astype(np.float64)


def _lends(
    facts: BoundsFacts, cluster: Cluster, jobs: Jobs, slots: tuple[Floats, Floats], there: tuple[float, float]
) -> Floats:
    """Judge jobs that lend idle slots: whole parts, two at least, one phase a pool, no longer tasks of others in it."""
    share, count = shares_of(facts), column(facts.classes, "jobs")
    good = np.full(len(count), cluster.preemption is None)
    if cluster.scheduler == "capacity":
        good &= count <= 1.0
    for used, part, size in _kinds(jobs, slots, there):
        whole = np.floor(share * size / count * (1 + ROUNDING))
        good &= ~used | ((whole >= part * (1.0 - SAME_SUM)) & (part >= LEAST * (1.0 - SAME_SUM)))
    d = jobs.described
    maps, phases = d["map.max"], np.ones(len(count))
    if any_stages(facts.classes):
        written = stages_of(facts.classes)
        maps = np.array([max((s.max for s in each), default=m) for m, each in zip(maps, written, strict=True)])
        phases = np.array([float(max(len(each), 1)) for each in written])
    slots_written = facts.cluster.slots if facts.cluster is not None else None
    one_pool = cluster.pools == "common" or (slots_written is not None and slots_written.task is not None)
    if one_pool and (jobs.reducing.any() or (phases > 1.0).any()):
        return np.zeros(len(count))
    longest = np.fmax(d["shuffle.max"], d["shuffle.first_max"]) + d["reduce.max"]
    reduces = np.where(jobs.reducing, longest, 0.0)
    good &= (phases <= 1.0) & (maps >= maps.max()) & (~jobs.reducing | (reduces >= reduces.max()))
    return good.astype(np.float64)
