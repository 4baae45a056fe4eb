"""Times of one job by every estimate, from its tasks: the bounds of list scheduling, their middle, and the mean.

A job has its own slots, or shares those of its class. On k of its own slots:

- Lower: the work over k, and the longest path of average tasks.
- Upper: a part of the job that is before or after every other one is bounded alone, by ``(W - P)/k + P`` with its work
  W and its longest path of longest tasks P (Graham 1969), and by P if k is at least its width.
- Mean: the sum of the means of such parts (:mod:`mrdsl.formulas.phase_means`); jobs with recorded times, or with stages
  side by side, are simulated.

If jobs share slots, lower and upper are equations (1) and (2) of paper 000, whose second longest task is the time for
which a job waits for slots of the others. Map and reduce tasks have different slots, so the times of both phases add.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.rounding import SAME_SUM, floor
from mrdsl.formulas import mapreduce
from mrdsl.formulas.mapreduce import Coefficients, Profile
from mrdsl.formulas.phase_means import mean_times, shapes_of, sums_of
from mrdsl.formulas.profiles import profile_of
from mrdsl.formulas.stages import parents_of, serial_parts, width_and_beside
from mrdsl.formulas.wave_estimates import least
from mrdsl.spec.blocks import Stage, any_stages, stages_of
from mrdsl.spec.columns import Columns, column, names_of, parts_of, words
from mrdsl.spec.estimates import CLASS, OWN
from mrdsl.spec.estimates import PAPER as PAPER_ESTIMATES

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Ints = NDArray[np.int64]
Simulated = Callable[[Any, int, float, tuple[int, ...]], Sequence[float]]
"""Mean times [s] of a class's map (0) or reduce (1) phase at a speed on numbers of slots, by simulation."""
BOUNDS = ("lower", "average", "upper")


@dataclass(frozen=True)
class Model:
    """Time model of a spec.

    ``paper``: estimates are the printed ones. ``exact``: slots are whole, and some estimate is not of the form (4).
    ``default``: the guarantee of classes without one.
    """

    paper: bool = True
    exact: bool = False
    default: str = "average"
    simulated: Simulated | None = None


PAPER = Model()


@dataclass(frozen=True)
class _Tasks:
    """Phases of equal tasks: their number, mean time [s] and shape, and the slots of each task."""

    count: Floats
    avg: Floats
    shape: Ints
    slots: Floats

    def mean(self, rows: Any, slots: Floats) -> Floats:
        count = np.maximum(self.count[rows], 1.0)
        found: Floats = self.avg[rows] * mean_times(
            count, np.clip(np.floor(slots / self.slots[rows]), 1.0, count), self.shape[rows]
        )
        return found


@dataclass(frozen=True)
class _Means:
    """What the mean times of rows follow from.

    ``first``: how much longer a first shuffle is than others [s]. ``fixed``: the time outside tasks [s]. ``parts``: the
    tasks of stages, of the rows ``of_part``. ``nodes``: the classes of rows that ``engine`` simulates, at a ``speed``.
    """

    maps: _Tasks
    reduces: _Tasks
    first: Floats
    fixed: Floats
    staged: Flags
    parts: _Tasks
    of_part: Ints
    nodes: dict[int, Any]
    speed: Floats
    engine: Simulated | None

    def of_maps(self, rows: Ints, slots: Floats) -> Floats:
        """Return the mean time before the reduce phase, and the constant time [s], on whole slots."""
        found = self.fixed[rows] + np.where(self.staged[rows], 0.0, self.maps.mean(rows, slots))
        if self.staged[rows].any():
            places = {row: np.flatnonzero(self.of_part == row) for row in np.unique(rows[self.staged[rows]]).tolist()}
            mine = [places.get(row, np.zeros(0, dtype=np.int64)) for row in rows.tolist()]
            counts = np.array([len(each) for each in mine])
            times = self.parts.mean(np.concatenate(mine), np.repeat(slots, counts))
            found += np.bincount(np.repeat(np.arange(len(rows)), counts), times, len(rows))
        return self._simulated(found, 0, rows, slots)

    def of_reduces(self, rows: Ints, slots: Floats) -> Floats:
        """Return the mean time of the reduce phase [s], on whole slots."""
        found = self.reduces.mean(rows, slots) + self.first[rows]
        return self._simulated(np.where(self.reduces.count[rows] > 0.0, found, 0.0), 1, rows, slots)

    def _simulated(self, found: Floats, kind: int, rows: Ints, slots: Floats) -> Floats:
        """Replace means that are simulated."""
        for row in np.unique(rows).tolist() if self.nodes and self.engine is not None else ():
            if row in self.nodes and (kind == 0 or self.reduces.count[row] > 0.0):
                mine = np.flatnonzero(rows == row)
                wanted = tuple(slots[mine].astype(int).tolist())
                assert self.engine is not None
                found[mine] = self.engine(self.nodes[row], kind, float(self.speed[row]), wanted)
        return found


@dataclass(frozen=True)
class JobTimes:
    """Numbers of jobs; one element per row, a class at a speed.

    ``low``, ``high``: A, B and C of the bounds. From ``caps[0]`` slots on, the upper bound is less by ``caps[1]`` over
    the slots, (parts, rows). From ``reduce_cap[0]`` reduce slots on, it is less by ``reduce_cap[1]`` over them and by
    ``reduce_cap[2]``. ``path``, ``reduce_path``: the least time before the reduce phase, with the constant time, and of
    that phase [s]. ``given``: A, B and C are the only estimate. ``printed``: the bounds are those of paper 000.
    ``describe`` reads the tasks.
    """

    low: Coefficients
    high: Coefficients
    given: Flags
    printed: Flags
    caps: tuple[Floats, Floats]
    reduce_cap: tuple[Floats, Floats, Floats]
    path: Floats
    reduce_path: Floats
    describe: Callable[[], _Means]

    @cached_property
    def means(self) -> _Means:
        """The tasks of the rows, for means."""
        return self.describe()

    @cached_property
    def content(self) -> bytes | None:
        """Bytes that differ between jobs with different times; None if some are simulated."""
        means = self.means
        if means.nodes:
            return None
        tasks = (each for kind in (means.maps, means.reduces, means.parts) for each in vars(kind).values())
        parts = *tasks, means.first, means.fixed, means.staged, means.of_part, self.path, self.reduce_path
        works = (each for work in (self.low, self.high) for each in _abc(work))
        return b"".join(np.ascontiguousarray(each).tobytes() for each in (*parts, *self.caps, *self.reduce_cap, *works))

    def maps_by(self, name: str, rows: Ints, slots: Floats) -> Floats:
        """Return the time of a job before its reduce phase, and its constant time [s]."""
        if name == "mean":
            return _between_whole(self.means.of_maps, rows, slots)
        if name == "average":
            return (self.maps_by("lower", rows, slots) + self.maps_by("upper", rows, slots)) / 2.0
        work = self.low if name == "lower" else self.high
        time = work.map_work[rows] / slots + work.constant[rows]
        if name == "lower":
            return np.asarray(np.maximum(time, self.path[rows]))
        enough = slots >= self.caps[0][:, rows] * (1.0 - SAME_SUM)
        return np.asarray(time - (enough * self.caps[1][:, rows]).sum(axis=0) / slots)

    def reduces_by(self, name: str, rows: Ints, slots: Floats) -> Floats:
        """Return the time of the reduce phase of a job [s]."""
        if name == "mean":
            return _between_whole(self.means.of_reduces, rows, slots)
        if name == "average":
            return (self.reduces_by("lower", rows, slots) + self.reduces_by("upper", rows, slots)) / 2.0
        work = (self.low if name == "lower" else self.high).reduce_work[rows]
        time = np.divide(work, slots, out=np.zeros_like(work), where=work > 0.0)
        if name == "lower":
            return np.asarray(np.maximum(time, self.reduce_path[rows]))
        at, less, rest = (part[rows] for part in self.reduce_cap)
        enough = (slots >= at * (1.0 - SAME_SUM)) & (at > 0.0)
        return np.where(enough, time - np.divide(less, slots, out=np.zeros_like(less), where=less > 0.0) - rest, time)


def _between_whole(mean: Callable[[Ints, Floats], Floats], rows: Ints, slots: Floats) -> Floats:
    """Return means of whole slots, and the line between them; below 1, the time of one slot over the slots."""
    below = np.maximum(floor(slots), 1.0)
    found, part = mean(rows, below), slots - below
    between = np.flatnonzero(part > SAME_SUM * below)
    if len(between):
        found[between] += part[between] * (mean(rows[between], below[between] + 1.0) - found[between])
    few = (slots < 1.0 - SAME_SUM) & (found > 0.0)
    with np.errstate(divide="ignore"):
        found[few] /= slots[few]
    return found


@dataclass(frozen=True)
class OwnTimes:
    """The exact time of one job by an estimate, of any shape; ``names`` is "" for jobs with A, B and C alone.

    ``rows`` are those of the ``source``-th numbers of ``jobs``. ``map_part``, ``reduce_part``: concurrent tasks of a
    slot, less the part of its work that is lost.
    """

    jobs: tuple[JobTimes, ...]
    source: Ints
    rows: Ints
    names: NDArray[np.str_]
    map_part: Floats
    reduce_part: Floats

    def at(self, key: Any) -> OwnTimes:
        """Return the times at a place of the arrays."""
        return OwnTimes(self.jobs, *(np.asarray(each[key]) for each in self._arrays))

    def placed(self, places: Any, others: OwnTimes) -> OwnTimes:
        """Return the times with those of other jobs at some places."""
        arrays = [each.copy() for each in self._arrays]
        sources = others.source + len(self.jobs), *others._arrays[1:]
        for mine, theirs in zip(arrays, sources, strict=True):
            mine[places] = theirs
        return OwnTimes((*self.jobs, *others.jobs), *arrays)

    @property
    def key(self) -> bytes:
        """Bytes that differ between jobs with different times."""
        return b"".join(np.ascontiguousarray(each).tobytes() for each in self._arrays)

    @property
    def _arrays(self) -> tuple[Any, ...]:
        return self.source, self.rows, self.names, self.map_part, self.reduce_part

    def with_parts(self, maps: Floats, reduces: Floats) -> OwnTimes:
        """Return the times if each slot does the work of a part of one."""
        return replace(self, map_part=self.map_part * maps, reduce_part=self.reduce_part * reduces)

    @property
    def exact(self) -> Flags:
        """True for jobs with such times."""
        return np.asarray(self.names != "")

    def time(self, map_slots: Floats, reduce_slots: Floats) -> Floats:
        """Return the time of a job on its slots [s]; infinite without a slot for its tasks, NaN without exact times."""
        return self.maps(map_slots) + self.reduces(reduce_slots)

    def maps(self, slots: Floats) -> Floats:
        """Return the time before the reduce phase, and the constant time [s]; NaN without exact times."""
        return self._by("maps_by", slots, self.map_part)

    def reduces(self, slots: Floats) -> Floats:
        """Return the time of the reduce phase [s]."""
        return self._by("reduces_by", slots, self.reduce_part)

    def _by(self, kind: str, slots: Floats, part: Floats) -> Floats:
        source, rows, names, slots, part = np.broadcast_arrays(self.source, self.rows, self.names, slots, part)
        found, known = np.full(rows.shape, np.nan), np.isfinite(slots)
        for number, jobs in enumerate(self.jobs):
            for name in (*BOUNDS, "mean"):
                mine = (names == name) & (source == number) & known
                if mine.any():
                    found[mine] = getattr(jobs, kind)(name, rows[mine], (slots * part)[mine])
        return found


def job_times(
    classes: Sequence[Any],
    model: Model,
    profile: Profile | None = None,
    speed: Floats | None = None,
    shared: Flags | None = None,
    shortest: tuple[Floats, Floats, Floats] | None = None,
) -> JobTimes:
    """Return the numbers of every class, or of every class at several speeds, one after the other.

    Args:
        classes: The classes.
        model: The time model.
        profile: Their profiles, if not those that they state; they then have no coefficients.
        speed: Divisors of the times of tasks, shape (..., classes); by default 1.
        shared: Classes whose jobs share slots; by default :func:`shares_slots`.
        shortest: Shortest times of map tasks, shuffles and reduce tasks [s], NaN if not known; by default as stated.
    """
    known = profile or profile_of(classes)
    speed = np.ones_like(known.map_tasks) if speed is None else speed
    p = _flat(mapreduce.faster(known, speed), speed.shape)
    of_class = np.tile(np.arange(len(classes)), speed.size // max(len(classes), 1))
    speed = speed.ravel()
    printed = (shares_slots(classes) if shared is None else shared)[of_class] | model.paper
    given = [np.full_like(speed, np.nan)] * 3
    if profile is None:
        given = [column(classes, f"coefficients.{name}")[of_class] / speed for name in ("A", "B", "C")]
    given[2] = given[2] + p.startup
    is_given, reducing = ~np.isnan(given[0]), ~p.map_only
    low = mapreduce.lower(p)
    own, paper = mapreduce.dedicated_upper(p), mapreduce.upper(p, low)

    def known_work(*works: Coefficients) -> Coefficients:
        """Return given coefficients, or the first work of jobs that share slots and the last one of others."""
        parts = zip(given, *(_abc(work) for work in works), strict=True)
        return Coefficients(*(np.where(is_given, one, np.where(printed, each[0], each[-1])) for one, *each in parts))

    some = any_stages(classes)
    stages = stages_of(classes) if some else [()] * len(classes)
    staged = np.array([bool(each) for each in stages])[of_class] if some else np.zeros(len(of_class), dtype=bool)
    bare = is_given | printed
    return JobTimes(
        replace(known_work(low), path=low.path),
        known_work(paper, own),
        is_given,
        printed,
        _caps(stages, of_class, p, np.where(is_given | printed, np.nan, own.map_work), speed),
        (
            np.where(reducing & ~printed & ~is_given, p.reduce_tasks, 0.0),
            own.reduce_work,
            np.where(reducing, np.maximum(p.shuffle_max, p.shuffle_first_max), 0.0),
        ),
        np.where(bare, -np.inf, np.where(staged, p.path, np.nan_to_num(p.map_avg) + low.constant)),
        np.where(reducing & ~bare, p.shuffle_avg + p.reduce_avg, 0.0),
        partial(_described, classes, p, of_class, speed, shortest, staged, model.simulated),
    )


def _described(
    classes: Sequence[Any],
    p: Profile,
    of_class: Ints,
    speed: Floats,
    shortest: tuple[Floats, Floats, Floats] | None,
    staged: Flags,
    engine: Simulated | None,
) -> _Means:
    """Return what the means of every row follow from."""
    stages = stages_of(classes) if any_stages(classes) else [()] * len(classes)
    simulated = _simulated(classes, stages)
    return _Means(
        *_phases(classes, p, of_class, speed, shortest),
        np.where(~p.map_only, p.shuffle_first_avg - p.shuffle_avg, 0.0),
        p.outside[1] + np.zeros_like(speed),
        staged,
        *_parts(classes, stages, of_class, speed),
        {row: classes[index] for row, index in enumerate(of_class.tolist()) if index in simulated},
        speed,
        engine,
    )


def shares_slots(classes: Sequence[Any]) -> Flags:
    """Return the classes whose jobs share the slots of their class: of phases by default, and several jobs at once."""
    said = words(classes, "sharing")
    by_default = np.array([not stages for stages in stages_of(classes)]) if any_stages(classes) else said == ""
    several = ~(np.nan_to_num(column(classes, "jobs.high"), nan=np.inf) <= 1.0)
    return np.asarray(((said == "class") | ((said == "") & by_default)) & several)


def own_classes(facts: Any) -> set[str]:
    """Return the names of the classes whose simulated jobs have their own slots: as stated, or by the time model."""
    said = words(facts.classes, "sharing")
    own = ~shares_slots(facts.classes) if facts.estimates != PAPER_ESTIMATES else said == OWN
    names = names_of(facts.classes)
    return {names[index] for index in np.flatnonzero(own & (said != CLASS)).tolist()}


def _abc(work: Coefficients) -> tuple[Floats, Floats, Floats]:
    return work.map_work, work.reduce_work, work.constant


def _flat(profile: Profile, shape: tuple[int, ...]) -> Profile:
    """Return a profile whose arrays have one element per row."""

    def flat(values: Any) -> Any:
        return np.broadcast_to(values, shape).ravel()

    parts = {each.name: flat(getattr(profile, each.name)) for each in fields(profile) if each.name != "stages"}
    work = profile.stages
    if work is not None:
        work = replace(work, **{each.name: flat(getattr(work, each.name)) for each in fields(work)})
    return replace(profile, stages=work, **parts)


def _caps(
    stages: Sequence[tuple[Stage, ...]], of_class: Ints, p: Profile, work: Floats, speed: Floats
) -> tuple[Floats, Floats]:
    """Return from how many slots on each part of a job is bounded by its longest path, and the work beside that path.

    ``work`` is that of phases; NaN if their jobs share slots or are not known.
    """
    rows = [_parts_of(each) if each else () for each in stages]
    levels = max([1, *map(len, rows)])
    at, less = np.full((levels, len(of_class)), np.inf), np.zeros((levels, len(of_class)))
    at[0], less[0] = np.where(np.isnan(work), np.inf, p.map_tasks), np.nan_to_num(work)
    for row, index in enumerate(of_class.tolist() if any(rows) else ()):
        for level, part in enumerate(rows[index]):
            at[level, row] = np.inf if np.isnan(work[row]) else part.width
            less[level, row] = part.beside / speed[row]
    return at, less


def _phases(
    classes: Sequence[Any],
    p: Profile,
    of_class: Ints,
    speed: Floats,
    shortest: tuple[Floats, Floats, Floats] | None,
) -> tuple[_Tasks, _Tasks]:
    """Return the map and the reduce tasks of every row, with the time of a shuffle."""
    names = ("map.min", "shuffle.min", "reduce.min")
    stated = [column(classes, name) for name in names] if shortest is None else shortest
    said = words(classes, "distribution", "uniform")[of_class]
    kinds = (
        (p.map_avg, p.map_max, p.map_tasks, speed),
        (p.shuffle_avg, p.shuffle_max, p.reduce_tasks, np.ones_like(speed)),
        (p.reduce_avg, p.reduce_max, p.reduce_tasks, speed),
    )
    shapes = [
        shapes_of(said, least(avg, longest, low[of_class] / by), avg, longest, tasks)
        for (avg, longest, tasks, by), low in zip(kinds, stated, strict=True)
    ]
    shuffle, reduce = np.nan_to_num(p.shuffle_avg), np.nan_to_num(p.reduce_avg)
    both = shuffle + reduce
    part = np.divide(shuffle, both, out=np.zeros_like(both), where=both > 0.0)
    one = np.ones_like(both)
    maps = _Tasks(np.nan_to_num(p.map_tasks), np.nan_to_num(p.map_avg), shapes[0], one)
    return maps, _Tasks(np.nan_to_num(p.reduce_tasks), both, sums_of(shapes[1], shapes[2], part), one)


def _parts(
    classes: Sequence[Any], stages: Sequence[tuple[Stage, ...]], of_class: Ints, speed: Floats
) -> tuple[_Tasks, Ints]:
    """Return the tasks of all stages, and their rows."""
    found: list[tuple[float, float, float, float, float, str]] = []
    rows: list[int] = []
    said = words(classes, "distribution", "uniform")
    for row in np.flatnonzero(np.array([bool(each) for each in stages])[of_class]).tolist():
        index, by = int(of_class[row]), float(speed[row])
        for stage in stages[index]:
            word = str(stage.distribution or said[index])
            shortest = max(2.0 * stage.avg - stage.max, 0.0)
            found.append((stage.tasks, shortest / by, stage.avg / by, stage.max / by, stage.slots, word))
            rows.append(row)
    numbers = np.array([each[:5] for each in found], dtype=np.float64).reshape(-1, 5).T
    spread = np.array([each[5] for each in found], dtype=np.str_)
    shapes = shapes_of(spread, numbers[1], numbers[2], numbers[3], numbers[0])
    return _Tasks(numbers[0], numbers[2], shapes, numbers[4]), np.array(rows, dtype=np.int64)


def _simulated(classes: Sequence[Any], stages: Sequence[tuple[Stage, ...]]) -> set[int]:
    """Return the classes with recorded times, or with stages that can run side by side: their means are simulated."""
    found = {
        index
        for index, each in enumerate(stages)
        if each and (any(len(part.stages) > 1 for part in _parts_of(each)) or any(one.samples for one in each))
    }
    for item in ("samples", "recorded"):
        found |= _having(classes, item)
    return found


def _having(classes: Sequence[Any], item: str) -> set[int]:
    """Return the classes that state an item of recorded times."""
    found, before = set[int](), 0
    for part in parts_of(classes):
        if not isinstance(part, Columns):
            found |= {before + index for index, node in enumerate(part) if getattr(node, item, None) is not None}
        elif any(path.split(".")[0] == item for path in part.values):
            found |= {before + index for index in range(len(part)) if getattr(part[index], item) is not None}
        before += len(part)
    return found


@dataclass(frozen=True)
class _Part:
    """A part of a job that is before or after every other one: its stages, width, and work beside its longest path."""

    stages: tuple[int, ...]
    width: int
    beside: float


@lru_cache(maxsize=1 << 14)
def _parts_of(stages: tuple[Stage, ...]) -> tuple[_Part, ...]:
    """Return the parts of a job."""
    return tuple(
        _Part(tuple(numbers), *width_and_beside(tuple(stages[number] for number in numbers)))
        for numbers in serial_parts(parents_of(stages))
    )
