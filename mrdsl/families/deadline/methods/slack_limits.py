"""``subject to`` as limits on slacks: bounds on single tasks, and linear sums over several."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mrdsl.families.deadline.network import Floats, Ints
from mrdsl.families.deadline.workload import Tasks
from mrdsl.spec.expression import Expression, Linear, linear_form
from mrdsl.spec.spec import Spec, pieces

HAIR = 1e-7
"""Relative to a limit or to 1 s: bounds that meet are held so far apart. A tenth of what `subject to` forgives."""


class NoPlanError(Exception):
    """Error for a comparison that no plan meets, for any network."""


@dataclass(frozen=True)
class Sum:
    """Inequality ``factors @ slack[tasks] <= most`` [s], or an equation if ``equal``."""

    tasks: Ints
    factors: Floats
    most: float
    equal: bool = False


@dataclass(frozen=True)
class SlackLimits:
    """Limits ``lower <= slack <= upper`` of each task (default: 0 and infinity), and ``sums``; in seconds."""

    lower: Floats
    upper: Floats
    sums: tuple[Sum, ...] = ()

    @property
    def none(self) -> bool:
        """True if there are no limits."""
        return not (self.sums or self.lower.any() or np.isfinite(self.upper).any())

    def of(self, numbers: Ints) -> SlackLimits:
        """Return the limits of some tasks, renumbered; either all tasks of a sum or none must be among them."""
        place = np.full(len(self.lower), -1, dtype=np.int64)
        place[numbers] = np.arange(len(numbers))
        sums = tuple(
            Sum(place[each.tasks], each.factors, each.most, each.equal)
            for each in self.sums
            if (place[each.tasks] >= 0).all()
        )
        return SlackLimits(self.lower[numbers], self.upper[numbers], sums)

    def merged(self, belongs: Ints, count: int) -> SlackLimits:
        """Return the limits of ``count`` merged tasks; ``belongs`` has the merged task of each task."""
        lower, upper = np.zeros(count), np.full(count, np.inf)
        lower[belongs], upper[belongs] = self.lower, self.upper
        sums = tuple(Sum(belongs[each.tasks], each.factors, each.most, each.equal) for each in self.sums)
        return SlackLimits(lower, upper, sums)

    def scaled(self, unit: float) -> SlackLimits:
        """Return the same limits with slacks in units of ``unit`` seconds."""
        sums = tuple(Sum(each.tasks, each.factors, each.most / unit, each.equal) for each in self.sums)
        return SlackLimits(self.lower / unit, self.upper / unit, sums)

    @property
    def freed(self) -> Ints:
        """Tasks whose slack may have to be less than their time leaves: bounded from above, or in a sum."""
        bounded = np.isfinite(self.upper)
        for each in self.sums:
            bounded[each.tasks] = True
        return np.flatnonzero(bounded)


def no_limits(tasks: int) -> SlackLimits:
    """Return limits without effect."""
    return SlackLimits(np.zeros(tasks), np.full(tasks, np.inf))


def limits_of(spec: Spec, tasks: Tasks) -> SlackLimits:
    """Return the comparisons of a spec.

    Raises NoPlanError if two of them conflict, ValueError if one is not linear.
    """
    lower, upper = np.zeros(len(tasks)), np.full(len(tasks), np.inf)
    sums: list[Sum] = []
    slacks = _slacks(tasks)
    for constraint in spec.constraints:
        for left, right, comparison in pieces(constraint):
            difference = _difference(left, right, slacks)
            if comparison == ">=":
                difference, comparison = -difference, "<="
            _add(difference, comparison == "=", lower, upper, sums)
    if (lower > upper + HAIR * 10 * np.maximum(1.0, np.abs(upper))).any():
        raise NoPlanError
    together = upper - lower < 2 * HAIR * np.maximum(1.0, lower)
    middle = np.where(together, (lower + np.where(together, upper, 0.0)) / 2, 0.0)
    hair = HAIR * np.maximum(1.0, middle)
    lower = np.where(together, np.maximum(middle - hair, 0.0), lower)
    return SlackLimits(lower, np.where(together, middle + hair, upper), tuple(sums))


def sums_in(spec: Spec) -> int:
    """Count the comparisons over several tasks. Raises ValueError if one is not linear."""

    def quantity(name: str, argument: str) -> Linear:
        return Linear({argument: 1.0}, 0.0)

    differences = [
        _difference(left, right, quantity) for constraint in spec.constraints for left, right, _ in pieces(constraint)
    ]
    return sum(len([factor for factor in each.factors.values() if factor]) > 1 for each in differences)


def _slacks(tasks: Tasks) -> Callable[[str, str], Linear]:
    """``slack(t)`` and ``delay(t)`` over the slacks of tasks by number."""

    def quantity(name: str, argument: str) -> Linear:
        number = tasks.members[argument]
        return Linear({number: 1.0}, tasks.durations[number] if name == "delay" else 0.0)

    return quantity


def _difference(left: Expression, right: Expression, slacks: Callable[[str, str], Linear]) -> Linear:
    return linear_form(left, slacks) - linear_form(right, slacks)


def _add(difference: Linear, equal: bool, lower: Floats, upper: Floats, sums: list[Sum]) -> None:
    """One comparison ``difference <= 0``, or ``= 0``."""
    factors = {number: factor for number, factor in difference.factors.items() if factor}
    if not factors:
        wrong = abs(difference.constant) if equal else difference.constant
        if wrong > HAIR * 10:
            raise NoPlanError
    elif len(factors) > 1:
        numbers = np.array(list(factors), dtype=np.int64)
        sums.append(Sum(numbers, np.array(list(factors.values())), -difference.constant, equal))
    else:
        ((number, factor),) = factors.items()
        value = -difference.constant / factor
        if equal or factor > 0:
            upper[number] = min(upper[number], value)
        if equal or factor < 0:
            lower[number] = max(lower[number], value)


MOST_SUMS = 50
"""Sums over several tasks that ``direct`` takes on: each costs a system of the network in every step."""


def choose(spec: Spec, relax: bool, formulation: str | None) -> str:
    """Return `direct`, which proves its gap, or a linear solver if `direct` does not support the request or
    formulation.
    """
    if formulation == "potentials" and (spec.goal is None or spec.goal.quantity == "slack"):
        return "scip"
    return "direct" if formulation is None and _direct(spec) else "highs"


def _direct(spec: Spec) -> bool:
    """Return True if ``direct`` knows the comparisons: linear ones, few of them over several tasks, and those for the
    product
    of slacks alone."""
    if not spec.constraints:
        return True

    try:
        sums = sums_in(spec)
    except ValueError:
        return False
    product = spec.goal is None or spec.goal.quantity == "slack"
    return sums == 0 or (product and sums <= MOST_SUMS)
