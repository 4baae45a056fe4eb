"""Whole slots for one job on the fewest VMs, and the efficient pairs of map and reduce slots.

Numbers of slots that take longer than a smaller number are not offered: a job has the fewest slots that meet its time
limit, and of map and reduce slots the pair on the fewest VMs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import sha256
from math import inf

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.rounding import SAME_SUM, ceiling
from mrdsl.formulas.estimates import SlotLimits
from mrdsl.formulas.mapreduce import Coefficients, Floats, phase
from mrdsl.formulas.own_times import OwnTimes

Flags = NDArray[np.bool_]
Ints = NDArray[np.int64]
Pair = tuple[int, int]
Range = tuple[Floats, Floats]

FEWER = 3
"""Numbers of slots below the found one that are tried, since means are not exactly monotone."""
BISECTED = 60
"""Halvings of a range of slots."""
TRIED = 4_000_000
"""Numbers of slots of all jobs together that are evaluated at once; jobs with more are searched part by part."""


def settled(work: Coefficients, deadline: Floats, limits: SlotLimits) -> Coefficients:
    """Return the same requirement for time limits, with exact times for jobs with map and reduce slots alone.

    A job with slots of one kind meets its limit D on k slots and more. So does a job with A = k D and B = C = 0. In
    executors, k is at most a number with a part, which is rounded up later.
    """
    if work.own is None:
        return work
    shape = np.broadcast_shapes(work.map_work.shape, np.shape(deadline))
    due = np.broadcast_to(np.asarray(deadline, dtype=np.float64), shape)
    parts = (limits.map_least, limits.map_most, limits.reduce_least, limits.reduce_most)
    least, most, others, most_others = (np.broadcast_to(each, shape) for each in parts)
    single = np.asarray(work.own.exact & (others == most_others))
    if not single.any():
        return work
    own, rest = work.own.at(single), ceiling(others[single])
    needed = fewest(lambda slots: own.time(slots, rest), due[single], (least[single], most[single]))
    maps, reduces, constant = (each.copy() for each in (work.map_work, work.reduce_work, work.constant))
    needed = np.where(np.isfinite(needed), np.minimum(needed, most[single]), 4.0 * ceiling(most[single]))
    maps[single] = due[single] * needed
    reduces[single] = constant[single] = 0.0
    names = np.where(single, "", work.own.names)
    left = replace(work.own, names=names) if (names != "").any() else None
    return Coefficients(maps, reduces, constant, np.where(single, 0.0, work.path), left)


def fewest(time: Callable[[Floats], Floats], deadline: Floats, limits: Range) -> Floats:
    """Return the fewest whole slots within limits whose time meets the deadline; infinite if none do."""
    due = deadline * (1.0 + SAME_SUM)
    low, high = ceiling(limits[0]), ceiling(limits[1])
    possible = time(high) <= due
    low, high = low.copy(), high.copy()
    while (open_still := possible & (low < high)).any():
        middle = np.where(open_still, np.floor((low + high) / 2.0), high)
        fits = time(middle) <= due
        high = np.where(open_still & fits, middle, high)
        low = np.where(open_still & ~fits, middle + 1.0, low)
    found = high.copy()
    for less in range(1, FEWER + 1):
        tried = np.maximum(found - less, ceiling(limits[0]))
        better = (time(tried) <= due) & (tried < high)
        high = np.where(better, np.minimum(tried, high), high)
    return np.where(possible, high, np.inf)


def least_sums(work: Coefficients, deadline: Floats, limits: SlotLimits, start: Range) -> tuple[Floats, Floats]:
    """Return the least sum of map and reduce slots, as fractions, whose exact times meet the deadline.

    Args:
        work: Upper, average or lower times: of the form (4) below one slot for each task, if there are two kinds.
        deadline: Time limits [s].
        limits: Ranges of both kinds.
        start: The least sums by A, B and C.
    """
    assert work.own is not None
    own, due, (least, most, other, others) = work.own, deadline * (1.0 + SAME_SUM), limits.parts
    single = other == others
    low, high = least.copy(), np.where(own.time(most, others) <= due, most, np.inf)
    for _ in range(BISECTED):
        middle = np.where(np.isfinite(high), (low + np.where(np.isfinite(high), high, low)) / 2.0, low)
        fits = own.time(middle, others) <= due
        low, high = np.where(fits, low, middle), np.where(fits, np.minimum(middle, high), high)
    found, reduces = np.where(single, high, start[0]), np.where(single, others, start[1])
    ends = own.maps(most), own.reduces(others)
    for maps, left, work_left in ((True, due - ends[0], work.reduce_work), (False, due - ends[1], work.map_work)):
        constant = 0.0 if maps else work.constant
        within = (other, others) if maps else (least, most)
        with np.errstate(divide="ignore", invalid="ignore"):
            needed = np.maximum(np.where(left > constant, work_left / (left - constant), np.inf), within[0])
        needed = np.where(
            needed <= within[1], needed, np.where((ends[1] if maps else ends[0]) <= left, within[1], np.inf)
        )
        pair = (most, needed) if maps else (needed, others)
        better = ~single & (pair[0] + pair[1] < found + reduces)
        found, reduces = np.where(better, pair[0], found), np.where(better, pair[1], reduces)
    return found, np.where(np.isfinite(found), reduces, np.inf)


def cheapest_pairs(
    work: Coefficients, deadline: Floats, per_vm: Range, limits: SlotLimits, start: Range
) -> tuple[Floats, Floats]:
    """Return the map and reduce slots that meet the deadline on the fewest VMs; arrays of one dimension.

    A, B and C of ``work`` are below the exact times, so that their pairs on fewer VMs than a known pair contain all
    better ones. Of pairs on the same VMs, the result is the one with the fewest large slots, of which a VM hosts fewer.

    Args:
        work: Work with exact times.
        deadline: Time limits [s].
        per_vm: Map and reduce slots of one VM.
        limits: Ranges of both.
        start: Pairs that would be enough if A, B and C were exact.
    """
    assert work.own is not None
    own, due = work.own, deadline * (1.0 + SAME_SUM)
    least = ceiling(limits.map_least), ceiling(limits.reduce_least)
    most = ceiling(limits.map_most), ceiling(limits.reduce_most)
    possible = own.time(*most) <= due
    known = [
        np.where(possible, np.clip(ceiling(each), low, high), high)
        for each, low, high in zip(start, least, most, strict=True)
    ]
    late = possible & ~(own.time(*known) <= due)
    while late.any():
        for each, high in zip(known, most, strict=True):
            each[late] = np.minimum(np.maximum(each[late] + 1.0, np.ceil(1.04 * each[late])), high[late])
        late[late] = ~(own.at(late).time(known[0][late], known[1][late]) <= due[late])
    left = deadline - work.constant
    vms = known[0] / per_vm[0] + known[1] / per_vm[1]
    windows = [
        _window(kind, (work.map_work, work.reduce_work), left, per_vm, vms, (least[kind], most[kind]))
        for kind in (0, 1)
    ]
    found = [np.full_like(known[0], np.inf), np.full_like(known[1], np.inf)]
    sizes: Floats = np.sum([high - low + 1.0 for low, high in windows], axis=0)
    mine = np.flatnonzero(possible)
    for part in np.split(mine, np.flatnonzero(np.diff(np.floor(np.cumsum(sizes[mine]) / TRIED))) + 1):
        if len(part):
            ranges = [(low[part], high[part]) for low, high in windows]
            _search(own.at(part), due[part], ranges, per_vm, part, found)
    return found[0], found[1]


def _window(kind: int, works: Range, left: Floats, per_vm: Range, vms: Floats, limits: Range) -> Range:
    """Return the range of slots of one kind in pairs on at most these VMs by A, B and C: roots of a quadratic."""
    work, other, own, others = works[kind], works[1 - kind], per_vm[kind], per_vm[1 - kind]
    square, linear, constant = left / own, other / others - work / own - vms * left, vms * work
    root = np.sqrt(np.maximum(linear**2 - 4.0 * square * constant, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        low, high = ((-linear + sign * root) / (2.0 * square) for sign in (-1.0, 1.0))
    low = np.clip(np.floor(np.nan_to_num(low) * (1.0 - SAME_SUM)), *limits)
    return low, np.clip(np.ceil(np.nan_to_num(high) * (1.0 + SAME_SUM)), low, limits[1])


def _search(own: OwnTimes, due: Floats, windows: list[Range], per_vm: Range, places: Ints, found: list[Floats]) -> None:
    """Find the best pair of each job in its windows."""
    slots, times, ends = list[Floats](), list[Floats](), list[Ints]()
    for (low, high), kind in zip(windows, ("maps", "reduces"), strict=True):
        counts = (high - low + 1.0).astype(np.int64)
        rows = np.repeat(np.arange(len(low)), counts)
        first = np.concatenate([[0], np.cumsum(counts)])
        slots.append(low[rows] + np.arange(len(rows)) - first[rows])
        times.append(getattr(own.at(rows), kind)(slots[-1]))
        ends.append(first)
    fewest_reduces = _first_within(np.repeat(due, np.diff(ends[0])) - times[0], np.diff(ends[0]), times[1], ends[1])
    rows = np.repeat(np.arange(len(due)), np.diff(ends[0]))
    fits = fewest_reduces < ends[1][1:][rows]
    pairs = slots[0], slots[1][np.minimum(fewest_reduces, len(slots[1]) - 1)]
    hosted = per_vm[0][places][rows], per_vm[1][places][rows]
    taken = np.where(fits, pairs[0] / hosted[0] + pairs[1] / hosted[1], np.inf)
    best = np.minimum.reduceat(taken, ends[0][:-1])
    equal = fits & (taken <= best[rows] * (1.0 + SAME_SUM))
    at, last = np.arange(len(taken)), hosted[0] > hosted[1]
    chosen = np.where(
        last[ends[0][:-1]],
        np.maximum.reduceat(np.where(equal, at, -1), ends[0][:-1]),
        np.minimum.reduceat(np.where(equal, at, len(at)), ends[0][:-1]),
    )
    known = np.isfinite(best)
    for each, pair in zip(found, pairs, strict=True):
        each[places[known]] = pair[chosen[known]]


def _first_within(limits: Floats, counts: Ints, times: Floats, ends: Ints) -> Ints:
    """Return the first place of each limit's row whose time is within it, the end of the row if none is.

    Args:
        limits: Limits [s], row after row.
        counts: Limits of each row.
        times: Times [s], row after row.
        ends: The place of the first time of each row, and the end of the last one.
    """
    low, high = np.repeat(ends[:-1], counts), np.repeat(ends[1:], counts)
    least, sizes = times.copy(), np.diff(ends)
    for step in range(1, int(sizes.max(initial=0))):  # the least time on so many slots or fewer
        at = ends[:-1][sizes > step] + step
        least[at] = np.minimum(least[at], least[at - 1])
    while (still := low < high).any():
        middle = (low + high) // 2
        within = least[np.minimum(middle, len(times) - 1)] <= limits
        high = np.where(still & within, middle, high)
        low = np.where(still & ~within, middle + 1, low)
    return low


def exact_pairs(
    own: OwnTimes, deadline: float, limits: tuple[tuple[float, float], tuple[float, float]], limit: int
) -> list[Pair] | None:
    """Find the pairs of one job of which no other one has fewer slots of both kinds, those of the fewest maps first.

    Returns:
        The pairs; None if there are more than the limit.
    """
    ranges = [np.arange(float(ceiling(least)), float(ceiling(most)) + 1.0) for least, most in limits]
    maps, reduces = own.maps(ranges[0]), own.reduces(ranges[1])
    falling = np.minimum.accumulate(reduces)
    at = len(falling) - np.searchsorted(falling[::-1], deadline * (1.0 + SAME_SUM) - maps, side="right")
    found: list[Pair] = []
    for count, place in zip(ranges[0].tolist(), at.tolist(), strict=True):
        if place < len(falling) and (not found or ranges[1][place] < found[-1][1]):
            found.append((int(count), int(ranges[1][place])))
    return found if len(found) <= limit else None


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
