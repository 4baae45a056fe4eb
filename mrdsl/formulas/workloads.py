"""Web workloads, data transfer and interruptions: response times, transfer times, typical days, lost work."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import inf, nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.units import DAY, HOUR

Floats = NDArray[np.float64]
Number = float | Floats


def mean_response(service_rate: Number, rate: Number, vms: Number, delay: Number = 0.0) -> Floats:
    """Return the mean response of an M/G/1 processor-sharing queue on each of ``vms`` VMs after a delay: (2).

    ``1 / (mu - x / v) + L``; it depends on the service times through their mean alone. It is infinite if the VMs are
    saturated, NaN if there is no VM.
    """
    mu, x, v = (np.asarray(each, dtype=np.float64) for each in (service_rate, rate, vms))
    with np.errstate(divide="ignore", invalid="ignore"):
        spare = mu - x / v
        response = np.where(spare > 0.0, 1.0 / spare + delay, inf)
    return np.where(v > 0.0, response, nan)


def rate_per_vm(service_rate: Number, delay: Number, response: Number) -> Floats:
    """Return the maximum rate of one VM within a bound on the mean response: ``mu - 1 / (R - L)``, (49).

    If it is at or below zero (minus infinity if ``R <= L``), no number of VMs meets the bound; the paper omits this
    case.
    """
    allowed = np.asarray(response, dtype=np.float64) - delay
    with np.errstate(divide="ignore"):
        return np.where(allowed > 0.0, service_rate - 1.0 / np.where(allowed > 0.0, allowed, 1.0), -inf)


def reduce_share(map_tasks: float, reduce_tasks: float, block: float, intermediate: float) -> float:
    """Return RDS: the bytes that one reduce task must fetch, 0 if a job has no reduce tasks.

    ``block`` is the input of one map task in B, ``intermediate`` the bytes out of the map phase per byte in (MtoR).
    """
    if reduce_tasks == 0:
        return 0.0
    return map_tasks * block * intermediate / reduce_tasks


def placement_time(map_tasks: Any, block: float, speed: float) -> Any:
    """DPT, eq. (5): seconds until one VM holds the blocks of its ``map_tasks`` (a number or an array)."""
    return map_tasks * (block / speed)


def shuffle_time(
    map_tasks: Any, reduce_tasks: Any, block: float, intermediate: float, fetched: float, speed: float
) -> Any:
    """Return DSHT, eq. (6): seconds in which one VM sends its map output and receives its reduce input.

    ``fetched`` is :func:`reduce_share`. It applies only to jobs that have reduce tasks: without any, no data are
    shuffled, although (6) as printed still counts the sending.
    """
    return map_tasks * (block * intermediate / speed) + reduce_tasks * (fetched / speed)


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


def typical_demand(
    draw: np.random.RandomState, units: Sequence[str], shifts: Floats, periods: int, period: float, noise: float
) -> Floats:
    """Return demand relative to each unit's peak, (periods, units): individual days, time zones and white noise.

    ``units`` are their names: values are drawn in the order of names, with numbers in them by size, so that the order
    of the units does not matter. ``shifts`` (units,) in seconds: a unit that is ahead has its day earlier. ``noise`` is
    the standard deviation of the relative error of a period's prediction; demand is never below 0.
    """
    days = sampled_days(draw)
    place = np.argsort(sorted(range(len(units)), key=lambda unit: _by_number(units[unit])))
    mine = days[draw.randint(0, DAYS, len(shifts), dtype=np.int64)[place]]
    average = _averages(mine, shifts, periods, period)
    return np.maximum(average * (1.0 + noise * draw.standard_normal(average.shape)[:, place]), 0.0)


def _by_number(name: str) -> tuple[list[str | int], str]:
    parts = re.split("([0-9]+)", name)
    return [int(part) if place % 2 else part for place, part in enumerate(parts)], name


def _averages(days: Floats, shifts: Floats, periods: int, period: float) -> Floats:
    """Return the mean of each unit's day over every period, between the samples by their running sum."""
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


MOST_LOST = 0.5
"""Share of lost work above which the first order does not hold: no job is planned on such machines."""


def age(avg: Floats, longest: Floats) -> Floats:
    """Return the average age of the task in a busy slot [s]: ``(avg^2 + var) / (2 avg)``; 0 for tasks of 0 s.

    ``var`` is that of times spread evenly up to the longest, at most the variance of any times between 0 and the
    longest.
    """
    return _age(avg, spread(avg, longest))


def age_of_two(avg: tuple[Floats, Floats], longest: tuple[Floats, Floats]) -> Floats:
    """:func:`age` of tasks of two parts one after the other, such as a shuffle and a reduce."""
    variance = spread(avg[0], longest[0]) + spread(avg[1], longest[1])
    return _age(avg[0] + avg[1], variance)


def spread(avg: Floats, longest: Floats) -> Floats:
    """Return the variance of times with this average that reach up to the longest [s^2]."""
    beyond = np.maximum(longest - avg, 0.0)
    return np.minimum(beyond**2 / 3.0, avg * beyond)


def lost(
    rate: float, ages: tuple[Floats, Floats], times: tuple[Floats, Floats], kept_on_machine: NDArray[np.bool_]
) -> tuple[Floats, Floats]:
    """Return the parts of the map and of the reduce work that are lost, at most 1.

    ``ages`` and ``times``: of a running task, and of the whole phase, for map and reduce [s]. ``kept_on_machine``: map
    output is still needed and only on the machine that made it.
    """
    output = np.where(kept_on_machine, times[0] / 2.0 + times[1], 0.0)
    return np.minimum(rate * (ages[0] + output), 1.0), np.minimum(rate * ages[1], 1.0)


def _age(avg: Floats, variance: Floats) -> Floats:
    return np.divide(avg**2 + variance, 2.0 * avg, out=np.zeros_like(avg + variance), where=avg > 0.0)
