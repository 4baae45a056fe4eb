"""Typical days of a web site: two peaks, around 11 and 16 h, as in the log that Cano et al. drew from.

Their log (10-minute samples of 12 days) is not public. These days are made up in its likeness: the places of the
peaks are the paper's, the quiet night, the widths and how much days differ from each other are ours.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.units import DAY, HOUR

Floats = NDArray[np.float64]

DAYS = 12
SAMPLE = 600.0
"""Seconds between two samples of a day."""
_NIGHT = 0.25
_PEAKS = ((11.0, 1.75, 0.75), (16.0, 2.5, 0.7))
"""Hour, width in hours and height of each peak above the night."""


def sampled_days(draw: np.random.RandomState) -> Floats:
    """Twelve days of 144 samples each, relative to the day's own peak; shape (DAYS, 144)."""
    hours = np.arange(0.0, DAY, SAMPLE) / HOUR
    levels = np.full((DAYS, len(hours)), _NIGHT)
    for center, width, height in _PEAKS:
        moved = center + draw.normal(0.0, 0.5, (DAYS, 1))
        scaled = height * (1.0 + draw.normal(0.0, 0.2, (DAYS, 1)))
        away = (hours - moved + 12.0) % 24.0 - 12.0
        levels = levels + scaled * np.exp(-0.5 * (away / width) ** 2)
    rough = levels * (1.0 + draw.normal(0.0, 0.03, levels.shape))
    relative: Floats = rough / rough.max(axis=1, keepdims=True)
    return relative


def typical_demand(draw: np.random.RandomState, shifts: Floats, periods: int, period: float, noise: float) -> Floats:
    """Demand relative to each unit's peak, shape (periods, units): a day of its own, its time zone, white noise.

    ``shifts`` (units,) in seconds: a unit that is ahead has its day earlier. ``noise`` is the standard deviation of
    the relative error of a period's prediction; demand is never below 0.
    """
    days = sampled_days(draw)
    mine = days[draw.randint(0, DAYS, len(shifts), dtype=np.int64)]
    average = _averages(mine, shifts, periods, period)
    return np.maximum(average * (1.0 + noise * draw.standard_normal(average.shape)), 0.0)


def _averages(days: Floats, shifts: Floats, periods: int, period: float) -> Floats:
    """The mean of each unit's day over every period, between the samples by their running sum."""
    samples = days.shape[1]
    so_far = np.concatenate([np.zeros((len(days), 1)), np.cumsum(days, axis=1)], axis=1)
    edges = np.arange(periods + 1)[:, None] * period + shifts
    whole, within = np.divmod(edges, DAY)
    place = within / SAMPLE
    left = np.minimum(place.astype(int), samples - 1)
    rows = np.arange(len(days))
    until = whole * so_far[:, -1] + so_far[rows, left] + (place - left) * days[rows, left]
    mean: Floats = np.diff(until, axis=0) * SAMPLE / period
    return mean
