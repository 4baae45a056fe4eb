"""The greedy of the joint family (Cano et al., Algorithm 1), for fractional and for whole VMs.

Every unit (class or service) first gets the VMs of its least demand; the rest go where a VM avoids the most penalty,
as long as that is not less than the VM costs. With fractional jobs at once each unit's value is a concave function of
its VMs, so that this is optimal; the last whole VM of a unit serves only a fraction of what a VM could, and is worth
that fraction. Rounding both bounds up instead, as the paper does, values that VM too high. Whole jobs at once make
staircases of the classes' values: :mod:`mrdsl.families.joint.methods.whole` fills those, with a bound.

The printed algorithm's ``End`` in step 16 belongs to the else branch only; ties go by spec order.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mrdsl.contracts.pipeline import Draft, last_draft
from mrdsl.core.result import Termination, relative_gap
from mrdsl.core.tolerances import PROVEN, ROUNDING
from mrdsl.families.joint.allocation import further_vms, least_vms
from mrdsl.families.joint.checks import too_small
from mrdsl.families.joint.methods.whole import Filled, Search, fill_whole
from mrdsl.families.joint.plan import JointPlan, assemble, cost_of
from mrdsl.families.joint.whole_slots import as_solved
from mrdsl.families.joint.workload import Floats, Workload, parts, workload
from mrdsl.spec.spec import Spec

MOST_HELD_AGAINST = 500
"""Periods times classes and services up to which the greedy runs once more, to hold a plan against its own."""


@dataclass(frozen=True)
class Allocation:
    """What the steps hand on: VMs of every unit and period, and what is left of each part of the cluster.

    ``left`` (parts, periods) is negative where the least demand does not fit. ``gap`` is how far any cheaper plan can
    be below this one at most.
    """

    work: Workload
    vms: Floats
    left: Floats
    gap: float = 0.0
    timed_out: bool = False


def serve_least(draft: Draft) -> Draft:
    """Steps 1-6: the VMs of the least demand, or the proof that they do not fit."""
    draft = replace(draft, spec=as_solved(draft.spec, draft.relax))
    work = workload(draft.spec)
    vms = least_vms(work, draft.relax)
    left = np.array([size - vms[:, part].sum(axis=1) for part, size in parts(work)])
    impossible = bool((left < -ROUNDING * work.size).any())
    if impossible:
        refusals = tuple(too_small(draft.spec, work, draft.relax))
        return replace(draft, termination=Termination.INFEASIBLE, diagnostics=draft.diagnostics + refusals)
    return replace(draft, state=Allocation(work, vms, np.maximum(left, 0.0)))


def fill_by_penalty(draft: Draft, states: int = 4096, units: int = 128) -> Draft:
    """Steps 7-16: the remaining VMs by falling penalty that each avoids.

    ``states`` and ``units`` limit the exchanges that whole jobs at once ask for; what they leave aside shows in the
    bound.
    """
    allocation: Allocation = draft.state
    work, vms = allocation.work, allocation.vms.copy()
    if work.whole and not draft.relax:
        limits = draft.limits
        until = None if limits.time is None else draft.started + limits.time
        return replace(draft, state=_fill_whole(allocation, Search(states, units, limits.gap or 0.0, until)))
    for (part, _), left in zip(parts(work), allocation.left, strict=True):
        vms[:, part] += further_vms(work, part, vms[:, part], left, draft.relax)
    return replace(draft, state=replace(allocation, vms=vms))


def _fill_whole(allocation: Allocation, search: Search) -> Allocation:
    """Period by period; one that equals an earlier one is not searched again."""
    work, vms = allocation.work, allocation.vms.copy()
    known: dict[bytes, Filled] = {}
    gap, timed_out = 0.0, False
    for (part, _), left in zip(parts(work), allocation.left, strict=True):
        for t in range(work.periods):
            key = b"".join((bytes([part.start > 0]), work.low[t, part].tobytes(), work.high[t, part].tobytes()))
            if key not in known:
                known[key] = fill_whole(work, part, t, float(left[t]), search)
            vms[t, part] = known[key].vms
            gap, timed_out = gap + known[key].gap, timed_out or known[key].timed_out
    return replace(allocation, vms=vms, gap=gap, timed_out=timed_out)


def recover(draft: Draft) -> Draft:
    """The plan of the allocation, (62)-(65), and its bound: its own value where nothing was left aside."""
    allocation: Allocation = draft.state
    work = allocation.work
    plan = assemble(work, allocation.vms, work.served_by(allocation.vms, draft.relax), draft.relax)
    value = cost_of(work, plan)
    bound = value if allocation.gap <= ROUNDING * abs(value) else value - allocation.gap
    wanted = PROVEN if draft.limits.gap is None else draft.limits.gap
    proven = (relative_gap(value, bound) or 0.0) <= wanted
    stopped = Termination.TIME_LIMIT if allocation.timed_out else Termination.COMPLETED
    return replace(draft, plan=plan, value=value, bound=bound, termination=Termination.OPTIMAL if proven else stopped)


def greedy_draft(spec: Spec, relax: bool) -> Draft:
    """What the steps come to by themselves, to hold another plan against; without one where the demand does not fit."""
    return last_draft([(step, {}) for step in (serve_least, fill_by_penalty, recover)], Draft(spec, relax))


def is_quick(plan: JointPlan) -> bool:
    """Whether the steps run in a moment on a spec of that size, to hold other plans against it."""
    return plan.classes.vms.size + plan.services.vms.size <= MOST_HELD_AGAINST
