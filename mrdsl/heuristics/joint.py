"""The greedy of the joint family (Cano et al., Algorithm 1), for fractional and for whole VMs.

Every unit (class or service) first gets the VMs of its least demand; the rest go where a VM avoids the most penalty,
as long as that is not less than the VM costs. With whole VMs the last VM of a unit serves only a fraction of what a
VM could, and is worth that fraction: each unit's value is a concave function of its VMs, so that filling by falling
marginal value stays optimal. Rounding both bounds up instead, as the paper does, values that VM too high.

The printed algorithm's ``End`` in step 16 belongs to the else branch only; ties go by spec order.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace

import numpy as np

from mrdsl.heuristics.pipeline import Draft
from mrdsl.outcome import Termination
from mrdsl.problems.joint.checks import too_small
from mrdsl.problems.joint.plan import assemble
from mrdsl.problems.joint.verify import cost_of
from mrdsl.problems.joint.workload import ROUNDING, Floats, Workload, ceiling, floor, parts, workload

SORTED_UP_TO = 20_000
"""Units up to which sorting them all is quicker than looking for the marginal one."""
SAMPLE = 1024


@dataclass(frozen=True)
class Allocation:
    """What the steps hand on: VMs of every unit and period, and what is left of each part of the cluster.

    ``left`` (parts, periods) is negative where the least demand does not fit.
    """

    work: Workload
    vms: Floats
    left: Floats


def serve_least(draft: Draft) -> Draft:
    """Steps 1-6: the VMs of the least demand, or the proof that they do not fit."""
    work = workload(draft.spec)
    vms = least_vms(work, draft.relax)
    left = np.array([size - vms[:, part].sum(axis=1) for part, size in parts(work, draft.relax)])
    impossible = bool((left < -ROUNDING * work.size).any())
    if impossible:
        found = tuple(too_small(draft.spec, work, draft.relax))
        return replace(draft, termination=Termination.INFEASIBLE, diagnostics=draft.diagnostics + found)
    return replace(draft, work=Allocation(work, vms, np.maximum(left, 0.0)))


def fill_by_penalty(draft: Draft) -> Draft:
    """Steps 7-16: the remaining VMs by falling penalty that each avoids."""
    allocation: Allocation = draft.work
    work, vms = allocation.work, allocation.vms.copy()
    for (part, _), left in zip(parts(work, draft.relax), allocation.left, strict=True):
        vms[:, part] += further_vms(work, part, vms[:, part], left, draft.relax)
    return replace(draft, work=replace(allocation, vms=vms))


def recover(draft: Draft) -> Draft:
    """The plan of the allocation, (62)-(65): the optimum, so its value is its own bound."""
    allocation: Allocation = draft.work
    served = np.minimum(allocation.vms, allocation.work.need_high)
    plan = assemble(allocation.work, allocation.vms, served)
    value = cost_of(allocation.work, plan)
    return replace(draft, plan=plan, value=value, bound=value, termination=Termination.OPTIMAL)


def least_vms(work: Workload, relax: bool) -> Floats:
    """VMs that every unit must have, (periods, units)."""
    return work.need_low.copy() if relax else ceiling(work.need_low)


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
