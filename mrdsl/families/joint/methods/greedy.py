"""The greedy of the joint family (Cano et al., Algorithm 1), for fractional and for whole VMs.

Every unit (class or service) first gets the VMs of its least demand. The rest go to the units whose VMs avoid the most
penalty, while that is at least the VM's cost. With fractional concurrent jobs each unit's value is a concave function
of its VMs, so this is optimal. The last whole VM of a unit serves only a fraction of its capacity, and is worth that
fraction. Rounding both bounds up instead, as the paper does, values that VM too high. Whole concurrent jobs make
staircases of the classes' values, which are filled by their hulls, with a bound.

The printed algorithm's ``End`` in step 16 belongs to the else branch only; ties follow the spec order.

Exchanges between units follow. Filling the hulls is optimal for them, so its value bounds every whole plan. If the VMs
run out within a rise, the classes' whole jobs leave some idle. With nu the worth of that rise beyond the cost of its
VMs, the cost of any plan is

    bound + sum over the units of (best choice - its choice) at the price nu + nu (idle VMs),

each term at or above zero (Lagrangian duality). So a unit does not change if all its other choices lose more than the
whole gap. Dynamic programming finds the best exchange over the few others (:mod:`mrdsl.formulas.knapsack`).
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from mrdsl.contracts.pipeline import Draft, last_draft
from mrdsl.core.result import Termination, relative_gap
from mrdsl.core.rounding import PROVEN, ROUNDING
from mrdsl.families.joint.allocation import Choices, Ints, after, choices, further_vms, least_vms, rises
from mrdsl.families.joint.checks import too_small
from mrdsl.families.joint.facts import as_solved
from mrdsl.families.joint.fleet import refuse_types
from mrdsl.families.joint.plan import JointPlan, assemble, cost_of
from mrdsl.families.joint.workload import Floats, Workload, parts, workload
from mrdsl.formulas.knapsack import States, move, path
from mrdsl.spec.spec import Spec

WIDEST = 512
"""VMs by which a service may be moved in an exchange, either way."""


@dataclass(frozen=True)
class Search:
    """Limits of an exchange: ``units`` units, ``states`` states, and the time ``until`` on the monotonic clock.

    It ends when the cost is within the relative ``gap`` of the bound.
    """

    states: int = 4096
    units: int = 128
    gap: float = 0.0
    until: float | None = None


@dataclass(frozen=True)
class Filled:
    """The VMs of every unit of a part in one period, and how far any cheaper plan can be below it at most."""

    vms: Floats
    gap: float
    timed_out: bool = False


def fill_whole(work: Workload, part: slice, period: int, left: float, search: Search) -> Filled:
    """Return the best whole VMs found for ``part`` in ``period``, with ``left`` free VMs beyond the least of all."""
    options = choices(work, part, period, left)
    ordered = rises(options, work.vm_cost)
    used = np.cumsum(ordered.vms)
    full = int(np.searchsorted(used, left, side="right"))
    at = after(options, ordered, full)
    vms = options.vms[at]
    if full == len(ordered.vms):
        return Filled(vms, options.slack)
    idle = left - (float(used[full - 1]) if full else 0.0)
    marginal, price = int(options.unit[ordered.to[full]]), float(ordered.worth[full]) - work.vm_cost
    if part.start + marginal >= work.classes:
        vms[marginal] += idle
        return Filled(vms, options.slack)
    paid = work.vm_cost * float(vms.sum()) + float(work.penalty[part] @ work.expected[period, part])
    cost = paid - float(options.avoided[at].sum())
    return _exchanged(work, part, options, at, idle, price, search, search.gap * cost)


def _exchanged(
    work: Workload, part: slice, options: Choices, at: Ints, idle: float, price: float, search: Search, enough: float
) -> Filled:
    """Return the best exchange around the choices ``at``, which leave ``idle`` VMs."""
    vms = options.vms[at]
    if price * idle <= enough:
        return Filled(vms, price * idle + options.slack)
    net = options.avoided - (work.vm_cost + price) * options.vms
    loss = np.maximum(net[at][options.unit] - net, 0.0)
    states = States(np.zeros(1), np.zeros(1), best=price * idle)
    core = _core(work, part, options, at, loss, price * idle, search.units + 1)
    order: list[int] = []
    beyond, timed_out = np.inf, False
    for unit, cheapest in core:
        timed_out = search.until is not None and time.monotonic() > search.until
        if states.best <= enough or cheapest >= states.best or len(order) == search.units or timed_out:
            beyond = cheapest
            break
        order.append(unit)
        steps, losses = _steps(work, part, options, at, loss, unit, states)
        move(states, steps, steps.astype(float), losses, price, lambda used: _idle(used, idle, price), search.states)
    for unit, by in zip(order, path(states), strict=False):
        vms[unit] += by
    return Filled(vms, max(0.0, states.best - min(states.dropped, beyond)) + options.slack, timed_out)


def _idle(used: Floats, idle: float, price: float) -> Floats:
    return np.where(used > idle, np.inf, price * (idle - used))


def _core(
    work: Workload, part: slice, options: Choices, at: Ints, loss: Floats, gap: float, most: int
) -> list[tuple[int, float]]:
    """Return the units that an exchange may move, with the least that moving them loses, cheapest first."""
    others = np.ones(len(loss), dtype=bool)
    others[at] = False
    rows = np.flatnonzero(others)
    cheapest = np.full(len(at), np.inf)
    per_vm = np.where(
        part.start + options.unit[rows] < work.classes,
        1.0,
        np.maximum(1.0, np.abs(options.vms[rows] - options.vms[at][options.unit[rows]])),
    )
    np.minimum.at(cheapest, options.unit[rows], loss[rows] / per_vm)
    candidates = np.flatnonzero(cheapest < gap)
    if len(candidates) > most:
        candidates = candidates[np.argpartition(cheapest[candidates], most - 1)[:most]]
    ordered = candidates[np.argsort(cheapest[candidates], kind="stable")]
    return [(int(unit), float(cheapest[unit])) for unit in ordered]


def _steps(
    work: Workload, part: slice, options: Choices, at: Ints, loss: Floats, unit: int, states: States
) -> tuple[Ints, Floats]:
    """Return the changes of a unit's VMs, zero first, and their losses; omit those that lose more than the gap."""
    here = options.vms[at[unit]]
    end = options.first[unit + 1] if unit + 1 < len(options.first) else len(options.unit)
    rows = np.arange(options.first[unit], end)
    if part.start + unit < work.classes:
        steps, losses = options.vms[rows] - here, loss[rows]
    else:
        least, most = options.vms[rows[0]], options.vms[rows[-1]]
        if max(here - least, most - here) > WIDEST:
            states.dropped = min(states.dropped, _edge(options, loss, rows, here))
        every = np.arange(max(least, here - WIDEST), min(most, here + WIDEST) + 1.0)
        steps, losses = every - here, np.interp(every, options.vms[rows], loss[rows])
    kept = (losses < states.best) & (steps != 0.0)
    return (np.concatenate([[0.0], steps[kept]]).astype(np.int64), np.concatenate([[0.0], losses[kept]]))


def _edge(options: Choices, loss: Floats, rows: Ints, here: float) -> float:
    """Return the least that a service loses where it is moved beyond the widest step."""
    beyond = np.array([here - WIDEST - 1.0, here + WIDEST + 1.0])
    inside = (beyond >= options.vms[rows[0]]) & (beyond <= options.vms[rows[-1]])
    return float(np.interp(beyond[inside], options.vms[rows], loss[rows]).min())


MOST_HELD_AGAINST = 500
"""Periods times classes and services up to which the greedy runs once more, to hold a plan against its own."""


@dataclass(frozen=True)
class Allocation:
    """State that the steps pass on: VMs of every unit and period, and the rest of each part of the cluster.

    ``left`` (parts, periods) is negative if the least demand does not fit. No plan is cheaper than this one by more
    than ``gap``.
    """

    work: Workload
    vms: Floats
    left: Floats
    gap: float = 0.0
    timed_out: bool = False


def serve_least(draft: Draft) -> Draft:
    """Steps 1-6: the VMs of the least demand, or the proof that they do not fit."""
    refuse_types(draft.spec, "the greedy")
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
    """Assign the remaining VMs by falling penalty that each avoids (steps 7-16).

    ``states`` and ``units`` limit the exchanges for whole concurrent jobs. The bound includes what these limits omit.
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
    """Return the plan of the allocation, (62)-(65), and its bound: its value if the search omitted no choice."""
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
    """Return the draft of the greedy alone, for comparison; without a plan if the demand does not fit."""
    return last_draft([(step, {}) for step in (serve_least, fill_by_penalty, recover)], Draft(spec, relax))


def is_quick(plan: JointPlan) -> bool:
    """Return True if the steps run in a moment on a spec of that size, to hold other plans against it."""
    return plan.classes.vms.size + plan.services.vms.size <= MOST_HELD_AGAINST
