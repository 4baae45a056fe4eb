"""Slots of one job other than those on the fewest VMs: a plan may have them, so a bound must include them.

Slots of jobs if cores and memory have to fit: pairs of map and reduce slots, with fewer of one kind for more of the
other.

A job on a pair takes a point, its cores and its memory; jobs on several pairs take a mixture of points. In whole slots,
the choices are all efficient pairs: no other pair takes less of both. A pair that takes more of both can fit VMs
better. A model with the contents of VMs therefore has every efficient pair that no other pair can replace.

In fractions, the pairs are points on a curve. The chords between close points lie above the curve by less than a
solver's tolerance. If the points are too few for that, a bound reduces all of them by as much.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.rounding import ROUNDING, SAME_SUM
from mrdsl.families.capacity.facts import NO
from mrdsl.families.capacity.instance import Instance, Mix
from mrdsl.families.capacity.lanes import limited_classes, useful_time
from mrdsl.families.capacity.market import Floats
from mrdsl.formulas.mapreduce import Coefficients
from mrdsl.formulas.own_times import OwnTimes
from mrdsl.formulas.packing import Size
from mrdsl.formulas.whole_slots import Pair, efficient_pairs

MOST_OTHERS = 120
"""Most pairs beyond the fewest VMs that are evaluated, of all classes and lanes together."""
FEW = 3
"""Number of pairs with the fewest VMs that are evaluated for each class if there are more."""
LOOKED_AT = 2_000


@dataclass(frozen=True)
class Choices:
    """Pairs other than the one on the fewest VMs, by lane and class, and whether they are all efficient pairs."""

    pairs: dict[tuple[int, int], tuple[Pair, ...]]
    complete: bool


@dataclass(frozen=True)
class _Job:
    """One job's work, time, limits and slots on the fewest VMs, of map and reduce slots each."""

    work: tuple[float, float]
    left: float
    least: Pair
    most: tuple[float, float]
    fewest: Pair
    per_vm: tuple[float, float]
    own: OwnTimes | None
    deadline: float

    def vms(self, pair: Pair) -> float:
        return pair[0] / self.per_vm[0] + pair[1] / self.per_vm[1]


def choices_of_instance(instance: Instance) -> Choices:
    """Return those of the classes of one type."""
    work, limits, left, fewest = instance.work, instance.limits, instance.slack, instance.slots_per_job
    per_vm = instance.map_per_vm, instance.reduce_per_vm
    jobs = {}
    kept = np.isfinite(fewest[0]) & np.isfinite(fewest[1])  # no slots keep the deadline of the others
    for index in ((instance.expected > 0.0) & kept).nonzero()[0].tolist():
        jobs[0, index] = _Job(
            (float(work.map_work[index]), float(work.reduce_work[index])),
            float(left[index]),
            (int(limits.map_least[index]), int(limits.reduce_least[index])),
            (float(limits.map_most[index]), float(limits.reduce_most[index])),
            (round(float(fewest[0][index])), round(float(fewest[1][index]))),
            (float(per_vm[0][index]), float(per_vm[1][index])),
            exact_times(work, slice(index, index + 1)),
            float(instance.completion_limit[index]),
        )
    return _choices(jobs)


def choices_of_mix(mix: Mix) -> Choices:
    """Return the choices of the classes in every lane in which they can run, repeated lost work included."""
    pairs, jobs = mix.pairs, {}
    work, limits, left = mix.work, pairs.limits, pairs.completion_limit - mix.work.constant
    for lane, index in zip(*(axis.tolist() for axis in mix.possible.nonzero()), strict=True):
        at, kept = (int(mix.market.vm_of_lane[lane]), index), (mix.map_kept[lane, index], mix.reduce_kept[lane, index])
        jobs[lane, index] = _Job(
            (float(work.map_work[lane, index]), float(work.reduce_work[lane, index])),
            float(left[lane, index]),
            (int(limits.map_least[at]), int(limits.reduce_least[at])),
            (float(limits.map_most[at] / kept[0]), float(limits.reduce_most[at] / kept[1])),
            (round(float(mix.map_slots[lane, index])), round(float(mix.reduce_slots[lane, index]))),
            (float(pairs.map_per_vm[at]), float(pairs.reduce_per_vm[at])),
            exact_times(work, ((lane,), (index,))),
            float(pairs.completion_limit[index]),
        )
    return _choices(jobs)


def _choices(jobs: dict[tuple[int, int], _Job]) -> Choices:
    found: dict[tuple[int, int], tuple[Pair, ...]] = {}
    complete = True
    for place, job in jobs.items():
        pairs = efficient_pairs(job.work, job.left, job.least, job.most, LOOKED_AT, job.own, job.deadline)
        complete &= pairs is not None and len(pairs) <= MOST_OTHERS
        others = [pair for pair in pairs or () if pair != job.fewest]
        found[place] = tuple(sorted(others, key=job.vms))
    complete &= sum(map(len, found.values())) <= MOST_OTHERS
    if not complete:
        few = FEW if len(found) * FEW <= MOST_OTHERS else 0
        found = {place: pairs[:few] for place, pairs in found.items()}
    return Choices({place: pairs for place, pairs in found.items() if pairs}, complete)


def exact_times(work: Coefficients, key: Any) -> OwnTimes | None:
    """Return the exact times of one job."""
    own = None if work.own is None else work.own.at(key)
    return own if own is not None and bool(own.exact.all()) else None


def steps(pairs: tuple[Pair, ...], fewest: Pair) -> Iterator[Pair]:
    """Yield the differences in map and reduce slots between each pair and the one on the fewest VMs."""
    return ((maps - fewest[0], reduces - fewest[1]) for maps, reduces in pairs)


MOST = 400
"""Most pairs of whole slots that are evaluated, of all classes and lanes together."""
MOST_POINTS = 6_000
"""The same of points on curves."""
NEAR = 4e-7
"""Largest relative distance of chords above their curve: less than the tolerance of solvers and checks."""


@dataclass(frozen=True)
class SlotsByVector:
    """Pairs after the first: the ``maps``, ``reduces`` and resources that each takes in addition to the first.

    ``taken`` is (resources, entries); ``complete`` means that a bound needs no others. The ``first`` pair of each lane
    and class takes ``first_used``, (resources, lanes, classes).
    """

    of_class: NDArray[np.int64]
    of_lane: NDArray[np.int64]
    maps: Floats
    reduces: Floats
    taken: Floats
    first_used: Floats
    complete: bool

    def __len__(self) -> int:
        return len(self.of_class)


@dataclass(frozen=True)
class _Curve:
    """One job's A, B and time, limits, and parts of resources that a map and a reduce slot take."""

    work: tuple[float, float]
    left: float
    least: tuple[float, float]
    most: tuple[float, float]
    parts: tuple[Floats, Floats]
    replacing: tuple[int, int]
    """Map slots that fit in place of a reduce slot, and reduce slots that fit in place of a map slot."""
    own: OwnTimes | None
    deadline: float

    def reduces(self, maps: Floats) -> Floats:
        """Return the fewest reduce slots for ``maps`` map slots."""
        time = self.left - self.work[0] / maps if self.work[0] else np.full_like(maps, self.left)
        with np.errstate(divide="ignore", invalid="ignore"):
            needed = np.where(time > 0.0, self.work[1] / time, np.inf) if self.work[1] else np.zeros_like(maps)
        return np.clip(needed, self.least[1], self.most[1])

    def range(self) -> tuple[float, float]:
        """Return the fewest map slots that meet the deadline, and the most that are useful."""
        ends = []
        for reduces in (self.most[1], self.least[1]):
            time = self.left - (self.work[1] / reduces if self.work[1] else 0.0)
            needed = self.work[0] / time if time > 0.0 else np.inf
            ends.append(min(max(needed, self.least[0]), self.most[0]))
        return ends[0], ends[1]

    def best(self, weights: Floats, low: Floats, high: Floats) -> Floats:
        """Return the map slots in a range whose pair takes least of the weighted resources, (resources, n)."""
        maps, reduces = (np.maximum(weights.T @ part, np.finfo(float).tiny) for part in self.parts)
        a, b = self.work
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            found = (a + np.sqrt(a * b * reduces / maps)) / self.left
        return np.clip(np.nan_to_num(found, nan=np.inf), low, high)

    def taken(self, maps: Floats) -> Floats:
        """Return the resources that pairs take, (resources, n)."""
        return self.parts[0][:, None] * maps + self.parts[1][:, None] * self.reduces(maps)

    def points(self, most: int) -> tuple[Floats, float]:
        """Map slots of pairs along the curve; and by how much, relatively, chords lie above it."""
        low, high = self.range()
        low = max(low, self.work[0] / self.left * (1.0 + ROUNDING)) if self.work[0] else low
        ends = self.best(np.eye(2), np.full(2, low), np.full(2, high if np.isfinite(high) else 1e9))
        low, high = float(ends.min()), float(ends.max())
        beyond = self._beyond(low, high)
        if high <= low * (1.0 + SAME_SUM):
            return np.array([low]), beyond
        count = min(8, most)
        while True:
            maps = np.geomspace(low, high, count)
            away = max(self._away(maps), beyond)
            if away <= NEAR or 2 * count > most:
                return maps, away
            count *= 2

    def _away(self, maps: Floats) -> float:
        """Return the relative height of chords between neighbours above the curve."""
        taken = self.taken(maps)
        step = np.diff(taken, axis=1)
        normal = np.abs(np.stack([step[1], step[0]]))
        chord = (normal * taken[:, 1:]).sum(axis=0)
        under = (normal * self.taken(self.best(normal, maps[:-1], maps[1:]))).sum(axis=0)
        away = np.divide(chord - under, chord, out=np.zeros_like(chord), where=chord > 0.0)
        return float(away.max(initial=0.0))

    def _beyond(self, low: float, high: float) -> float:
        """Return the relative saving of a resource by pairs beyond the ends, also if a kind takes none of it."""
        taken = self.taken(np.array([low, high])).min(axis=1)
        first, last = self.range()
        far = self.taken(np.array([first, min(last, 1e12)])).min(axis=1)
        less = np.divide(taken - far, taken, out=np.zeros(2), where=taken > 0.0)
        return float(np.maximum(less, 0.0).max())


def slots_by_vector(mix: Mix, fractions: bool, bound: bool = False, contents: bool = False) -> SlotsByVector:
    """List the pairs of every class in every lane.

    Args:
        mix: The classes and the lanes.
        fractions: Slots are fractions; `contents` then has no effect.
        bound: Subtract from each pair the most that the curve below it can save.
        contents: The model has the contents of each VM.

    Returns:
        The pairs after the first; incomplete for contents of VMs if there are more than a model may have.
    """
    assert mix.sizes is not None
    places = [(lane, index) for lane, index in zip(*(a.tolist() for a in mix.possible.nonzero()), strict=True)]
    each = max(8, MOST_POINTS // max(1, len(places)))
    base = mix.taken(mix.map_slots, mix.reduce_slots)
    rows: list[tuple[int, int, float, float, Floats]] = []
    complete, limited = True, set(limited_classes(mix).tolist())
    for lane, index in places:
        curve = _curve(mix, lane, index)
        first = float(mix.map_slots[lane, index]), float(mix.reduce_slots[lane, index])
        if fractions:
            maps, away = curve.points(each) if curve.work[0] and curve.work[1] else (np.array([first[0]]), 0.0)
            less = away if bound else min(away, NEAR)
            complete &= away <= NEAR
            base[:, lane, index] *= 1.0 - less
            pairs = list(zip(maps.tolist(), curve.reduces(maps).tolist(), strict=True)) if len(maps) > 1 else []
        else:
            every, less = _whole_pairs(curve, contents, index in limited), 0.0
            complete &= every is not None
            pairs = _some_pairs(curve, MOST) if every is None else every
        for maps_each, reduces_each in pairs:
            if (maps_each, reduces_each) != first:
                taken = curve.parts[0] * maps_each + curve.parts[1] * reduces_each
                taken = taken * (1.0 - less) - base[:, lane, index]
                rows.append((index, lane, maps_each - first[0], reduces_each - first[1], taken))
    if not fractions and len(rows) > MOST:
        if contents:
            return replace(slots_by_vector(mix, False), complete=False)
        rows, complete = _few(rows, len(places)), False
    of_class, of_lane = (np.array([row[n] for row in rows], dtype=np.int64) for n in (0, 1))
    maps_more, reduces_more = (np.array([row[n] for row in rows], dtype=np.float64) for n in (2, 3))
    taken = np.array([row[4] for row in rows]).reshape(-1, 2).T
    return SlotsByVector(of_class, of_lane, maps_more, reduces_more, taken, base, complete)


def reaches_all(mix: Mix, entries: SlotsByVector) -> bool:
    """Return True if pairs and slots beyond the fewest reach all slots that firm jobs beside spot VMs can use.

    Any pair is one without a slot that is not needed, and more slots. A job may have as many more as tasks beyond its
    first pair, or as can be of use. A pair with fewer slots of a kind could have more of them.
    """
    limits, vms = mix.pairs.limits, mix.market.vm_of_lane
    columns = (
        (entries.maps, mix.map_slots, limits.map_most, mix.pairs.map_per_vm),
        (entries.reduces, mix.reduce_slots, limits.reduce_most, mix.pairs.reduce_per_vm),
    )
    for index in limited_classes(mix).tolist():
        for lane in np.flatnonzero(mix.possible[:, index] & ~mix.market.spot).tolist():
            mine, vm = (entries.of_lane == lane) & (entries.of_class == index), int(vms[lane])
            for more, slots, tasks, per_vm in columns:
                enough = useful_time(mix, index) * float(per_vm[vm, index])
                if more[mine].min(initial=0.0) < 0.0 and tasks[vm, index] - slots[lane, index] < enough:
                    return False
    return True


def efficient_points(
    mix: Mix, lane: int, index: int, known: dict[tuple[object, ...], list[Pair] | None]
) -> tuple[Floats | None, Floats]:
    """Return the efficient pairs of whole slots, and what they take of both resources, (pairs, 2).

    There are no pairs if they are too many to try, but a point below all of them. ``known`` has the pairs of jobs
    alike.
    """
    curve = _curve(mix, lane, index)
    key = curve.work, curve.left, curve.least, curve.most, None if curve.own is None else curve.own.key
    if key not in known:
        least = int(curve.least[0]), int(curve.least[1])
        known[key] = efficient_pairs(curve.work, curve.left, least, curve.most, LOOKED_AT, curve.own, curve.deadline)
    pairs, (low, high) = known[key], curve.range()
    below = (low, float(curve.reduces(np.array([high]))[0])) if pairs is None else pairs
    both = np.array(below, dtype=np.float64).reshape(-1, 2)
    points = both[:, :1] * curve.parts[0] + both[:, 1:] * curve.parts[1]
    return None if pairs is None else both, np.asarray(points)


Known = dict[tuple[object, ...], tuple[Floats, float]]
"""Pairs of jobs that are alike."""
POINTS = 64
"""Pairs in fractions of one job."""


def choices_in_whole_slots(mix: Mix, lane: int, index: int, known: Known, limited: bool) -> tuple[Floats, float]:
    """Return pairs of whole slots of a job, and a factor by which other pairs may take less than the best of these.

    They are all pairs without a slot that is not needed; if these are too many to try, some.
    """
    curve = _curve(mix, lane, index)
    key = curve.work, curve.left, curve.least, curve.most, None if curve.own is None else curve.own.key
    if key not in known:
        least = int(curve.least[0]), int(curve.least[1])
        found = efficient_pairs(curve.work, curve.left, least, curve.most, LOOKED_AT, curve.own, curve.deadline)
        pairs = np.array(_some_pairs(curve, MOST) if found is None else found, dtype=np.float64).reshape(-1, 2)
        known[key] = pairs, 1.0 if found is not None else _near(pairs)
    return known[key]


def choices_in_fractions(mix: Mix, lane: int, index: int, known: Known, limited: bool) -> tuple[Floats, float]:
    """Return pairs of slots in fractions of a job, and a factor as in :func:`choices_in_whole_slots`."""
    curve = _curve(mix, lane, index)
    if not (curve.work[0] and curve.work[1]):
        return np.array([[mix.map_slots[lane, index], mix.reduce_slots[lane, index]]]), 1.0
    maps, away = curve.points(POINTS)
    pairs = np.stack([maps, curve.reduces(maps)], axis=1)
    return pairs, (_near(pairs) if limited else 1.0 - away)


def _near(pairs: Floats) -> float:
    """Return the part of the slots of some pair that any job needs, for pairs in order of their map slots.

    A job between neighbours has at least the map slots of the first and the reduce slots of the second one.
    """
    order = pairs[np.argsort(pairs[:, 0], kind="stable")]
    (first, more), (second, fewer) = order[:-1].T, order[1:].T
    with np.errstate(divide="ignore", invalid="ignore"):
        part = np.maximum(np.where(second > 0.0, first / second, 1.0), np.where(more > 0.0, fewer / more, 1.0))
    return float(part.min(initial=1.0))


def whole_points(mix: Mix, lane: int, index: int) -> tuple[Floats, Floats] | None:
    """Return the pairs of whole slots that no other pair can replace on VMs, and what they take, (pairs, 2).

    None if there are too many to try.
    """
    curve = _curve(mix, lane, index)
    pairs = _whole_pairs(curve, True)
    if pairs is None:
        return None
    both = np.array(pairs, dtype=np.float64).reshape(-1, 2)
    return both, np.asarray(both[:, :1] * curve.parts[0] + both[:, 1:] * curve.parts[1])


def _curve(mix: Mix, lane: int, index: int) -> _Curve:
    assert mix.sizes is not None
    pairs, vm, work = mix.pairs, int(mix.market.vm_of_lane[lane]), mix.work
    at, kept = (vm, index), (float(mix.map_kept[lane, index]), float(mix.reduce_kept[lane, index]))
    limits, parts = pairs.limits, mix.sizes.parts
    sizes = [mix.sizes.of(int(mix.sizes.keys[kind, vm, index])) for kind in (0, 1)]
    return _Curve(
        (float(work.map_work[lane, index]), float(work.reduce_work[lane, index])),
        float(pairs.completion_limit[index] - work.constant[lane, index]),
        (float(limits.map_least[at]), float(limits.reduce_least[at])),
        (float(limits.map_most[at]) / kept[0], float(limits.reduce_most[at]) / kept[1]),
        (parts[0, :, vm, index], parts[1, :, vm, index]),
        (_fitting(*sizes), _fitting(*sizes[::-1])),
        exact_times(work, ((lane,), (index,))),
        float(pairs.completion_limit[index]),
    )


def _fitting(small: Size, large: Size) -> int:
    """Return how many slots fit in the place of another one, up to a million."""
    one, other = ((Fraction(1, s), Fraction(1, s)) if isinstance(s, int) else s for s in (small, large))
    return min((b // a for a, b in zip(one, other, strict=True) if a), default=10**6)


def _whole_pairs(curve: _Curve, contents: bool, limited: bool = False) -> list[tuple[float, float]] | None:
    """Return the efficient pairs: no other takes as little of both resources; None if there are too many to try.

    For ``contents`` of VMs, they are the pairs that no other pair can replace. Of classes whose part on spot is
    ``limited``, VM time counts too: then they are all pairs without a slot that is not needed.
    """
    least = int(curve.least[0]), int(curve.least[1])
    found = efficient_pairs(curve.work, curve.left, least, curve.most, LOOKED_AT, curve.own, curve.deadline)
    if found is None:
        return None
    if contents and limited:
        return [(float(maps), float(reduces)) for maps, reduces in found]
    if contents:
        return _in_any_place([(float(maps), float(reduces)) for maps, reduces in found], curve.replacing)
    pairs = np.array(found, dtype=np.float64).reshape(-1, 2)
    taken = pairs[:, :1] * curve.parts[0] + pairs[:, 1:] * curve.parts[1]
    order = np.lexsort((taken[:, 1], taken[:, 0])).tolist()
    kept, memory = [], np.inf
    for place in order:
        if taken[place, 1] < memory * (1.0 - SAME_SUM):
            memory = float(taken[place, 1])
            kept.append((float(pairs[place, 0]), float(pairs[place, 1])))
    return kept


def _in_any_place(pairs: list[tuple[float, float]], replacing: tuple[int, int]) -> list[tuple[float, float]]:
    """Return the pairs, those of the fewest map slots first, without those in whose place another one fits."""
    kept = pairs
    for kind, times in enumerate(replacing):
        ordered, kept, least = (kept if kind else kept[::-1]), [], np.inf
        for pair in ordered:
            total = pair[kind] + times * pair[1 - kind]
            if not times or total < least:
                kept.append(pair)
                least = total
        kept = kept if kind else kept[::-1]
    return kept


def _some_pairs(curve: _Curve, most: int) -> list[tuple[float, float]]:
    """Return pairs in whole slots near the curve."""
    maps = np.unique(np.ceil(curve.points(most)[0]))
    return list(zip(maps.tolist(), np.ceil(curve.reduces(maps)).tolist(), strict=True))


def _few(rows: list[tuple[int, int, float, float, Floats]], places: int) -> list[tuple[int, int, float, float, Floats]]:
    """So many of the pairs of each class and lane, evenly."""
    each = max(1, MOST // max(1, places))
    groups: dict[tuple[int, int], list[tuple[int, int, float, float, Floats]]] = {}
    for row in rows:
        groups.setdefault(row[:2], []).append(row)
    return [
        group[place]
        for group in groups.values()
        for place in sorted(set(np.linspace(0, len(group) - 1, min(each, len(group))).round().astype(int).tolist()))
    ]


def in_fractions(mix: Mix, relax: bool) -> bool:
    """Return True if slots of jobs are fractions."""
    return relax or mix.wholeness == NO
