"""The estimate that each class's deadline is promised for, from its profile or from given coefficients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mrdsl.formulas import mapreduce
from mrdsl.formulas.mapreduce import Coefficients
from mrdsl.formulas.profiles import profile_of
from mrdsl.formulas.sizing import SlotLimits, limits_of_tasks
from mrdsl.spec.blocks import GUARANTEES
from mrdsl.spec.columns import column, words

Floats = NDArray[np.float64]


def estimates_of(classes: Sequence[Any]) -> Mapping[str, Coefficients]:
    """A, B and C of every estimate; a class given by coefficients knows only what stands for its average."""
    profile = profile_of(classes)
    given = [column(classes, f"coefficients.{name}") for name in ("A", "B", "C")]
    average = mapreduce.average(profile)
    known = ~np.isnan(given[0])
    return {
        "lower": _without(mapreduce.lower(profile), known),
        "average": Coefficients(
            np.where(known, given[0], average.map_work),
            np.where(known, given[1], average.reduce_work),
            np.where(known, given[2], average.constant),
        ),
        "upper": _without(mapreduce.upper(profile), known),
    }


def _without(work: Coefficients, unknown: NDArray[np.bool_]) -> Coefficients:
    return Coefficients(
        np.where(unknown, np.nan, work.map_work),
        np.where(unknown, np.nan, work.reduce_work),
        np.where(unknown, np.nan, work.constant),
    )


def guaranteed(classes: Sequence[Any], estimates: Mapping[str, Coefficients]) -> Coefficients:
    """A, B and C of the estimate that each class's deadline is promised for."""
    chosen = words(classes, "guarantee", "average")
    flags = [chosen == name for name in GUARANTEES]

    def pick(part: str) -> Floats:
        return np.select(flags, [getattr(estimates[name], part) for name in GUARANTEES])

    return Coefficients(pick("map_work"), pick("reduce_work"), pick("constant"))


def slot_limits(classes: Sequence[Any]) -> SlotLimits:
    """The slots of one job between which the estimates of its class hold: at least one, at most as many as tasks.

    Coefficients do not tell how many tasks there are: their classes are limited from below alone, and have no reduce
    slots where B is 0.
    """
    reduce_work = column(classes, "coefficients.B")
    given = ~np.isnan(reduce_work)
    unknown = np.where(reduce_work == 0.0, 0.0, np.nan)
    return limits_of_tasks(
        column(classes, "map.tasks"), np.where(given, unknown, column(classes, "reduce.tasks", missing=0.0))
    )
