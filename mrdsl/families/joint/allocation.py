"""Which VMs go to which class and service: the least, then the rest by falling worth. Pure functions on arrays.

Beyond the least VMs this is for fractional VMs and for fractional jobs at once; whole jobs at once are
:mod:`mrdsl.families.joint.staircase`.
"""

from __future__ import annotations

from bisect import bisect_left

import numpy as np

from mrdsl.core.whole_numbers import ceiling, floor
from mrdsl.families.joint.workload import Floats, Workload

SORTED_UP_TO = 20_000
"""Units up to which sorting them all is quicker than looking for the marginal one."""
SAMPLE = 1024


def least_vms(work: Workload, relax: bool) -> Floats:
    """VMs that every unit must have, (periods, units)."""
    return work.need_low.copy() if relax else work.whole_vms(work.low)


def further_vms(work: Workload, part: slice, base: Floats, left: Floats, relax: bool) -> Floats:
    """VMs beyond ``base`` for the units of one part, where ``left`` (periods,) VMs are free."""
    worth, room = marginal_worth(work, part, base, relax)
    taken = fill(worth, room, left, work.vm_cost)
    units = base.shape[1]
    return taken if relax else taken[:, :units] + taken[:, units:]


def marginal_worth(work: Workload, part: slice, base: Floats, relax: bool) -> tuple[Floats, Floats]:
    """What VMs beyond ``base`` are worth, and how many there are to be had at that worth, per unit.

    With whole VMs every unit stands there twice: first its VMs that are used in full, then its last one, which is
    worth the fraction that it has to serve. Shapes (units,) or (periods, 2 units), and (periods, units or 2 units).
    """
    worth, high = work.worth[part], work.need_high[:, part]
    if relax:
        return worth, high - base
    whole = floor(high)
    full = np.maximum(whole - base, 0.0)
    last = np.maximum(ceiling(high) - np.maximum(whole, base), 0.0)
    keys = np.concatenate([np.broadcast_to(worth, high.shape), worth * (high - whole)], axis=1)
    return keys, np.concatenate([full, last], axis=1)


def fill(worth: Floats, room: Floats, left: Floats, vm_cost: float) -> Floats:
    """How much of ``room`` (periods, units) to take so that the total worth is greatest within ``left`` (periods,).

    ``worth`` is the value of a VM, the same for all periods (units,) or of the shape of ``room``. Units worth less
    than ``vm_cost`` take nothing.
    """
    if room.shape[1] <= SORTED_UP_TO:
        return _fill_sorted(worth, room * (worth >= vm_cost), left)
    rows = np.broadcast_to(worth, room.shape)
    return np.stack([_fill_by_threshold(*row, vm_cost) for row in zip(rows, room, left, strict=True)])


def _fill_sorted(worth: Floats, wanted: Floats, left: Floats) -> Floats:
    order = np.broadcast_to(np.argsort(-worth, axis=-1, kind="stable"), wanted.shape)
    ordered = np.take_along_axis(wanted, order, axis=1)
    before = np.cumsum(ordered, axis=1) - ordered
    taken = np.empty_like(ordered)
    np.put_along_axis(taken, order, np.clip(left[:, None] - before, 0.0, ordered), axis=1)
    return taken


def _fill_by_threshold(worth: Floats, room: Floats, left: float, vm_cost: float) -> Floats:
    """One period without sorting: bisects a sorted sample for the marginal worth, sorts only what lies around it.

    Masks are multiplied rather than indexed: many times faster on long arrays.
    """
    wanted = room * (worth >= vm_cost)
    if wanted.sum() <= left:
        return wanted
    steps = np.append(np.sort(worth[:: len(worth) // SAMPLE]), np.inf)
    high = bisect_left(steps, True, key=lambda pivot: _room_above(worth, wanted, pivot) <= left)
    top, bottom = float(steps[high]), float(steps[high - 1]) if high else -np.inf
    around = np.flatnonzero((worth > bottom) & (worth <= top))
    rest = np.array([left - _room_above(worth, wanted, top)])
    taken = wanted * (worth > top)
    taken[around] = _fill_sorted(worth[around], wanted[None, around], rest)[0]
    return taken


def _room_above(worth: Floats, room: Floats, pivot: float) -> float:
    return float((room * (worth > pivot)).sum())
