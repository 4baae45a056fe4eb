"""The greedy of the joint family (Cano et al., Algorithm 1), for fractional and for whole VMs.

Every unit (class or service) first gets the VMs of its least demand; the rest go where a VM avoids the most penalty,
as long as that is not less than the VM costs. With whole VMs the last VM of a unit serves only a fraction of what a
VM could, and is worth that fraction: each unit's value is a concave function of its VMs, so that filling by falling
marginal value stays optimal. Rounding both bounds up instead, as the paper does, values that VM too high.

The printed algorithm's ``End`` in step 16 belongs to the else branch only; ties go by spec order.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mrdsl.heuristics.pipeline import Draft
from mrdsl.outcome import Termination
from mrdsl.problems.joint.allocation import further_vms, least_vms
from mrdsl.problems.joint.checks import too_small
from mrdsl.problems.joint.plan import assemble
from mrdsl.problems.joint.verify import cost_of
from mrdsl.problems.joint.workload import ROUNDING, Floats, Workload, parts, workload


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
