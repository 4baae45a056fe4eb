"""Slots for a deadline: the least sum of map and reduce slots, or map slots beside one reduce slot per reduce task.

Source: Vishal 2015, *Performance Modelling and Scheduling of MapReduce Jobs*, equations (3.16) to (3.18), for one job
whose time is ``A / map slots + B / reduce slots + C``: any estimate of :mod:`mrdsl.performance.mapreduce`, or the
smooth wave form. Elementwise on arrays of one length, one element per class.

Correction to the thesis: more slots than tasks help nobody, so the number of tasks limits both. The problem stays
convex, and where the unlimited optimum passes one limit, the limited one lies on it.
"""

from __future__ import annotations

import numpy as np

from mrdsl.performance.mapreduce import Coefficients, Floats


def earliest(work: Coefficients, map_tasks: Floats, reduce_tasks: Floats) -> Floats:
    """The time of one job with a slot for every task: no deadline before it can be kept, whatever the cluster."""
    return (_phase(work.map_work, map_tasks) + _phase(work.reduce_work, reduce_tasks) + work.constant)


def least_slots(
    work: Coefficients, deadline: Floats, map_tasks: Floats, reduce_tasks: Floats
) -> tuple[Floats, Floats]:
    """The least map slots plus reduce slots of one job that meet the deadline: (3.17), (3.18), within the tasks.

    Unrounded; infinite where the deadline is before :func:`earliest`.
    """
    a, b = work.map_work, work.reduce_work
    left = deadline - work.constant
    with np.errstate(divide="ignore", invalid="ignore"):
        both = (np.sqrt(a) + np.sqrt(b)) / left
        map_slots, reduce_slots = np.sqrt(a) * both, np.sqrt(b) * both
        beside_all_reduce = a / (left - _phase(b, reduce_tasks))
        beside_all_map = np.where(b > 0.0, b / (left - _phase(a, map_tasks)), 0.0)
    many_reduce = reduce_slots > reduce_tasks
    many_map = map_slots > map_tasks
    map_slots = np.where(many_map, map_tasks, np.where(many_reduce, beside_all_reduce, map_slots))
    reduce_slots = np.where(many_map, beside_all_map, np.where(many_reduce, reduce_tasks, reduce_slots))
    return _kept(work, deadline, map_tasks, reduce_tasks, map_slots, reduce_slots)


def fixed_reduce(
    work: Coefficients, deadline: Floats, map_tasks: Floats, reduce_tasks: Floats
) -> tuple[Floats, Floats]:
    """One reduce slot per reduce task, and the map slots that then meet the deadline: (3.16).

    The thesis calls the result of (3.16) map *tasks*; it is map *slots*. Infinite where the deadline is too early.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        map_slots = work.map_work / (deadline - work.constant - _phase(work.reduce_work, reduce_tasks))
    return _kept(work, deadline, map_tasks, reduce_tasks, map_slots, reduce_tasks)


def _kept(work: Coefficients, deadline: Floats, map_tasks: Floats, reduce_tasks: Floats, map_slots: Floats,
          reduce_slots: Floats) -> tuple[Floats, Floats]:
    possible = deadline >= earliest(work, map_tasks, reduce_tasks)
    return (np.where(possible, np.minimum(map_slots, map_tasks), np.inf),
            np.where(possible, np.minimum(reduce_slots, reduce_tasks), np.inf))


def _phase(work: Floats, slots: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(work > 0.0, work / slots, 0.0)
