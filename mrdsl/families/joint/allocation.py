"""Allocation of VMs to classes and services: the least, then the rest by falling worth.

Pure functions on arrays. Fractional VMs and fractional concurrent jobs need only the least VMs and their worth. With
whole concurrent jobs on whole VMs, a class's value is a staircase of its VMs, and its steps are the choice.

A class that runs n jobs concurrently takes ``ceil(gamma n)`` VMs and serves up to ``Xi n`` jobs in a period. One more
VM may serve no more jobs, the next one a whole round of jobs, so Theorem 3.4 does not hold. The least concave function
above each staircase (its hull) makes filling by falling worth optimal again, as a bound on the cost: no whole plan is
cheaper. Services do not change: every VM but the last one serves the same.

*Choices* are the numbers of VMs for a unit in one period and the penalty that they avoid; *rises* are the hull's pieces
between them.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.rounding import SAME_SUM, ceiling, floor
from mrdsl.families.joint.workload import Floats, Workload

SORTED_UP_TO = 20_000
"""Units up to which sorting them all is quicker than looking for the marginal one."""
SAMPLE = 1024


def least_vms(work: Workload, relax: bool) -> Floats:
    """VMs that every unit must have, (periods, units)."""
    return work.need_low.copy() if relax else work.whole_vms(work.low)


def further_vms(work: Workload, part: slice, base: Floats, left: Floats, relax: bool) -> Floats:
    """Return the VMs beyond ``base`` for the units of one part, with ``left`` (periods,) free VMs."""
    worth, room = marginal_worth(work, part, base, relax)
    taken = fill(worth, room, left, work.vm_cost)
    units = base.shape[1]
    return taken if relax else taken[:, :units] + taken[:, units:]


def marginal_worth(work: Workload, part: slice, base: Floats, relax: bool) -> tuple[Floats, Floats]:
    """Return the worth of VMs beyond ``base``, and the number of VMs with that worth, per unit.

    With whole VMs every unit has two entries: first its VMs that are used in full, then its last one, which is worth
    the fraction that it has to serve. Shapes (units,) or (periods, 2 units), and (periods, units or 2 units).
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
    """Return the part of ``room`` (periods, units) that maximizes the total worth within ``left`` (periods,) VMs.

    ``worth`` is the value of a VM, the same for all periods (units,) or of the shape of ``room``. Units worth less than
    ``vm_cost`` take no VM.
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
    """Fill one period without a full sort: bisect a sorted sample for the marginal worth, sort only nearby values.

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


Ints = NDArray[np.int64]
MOST_CHOICES = 4096
"""Choices of one class up to which each is looked at; of more, as many, evenly, and the bound allows for the others."""


@dataclass(frozen=True)
class Choices:
    """Choices of the units of one part in one period, ordered by unit and VMs; the first of each is the least.

    ``unit`` (choices,) counts within the part, ``first`` (units,) is the index of its first choice. ``slack`` is the
    penalty that omitted choices may avoid beyond the hull. A service has only the choices between which all VMs serve
    alike.
    """

    unit: Ints
    first: Ints
    vms: Floats
    avoided: Floats
    slack: float


def choices(work: Workload, part: slice, period: int, left: float) -> Choices:
    """Return the choices of every unit of ``part`` in ``period``, with ``left`` free VMs beyond the least of all."""
    units = np.arange(len(work.worth))[part]
    classes = units[units < work.classes]
    of_classes = _of_classes(work, classes, period, left)
    of_services = _of_services(work, units[units >= work.classes], period)
    unit = np.concatenate([of_classes.unit, len(classes) + of_services.unit])
    return Choices(
        unit=unit,
        first=np.searchsorted(unit, np.arange(len(units))),
        vms=np.concatenate([of_classes.vms, of_services.vms]),
        avoided=np.concatenate([of_classes.avoided, of_services.avoided]),
        slack=of_classes.slack,
    )


def _of_classes(work: Workload, classes: Ints, period: int, left: float) -> Choices:
    """Return choices of every number of rounds: of those on as many VMs, or on more, the ones that avoid most."""
    found = [_of_rounds(work, classes, period, left, *each) for each in zip(*work.execution.rounds, strict=True)]
    if len(found) == 1:
        return found[0]
    unit, vms, avoided = (
        np.concatenate([getattr(each, name) for each in found]) for name in ("unit", "vms", "avoided")
    )
    order = np.lexsort((-avoided, vms, unit))
    unit, vms, avoided = unit[order], vms[order], avoided[order]
    rank = np.unique(avoided, return_inverse=True)[1] + len(unit) * unit
    better = np.diff(np.maximum.accumulate(rank), prepend=-1) > 0
    unit, slack = unit[better], sum(each.slack for each in found)
    return Choices(unit, np.searchsorted(unit, np.arange(len(classes))), vms[better], avoided[better], slack)


def _of_rounds(work: Workload, classes: Ints, period: int, left: float, rounds: Floats, gamma: Floats) -> Choices:
    """Return choices by concurrent jobs if one takes a VM or more, otherwise by VMs with the most jobs on them.

    A class that cannot have so many rounds has none.
    """
    there = np.flatnonzero(np.isfinite(gamma[classes]))
    classes = classes[there]
    high, penalty, gamma, rounds = work.high[period, classes], work.penalty[classes], gamma[classes], rounds[classes]
    least, most = (ceiling(demand[period, classes] / rounds) for demand in (work.low, work.high))
    by_job = gamma >= 1.0
    start = np.where(by_job, least, ceiling(gamma * least))
    room = np.where(
        by_job,
        np.minimum(most - least, floor((left + 1.0) / gamma)),
        np.minimum(ceiling(gamma * most) - start, left),
    )
    every = np.maximum(1.0, np.ceil(room / (MOST_CHOICES - 1)))
    counts = (np.ceil(room / every) + 1).astype(np.int64)
    unit = np.repeat(np.arange(len(classes)), counts)
    first = np.cumsum(counts) - counts
    step = np.minimum((np.arange(len(unit)) - first[unit]) * every[unit], room[unit]) + start[unit]
    jobs = np.where(by_job[unit], step, np.minimum(floor(step / gamma[unit]), most[unit]))
    vms = np.where(by_job[unit], ceiling(gamma[unit] * jobs), step)
    return Choices(
        there[unit],
        first,
        vms,
        penalty[unit] * np.minimum(high[unit], rounds[unit] * jobs),
        float(np.sum(2.0 * penalty * rounds, where=every > 1.0)),
    )


def _of_services(work: Workload, services: Ints, period: int) -> Choices:
    """Return the least VMs, all that are used in full, and the last one."""
    need, per_vm = work.need_high[period, services], work.worth[services]
    least = ceiling(work.need_low[period, services])
    vms = np.stack([least, np.maximum(least, floor(need)), np.maximum(least, ceiling(need))], axis=1)
    avoided = per_vm[:, None] * np.minimum(vms, need[:, None])
    kept = np.ones(vms.shape, dtype=bool)
    kept[:, 1:] = np.diff(vms, axis=1) > 0.0
    unit = np.repeat(np.arange(len(services)), kept.sum(axis=1))
    return Choices(unit, np.searchsorted(unit, np.arange(len(services))), vms[kept], avoided[kept], 0.0)


def hull(options: Choices) -> Ints:
    """Return the choices on the hulls: those below the line between two others of their unit are left out, again and
    again.
    """
    at = np.arange(len(options.unit))
    while len(at) > 2:
        vms, avoided, unit = options.vms[at], options.avoided[at], options.unit[at]
        before, after = slice(None, -2), slice(2, None)
        inner = unit[before] == unit[after]
        rise = (avoided[1:-1] - avoided[before]) * (vms[after] - vms[1:-1])
        next_rise = (avoided[after] - avoided[1:-1]) * (vms[1:-1] - vms[before])
        below = inner & (rise <= next_rise * (1.0 + SAME_SUM))
        if not below.any():
            break
        at = np.delete(at, 1 + np.flatnonzero(below))
    return at


@dataclass(frozen=True)
class Rises:
    """Pieces of the hulls that pay, by falling worth per VM, ties in spec order; ``to`` is the end of each."""

    vms: Floats
    worth: Floats
    to: Ints


def after(options: Choices, ordered: Rises, taken: int) -> Ints:
    """Return the choice of every unit once the first ``taken`` of the rises are taken."""
    at = options.first.copy()
    np.maximum.at(at, options.unit[ordered.to[:taken]], ordered.to[:taken])
    return at


def wanted(work: Workload, period: int) -> Floats:
    """VMs of every unit in ``period`` on a cluster without end: as many as pay."""
    options = choices(work, slice(0, len(work.worth)), period, float(work.whole_vms(work.high)[period].sum()))
    ordered = rises(options, work.vm_cost)
    return options.vms[after(options, ordered, len(ordered.to))]


def rises(options: Choices, vm_cost: float) -> Rises:
    """Return the pieces that are worth their VMs."""
    at = hull(options)
    same = np.flatnonzero(options.unit[at[1:]] == options.unit[at[:-1]]) + 1
    end, start = at[same], at[same - 1]
    vms = options.vms[end] - options.vms[start]
    worth = (options.avoided[end] - options.avoided[start]) / vms
    pays = np.flatnonzero(worth >= vm_cost)
    order = pays[np.argsort(-worth[pays], kind="stable")]
    return Rises(vms[order], worth[order], end[order])
