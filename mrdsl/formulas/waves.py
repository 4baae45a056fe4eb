"""Completion of a MapReduce job in whole waves, and the slots that meet a deadline.

Vishal 2015, *Performance Modelling and Scheduling of MapReduce Jobs*, 3.4 and 3.5. Pure functions of numbers; times in
seconds. A phase of N tasks on S slots runs in ceil(N / S) waves. The first wave of shuffles counts from the end of the
map phase, the others in full.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from mrdsl.core.rounding import ceiling
from mrdsl.formulas.mapreduce import fewest_vms, reduce_phase, smooth


@dataclass(frozen=True, slots=True)
class WaveProfile:
    """One job's profile (thesis, 3.2.2): counts of tasks, and least, longest and average durations in seconds.

    A job without reduce tasks has no shuffle either.
    """

    map_tasks: int
    map_min: float
    map_max: float
    reduce_tasks: int = 0
    first_shuffle_min: float = 0.0
    first_shuffle_avg: float = 0.0
    first_shuffle_max: float = 0.0
    shuffle_min: float = 0.0
    shuffle_max: float = 0.0
    reduce_min: float = 0.0
    reduce_max: float = 0.0

    @classmethod
    def of_equal_tasks(
        cls, map_tasks: int, map_time: float, reduce_tasks: int = 0, shuffle: float = 0.0, reduce_time: float = 0.0
    ) -> WaveProfile:
        """Return a job whose tasks of one phase all last equally long."""
        return cls(
            map_tasks,
            map_time,
            map_time,
            reduce_tasks,
            shuffle,
            shuffle,
            shuffle,
            shuffle,
            shuffle,
            reduce_time,
            reduce_time,
        )


@dataclass(frozen=True, slots=True)
class WaveTimes:
    """Lower bound, mean and upper bound of a completion time: (3.11), (3.13), (3.12)."""

    lower: float
    average: float
    upper: float


@dataclass(frozen=True, slots=True)
class SlotCounts:
    """Map and reduce slots, not rounded: what (3.16) or (3.17) and (3.18) give."""

    map: float
    reduce: float


def waves(tasks: int, slots: int) -> int:
    """Return the number of waves of ``tasks`` tasks."""
    return -(-tasks // slots) if tasks else 0


def map_time(profile: WaveProfile, slots: int) -> WaveTimes:
    """Return the time of the map phase on ``slots`` slots: (3.1)-(3.3)."""
    rounds = waves(profile.map_tasks, slots)
    return _bounds(rounds * profile.map_min, rounds * profile.map_max)


def reduce_time(profile: WaveProfile, slots: int) -> WaveTimes:
    """Return the time of the shuffle and reduce phase on ``slots`` slots, from the end of the map phase: (3.4)-(3.10).

    The mean takes ``first_shuffle_avg`` for the first wave, as (3.7) does, so it need not be midway.
    """
    rounds = waves(profile.reduce_tasks, slots)
    if rounds == 0:
        return WaveTimes(0.0, 0.0, 0.0)
    p = profile
    return WaveTimes(
        reduce_phase(rounds, p.first_shuffle_min, p.shuffle_min, p.reduce_min),
        reduce_phase(
            rounds, p.first_shuffle_avg, (p.shuffle_min + p.shuffle_max) / 2, (p.reduce_min + p.reduce_max) / 2
        ),
        reduce_phase(rounds, p.first_shuffle_max, p.shuffle_max, p.reduce_max),
    )


def completion(profile: WaveProfile, map_slots: int, reduce_slots: int) -> WaveTimes:
    """Return the whole job on its own slots: (3.11)-(3.14)."""
    first, second = map_time(profile, map_slots), reduce_time(profile, reduce_slots)
    return WaveTimes(first.lower + second.lower, first.average + second.average, first.upper + second.upper)


def coefficients(profile: WaveProfile) -> tuple[float, float, float]:
    """A, B and C of (3.15): mean completion = A / map slots + B / reduce slots + C, waves taken as fractions."""
    p = profile
    map_middle, shuffle = (p.map_min + p.map_max) / 2, (p.shuffle_min + p.shuffle_max) / 2
    a, b, c = smooth(
        p.map_tasks, map_middle, p.reduce_tasks, p.first_shuffle_avg, shuffle, (p.reduce_min + p.reduce_max) / 2
    )
    return (a, b, c) if p.reduce_tasks else (a, 0.0, 0.0)


def slots_within(work: float, left: float) -> float:
    """Return the slots that end ``work`` in the time that is left; infinite if no time is left."""
    return work / left if left > 0.0 else inf


def slots_with_fixed_reduce(profile: WaveProfile, deadline: float) -> SlotCounts:
    """Return one reduce slot for every reduce task, and the map slots of (3.16).

    The thesis calls the result of (3.16) map *tasks*; it is map *slots*. It is infinite if the reduce wave alone takes
    the whole deadline.
    """
    a, b, c = coefficients(profile)
    reduce_slots = float(profile.reduce_tasks)
    left = deadline - c - (b / reduce_slots if reduce_slots else 0.0)
    return SlotCounts(slots_within(a, left), reduce_slots)


def least_slots(profile: WaveProfile, deadline: float) -> SlotCounts:
    """Return the least sum of map and reduce slots that meets the deadline by (3.15): (3.17) and (3.18).

    It is infinite if the constant part alone takes the whole deadline.
    """
    a, b, c = coefficients(profile)
    left = deadline - c
    if left <= 0.0:
        return SlotCounts(inf, inf if b else 0.0)
    return SlotCounts(*fewest_vms(a, b, left, 1.0))


def whole_slots(wanted: float, tasks: int) -> int:
    """Return the slots that a scheduler takes: rounded up, at least one if there are tasks, never more than tasks."""
    if tasks == 0:
        return 0
    return tasks if wanted >= tasks else max(1, int(ceiling(wanted)))


def _bounds(lower: float, upper: float) -> WaveTimes:
    return WaveTimes(lower, (lower + upper) / 2, upper)
