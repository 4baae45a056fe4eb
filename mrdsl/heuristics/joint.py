"""The greedy of the joint family (Cano et al., Algorithm 1), for fractional and for whole VMs.

Every unit (class or service) first gets the VMs of its least demand; the rest go where a VM avoids the most penalty,
as long as that is not less than the VM costs. With whole VMs the last VM of a unit serves only a fraction of what a
VM could, and is worth that fraction: each unit's value is a concave function of its VMs, so that filling by falling
marginal value stays optimal. Rounding both bounds up instead, as the paper does, values that VM too high.

The printed algorithm's ``End`` in step 16 belongs to the else branch only; ties go by spec order.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from mrdsl.heuristics.pipeline import Draft
from mrdsl.outcome import Termination
from mrdsl.problems.joint.plan import assemble
from mrdsl.problems.joint.workload import ROUNDING, Floats, Workload, ceiling, floor, parts, workload

if TYPE_CHECKING:
    from numpy.typing import NDArray


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
    termination = Termination.INFEASIBLE if impossible else draft.termination
    return replace(draft, work=Allocation(work, vms, np.maximum(left, 0.0)), termination=termination)


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
    return replace(draft, plan=plan, value=plan.total, bound=plan.total, termination=Termination.OPTIMAL)


def least_vms(work: Workload, relax: bool) -> Floats:
    """VMs that every unit must have, (periods, units)."""
    return work.need_low.copy() if relax else ceiling(work.need_low)


def further_vms(work: Workload, part: slice, base: Floats, left: Floats, relax: bool) -> Floats:
    """VMs beyond ``base`` for the units of one part, where ``left`` (periods,) VMs are free."""
    worth, high = work.worth[part], work.need_high[:, part]
    if relax:
        return fill(worth, high - base, left, work.vm_cost)
    whole = floor(high)
    full = np.maximum(whole - base, 0.0)
    last = np.maximum(ceiling(high) - np.maximum(whole, base), 0.0)
    keys = np.concatenate([np.broadcast_to(worth, high.shape), worth * (high - whole)], axis=1)
    taken = fill(keys, np.concatenate([full, last], axis=1), left, work.vm_cost)
    units = high.shape[1]
    return taken[:, :units] + taken[:, units:]


def fill(worth: Floats, room: Floats, left: Floats, vm_cost: float) -> Floats:
    """How much of ``room`` (periods, units) to take so that the total worth is greatest within ``left`` (periods,).

    ``worth`` is the value of a VM, the same for all periods (units,) or of the shape of ``room``. Units worth less
    than ``vm_cost`` take nothing.
    """
    order: NDArray[np.intp] = np.argsort(-worth, axis=-1, kind="stable")
    order = np.broadcast_to(order, room.shape)
    wanted = np.take_along_axis(np.where(worth >= vm_cost, room, 0.0), order, axis=1)
    before = np.cumsum(wanted, axis=1) - wanted
    taken = np.empty_like(room)
    np.put_along_axis(taken, order, np.clip(left[:, None] - before, 0.0, wanted), axis=1)
    return taken
