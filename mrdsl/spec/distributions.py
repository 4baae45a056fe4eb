"""The random values of the language: their names, how many parameters they take, and which parameters make sense."""

from __future__ import annotations

from math import isfinite
from typing import Any

DISTRIBUTIONS = {"uniform": 2, "uniform_int": 2, "normal": 2, "exponential": 1, "poisson": 1, "choice": 1, "mixture": 3}
"""Function names that give a random value, with the number of their parameters."""

LISTS = ("choice", "mixture")
"""Those whose parameters are lists."""

LARGEST_MEAN = 1e15
"""The largest mean of a number of events: beyond it the count no longer fits a whole number that is exact."""


def problem_of(name: str, numbers: list[Any]) -> str:
    """What is wrong with a distribution's parameters, in words; "" if nothing. Lists are tuples."""
    match name:
        case "uniform" | "uniform_int":
            if numbers[0] > numbers[1]:
                return "the lower end is above the upper end"
            if name == "uniform_int" and any(number != int(number) for number in numbers):
                return "both ends are whole numbers"
            if name == "uniform_int" and max(map(abs, numbers)) > LARGEST_MEAN:
                return "an end is too large for a whole number"
            if numbers[1] - numbers[0] > 1.7e308:
                return "its ends are too far apart"
        case "normal":
            return "the standard deviation is negative" if numbers[1] < 0 else ""
        case "exponential":
            return "the mean is not positive" if numbers[0] <= 0 else ""
        case "poisson":
            if numbers[0] > LARGEST_MEAN:
                return "the mean is too large to draw a whole number"
            return "the mean is negative" if numbers[0] < 0 else ""
        case "mixture":
            return _problem_of_mixture(*numbers)
    return ""


def _problem_of_mixture(weights: tuple[float, ...], means: tuple[float, ...], deviations: tuple[float, ...]) -> str:
    if len({len(weights), len(means), len(deviations)}) != 1:
        return "weights, means and deviations are lists of one length"
    if min(weights) < 0 or sum(weights) <= 0:
        return "weights are at least 0 and not all 0"
    if not isfinite(sum(weights)):
        return "the weights are too large to be added up"
    if min(deviations) < 0:
        return "a standard deviation is negative"
    if all(mean <= 0 and deviation == 0 for mean, deviation in zip(means, deviations, strict=True)):
        return "no component can give a positive value"
    return ""
