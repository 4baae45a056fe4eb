"""Completion times of jobs as a spec describes them, for verification alone.

Source: Malekimajd et al. 2015, equations (1) to (4), each phase on its own: a phase of n tasks on k slots takes
``n avg / k`` at least, and ``(n avg - 2 max) / k + 2 max`` at most (Propositions 2.4 and 2.5). A row is a class, or a
class on one VM type; arrays have one element per row. Times in seconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mrdsl.checking.dags import Dag, dag_of
from mrdsl.spec.columns import column
from mrdsl.spec.stages import any_stages, stages_of

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
    """What a spec says of the jobs of each row: items by their paths, NaN where it says nothing, and stages."""

    items: Mapping[str, Floats]
    stages: Sequence[Dag | None]
    speed: Floats

    def __getitem__(self, path: str) -> Floats:
        return self.items[path]

    def of_stages(self, part: str) -> Floats:
        """Collect one number of the stages of every row; NaN for rows without."""
        if not self.stages:
            return np.full(len(self.speed), np.nan)
        return np.array([np.nan if dag is None else getattr(dag, part) for dag in self.stages])


@dataclass(frozen=True)
class Work:
    """``A / map slots + B / reduce slots + C`` of one job, and what no job ends before [s]."""

    maps: Floats
    reduces: Floats
    rest: Floats
    path: Floats

    def time(self, map_slots: Floats, reduce_slots: Floats) -> Floats:
        """Compute the time of one job on slots of its own, equation (4)."""
        return _phase(self.maps, map_slots) + _phase(self.reduces, reduce_slots) + self.rest


def described(
    classes: Sequence[Any],
    of_class: Ints | None = None,
    own: Mapping[int, Any] | None = None,
    blocks: Mapping[str, tuple[str, ...]] | None = None,
) -> Described:
    """Read what a spec says of each row.

    Args:
        classes: The classes of the spec.
        of_class: The class of each row; by default each class is a row.
        own: What ``on TYPE { ... }`` says of some rows, by row.
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
    return Described(items, [dag_of(each) if each else None for each in stages] if any(stages) else (), speed)


def estimates(jobs: Described) -> dict[str, Work]:
    """Compute A, B and C of the lower, the average and the upper estimate of one job; NaN where one is not known."""
    speed = jobs.speed
    map_work, map_max = jobs["map.tasks"] * jobs["map.avg"] / speed, jobs["map.max"] / speed
    path_avg = path_max = np.zeros_like(speed)
    if jobs.stages:
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
    low = Work(map_work, _if(reduces, reduces * both_avg), _if(reduces, first_avg - jobs["shuffle.avg"]), path_avg)
    high = Work(
        _above(map_work, map_max),
        _if(reduces, _above(reduces * both_avg, both_max)),
        2.0 * map_max + _if(reduces, first_max + 2.0 * both_max),
        np.zeros_like(speed),
    )
    mean = Work(
        (low.maps + high.maps) / 2.0, (low.reduces + high.reduces) / 2.0, (low.rest + high.rest) / 2.0, high.path
    )
    if "coefficients.A" not in jobs.items:
        return {"lower": low, "average": mean, "upper": high}
    given = ~np.isnan(jobs["coefficients.A"])
    measured = [jobs[f"coefficients.{name}"] / speed for name in ("A", "B", "C")]
    return {
        "lower": _where(given, [np.full_like(speed, np.nan)] * 3, low),
        "average": _where(given, measured, mean),
        "upper": _where(given, [np.full_like(speed, np.nan)] * 3, high),
    }


def promised(found: Mapping[str, Work], guarantee: NDArray[np.str_]) -> Work:
    """Pick the estimate that each row's ``guarantee`` names: the average without one, the upper one of a percentile."""
    low, high = guarantee == "lower", (guarantee != "lower") & (guarantee != "average") & (guarantee != "")
    parts = []
    for part in ("maps", "reduces", "rest", "path"):
        values = [getattr(found[name], part) for name in ESTIMATES]
        parts.append(np.where(low, values[0], np.where(high, values[2], values[1])))
    return Work(*parts)


def tasks_at_once(jobs: Described) -> tuple[Floats, Floats]:
    """Count the map and the reduce tasks of one job that can run at once; infinite where coefficients hide them."""
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
    """Work beside two longest tasks; all of it where that leaves none (few tasks), which is an upper bound too."""
    beside = work - 2.0 * longest
    return np.where(beside > 0.0, beside, work)


def _if(reduces: Floats, values: Floats) -> Floats:
    return np.where(reduces > 0.0, values, 0.0)


def _where(rows: NDArray[np.bool_], values: Sequence[Floats], work: Work) -> Work:
    maps, reduces, rest = (
        np.where(rows, value, part) for value, part in zip(values, (work.maps, work.reduces, work.rest), strict=True)
    )
    return Work(maps, reduces, rest, work.path)
