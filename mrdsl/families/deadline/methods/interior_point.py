"""Product of slacks on a network of events: a primal-dual interior point method with a proven bound.

Primal: times t of the events, maximize sum w_i ln(t_head - t_tail - T_i), t_before <= t_later on pure order arcs. Dual:
prices p >= 0 of all arcs that form a flow from the submission to the deadlines. Scale such a flow so that F D' - sum
p_i T_i = W (F the flow that arrives, W = sum w). Then the bound is sum w_i ln(w_i / p_i). If the spare time is so small
that the rounding errors of a path's sum are a share r of it, the bound rises by W ln(1 + r).

Every arc has a price p and a gap g, with p g = w on tasks and p g = mu -> 0 on the others. Newton's step is one system
of the Laplacian with conductances p / g (`newton.py`). For any accuracy of that step, the times stay strictly feasible.
The bound uses prices that are first corrected to an exact flow: both sides of the reported gap are proven. Limits on
slacks are more gaps with prices. Sums over several tasks may be violated during the first steps, which claim no value.
With limits l <= x <= u and sums A x <= b of prices q, the bound is F D' - sum p_i T_i + q b + sum max over l <= x <= u
of w_i ln x - (p + A' q)_i x, for any flow p and any q >= 0.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mrdsl.core.rounding import ROUNDING
from mrdsl.families.deadline.methods.newton import Newton
from mrdsl.families.deadline.methods.slack_limits import HAIR, SlackLimits, no_limits
from mrdsl.families.deadline.network import Floats, Network, scale_of

MOST_STEPS = 250
EPSILON = 4 * float(np.finfo(np.float64).eps)
"""Largest rounding error of one addition along a path, relative to the deadline, with a margin."""
CLOSE = 2.0
"""The proven gap is computed once the estimated gap is this multiple of the requested one."""


@dataclass(frozen=True)
class Found:
    """Slacks [s], their value, a proven bound on any value, and why the search ended: gap reached, or out of time.

    The value is minus infinity if no slacks were found that meet all limits.
    """

    slack: Floats
    value: float
    bound: float
    done: bool
    steps: int
    late: bool


def maximize_product(
    network: Network,
    gap: float,
    ends: float | None = None,
    clock: Callable[[], float] = time.monotonic,
    limits: SlackLimits | None = None,
) -> Found:
    """Maximize the product of slacks to within the relative ``gap`` of the bound.

    The search stops early if the clock reaches ``ends``, or would within a step as long as the last.

    The network must leave every DAG some slack beyond the limits. If a task's slack has an upper limit or is in a sum,
    its events must not force it (see ``contraction.freed``).
    """

    end = np.inf if ends is None else ends
    point = _Point(network, limits or no_limits(len(network.tail)), clock, end)
    for step in range(MOST_STEPS):
        near = point.nearly_closed(gap)
        if near:
            point.note()
        if point.closed(gap):
            return point.found(True, step)
        if not point.newton.advance(point.estimated() / float(point.weight.sum()), near):
            break
    point.note()
    return point.found(point.closed(gap), MOST_STEPS)


class _Point:
    """Network in units that make a typical slack and a typical weight 1, with its proven value and bound."""

    def __init__(self, network: Network, limits: SlackLimits, clock: Callable[[], float], ends: float) -> None:
        self.network = network
        self.tasks = len(network.tail)
        least = network.earliest(network.duration + limits.lower)[1 : network.fixed]
        spare = network.deadlines - least
        arcs = network.levels.longest(np.ones(len(network.arcs[0])))[1 : network.fixed]
        self.unit = float(np.median(spare / arcs))
        self.heavy = float(network.weight.mean())
        self.weight = network.weight / self.heavy
        self.duration = network.order_lengths(network.duration / self.unit)
        self.critical = (network.deadlines - spare) / self.unit
        self.blur = EPSILON * np.maximum(arcs, 1.0) * network.deadlines / spare
        self.limited = not limits.none
        self.limits = limits.scaled(self.unit)
        times = self._start(float((spare / arcs).min()) / self.unit)
        self.newton = Newton(network, self.duration, self.weight, self.limits, times, clock, ends)
        self.value, self.bound = -np.inf, np.inf
        self.best = self.slack

    @property
    def slack(self) -> Floats:
        """The tasks' slacks at the present times."""
        return self.newton.gaps[: self.tasks]

    def _start(self, share: float) -> Floats:
        """Return times that leave every arc a gap: midway between the earliest and the latest with most of a fair
        share.
        """
        network = self.network
        lengths = self.duration + network.order_lengths(self.limits.lower) + 0.9 * share
        early = network.levels.longest(lengths)
        late = np.full(network.events, np.inf)
        late[1 : network.fixed] = network.deadlines / self.unit
        late = network.levels.latest(lengths, late)
        times = (early + late) / 2
        times[: network.fixed] = network.times / self.unit
        return self._within(times) if self.limited else times

    def _within(self, times: Floats) -> Floats:
        """Return the times; tasks that may have less slack than time finish early enough for their limits."""
        network, freed = self.network, self.limits.freed
        inner = network.head[freed]
        after = np.full(network.events, -1, dtype=np.int64)
        after[network.before] = network.later
        begin = times[network.tail[freed]] + self.duration[freed]
        most = np.minimum(times[after[inner]] - begin, self.limits.upper[freed])
        times[inner] = begin + (self.limits.lower[freed] + most) / 2
        return times

    def note(self) -> None:
        """Keep the better of the values and of the bounds, both proven."""
        if self._keeps_sums():
            slack = self._stretched(self.slack)
            value = float(self.weight @ np.log(slack))
            if value > self.value:
                self.value, self.best = value, slack
        self.bound = min(self.bound, self._bound())

    def _keeps_sums(self) -> bool:
        for each in self.limits.sums:
            over = float(each.factors @ self.slack[each.tasks]) - each.most
            if (abs(over) if each.equal else over) > HAIR * max(1.0 / self.unit, abs(each.most)):
                return False
        return True

    def _stretched(self, slack: Floats) -> Floats:
        """Return the slacks, all stretched by a common factor that surely fits.

        The longest path is a convex function of the factor. The chord through the factors 0 and 1 overshoots. The chord
        through 0 and that point falls short again: its factor is used. Bounds of single tasks limit it. With sums, the
        slacks stay as they are.
        """
        if self.limits.sums:
            return slack
        network = self.network
        allowed = network.deadlines / self.unit
        critical = network.earliest(self.duration[: self.tasks])[1 : network.fixed] if self.limited else self.critical

        def reached(factor: Floats) -> Floats:
            return network.earliest(self.duration[: self.tasks] + slack * factor[network.dag])[1 : network.fixed]

        spare = allowed - critical
        over = spare / (reached(np.ones(len(allowed))) - critical)
        safe = over * np.minimum(spare / (reached(over) - critical), 1.0)
        return np.minimum(slack * np.maximum(safe, 1.0)[network.dag], self.limits.upper)

    def _bound(self) -> float:
        """Return the dual value of the prices after correction to an exact flow with proportional outflows."""
        network = self.network
        prices = np.maximum(self.newton.carried(), 0.0)
        leaving = np.bincount(self.newton.tails, prices, network.events)
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = prices / leaving[self.newton.tails]
        even = 1.0 / np.maximum(np.bincount(self.newton.tails, minlength=network.events), 1)
        shares = np.where(np.isfinite(shares), shares, even[self.newton.tails])
        entering = np.zeros(network.events)
        entering[0] = leaving[0]
        flow, passing = network.levels.pushed(shares, entering)
        tasks = flow[: self.tasks]
        count = len(network.deadlines)
        room = passing[1 : network.fixed] * network.deadlines / self.unit - np.bincount(
            network.dag, tasks * self.duration[: self.tasks], count
        )
        weight = np.bincount(network.dag, self.weight, count)
        blurred = float(weight @ np.log1p(self.blur))
        if self.limited:
            return self._limited_bound(tasks, float(room.sum())) + blurred
        if not (tasks > 0).all() or not (room > 0).all():
            return float(np.inf)
        return float(self.weight @ np.log(self.weight / (tasks * (weight / room)[network.dag]))) + blurred

    def _limited_bound(self, flow: Floats, room: float) -> float:
        """Return the bound of a flow with limited slacks, at the best common factor on all prices.

        ``room`` is the total of all tasks at those prices. No slack exceeds the time that its network leaves.
        """
        lower = self.limits.lower
        price = flow.copy()
        for each, multiplier in zip(self.limits.sums, self.newton.multipliers(), strict=True):
            np.add.at(price, each.tasks, multiplier * each.factors)
            room += multiplier * each.most
        network = self.network
        lengths = self.duration[: self.tasks] + lower
        latest = network.latest(lengths, network.deadlines / self.unit)[network.head]
        most = latest - network.earliest(lengths)[network.tail] - self.duration[: self.tasks]
        upper = np.maximum(np.minimum(self.limits.upper, most * (1 + ROUNDING)), lower)

        def dual(exponent: float) -> float:
            factor = float(np.exp(exponent))
            with np.errstate(divide="ignore"):
                wanted = np.where(price > 0, self.weight / (factor * price), np.inf)
            slack = np.clip(wanted, lower, upper)
            return float(self.weight @ np.log(slack)) - factor * (float(price @ slack) - room)

        return least_of(dual, -1.0, 1.0)

    def estimated(self) -> float:
        """Return the gap of the present times and prices, as it would be if the prices were a flow already."""
        products = self.newton.prices * self.newton.gaps
        shares = products[: self.tasks] / self.weight
        return float(products[self.tasks :].sum() + self.weight @ (shares - 1.0 - np.log(shares)))

    def nearly_closed(self, gap: float) -> bool:
        """Return True if it is time to work out the proven gap."""
        shift = float(np.log(self.unit))
        value = float(self.weight @ (np.log(self.slack) + shift))
        return self.estimated() <= CLOSE * gap * scale_of(value, float(self.weight.sum()))

    def closed(self, gap: float) -> bool:
        """Return True if value and bound, in seconds, are near enough."""
        if not np.isfinite(self.bound) or not np.isfinite(self.value):
            return False
        shift = float(self.weight.sum()) * float(np.log(self.unit))
        return self.bound - self.value <= gap * scale_of(self.value + shift, float(self.weight.sum()))

    def found(self, done: bool, steps: int) -> Found:
        """Return slacks, value and bound in seconds and with the original weights."""
        shift = float(self.network.weight.sum()) * float(np.log(self.unit))
        value, bound = self.heavy * self.value + shift, self.heavy * self.bound + shift
        return Found(self.best * self.unit, value, bound, done, steps, self.newton.stopped)


def least_of(function: Callable[[float], float], low: float, high: float, rounds: int = 24) -> float:
    """Return the least value that a golden-section search sees of a convex function."""
    ratio = (5**0.5 - 1) / 2
    a, b = high - ratio * (high - low), low + ratio * (high - low)
    first, second = function(a), function(b)
    least = min(first, second, function(0.0))
    for _ in range(rounds):
        if first <= second:
            high, b, second = b, a, first
            a = high - ratio * (high - low)
            first = function(a)
        else:
            low, a, first = a, b, second
            b = low + ratio * (high - low)
            second = function(b)
        least = min(least, first, second)
    return least
