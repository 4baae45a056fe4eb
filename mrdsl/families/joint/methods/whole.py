"""Whole jobs at once: VMs by falling worth on the hulls of the staircases, then exchanges between units, with a bound.

Filling the hulls is optimal for them, so its value bounds every whole plan. Where the VMs run out within a rise, the
classes' whole jobs leave some idle. With nu the worth of that rise beyond the cost of its VMs, the cost of any plan is

    bound + sum over the units of what its choice lies below the best one at the price nu + nu (idle VMs),

each term at or above zero (Lagrangian duality), so that a unit all of whose other choices lose more than the whole gap
stays as it is; over the few others dynamic programming finds the best exchange (:mod:`mrdsl.formulas.knapsack`).
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from mrdsl.families.joint.staircase import Choices, Ints, after, choices, rises
from mrdsl.families.joint.workload import Floats, Workload
from mrdsl.formulas.knapsack import States, move, path

WIDEST = 512
"""VMs by which a service may be moved in an exchange, either way."""


@dataclass(frozen=True)
class Search:
    """How far an exchange may go: up to ``units`` units, ``states`` states, until ``until`` on the monotonic clock.

    It ends where the cost is within ``gap`` of the bound, relatively.
    """

    states: int
    units: int
    gap: float
    until: float | None = None


@dataclass(frozen=True)
class Filled:
    """The VMs of every unit of a part in one period, and how far any cheaper plan can be below it at most."""

    vms: Floats
    gap: float
    timed_out: bool = False


def fill_whole(work: Workload, part: slice, period: int, left: float, search: Search) -> Filled:
    """The best whole VMs found for ``part`` in ``period``, where ``left`` VMs are free beyond the least of all."""
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
    paid = work.vm_cost * float(vms.sum()) + float(work.penalty[part] @ work.high[period, part])
    cost = paid - float(options.avoided[at].sum())
    return _exchanged(work, part, options, at, idle, price, search, search.gap * cost)


def _exchanged(
    work: Workload, part: slice, options: Choices, at: Ints, idle: float, price: float, search: Search, enough: float
) -> Filled:
    """The best exchange around the choices ``at``, which leave ``idle`` VMs."""
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
    """The units that an exchange may move, with the least that moving them loses, cheapest first."""
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
    """By how many VMs a unit may move, none first, and what that loses; what may be left out for the gap is."""
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
    """The least that a service loses where it is moved beyond the widest step."""
    beyond = np.array([here - WIDEST - 1.0, here + WIDEST + 1.0])
    inside = (beyond >= options.vms[rows[0]]) & (beyond <= options.vms[rows[-1]])
    return float(np.interp(beyond[inside], options.vms[rows], loss[rows]).min())
