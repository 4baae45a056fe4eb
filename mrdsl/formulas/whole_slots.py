"""Whole slots for one job on the fewest VMs: Theorem 4.1 of Malekimajd et al. 2015 in whole numbers.

    minimise  a / c_M + b / c_R   subject to  A / a + B / b <= D - C,  a and b whole, within limits.

For every a the fewest b is known, so that one search over a is enough. Where b may be a fraction, what a pair takes
falls and then rises in a (``docs/families/capacity.md`` has the proof), so that the search goes down and up from the
least and ends where even fractions take no less than the best pair so far: no pair that it leaves out is better. The
kind of which a VM hosts fewer slots is searched, since it has fewer numbers to try.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.tolerances import SAME_SUM
from mrdsl.core.whole_numbers import ceiling
from mrdsl.formulas.mapreduce import Coefficients, Floats, phase
from mrdsl.formulas.sizing import SlotLimits

STEPS = 100_000
"""So many numbers are looked at on each side. With c slots of the searched kind on a VM and v VMs for fractions, all
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
        """The fewest slots of the second kind beside so many of the first, fractions; infinite where none do."""
        time = self.left - phase(self.work[0], 1.0, np.minimum(first, self.most[0]))
        with np.errstate(divide="ignore", invalid="ignore"):
            needed = np.where(self.work[1] > 0.0, np.where(time > 0.0, self.work[1] / time, np.inf), 0.0)
        late = time < -SAME_SUM * np.abs(self.left)
        needed = np.where(late, np.inf, np.maximum(needed, self.least[1]))
        return np.where(needed > self.most[1] * (1.0 + SAME_SUM), np.inf, np.minimum(needed, self.most[1]))

    def vms(self, first: Floats, second: Floats) -> Floats:
        """The VMs that so many slots take."""
        return first / self.per_vm[0] + second / self.per_vm[1]


def whole_slots(
    work: Coefficients,
    deadline: Floats,
    per_vm: tuple[Floats, Floats],
    limits: SlotLimits,
    fractions: tuple[Floats, Floats],
) -> tuple[Floats, Floats]:
    """Whole map and reduce slots of one job that meet its deadline on the fewest VMs; elementwise on arrays.

    ``fractions`` are those of :func:`mrdsl.formulas.sizing.slots_per_job`, which are the least without wholeness, and
    ``limits`` whole numbers; where the most slots are a fraction, the next whole number does no more than that.
    Infinite where the fractions are. Of pairs that take the same VMs, the one with the fewest slots of the kind of
    which a VM hosts fewer, of map slots where it hosts as many of both.
    """
    shape = fractions[0].shape
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
    """From the fractions rounded up, which keep the deadline, down and up to where fractions alone cost more."""
    possible = np.isfinite(start[0]) & np.isfinite(start[1])
    first = np.where(possible, ceiling(np.where(possible, start[0], 0.0)), np.inf)
    second = np.where(possible, ceiling(np.where(possible, start[1], 0.0)), np.inf)
    best = [first, second]
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
    """Looks at one more number for each that is searched on; what remains to be searched.

    A pair is taken where it takes no more than ``enough`` times the VMs of the best one: going down as many, so that
    of equal pairs the one with the fewest slots of the kind that is searched remains.
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
