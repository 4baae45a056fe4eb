"""Completion-time estimates of MapReduce jobs on shared slots: coefficients A, B, C of equation (4)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.rounding import ceiling
from mrdsl.formulas.stages import StageWork

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from mrdsl.formulas.own_times import OwnTimes


Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Profile:
    """The execution profile of one job per class (paper 000, section 2.4).

    ``first_avg`` and ``first_max`` are the part of the first shuffle wave that does not overlap the map phase. If
    ``reduce_tasks`` is 0, the shuffle and reduce times have no effect and can be NaN.

    A class of stages is one phase here. ``map_tasks`` is the maximum of its concurrent tasks. ``map_max`` is its
    longest path of longest tasks. ``stages`` has the work; ``map_avg`` is NaN.

    ``startup`` is the time of a job without tasks [s]; every estimate contains it.
    """

    map_tasks: Floats
    map_avg: Floats
    map_max: Floats
    shuffle_first_avg: Floats
    shuffle_first_max: Floats
    shuffle_avg: Floats
    shuffle_max: Floats
    reduce_tasks: Floats
    reduce_avg: Floats
    reduce_max: Floats
    stages: StageWork | None = None
    startup: Floats | float = 0.0

    @property
    def outside(self) -> tuple[Floats, Floats]:
        """The least and the most time of a job without tasks [s]: its startup, and the delays of its stages."""
        nothing = self.startup + np.zeros_like(self.map_tasks)
        if self.stages is None:
            return nothing, nothing
        delays = np.nan_to_num(self.stages.delay_low), np.nan_to_num(self.stages.delay_high)
        return nothing + delays[0], nothing + delays[1]

    @property
    def map_work(self) -> Floats:
        """The work of one job before its reduce phase, in slot-seconds: N_M M_avg, or that of its stages."""
        work = self.map_tasks * self.map_avg
        return work if self.stages is None else np.where(np.isnan(self.stages.work), work, self.stages.work)

    @property
    def path(self) -> Floats:
        """No job ends before its time without tasks, and its longest path of average tasks if it has stages."""
        return self.outside[0] + (0.0 if self.stages is None else np.nan_to_num(self.stages.path_avg))

    @property
    def map_only(self) -> Flags:
        """Classes without reduce tasks, and therefore without shuffle and reduce terms."""
        return np.asarray(self.reduce_tasks == 0)


def faster(profile: Profile, speed: Floats) -> Profile:
    """Return the profile in which map and reduce tasks, and those of stages, take 1/``speed`` of their time.

    The time of the shuffle depends on the network, so it stays. ``speed`` may have a leading axis of machine types.
    """
    p, stages = profile, profile.stages
    return replace(
        p,
        map_avg=p.map_avg / speed,
        map_max=p.map_max / speed,
        reduce_avg=p.reduce_avg / speed,
        reduce_max=p.reduce_max / speed,
        stages=None
        if stages is None
        else replace(
            stages,
            work=stages.work / speed,
            path_avg=stages.path_avg / speed,
            path_max=stages.path_max / speed,
            beside=stages.beside / speed,
        ),
    )


@dataclass(frozen=True)
class Coefficients:
    """``T = map_work h/s_M + reduce_work h/s_R + constant``, equation (4): A, B and C in seconds.

    A and B are slot-seconds of one job; h jobs run concurrently on s_M map and s_R reduce slots. ``path`` is a lower
    bound on the end of every job, for any slots; a maximum of both would not be of the form (4). ``own`` are the times
    on whole slots that are not of this form, of which A, B and C are then below.
    """

    map_work: Floats
    reduce_work: Floats
    constant: Floats
    path: Floats | float = 0.0
    own: OwnTimes | None = None

    def at(self, key: Any) -> Coefficients:
        """Return those at a place of the arrays."""
        path = np.broadcast_to(self.path, self.map_work.shape)[key]
        own = None if self.own is None else self.own.at(key)
        return Coefficients(self.map_work[key], self.reduce_work[key], self.constant[key], path, own)

    def placed(self, places: Any, others: Coefficients) -> Coefficients:
        """Return those with others at some places; both have exact times, or none has."""
        parts = []
        for name in ("map_work", "reduce_work", "constant", "path"):
            part = np.broadcast_to(getattr(self, name), self.map_work.shape).copy()
            part[places] = getattr(others, name)
            parts.append(part)
        own = None if self.own is None or others.own is None else self.own.placed(places, others.own)
        return Coefficients(parts[0], parts[1], parts[2], parts[3], own)

    def with_parts(self, maps: Floats, reduces: Floats) -> Coefficients:
        """Return those of slots that do the work of a part of a slot each, or of several ones."""
        own = None if self.own is None else self.own.with_parts(maps, reduces)
        return replace(self, map_work=self.map_work / maps, reduce_work=self.reduce_work / reduces, own=own)


def lower(profile: Profile) -> Coefficients:
    """Return the lower estimate, equation (1): A = N_M M_avg, B = N_R (Sh_avg + R_avg), C = Sh1_avg - Sh_avg.

    C can be negative. Map-only classes have B = C = 0. Classes of stages have their work as A, and a ``path``.
    """
    p = profile
    return Coefficients(
        p.map_work,
        _where_reducing(p, p.reduce_tasks * (p.shuffle_avg + p.reduce_avg)),
        _where_reducing(p, p.shuffle_first_avg - p.shuffle_avg) + p.outside[0],
        p.path,
    )


def upper(profile: Profile, low: Coefficients | None = None) -> Coefficients:
    """Return the upper estimate, equation (2), with a correction for classes of few tasks.

    A = N_M M_avg - 2 M_max, B = N_R (Sh_avg + R_avg) - 2 (Sh_max + R_max), C = Sh1_max + 2 (Sh_max + M_max + R_max).
    For a class of stages A = W - 2 P and C = 2 P, with its work W and its longest path P of longest tasks.

    Correction to the paper: A or B can be at or below zero (few tasks: N avg <= 2 max). The coefficient of the lower
    estimate then replaces it, with the upper constant. That is still a valid upper bound, since it only adds to the
    right-hand side of Proposition 2.5. ``check_few_tasks`` warns about these classes.

    ``low`` is the lower estimate if it is already known.
    """
    p, low = profile, low or lower(profile)
    map_work, reduce_work = _printed_upper_work(p)
    return Coefficients(
        np.where(map_work > 0.0, map_work, low.map_work),
        np.where(reduce_work > 0.0, reduce_work, low.reduce_work),
        2.0 * p.map_max + _where_reducing(p, p.shuffle_first_max + 2.0 * (p.shuffle_max + p.reduce_max)) + p.outside[1],
    )


def dedicated_upper(profile: Profile) -> Coefficients:
    """Return the upper estimate of a job that is alone on its slots: Proposition 2.1 for each phase.

    A = N_M M_avg - M_max, B = N_R (Sh_avg + R_avg) - (Sh_max + R_max), C = Sh1_max + M_max + Sh_max + R_max. The whole
    constant of a typical shuffle remains in C, as in (2), although the first wave replaces one of them. If first
    shuffles may last longer than typical ones, theirs remains.

    Correction: if ``N avg < max``, avg cannot be the average of one job's N tasks, one of which may last max alone. The
    longest tasks then bound the work: A = (N_M - 1) M_max, and B alike. For stages A = W - P and C = P.
    """
    p, reducing = profile, ~profile.map_only
    longest = np.maximum(p.shuffle_max, p.shuffle_first_max) + p.reduce_max
    beside = _beside_longest(p.map_tasks, p.map_avg, p.map_max)
    return Coefficients(
        beside if p.stages is None else np.where(np.isnan(p.stages.beside), beside, p.stages.beside),
        np.where(reducing, _beside_longest(p.reduce_tasks, p.shuffle_avg + p.reduce_avg, longest), 0.0),
        p.map_max + np.where(reducing, p.shuffle_first_max + longest, 0.0) + p.outside[1],
    )


def _beside_longest(tasks: Floats, avg: Floats, longest: Floats) -> Floats:
    """Return the work in addition to one longest task, ``N avg - max``; ``(N - 1) max`` if that is negative."""
    work = tasks * avg - longest
    return np.where(work >= 0.0, work, (tasks - 1.0) * longest)


def average(profile: Profile) -> Coefficients:
    """Return the mean of the lower and the upper estimate, equation (3); an approximation, not a bound."""
    low = lower(profile)
    return between(low, upper(profile, low))


def between(low: Coefficients, high: Coefficients) -> Coefficients:
    """:func:`average` from the lower and the upper estimate of one profile."""
    return Coefficients(
        (low.map_work + high.map_work) / 2.0,
        (low.reduce_work + high.reduce_work) / 2.0,
        (low.constant + high.constant) / 2.0,
    )


def completion(work: Coefficients, jobs: Floats, map_slots: Floats, reduce_slots: Floats) -> Floats:
    """Equation (4): the completion time of one of ``jobs`` jobs that share the slots of their class.

    A phase without work takes no time, whatever its slots; work without slots never ends (infinity); without jobs
    there is no completion time (NaN).
    """
    time = phase(work.map_work, jobs, map_slots) + phase(work.reduce_work, jobs, reduce_slots) + work.constant
    if work.own is not None:
        with np.errstate(divide="ignore", invalid="ignore"):
            time = np.where(work.own.exact, work.own.time(map_slots / jobs, reduce_slots / jobs), time)
    return np.where(jobs > 0.0, time, np.nan)


def phase(work: Floats, jobs: Floats | float, slots: Floats) -> Floats:
    """Return the time of one phase of (4): 0 without work, infinite if there is work and no slot."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(work > 0.0, work * jobs / slots, work)


def _printed_upper_work(profile: Profile) -> tuple[Floats, Floats]:
    p = profile
    return (
        p.map_work - 2.0 * p.map_max,
        _where_reducing(p, p.reduce_tasks * (p.shuffle_avg + p.reduce_avg) - 2.0 * (p.shuffle_max + p.reduce_max)),
    )


def _where_reducing(profile: Profile, values: Floats) -> Floats:
    return np.where(profile.map_only, 0.0, values)


Number = TypeVar("Number", float, "NDArray[np.float64]")


def reduce_phase(waves: Number, first_shuffle: Number, shuffle: Number, reduce: Number) -> Number:
    """Return the time of shuffle and reduce in ``waves`` waves, from the end of the map phase: (3.4) to (3.10)."""
    return first_shuffle + (waves - 1.0) * shuffle + waves * reduce


def smooth(
    map_tasks: Number, map_time: Number, reduce_tasks: Number, first_shuffle: Number, shuffle: Number, reduce: Number
) -> tuple[Number, Number, Number]:
    """A, B and C of (3.15), waves taken as fractions: ``A / map slots + B / reduce slots + C``."""
    return map_tasks * map_time, reduce_tasks * (shuffle + reduce), first_shuffle - shuffle


def fewest_vms(map_work: Number, reduce_work: Number, left: Number, ratio: Number) -> tuple[Number, Number]:
    """Map and reduce slots that end both phases in ``left`` on the fewest VMs: Theorem 4.1.

    ``ratio`` is the map slots of a VM over its reduce slots. With 1 it is the least sum of slots, (3.17) and (3.18).
    """
    both = map_work * reduce_work
    return ((both * ratio) ** 0.5 + map_work) / left, ((both / ratio) ** 0.5 + reduce_work) / left


Factor = float | Floats


def scaled(profile: Profile, factor: Factor) -> Profile:
    """Return the profile of the same job on ``factor`` times the data (a number, or one per class).

    Map tasks are rounded up to whole blocks; at least one remains. Shuffle and reduce times grow linearly, without an
    intercept: the thesis states linearity and prints no coefficients. Raises ValueError if a factor is not positive.
    """
    ratio = np.asarray(factor, dtype=np.float64)
    if not (ratio > 0.0).all():
        raise ValueError("the data must grow by a positive factor")
    tasks = profile.map_tasks * ratio
    return replace(
        profile,
        map_tasks=np.maximum(ceiling(tasks), 1.0),
        shuffle_first_avg=profile.shuffle_first_avg * ratio,
        shuffle_first_max=profile.shuffle_first_max * ratio,
        shuffle_avg=profile.shuffle_avg * ratio,
        shuffle_max=profile.shuffle_max * ratio,
        reduce_avg=profile.reduce_avg * ratio,
        reduce_max=profile.reduce_max * ratio,
    )


def completion_expression(work: Coefficients, which: int, jobs: Any, map_slots: Any, reduce_slots: Any) -> Any:
    """Return the completion time of one class as an expression: (4).

    Phases without work leave no term, so that no slot divides by 0.
    """
    map_work, reduce_work = float(work.map_work[which]), float(work.reduce_work[which])
    time = float(work.constant[which])
    if map_work > 0.0:
        time = time + map_work * jobs / map_slots
    if reduce_work > 0.0:
        time = time + reduce_work * jobs / reduce_slots
    return time


def deadline_constraint(
    work: Coefficients, which: int, jobs: Any, map_slots: Any, reduce_slots: Any, deadline: Any
) -> Any:
    """Return the deadline as the paper prints it: (6). Slots must be bounded away from 0."""
    return completion_expression(work, which, jobs, map_slots, reduce_slots) <= deadline


Numbers = float | Floats


def phase_lower(tasks: Numbers, avg: Numbers, slots: Numbers) -> Floats:
    """Return the least time of one phase on its own slots: ``n mu / k`` (Verma et al., taken over by the paper)."""
    return _array(tasks) * avg / slots


def phase_upper(tasks: Numbers, avg: Numbers, longest: Numbers, slots: Numbers) -> Floats:
    """Return the greatest time of a phase, greedily assigned: ``(n mu - lambda) / k + lambda``, Proposition 2.1."""
    return (_array(tasks) * avg - longest) / slots + longest


def two_jobs_lower(work: Numbers, share: Numbers, other_work: Numbers, slots: Numbers) -> tuple[Floats, Floats]:
    """Return the least times of the job that ends first and of the one that ends second, Proposition 2.2.

    ``work`` is ``n mu`` [s]; the other job has the share ``1 - share``. The first value assumes that both jobs fill
    their shares until one ends; the second always holds.
    """
    mine, theirs, part = _array(work), _array(other_work), _array(share)
    first = np.minimum(mine / (part * slots), theirs / ((1.0 - part) * slots))
    return first, (mine + theirs) / slots


def two_jobs_upper(
    tasks: Numbers, avg: Numbers, longest: Numbers, share: Numbers, other_work: Numbers, slots: Numbers
) -> Floats:
    """Return the greatest time of a job if another one shares its slots work-conservingly, Proposition 2.3."""
    part, rest = _array(share), _array(tasks) * avg - longest
    alone = rest / (part * slots)
    other = _array(other_work)
    together = (other + rest) / slots
    return np.where(other / ((1.0 - part) * slots) >= alone, alone, together) + longest


def class_lower(tasks: Numbers, avg: Numbers, jobs: Numbers, share: Numbers, slots: Numbers) -> Floats:
    """Return the least time of one of ``jobs`` jobs of a class: ``n mu h / (k share)``, Proposition 2.4."""
    return _array(tasks) * avg * jobs / (_array(share) * slots)


def class_upper(
    tasks: Numbers, avg: Numbers, longest: Numbers, jobs: Numbers, share: Numbers, slots: Numbers
) -> Floats:
    """Return the greatest time of one of ``jobs`` jobs of a class: ``(n mu - 2 lambda) h / (k share) + 2 lambda``, 2.5.

    Correction to the paper: if ``n mu <= 2 lambda`` the first term would be negative; ``n mu`` then replaces its
    bracket, which only adds to the bound.
    """
    work = _array(tasks) * avg
    bracket = np.where(work > 2.0 * _array(longest), work - 2.0 * _array(longest), work)
    return bracket * jobs / (_array(share) * slots) + 2.0 * _array(longest)


def _array(value: Numbers) -> Floats:
    return np.asarray(value, dtype=np.float64)
