"""Whole slots for one job on the fewest VMs, and the efficient pairs of map and reduce slots."""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import sha256
from math import inf

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.rounding import SAME_SUM, ceiling
from mrdsl.formulas.estimates import SlotLimits
from mrdsl.formulas.exact_slots import Range, cheapest_pairs, exact_pairs
from mrdsl.formulas.mapreduce import Coefficients, Floats, phase
from mrdsl.formulas.own_times import OwnTimes

STEPS = 100_000
"""Most numbers that are tried on each side. With c slots of the searched kind on a VM and v VMs for fractions, all
pairs that can be better than fractions rounded up lie within ``sqrt(4 c v + 4)`` of them. So a job for which the steps
are too few has more than 2e9 slots, and its pair takes at most a slot of each kind more than fractions do."""


@dataclass(frozen=True)
class _Kinds:
    """One job's slots as the search sees them: ``first`` those that it tries, ``second`` those that follow."""

    work: tuple[Floats, Floats]
    left: Floats
    per_vm: tuple[Floats, Floats]
    least: tuple[Floats, Floats]
    most: tuple[Floats, Floats]

    def at(self, places: NDArray[np.int64]) -> _Kinds:
        def of(pair: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
            return pair[0][places], pair[1][places]

        return _Kinds(of(self.work), self.left[places], of(self.per_vm), of(self.least), of(self.most))

    def second(self, first: Floats) -> Floats:
        """Return the fewest second slots for ``first`` slots, as fractions; infinite if none suffice."""
        time = self.left - phase(self.work[0], 1.0, np.minimum(first, self.most[0]))
        with np.errstate(divide="ignore", invalid="ignore"):
            needed = np.where(self.work[1] > 0.0, np.where(time > 0.0, self.work[1] / time, np.inf), 0.0)
        late = time < -SAME_SUM * np.abs(self.left)
        needed = np.where(late, np.inf, np.maximum(needed, self.least[1]))
        return np.where(needed > self.most[1] * (1.0 + SAME_SUM), np.inf, np.minimum(needed, self.most[1]))

    def vms(self, first: Floats, second: Floats) -> Floats:
        """Return the VMs that ``first`` and ``second`` slots take."""
        return first / self.per_vm[0] + second / self.per_vm[1]


def whole_slots(
    work: Coefficients,
    deadline: Floats,
    per_vm: tuple[Floats, Floats],
    limits: SlotLimits,
    fractions: tuple[Floats, Floats],
) -> tuple[Floats, Floats]:
    """Return whole map and reduce slots of one job that meet its deadline on the fewest VMs; elementwise on arrays.

    ``fractions`` are those of :func:`mrdsl.formulas.estimates.slots_per_job`, the least without integrality. ``limits``
    are whole numbers; if the most slots are a fraction, the next whole number has the same effect. The result is
    infinite if the fractions are. Of pairs that take the same VMs, it is the one with the fewest large slots: those of
    which a VM hosts fewer. If a VM hosts as many of both, it is the one with the fewest map slots.
    """
    shape = fractions[0].shape
    if work.own is not None:
        return _exact(work, deadline, per_vm, limits, fractions)
    flat = [np.asarray(each, dtype=np.float64).ravel() for each in np.broadcast_arrays(*_parts(work, deadline, limits))]
    a, b, left, map_least, map_most, reduce_least, reduce_most = flat
    per_map, per_reduce = (np.broadcast_to(each, shape).ravel() for each in per_vm)
    start = fractions[0].ravel(), fractions[1].ravel()
    swap = per_map > per_reduce

    def ordered(one: Floats, other: Floats) -> tuple[Floats, Floats]:
        return np.where(swap, other, one), np.where(swap, one, other)

    kinds = _Kinds(
        ordered(a, b),
        left,
        ordered(per_map, per_reduce),
        ordered(map_least, reduce_least),
        ordered(map_most, reduce_most),
    )
    found = _searched(kinds, ordered(*start))
    maps, reduces = ordered(*found)
    return maps.reshape(shape), reduces.reshape(shape)


def _exact(
    work: Coefficients, deadline: Floats, per_vm: tuple[Floats, Floats], limits: SlotLimits, fractions: Range
) -> tuple[Floats, Floats]:
    """Return the slots of jobs of which some have exact times."""
    shape = fractions[0].shape
    found = whole_slots(replace(work, own=None), deadline, per_vm, limits, fractions)
    assert work.own is not None
    assert work.map_work.shape == shape
    exact = work.own.exact
    due = np.broadcast_to(deadline, shape)[exact]
    some = SlotLimits(*(np.broadcast_to(each, shape)[exact] for each in limits.parts))
    hosted = tuple(np.broadcast_to(each, shape)[exact] for each in per_vm)
    pairs = _known_pairs(work.at(exact), due, (hosted[0], hosted[1]), some, (found[0][exact], found[1][exact]))
    for each, pair in zip(found, pairs, strict=True):
        each[exact] = pair
    return found


_KNOWN: dict[bytes, Range] = {}


def _known_pairs(work: Coefficients, due: Floats, hosted: Range, limits: SlotLimits, start: Range) -> Range:
    """Return the pairs of :func:`cheapest_pairs`, those of the last call if it was the same."""
    assert work.own is not None
    contents = [jobs.content for jobs in work.own.jobs]
    if None in contents:
        return cheapest_pairs(work, due, hosted, limits, start)
    arrays = work.map_work, work.reduce_work, work.constant, due, *hosted, *limits.parts, *start
    digest = sha256(work.own.key)
    for each in (*contents, *(np.ascontiguousarray(each).tobytes() for each in arrays)):
        digest.update(each or b"")
    if (key := digest.digest()) not in _KNOWN:
        found = cheapest_pairs(work, due, hosted, limits, start)
        _KNOWN.clear()
        _KNOWN[key] = found
    return _KNOWN[key]


def _parts(work: Coefficients, deadline: Floats, limits: SlotLimits) -> tuple[Floats, ...]:
    return (
        work.map_work,
        work.reduce_work,
        deadline - work.constant,
        limits.map_least,
        limits.map_most,
        limits.reduce_least,
        limits.reduce_most,
    )


def _searched(kinds: _Kinds, start: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    """Search down and up from the rounded-up fractions, which meet the deadline, until fractions alone cost more."""
    possible = np.isfinite(start[0]) & np.isfinite(start[1])
    first = np.where(possible, ceiling(np.where(possible, start[0], 0.0)), np.inf)
    second = np.where(possible, ceiling(np.where(possible, start[1], 0.0)), np.inf)
    best = [first.copy(), second]
    for direction in (-1.0, 1.0):
        active = np.flatnonzero(possible)
        tried = first[active] - 1.0 if direction > 0.0 else first[active]
        for _ in range(STEPS):
            tried = tried + direction
            active, tried = _step(kinds, active, tried, best, 1.0 + direction * -SAME_SUM)
            if not len(active):
                break
    return best[0], best[1]


def _step(
    kinds: _Kinds, active: NDArray[np.int64], tried: Floats, best: list[Floats], enough: float
) -> tuple[NDArray[np.int64], Floats]:
    """Try one more number in each remaining search; return the searches that remain.

    A pair replaces the best one if it takes no more than ``enough`` times its VMs. On the way down, equal VMs suffice,
    so that of equal pairs the one with the fewest slots of the searched kind remains.
    """
    here = kinds.at(active)
    within = (tried >= here.least[0]) & (tried < here.most[0] + 1.0)
    needed = here.second(tried)
    known = here.vms(best[0][active], best[1][active])
    open_still = within & (here.vms(tried, needed) <= known * enough)
    active, tried, needed = active[open_still], tried[open_still], needed[open_still]
    here, known = kinds.at(active), known[open_still]
    pair = ceiling(needed) if len(needed) else needed
    better = here.vms(tried, pair) <= known * enough
    best[0][active[better]] = tried[better]
    best[1][active[better]] = pair[better]
    return active, tried


Pair = tuple[int, int]


def efficient_pairs(
    work: tuple[float, float],
    left: float,
    least: Pair,
    most: tuple[float, float],
    limit: int,
    own: OwnTimes | None = None,
    deadline: float = 0.0,
) -> list[Pair] | None:
    """Find all such pairs, those of the fewest map slots first.

    Args:
        work: A and B of one job [s].
        left: D - C, the time that the deadline leaves to both phases [s].
        least: The fewest map and reduce slots.
        most: The most map and reduce slots; infinite if not known.
        limit: The most pairs to find.
        own: The exact times of the job, if A and B are not exact.
        deadline: Its time limit [s], for these.

    Returns:
        The pairs; none if no slots meet the deadline, None if there are more than the limit.
    """
    if own is not None and bool(own.exact.all()):
        return exact_pairs(own, deadline, ((least[0], most[0]), (least[1], most[1])), limit)
    found: list[Pair] = []
    last = ceiling(most[0])
    first = _beside(work[0], left, work[1], most[1], least[0], most[0])
    while first <= last and first < inf:
        second = _beside(work[1], left, work[0], min(first, most[0]), least[1], most[1])
        if second == inf:
            first += 1.0
            continue
        if len(found) == limit:
            return None
        found.append((int(first), int(second)))
        fewer = second - 1.0
        if fewer < least[1] or (work[1] > 0.0 and fewer <= 0.0):
            break
        first = max(_beside(work[0], left, work[1], fewer, least[0], most[0]), first + 1.0)
    return found


def _beside(work: float, left: float, other_work: float, other: float, least: float, most: float) -> float:
    """Return the fewest slots of one kind for ``other`` slots of the other; infinite if none suffice.

    If the most slots are a fraction, the next whole number has the same effect.
    """
    time = left - (other_work / other if other_work else 0.0)
    if time < -SAME_SUM * abs(left) or (work and time <= 0.0):
        return inf
    needed = max(work / time if work else 0.0, float(least))
    return inf if needed > most * (1.0 + SAME_SUM) else float(ceiling(min(needed, most)))
