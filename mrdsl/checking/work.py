"""Work and completion times of jobs, and the fewest VMs of one, computed a second time for verification alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.rounding import ROUNDING, ceiling
from mrdsl.spec.blocks import Stage, any_stages, stages_of
from mrdsl.spec.columns import column

NONE = float("nan")


@dataclass(frozen=True)
class Dag:
    """Numbers of one job: work in slot-seconds, longest paths of average and of longest tasks [s], width in slots.

    ``fewest`` are the slots below which some stage never runs.
    """

    work: float = NONE
    path_avg: float = NONE
    path_max: float = NONE
    width: float = NONE
    age: float = NONE
    alone: float = NONE
    delays: float = NONE
    fewest: float = NONE


@lru_cache(maxsize=1 << 14)
def dag_of(stages: tuple[Stage, ...]) -> Dag:
    """Compute the numbers of one job; NaN without stages."""
    if not stages:
        return Dag()
    work = [stage.tasks * stage.slots * stage.avg for stage in stages]
    ages = [seconds_run(stage.avg, stage.max) for stage in stages]
    return Dag(
        sum(work),
        longest_path(stages, [stage.avg for stage in stages]),
        longest_path(stages, [stage.max for stage in stages]),
        width_of(stages),
        sum(part * age for part, age in zip(work, ages, strict=True)) / sum(work),
        _delays_alone(stages),
        longest_path(stages, [stage.delay for stage in stages]),
        max(stage.slots * (stage.tasks if stage.barrier == "yes" else 1) for stage in stages),
    )


def _delays_alone(stages: tuple[Stage, ...]) -> float:
    """Sum up the delays of stages that come before or after every other stage."""
    if not any(stage.delay for stage in stages):
        return 0.0
    named = {stage.name: stage for stage in stages}
    earlier: dict[str, set[str]] = {}
    for stage in stages:
        found, waiting = set[str](), list(stage.after)
        while waiting:
            name = waiting.pop()
            if name in named and name not in found:
                found.add(name)
                waiting += named[name].after
        earlier[stage.name] = found
    return sum(
        stage.delay
        for stage in stages
        if all(stage.name in earlier[other] or other in earlier[stage.name] for other in named if other != stage.name)
    )


def seconds_run(avg: float, longest: float) -> float:
    """Compute how long the task in a busy slot has run on average [s]: ``E[X^2] / (2 E[X])``, Ross, section 7.7."""
    if avg <= 0.0:
        return 0.0
    beyond = max(longest - avg, 0.0)
    return (avg * avg + min(beyond * beyond / 3.0, avg * beyond)) / (2.0 * avg)


def longest_path(stages: tuple[Stage, ...], lengths: list[float]) -> float:
    """Compute the longest path, by raising ends until none rises: at most as many rounds as stages."""
    place = {stage.name: number for number, stage in enumerate(stages)}
    before = [[place[name] for name in stage.after if name in place] for stage in stages]
    ends, rising = list(lengths), True
    for _ in stages:
        rising = False
        for number, others in enumerate(before):
            end = lengths[number] + max((ends[other] for other in others), default=0.0)
            if end > ends[number]:
                ends[number], rising = end, True
        if not rising:
            break
    return max(ends)


def beside_path(stages: Sequence[Stage]) -> float:
    """Sum up the work outside the longest path of longest tasks.

    Averages that no job can have count as longest tasks.
    """
    named = {stage.name: stage for stage in stages}
    ends: dict[str, tuple[float, tuple[str, ...]]] = {}

    def end(name: str) -> tuple[float, tuple[str, ...]]:
        if name not in ends:
            before = max((end(other) for other in named[name].after if other in named), default=(0.0, ()))
            ends[name] = before[0] + named[name].max, (*before[1], name)
        return ends[name]

    path = set(max((end(name) for name in named), key=lambda found: found[0])[1])
    total = 0.0
    for stage in stages:
        rest = stage.slots * (stage.tasks * stage.avg - (stage.max if stage.name in path else 0.0))
        total += stage.slots * (stage.tasks - 1.0) * stage.max if stage.name in path and rest < 0.0 else rest
    return total


def width_of(stages: tuple[Stage, ...]) -> float:
    """Compute the most tasks that run at once: maximize ``tasks (begun - ended)``, ``begun <= ended`` of stages before.

    The rows are differences of two variables, so that an optimal vertex is whole.
    """
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    place = {stage.name: number for number, stage in enumerate(stages)}
    count = len(stages)
    pairs = [(count + number, number) for number in range(count)]  # ended <= begun
    for number, stage in enumerate(stages):
        pairs += [(number, count + place[name]) for name in stage.after if name in place]  # begun <= ended before
    if len(pairs) == count:
        return float(sum(stage.tasks * stage.slots for stage in stages))
    rows = np.repeat(np.arange(len(pairs)), 2)
    columns = np.array(pairs).ravel()
    signs = np.tile([1.0, -1.0], len(pairs))
    matrix = coo_array((signs, (rows, columns)), shape=(len(pairs), 2 * count))
    tasks = np.array([float(stage.tasks * stage.slots) for stage in stages])
    found = linprog(np.concatenate([-tasks, tasks]), A_ub=matrix.tocsr(), b_ub=np.zeros(len(pairs)), bounds=(0.0, 1.0))
    return float(round(-found.fun))


Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

PHASES = {
    "map": ("tasks", "avg", "max"),
    "shuffle": ("first_avg", "first_max", "avg", "max"),
    "reduce": ("tasks", "avg", "max"),
}
GIVEN = {"coefficients": ("A", "B", "C")}
ESTIMATES = ("lower", "average", "upper")


@dataclass(frozen=True)
class Described:
    """The description of the jobs of each row in a spec: items by path, NaN for missing ones, stages, startup [s]."""

    items: Mapping[str, Floats]
    stages: Sequence[Dag | None]
    speed: Floats
    startup: Floats
    written: Sequence[tuple[Stage, ...]] = ()

    def __getitem__(self, path: str) -> Floats:
        return self.items[path]

    def of_stages(self, part: str) -> Floats:
        """Collect one number of the stages of every row; NaN for rows without."""
        if not self.stages:
            return np.full(len(self.speed), np.nan)
        return np.array([np.nan if dag is None else getattr(dag, part) for dag in self.stages])


@dataclass(frozen=True)
class Work:
    """``A / map slots + B / reduce slots + C`` of one job, and a lower bound on the end of every job [s]."""

    maps: Floats
    reduces: Floats
    rest: Floats
    path: Floats

    def time(self, map_slots: Floats, reduce_slots: Floats) -> Floats:
        """Compute the time of one job on its slots, equation (4)."""
        return _phase(self.maps, map_slots) + _phase(self.reduces, reduce_slots) + self.rest


def described(
    classes: Sequence[Any],
    of_class: Ints | None = None,
    own: Mapping[int, Any] | None = None,
    blocks: Mapping[str, tuple[str, ...]] | None = None,
) -> Described:
    """Read the description of each row.

    Args:
        classes: The classes of the spec.
        of_class: The class of each row; by default each class is a row.
        own: The values of ``on TYPE { ... }`` of some rows, by row.
        blocks: Blocks and their items that describe jobs; by default phases and coefficients.

    Returns:
        One element per row.
    """
    known = {**PHASES, **GIVEN} if blocks is None else blocks
    every = np.arange(len(classes)) if of_class is None else of_class
    items = {
        f"{block}.{item}": column(classes, f"{block}.{item}")[every] for block, names in known.items() for item in names
    }
    written = stages_of(classes) if any_stages(classes) else ()
    stages: list[Any] = [written[index] for index in every.tolist()] if written else []
    speed = np.ones(len(every))
    for place, row in (own or {}).items():
        speed[place] = row.speed
        if not row.described:
            continue
        stages = stages or [()] * len(every)
        measured = row.coefficients is not None
        stages[place] = () if measured else tuple(row.stages)
        for block, names in known.items():
            said = getattr(row, block)
            vanishes = (block == "coefficients") != measured or (bool(row.stages) and not measured)
            for item in names:
                if said is not None or vanishes:
                    value = None if said is None or vanishes else getattr(said, item)
                    items[f"{block}.{item}"][place] = np.nan if value is None else value
    dags = [dag_of(each) if each else None for each in stages] if any(stages) else ()
    return Described(items, dags, speed, column(classes, "startup", missing=0.0)[every], stages if dags else ())


def estimates(jobs: Described) -> dict[str, Work]:
    """Compute A, B and C of the lower, the average and the upper estimate of one job; NaN for unknown ones."""
    speed = jobs.speed
    map_work, map_max = jobs["map.tasks"] * jobs["map.avg"] / speed, jobs["map.max"] / speed
    path_avg = path_max = np.zeros_like(speed)
    least = most = jobs.startup
    if jobs.stages:
        least, most = (jobs.startup + np.nan_to_num(jobs.of_stages(part)) for part in ("alone", "delays"))
        staged = ~np.isnan(jobs.of_stages("work"))
        map_work = np.where(staged, jobs.of_stages("work") / speed, map_work)
        path_max = jobs.of_stages("path_max") / speed
        map_max = np.where(staged, path_max, map_max)
        path_avg = np.where(staged, jobs.of_stages("path_avg") / speed, 0.0)
    reduces = np.nan_to_num(jobs["reduce.tasks"])
    both_avg = jobs["shuffle.avg"] + jobs["reduce.avg"] / speed
    both_max = jobs["shuffle.max"] + jobs["reduce.max"] / speed
    first_avg, first_max = jobs["shuffle.first_avg"], jobs["shuffle.first_max"]
    first_avg = np.where(np.isnan(first_avg), first_max, first_avg)
    beyond = _if(reduces, first_avg - jobs["shuffle.avg"])
    low = Work(map_work, _if(reduces, reduces * both_avg), beyond + least, path_avg + least)
    high = Work(
        _above(map_work, map_max),
        _if(reduces, _above(reduces * both_avg, both_max)),
        2.0 * map_max + _if(reduces, first_max + 2.0 * both_max) + most,
        np.zeros_like(speed),
    )
    mean = Work(
        (low.maps + high.maps) / 2.0, (low.reduces + high.reduces) / 2.0, (low.rest + high.rest) / 2.0, high.path
    )
    if "coefficients.A" not in jobs.items:
        return {"lower": low, "average": mean, "upper": high}
    given = ~np.isnan(jobs["coefficients.A"])
    measured = [jobs[f"coefficients.{name}"] / speed for name in ("A", "B", "C")]
    measured[2] = measured[2] + jobs.startup
    return {
        "lower": _where(given, [np.full_like(speed, np.nan)] * 3, low),
        "average": _where(given, measured, mean),
        "upper": _where(given, [np.full_like(speed, np.nan)] * 3, high),
    }


def alone(jobs: Described) -> Work:
    """Compute the upper bound of jobs with their own slots: Proposition 2.1 for each phase, Graham's for stages."""
    speed, reducing = jobs.speed, np.nan_to_num(jobs["reduce.tasks"]) > 0.0
    maps = _beside(jobs["map.tasks"], jobs["map.avg"] / speed, jobs["map.max"] / speed)
    longest_map, outside = jobs["map.max"] / speed, jobs.startup
    if jobs.written:
        paths = np.array([beside_path(each) if each else np.nan for each in jobs.written]) / speed
        maps = np.where(np.isnan(paths), maps, paths)
        longest_map = np.where(np.isnan(paths), longest_map, jobs.of_stages("path_max") / speed)
        outside = outside + np.nan_to_num(jobs.of_stages("delays"))
    longest = np.fmax(jobs["shuffle.max"], jobs["shuffle.first_max"]) + jobs["reduce.max"] / speed
    reduces = _beside(jobs["reduce.tasks"], jobs["shuffle.avg"] + jobs["reduce.avg"] / speed, longest)
    rest = longest_map + np.where(reducing, jobs["shuffle.first_max"] + longest, 0.0) + outside
    return Work(maps, np.where(reducing, reduces, 0.0), rest, np.zeros_like(maps))


def own_bounds(found: Mapping[str, Work], jobs: Described, own: NDArray[np.bool_]) -> dict[str, Work]:
    """Give the bounds of jobs with their own slots to some rows, and the middle of both."""
    low, high, rows = found["lower"], alone(jobs), own
    high = _where(~rows, (found["upper"].maps, found["upper"].reduces, found["upper"].rest), high)
    middle = Work((low.maps + high.maps) / 2, (low.reduces + high.reduces) / 2, (low.rest + high.rest) / 2, high.path)
    average = _where(~rows, (found["average"].maps, found["average"].reduces, found["average"].rest), middle)
    return {"lower": low, "average": average, "upper": high}


def _beside(tasks: Floats, avg: Floats, longest: Floats) -> Floats:
    rest = tasks * avg - longest
    return np.where(rest < 0.0, (tasks - 1.0) * longest, rest)


def promised(found: Mapping[str, Work], guarantee: NDArray[np.str_]) -> Work:
    """Pick the estimate that each row's ``guarantee`` names: the average without one, the upper one of a percentile."""
    low, high = guarantee == "lower", (guarantee != "lower") & (guarantee != "average") & (guarantee != "")
    parts = []
    for part in ("maps", "reduces", "rest", "path"):
        values = [getattr(found[name], part) for name in ESTIMATES]
        parts.append(np.where(low, values[0], np.where(high, values[2], values[1])))
    return Work(*parts)


def tasks_at_once(jobs: Described) -> tuple[Floats, Floats]:
    """Count the map and the reduce tasks of one job that can run at once; infinite if only coefficients are known."""
    maps = jobs["map.tasks"]
    if jobs.stages:
        maps = np.where(np.isnan(jobs.of_stages("width")), maps, jobs.of_stages("width"))
    reduces = np.nan_to_num(jobs["reduce.tasks"])
    if "coefficients.A" not in jobs.items:
        return maps, reduces
    given = ~np.isnan(jobs["coefficients.A"])
    return np.where(given, np.inf, maps), np.where(given, np.where(jobs["coefficients.B"] > 0.0, np.inf, 0.0), reduces)


def _phase(work: Floats, slots: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.isnan(work), np.nan, np.where(work > 0.0, work / slots, 0.0))


def _above(work: Floats, longest: Floats) -> Floats:
    """Return the work without two longest tasks, or all of it for few tasks, which is an upper bound too."""
    beside = work - 2.0 * longest
    return np.where(beside > 0.0, beside, work)


def _if(reduces: Floats, values: Floats) -> Floats:
    return np.where(reduces > 0.0, values, 0.0)


def _where(rows: NDArray[np.bool_], values: Sequence[Floats], work: Work) -> Work:
    maps, reduces, rest = (
        np.where(rows, value, part) for value, part in zip(values, (work.maps, work.reduces, work.rest), strict=True)
    )
    return Work(maps, reduces, rest, work.path)


Two = tuple[float, float]

NEAR = 2000
"""Most pairs of slots that are tried on each side of the middle."""


def fewest_vms(work: Two, left: float, most: Two, hosted: Two, whole: bool) -> Iterator[Two]:
    """Find the pairs of slots that do ``A / map + B / reduce <= left`` on the fewest VMs, one by one.

    Args:
        work: A and B of one job, in slot-seconds.
        left: The time that the deadline leaves to both phases [s].
        most: The tasks of each kind; at least one slot of a kind that has tasks.
        hosted: Slots of each kind that one VM hosts.
        whole: True if slots are whole.

    Yields:
        Map and reduce slots; every pair of those on equally few VMs.
    """
    if not left > 0.0:
        return
    tried = []
    balanced = sum(np.sqrt(part / host) for part, host in zip(work, hosted, strict=True)) / left
    for kind in (0, 1):  # one kind is counted, the other one follows
        least = 1.0 if most[kind] > 0.0 else 0.0
        around = np.clip(np.sqrt(work[kind] * hosted[kind]) * balanced, least, most[kind])
        if whole:
            counted = np.unique(np.clip(np.floor(around) + np.arange(-NEAR, NEAR + 1.0), least, most[kind]))
        else:
            counted = np.clip(around * np.linspace(0.5, 1.5, NEAR + 1), least, most[kind])
        pairs = _completed(counted, work, left, most, kind, whole)
        tried.append(pairs[:, np.isfinite(pairs).all(axis=0)])
    pairs = np.concatenate(tried, axis=1)
    vms = pairs[0] / hosted[0] + pairs[1] / hosted[1]
    for number in np.flatnonzero(vms <= vms.min(initial=np.inf) * (1.0 + ROUNDING)).tolist():
        yield float(pairs[0, number]), float(pairs[1, number])


def _completed(counted: Floats, work: Two, left: float, most: Two, kind: int, whole: bool) -> Floats:
    """Give the slots of the other kind that keep the rest of the time; infinite if none do."""
    own, other = work[kind], work[1 - kind]
    with np.errstate(divide="ignore", invalid="ignore"):
        time = left - (own / counted if own > 0.0 else np.zeros_like(counted))
        late = np.where(time >= -ROUNDING * left, 0.0, np.inf)
        needed = np.where(time > 0.0, other / time, np.inf) if other > 0.0 else late
    needed = ceiling(needed) if whole else needed
    least = 1.0 if most[1 - kind] > 0.0 else 0.0
    limit = most[1 - kind] * (1.0 + ROUNDING)
    slots = np.where(needed <= limit, np.minimum(np.maximum(needed, least), most[1 - kind]), np.inf)
    return np.array([counted, slots] if kind == 0 else [slots, counted])
