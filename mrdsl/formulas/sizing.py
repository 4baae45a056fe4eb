"""Slots for a deadline: the least VMs or the least slots per job, within the range in which the estimates hold.

Sources: Malekimajd et al. 2015, *Optimal Map Reduce Job Capacity Allocation in Cloud Systems*, Theorem 4.1; Vishal
2015, *Performance Modelling and Scheduling of MapReduce Jobs*, equations (3.16) to (3.18). For one job whose time is
``A / map slots + B / reduce slots + C``: any estimate of :mod:`mrdsl.formulas.mapreduce`, or the smooth wave form.
Elementwise on arrays of one length, one element per class.

Corrections to both: a job has at least one slot of each kind that it uses, for the estimates mean nothing below, and
at most as many as tasks, for more help nobody. The problem stays convex; where the unlimited optimum passes a limit,
the limited one lies on it (``docs/families/capacity.md`` has the proof).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mrdsl.core.tolerances import SAME_SUM
from mrdsl.formulas.mapreduce import Coefficients, Flags, Floats, phase
from mrdsl.formulas.single_job import fewest_vms


@dataclass(frozen=True)
class SlotLimits:
    """The slots of one job between which its estimates hold, per class: ``least <= slots <= most`` for each kind.

    ``least`` is 1 where a job has tasks of the kind, ``most`` the number of its tasks (infinite where that is not
    known); both are 0 where it has none.
    """

    map_least: Floats
    map_most: Floats
    reduce_least: Floats
    reduce_most: Floats


def limits_of_tasks(map_tasks: Floats, reduce_tasks: Floats) -> SlotLimits:
    """At least one slot of each kind that a job uses, at most one for each task.

    NaN tasks (a count that is not known) bound from below alone.
    """
    return SlotLimits(*_limits(map_tasks), *_limits(reduce_tasks))


def slots_per_job(
    work: Coefficients, deadline: Floats, map_per_vm: Floats, reduce_per_vm: Floats, limits: SlotLimits
) -> tuple[Floats, Floats]:
    """Theorem 4.1 within limits: the map and reduce slots of one job that meet its deadline on the fewest VMs.

    A VM hosts ``map_per_vm`` map slots or ``reduce_per_vm`` reduce slots; with 1 for both it is the least sum of slots,
    (3.17) and (3.18). Unrounded; infinite where :func:`kept` says that no slots meet the deadline.
    """
    a, b = work.map_work, work.reduce_work
    left = deadline - work.constant
    with np.errstate(divide="ignore", invalid="ignore"):
        map_slots, reduce_slots = fewest_vms(a, b, left, map_per_vm / reduce_per_vm)
        beside_fewest, beside_most = (_beside(a, left, b, s) for s in (limits.reduce_least, limits.reduce_most))
        limited = np.minimum(np.minimum(map_slots, beside_fewest), limits.map_most)
        limited = np.maximum(np.maximum(limited, beside_most), limits.map_least)
        reduce_slots = np.where(limited == map_slots, reduce_slots, _beside(b, left, a, limited))
        reduce_slots = np.where(limited >= beside_fewest, limits.reduce_least, reduce_slots)
    return _within(kept(work, deadline, limits), limited, reduce_slots, limits)


def least_slots(work: Coefficients, deadline: Floats, map_tasks: Floats, reduce_tasks: Floats) -> tuple[Floats, Floats]:
    """The least map slots plus reduce slots of one job that meet the deadline: (3.17), (3.18), within the tasks.

    Unrounded; infinite where the deadline is before :func:`earliest`.
    """
    one = np.ones_like(deadline)
    return slots_per_job(work, deadline, one, one, limits_of_tasks(map_tasks, reduce_tasks))


def fixed_reduce(
    work: Coefficients, deadline: Floats, map_tasks: Floats, reduce_tasks: Floats
) -> tuple[Floats, Floats]:
    """One reduce slot per reduce task, and the map slots that then meet the deadline: (3.16).

    The thesis calls the result of (3.16) map *tasks*; it is map *slots*. Infinite where the deadline is too early.
    """
    limits = limits_of_tasks(map_tasks, reduce_tasks)
    map_slots = _beside(work.map_work, deadline - work.constant, work.reduce_work, reduce_tasks)
    return _within(kept(work, deadline, limits), map_slots, reduce_tasks, limits)


def earliest(work: Coefficients, map_most: Floats, reduce_most: Floats) -> Floats:
    """The time of one job with a slot for every task: no deadline before it can be kept, whatever the cluster."""
    phases = phase(work.map_work, 1.0, map_most) + phase(work.reduce_work, 1.0, reduce_most)
    return np.maximum(phases + work.constant, work.path)


def kept(work: Coefficients, deadline: Floats, limits: SlotLimits) -> Flags:
    """Which deadlines some slots within the limits keep; one that is :func:`earliest` up to rounding is kept.

    No slots keep one that is before ``work.path``.

    Where the most slots are not known, the deadline must leave time to the phases.
    """
    phases = phase(work.map_work, 1.0, limits.map_most) + phase(work.reduce_work, 1.0, limits.reduce_most)
    size = phases + np.abs(work.constant) + deadline
    spare = deadline - work.constant - phases
    unlimited = (work.map_work > 0.0) & np.isinf(limits.map_most) | (work.reduce_work > 0.0) & np.isinf(
        limits.reduce_most
    )
    after_path = deadline - work.path >= -SAME_SUM * deadline
    return np.asarray(np.where(unlimited, spare > SAME_SUM * size, spare >= -SAME_SUM * size) & after_path)


def _limits(tasks: Floats) -> tuple[Floats, Floats]:
    return np.where(tasks == 0.0, 0.0, 1.0), np.where(np.isnan(tasks), np.inf, tasks)


def _beside(work: Floats, left: Floats, other_work: Floats, other_slots: Floats) -> Floats:
    """The slots that this phase needs where the other one has ``other_slots``: infinite where no time is left."""
    with np.errstate(divide="ignore", invalid="ignore"):
        time = left - phase(other_work, 1.0, other_slots)
        return np.where(work > 0.0, np.where(time > 0.0, work / time, np.inf), 0.0)


def _within(possible: Flags, map_slots: Floats, reduce_slots: Floats, limits: SlotLimits) -> tuple[Floats, Floats]:
    return (
        np.where(possible, np.clip(map_slots, limits.map_least, limits.map_most), np.inf),
        np.where(possible, np.clip(reduce_slots, limits.reduce_least, limits.reduce_most), np.inf),
    )
