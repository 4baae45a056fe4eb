"""Profiles carried over to another data size.

Source: Vishal 2015, *Performance Modelling and Scheduling of MapReduce Jobs*, 3.3 and 3.6.2: a map task always reads
one block, so its time stays and the number of map tasks grows with the data; with the number of reduce tasks fixed,
the data of each, and with it the times of shuffle and reduce, grow linearly.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mrdsl.core.whole_numbers import ceiling
from mrdsl.formulas.mapreduce import Floats, Profile

Number = float | Floats


def scaled(profile: Profile, factor: Number) -> Profile:
    """The profile of the same job on ``factor`` times the data (a number, or one per class).

    Map tasks are rounded up to whole blocks; at least one remains. Shuffle and reduce times grow linearly, without an
    intercept: the thesis states linearity and prints no coefficients. Raises ValueError where a factor is not positive.
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
