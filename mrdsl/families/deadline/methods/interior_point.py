"""The product of slacks on a network of events: a primal-dual interior point method with a proven bound.

Primal: times t of the events, maximize sum w_i ln(t_head - t_tail - T_i), t_before <= t_later on the arcs that only
keep order. Dual: prices p >= 0 of all arcs that form a flow from the submission to the deadlines; for such a flow,
scaled so that F D' - sum p_i T_i = W (F what arrives, W = sum w), the bound is sum w_i ln(w_i / p_i). Where the spare
time is so small that the roundings of a path's sum are a share r of it, the bound is raised by W ln(1 + r).

Every arc has a price p and a gap g, with p g = w on tasks and p g = mu -> 0 on the others; Newton's step is one system
of the Laplacian with conductances p / g. Whatever the accuracy of that step, the times stay strictly feasible, and the
bound comes from prices that are pushed into an exact flow first: both sides of the reported gap are proven.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mrdsl.families.deadline.goals import scale_of
from mrdsl.families.deadline.methods.laplacian import Pattern, Solves
from mrdsl.families.deadline.network import Floats, Network

NEAR = 0.95
"""How far of the way to the boundary a step goes, at least."""
COARSE, FINE = 1e-2, 1e-9
"""The most and the least that a Newton system's residual may be, relative; a tenth of the gap in between."""
MOST_STEPS = 250
EPSILON = 4 * float(np.finfo(np.float64).eps)
"""What one addition along a path may add or lose, relative to the deadline, with some to spare."""


@dataclass(frozen=True)
class Found:
    """Slacks in seconds, their value and a proven bound on any value, and whether the gap was reached."""

    slack: Floats
    value: float
    bound: float
    done: bool
    steps: int


def maximize_product(
    network: Network, gap: float, ends: float | None = None, clock: Callable[[], float] = time.monotonic
) -> Found:
    """Slacks whose product is within the relative ``gap`` of the bound; stops early when the clock reaches ``ends``.

    The network must leave every DAG some slack.
    """
    point = _Point(network)
    for step in range(MOST_STEPS):
        late = ends is not None and clock() >= ends
        if late or point.nearly_closed(gap):
            point.note()
        if point.closed(gap) or late:
            return point.found(point.closed(gap), step)
        if not point.advance():
            break
    point.note()
    return point.found(point.closed(gap), MOST_STEPS)


class _Point:
    """Times, gaps and prices, in units that make a typical slack and a typical weight 1."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.tasks = len(network.tail)
        self.tails, self.heads = network.arcs
        spare = network.deadlines - network.earliest(network.duration)[1 : network.fixed]
        arcs = network.levels.longest(np.ones(len(self.tails)))[1 : network.fixed]
        self.unit = float(np.median(spare / arcs))
        self.heavy = float(network.weight.mean())
        self.weight = network.weight / self.heavy
        self.duration = network.order_lengths(network.duration / self.unit)
        self.critical = network.deadlines / self.unit - spare / self.unit
        self.blur = EPSILON * np.maximum(arcs, 1.0) * network.deadlines / spare
        self.times = self._start(float((spare / arcs).min()) / self.unit)
        self.gaps = self._gaps(self.times)
        self.pattern = Pattern(network.fixed, self.tails, self.heads, network.levels.level)
        self.mu = float(self.weight.mean())
        self.target = np.concatenate([self.weight, np.full(len(self.tails) - self.tasks, self.mu)])
        self.prices = self.target / self.gaps
        self.value, self.bound = -np.inf, np.inf
        self.best = self.gaps[: self.tasks]
        self.strict = 1.0

    def _start(self, share: float) -> Floats:
        """Times that leave every arc a gap: midway between the earliest and the latest with most of a fair share."""
        network = self.network
        lengths = self.duration + 0.9 * share
        early = network.levels.longest(lengths)
        late = np.full(network.events, np.inf)
        late[1 : network.fixed] = network.deadlines / self.unit
        late = network.levels.latest(lengths, late)
        times = (early + late) / 2
        times[: network.fixed] = network.times / self.unit
        return times

    def _gaps(self, times: Floats) -> Floats:
        return np.asarray(times[self.heads] - times[self.tails] - self.duration)

    def advance(self) -> bool:
        """A predictor and a corrector (Mehrotra); False where no step is possible any more."""
        order = slice(self.tasks, None)
        count = max(len(self.tails) - self.tasks, 1)
        left = self._estimated() / float(self.weight.sum())
        self.tolerance = self.strict * min(max(0.1 * left, FINE), COARSE)
        solver = self.pattern.solver(self.prices / self.gaps)
        now = float((self.prices * self.gaps)[order].sum()) / count
        target = self.target
        target[order] = 0.0
        gap_step, price_step = self._direction(solver, target)
        first, second = _longest(self.gaps, gap_step, 1.0), _longest(self.prices, price_step, 1.0)
        after = (self.gaps + first * gap_step) * (self.prices + second * price_step)
        reached = float(after[order].sum()) / count
        centred = min(max((reached / now) ** 3, 1e-4), 1.0) if now > 0 else 0.1
        target[order] = centred * now
        aim = np.clip(target - gap_step * price_step, 0.5 * target, 2.0 * target)
        gap_step, price_step, time_step = self._corrected(solver, aim)
        near = min(max(NEAR, 1.0 - now), 0.9999)
        along, priced = _longest(self.gaps, gap_step, near), _longest(self.prices, price_step, near)
        self.strict = max(self.strict * 0.1, 1e-6) if min(along, priced) < 0.2 else min(self.strict * 10, 1.0)
        self.times += along * time_step
        self.gaps = self._gaps(self.times)
        self.prices = self.prices + priced * price_step
        return bool(max(along, priced) > 1e-10 and (self.gaps > 0).all())

    def _direction(self, solver: Solves, target: Floats) -> tuple[Floats, Floats]:
        gap_step, price_step, _ = self._corrected(solver, target)
        return gap_step, price_step

    def _corrected(self, solver: Solves, target: Floats) -> tuple[Floats, Floats, Floats]:
        """The step of gaps, prices and times towards prices * gaps = target with conserved flow."""
        network = self.network
        wanted = target / self.gaps
        pull = np.bincount(self.heads, wanted, network.events).astype(np.float64)
        pull -= np.bincount(self.tails, wanted, network.events)
        time_step = np.zeros(network.events)
        time_step[network.fixed :], _ = solver.solve(pull[network.fixed :], self.tolerance)
        gap_step = time_step[self.heads] - time_step[self.tails]
        return gap_step, wanted - self.prices * (1.0 + gap_step / self.gaps), time_step

    def note(self) -> None:
        """Keeps the better of the values and of the bounds, both proven."""
        slack = self._stretched(self.gaps[: self.tasks])
        value = float(self.weight @ np.log(slack))
        if value > self.value:
            self.value, self.best = value, slack
        self.bound = min(self.bound, self._bound())

    def _stretched(self, slack: Floats) -> Floats:
        """The slacks, all longer by as much as surely fits.

        The longest path is a convex function of the factor: the chord through the factors 0 and 1 overshoots, and the
        chord through 0 and that point falls short again, which is where it stops.
        """
        network = self.network
        allowed = network.deadlines / self.unit

        def reached(factor: Floats) -> Floats:
            return network.earliest(self.duration[: self.tasks] + slack * factor[network.dag])[1 : network.fixed]

        spare = allowed - self.critical
        over = spare / (reached(np.ones(len(allowed))) - self.critical)
        safe = over * np.minimum(spare / (reached(over) - self.critical), 1.0)
        return np.asarray(slack * np.maximum(safe, 1.0)[network.dag])

    def _bound(self) -> float:
        """The dual value of the prices, made an exact flow: what enters an event leaves it in their proportion."""
        network = self.network
        prices = np.maximum(self.prices, 0.0)
        leaving = np.bincount(self.tails, prices, network.events)
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = prices / leaving[self.tails]
        shares = np.where(np.isfinite(shares), shares, 1.0)
        entering = np.zeros(network.events)
        entering[0] = leaving[0]
        flow, passing = network.levels.pushed(shares, entering)
        tasks = flow[: self.tasks]
        if not (tasks > 0).all():
            return float(np.inf)
        count = len(network.deadlines)
        room = passing[1 : network.fixed] * network.deadlines / self.unit - np.bincount(
            network.dag, tasks * self.duration[: self.tasks], count
        )
        weight = np.bincount(network.dag, self.weight, count)
        if not (room > 0).all():
            return float(np.inf)
        bound = float(self.weight @ np.log(self.weight / (tasks * (weight / room)[network.dag])))
        return bound + float(weight @ np.log1p(self.blur))

    def _estimated(self) -> float:
        """The gap of the present times and prices, as it would be if the prices were a flow already."""
        products = self.prices * self.gaps
        shares = products[: self.tasks] / self.weight
        return float(products[self.tasks :].sum() + self.weight @ (shares - 1.0 - np.log(shares)))

    def nearly_closed(self, gap: float) -> bool:
        """Whether it is time to work out the proven gap."""
        shift = float(np.log(self.unit))
        value = float(self.weight @ (np.log(self.gaps[: self.tasks]) + shift))
        return self._estimated() <= 10.0 * gap * scale_of(value, float(self.weight.sum()))

    def closed(self, gap: float) -> bool:
        """Whether value and bound, in seconds, are near enough."""
        if not np.isfinite(self.bound):
            return False
        shift = float(self.weight.sum()) * float(np.log(self.unit))
        return self.bound - self.value <= gap * scale_of(self.value + shift, float(self.weight.sum()))

    def found(self, done: bool, steps: int) -> Found:
        """What is known, in seconds and with the weights as given."""
        shift = float(self.network.weight.sum()) * float(np.log(self.unit))
        value, bound = self.heavy * self.value + shift, self.heavy * self.bound + shift
        return Found(self.best * self.unit, value, bound, done, steps)


def _longest(values: NDArray[np.float64], steps: NDArray[np.float64], near: float) -> float:
    """How far to go, at most 1, so that no value loses more than the share ``near`` of itself."""
    worst = float((-steps / values).max(initial=0.0))
    return min(1.0, near / worst) if worst > 0 else 1.0
