"""Wave-based completion times of many classes together; :mod:`mrdsl.formulas.waves` has them for one job.

Source: Vishal 2015, *Performance Modelling and Scheduling of MapReduce Jobs*, equations (3.1) to (3.15). Elementwise on
arrays of one length, one element per class; times in seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt

import numpy as np

from mrdsl.core.rounding import SAME_SUM, ceiling
from mrdsl.formulas.mapreduce import Coefficients, Floats, Profile, reduce_phase, smooth


@dataclass(frozen=True)
class WaveTimes:
    """Times of a wave of every kind of task [s]."""

    map: Floats
    first_shuffle: Floats
    shuffle: Floats
    reduce: Floats


def least(avg: Floats, longest: Floats, given: Floats) -> Floats:
    """Return the shortest time: as given, or, if that is NaN, ``2 avg - max``, not below 0."""
    return np.where(np.isnan(given), np.maximum(2.0 * avg - longest, 0.0), given)


def midpoints(profile: Profile, map_min: Floats, shuffle_min: Floats, reduce_min: Floats) -> WaveTimes:
    """Halfway between shortest and longest, for the mean (3.13); the average for the first shuffle, as in (3.7).

    NaN in a ``_min`` means the default of :func:`least`.
    """
    p = profile
    return WaveTimes(
        (least(p.map_avg, p.map_max, map_min) + p.map_max) / 2.0,
        p.shuffle_first_avg,
        (least(p.shuffle_avg, p.shuffle_max, shuffle_min) + p.shuffle_max) / 2.0,
        (least(p.reduce_avg, p.reduce_max, reduce_min) + p.reduce_max) / 2.0,
    )


def shortest(
    profile: Profile, map_min: Floats, first_min: Floats, shuffle_min: Floats, reduce_min: Floats
) -> WaveTimes:
    """Return the shortest times, for the lower bound (3.11); NaN in a ``_min`` means the default of :func:`least`."""
    p = profile
    return WaveTimes(
        least(p.map_avg, p.map_max, map_min),
        least(p.shuffle_first_avg, p.shuffle_first_max, first_min),
        least(p.shuffle_avg, p.shuffle_max, shuffle_min),
        least(p.reduce_avg, p.reduce_max, reduce_min),
    )


def longest(profile: Profile) -> WaveTimes:
    """Return the longest times, for the upper bound (3.12)."""
    return WaveTimes(profile.map_max, profile.shuffle_first_max, profile.shuffle_max, profile.reduce_max)


def completion(profile: Profile, times: WaveTimes, map_slots: Floats, reduce_slots: Floats) -> Floats:
    """Return the time of one job on its own slots, in whole waves: (3.14), and (3.11), (3.12) with other times.

    Slots may be fractions, waves may not. Without slots for its tasks a job never ends.
    """
    map_waves = _waves(profile.map_tasks, map_slots)
    reduce_waves = _waves(np.where(profile.map_only, 1.0, profile.reduce_tasks), reduce_slots)
    with np.errstate(invalid="ignore"):  # endless waves of tasks that take no time
        mapping = map_waves * times.map
        reducing = reduce_phase(reduce_waves, times.first_shuffle, times.shuffle, times.reduce)
    mapping = np.where(np.isinf(map_waves), np.inf, mapping)
    reducing = np.where(np.isinf(reduce_waves), np.inf, reducing)
    return profile.startup + mapping + np.where(profile.map_only, 0.0, reducing)


def coefficients(profile: Profile, times: WaveTimes) -> Coefficients:
    """A, B and C of the smooth form (3.15), in which waves may be fractions."""
    p = profile
    a, b, c = smooth(p.map_tasks, times.map, p.reduce_tasks, times.first_shuffle, times.shuffle, times.reduce)
    return Coefficients(a, np.where(p.map_only, 0.0, b), np.where(p.map_only, 0.0, c) + p.startup)


def _waves(tasks: Floats, slots: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return ceiling(tasks / slots)


def least_slots(
    profile: Profile, times: WaveTimes, deadline: Floats, one_reduce_wave: bool = False
) -> tuple[Floats, Floats]:
    """Return the least map slots plus reduce slots of one job that meet the deadline by (3.14), in whole waves.

    Correction to (3.16)-(3.18), which take waves as fractions: rounded up, those slots miss the deadline by (3.14) more
    often than not. The slots are whole, and infinite if no slots meet the deadline. ``one_reduce_wave`` gives every
    reduce task a slot. The result is exact: the search tries the fewest of all slots with the same number of waves.
    """
    typical = (np.where(profile.map_only, 0.0, part) for part in (times.first_shuffle, times.shuffle, times.reduce))
    slots = [
        _least(int(n), int(r), float(m), np.array([f, s, t]), float(d), one_reduce_wave)
        for n, r, m, f, s, t, d in zip(
            profile.map_tasks,
            np.where(profile.map_only, 0, profile.reduce_tasks),
            times.map,
            *typical,
            deadline - profile.startup,
            strict=True,
        )
    ]
    return np.array([maps for maps, _ in slots]), np.array([reduces for _, reduces in slots])


def _least(
    maps: int, reduces: int, map_time: float, reduce_times: Floats, deadline: float, one_reduce_wave: bool
) -> tuple[float, float]:
    """Return slots of one job; ``reduce_times`` are those of the first shuffle, of a later one and of a reduce task."""
    map_slots = _useful(maps)
    reduce_slots = np.array([float(reduces)]) if one_reduce_wave or reduces == 0 else _useful(reduces)
    reducing = reduce_phase(np.ceil(reduces / reduce_slots), *reduce_times) if reduces else np.zeros(1)
    left = deadline * (1.0 + SAME_SUM) - np.ceil(maps / map_slots) * map_time
    places = len(reducing) - np.searchsorted(reducing[::-1], left, side="right")
    fits = places < len(reducing)
    total = np.where(fits, map_slots + reduce_slots[np.minimum(places, len(reducing) - 1)], np.inf)
    best = int(np.argmin(total))
    return (float(map_slots[best]), float(reduce_slots[places[best]])) if fits[best] else (np.inf, np.inf)


def _useful(tasks: int) -> Floats:
    """Return the fewest slots for every number of waves, in rising order."""
    waves = np.arange(1.0, isqrt(tasks) + 2.0)
    slots = np.unique(np.concatenate([waves, np.ceil(tasks / waves)]))
    return slots[slots <= tasks]
