"""Newton steps of the interior point method on a network: Mehrotra's predictor and corrector, Gondzio's corrections.

Gaps g and prices p have one order: the tasks, the pure order arcs, bounds on single slacks, and inequalities over sums
of slacks. Equations over sums have prices alone. A bound on a slack adds to the conductance of its task's arc. The k
sums are a system of k more unknowns on top of the Laplacian's. Gondzio (Multiple centrality corrections, Computational
Optimization and Applications 6, 1996) corrects the products p g that a longer step would move far from their targets.
Each correction solves for its change alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mrdsl.families.deadline.methods.laplacian import Pattern, Solves
from mrdsl.families.deadline.methods.slack_limits import SlackLimits
from mrdsl.families.deadline.network import Floats, Network

NEAR = 0.95
"""Least share of the distance to the boundary that a step takes."""
COARSE, FINE = 1e-2, 1e-9
"""The most and the least that a Newton system's residual may be, relative; a tenth of the gap in between."""
PREDICTED = 0.03
"""The residual of the predictor, which no step follows: what it leaves is made up for by the corrector."""
EARLY, ROUGH = 0.3, 1e-3
"""While the gap per unit of weight is so large, steps are short for other reasons than a residual of so much."""
LEAST_CENTRED, STRICTEST, NO_STEP = 1e-4, 1e-6, 1e-10
CORRECTIONS = 4
LONGER = 0.3
"""By how much a correction tries to make a step longer."""
FAR = 10.0
"""Products of price and gap beyond this factor of their target are drawn back."""
LONG_ENOUGH = 0.9
"""Steps of so much need no correction."""


@dataclass(frozen=True)
class Direction:
    """Changes of a step of length 1, with the system's right side, solution, energy and residual."""

    gaps: Floats
    prices: Floats
    times: Floats
    equations: Floats
    pull: Floats
    solution: Floats
    energy: float
    left_over: Floats


class Newton:
    """Times, gaps and prices of a network and its limits, and the steps that they take."""

    def __init__(
        self,
        network: Network,
        duration: Floats,
        weight: Floats,
        limits: SlackLimits,
        times: Floats,
        clock: Callable[[], float],
        ends: float,
    ) -> None:
        self.network, self.duration, self.weight, self.limits = network, duration, weight, limits
        self.times, self.clock, self.ends = times, clock, ends
        self.tasks, self.tails, self.heads = len(network.tail), *network.arcs
        low, high = np.flatnonzero(limits.lower > 0), np.flatnonzero(np.isfinite(limits.upper))
        self.side = np.concatenate([low, high])
        self.sign = np.concatenate([np.ones(len(low)), -np.ones(len(high))])
        self.limit = np.concatenate([limits.lower[low], limits.upper[high]])
        order = np.argsort([each.equal for each in limits.sums], kind="stable").astype(np.int64)
        self.place = np.argsort(order)
        self.sums = ordered = [limits.sums[i] for i in order]
        self.unequal = sum(not each.equal for each in ordered)
        self.most = np.array([each.most for each in ordered])
        self.pulls = np.array([self._pull(self._spread(each.tasks, each.factors)) for each in ordered])
        self.over = np.maximum(self.most - self._summed(self._arcs(times)), 1.0)[: self.unequal]
        self.gaps = self._gaps()
        mean = float(weight.mean())
        self.target = np.concatenate([weight, np.full(len(self.gaps) - self.tasks, mean)])
        self.prices = self.target / self.gaps
        self.equations = np.zeros(len(ordered) - self.unequal)
        self.strict = 1.0
        self.tolerance = COARSE
        self.took, self.stopped = 0.0, False
        self._pattern: Pattern | None = None

    def left(self) -> float:
        """Return the seconds until the search must end."""
        return self.ends - self.clock()

    def advance(self, left: float, unproven: bool = False) -> bool:
        """Take one step; return False if none is possible, or none as long as the last in the remaining time.

        ``left`` is the present gap per unit of weight. ``unproven`` is True if the gap is small enough but the prices
        cannot prove it: inexactly solved systems moved them too far from a flow. Short steps do not help such systems
        either. If no point meets the sums, their prices grow without end.
        """
        if self._late():
            return False
        begun = self.clock()
        if self._pattern is None:
            self._pattern = Pattern(self.network.fixed, self.network.events, self.tails, self.heads)
            self.took = self.clock() - begun
        if self._late(self.took):
            return False
        begun = self.clock()
        with np.errstate(over="ignore", invalid="ignore"):
            solver = self._pattern.solver(self._conductances(), self.left, unproven or self.strict < 1.0)
            begun = self.clock() if self._pattern.once else begun
            gone = self._advanced(solver, left)
        self.took = self.clock() - begun
        return gone

    def _late(self, needed: float = 0.0) -> bool:
        """Return True if no more than ``needed`` seconds are left; notes that the steps ended for it."""
        self.stopped = self.stopped or self.left() <= needed
        return self.stopped

    def _advanced(self, solver: Solves, left: float) -> bool:
        others = slice(self.tasks, None)
        count = max(len(self.gaps) - self.tasks, 1)
        self.tolerance = self.strict * min(max(0.1 * left, FINE), COARSE)
        if left > EARLY:
            self.tolerance = max(self.tolerance, ROUGH)
        shifts = self._shifts(solver)
        now = float((self.prices * self.gaps)[others].sum()) / count
        self.target[others] = 0.0
        direction = self._direction(solver, shifts, self.target)
        along, priced = self._lengths(direction, 1.0)
        after = (self.gaps + along * direction.gaps) * (self.prices + priced * direction.prices)
        reached = float(after[others].sum()) / count
        centred = max((reached / now) ** 3, (1.0 - min(along, priced)) ** 3, LEAST_CENTRED) if now > 0 else 0.1
        self.target[others] = min(centred, 1.0) * now
        second = self.target - along * priced * direction.gaps * direction.prices
        aim = np.clip(second, 0.5 * self.target, 2.0 * self.target)
        direction = self._corrected(solver, shifts, aim, self._direction(solver, shifts, aim, direction))
        return not self._late() and self._step(direction, min(max(NEAR, 1.0 - now), 0.9999))

    def _corrected(self, solver: Solves, shifts: Floats, aim: Floats, direction: Direction) -> Direction:
        """Apply Gondzio's corrections while they lengthen the step."""
        along, priced = self._lengths(direction, 1.0)
        for _ in range(CORRECTIONS):
            if min(along, priced) > LONG_ENOUGH or self._late():
                break
            trial = (self.gaps + min(1.0, along + LONGER) * direction.gaps) * (
                self.prices + min(1.0, priced + LONGER) * direction.prices
            )
            change = np.clip(trial, self.target / FAR, self.target * FAR) - trial
            aim = aim + np.maximum(change, -FAR * self.target)
            tried = self._direction(solver, shifts, aim, direction)
            first, second = self._lengths(tried, 1.0)
            longer = first >= 1.01 * along or second >= 1.01 * priced
            if not longer or min(first, second) < 0.9 * min(along, priced):
                break
            direction, along, priced = tried, first, second
        return direction

    def _step(self, direction: Direction, near: float) -> bool:
        if not (np.isfinite(direction.times).all() and np.isfinite(direction.prices).all()):
            return False
        along, priced = self._lengths(direction, near)
        short = min(along, priced) < 0.2
        self.strict = max(self.strict * 0.1, STRICTEST) if short else min(self.strict * 10, 1.0)
        self.times = self.times + along * direction.times
        self.prices = self.prices + priced * direction.prices
        self.equations = self.equations + priced * direction.equations
        if self.unequal:
            over = self.over + along * direction.gaps[-self.unequal :]
            kept = (self.most - self._summed(self._arcs(self.times)))[: self.unequal]
            self.over = np.where(np.abs(kept - over) <= 0.1 * over, kept, over)
        self.gaps = self._gaps()
        return bool(max(along, priced) > NO_STEP and (self.gaps > 0).all())

    def carried(self) -> Floats:
        """Return the price of every arc with those of the limits on its slack: in the end a flow."""
        flow = self._flow(self.prices)
        for each, multiplier in zip(self.sums, self._multipliers(), strict=True):
            np.subtract.at(flow, each.tasks, multiplier * each.factors)
        return flow

    def multipliers(self) -> Floats:
        """Return the prices of the limits' sums, in their order."""
        return np.asarray(self._multipliers()[self.place])

    def _multipliers(self) -> Floats:
        return np.concatenate([self.prices[len(self.prices) - self.unequal :], self.equations])

    def _arcs(self, times: Floats) -> Floats:
        return np.asarray(times[self.heads] - times[self.tails] - self.duration)

    def _gaps(self) -> Floats:
        arcs = self._arcs(self.times)
        return np.concatenate([arcs, self.sign * (arcs[self.side] - self.limit), self.over])

    def _summed(self, slack: Floats) -> Floats:
        return np.array([float(each.factors @ slack[each.tasks]) for each in self.sums])

    def _spread(self, tasks: NDArray[np.int64], factors: Floats) -> Floats:
        spread = np.zeros(len(self.tails))
        np.add.at(spread, tasks, factors)
        return spread

    def _pull(self, flow: Floats) -> Floats:
        """Return the inflow less the outflow of every event that is not fixed."""
        events = self.network.events
        pull = np.bincount(self.heads, flow, events) - np.bincount(self.tails, flow, events)
        return np.asarray(pull[self.network.fixed :])

    def _flow(self, values: Floats) -> Floats:
        """Return values of the arcs with those of the bounds on their slacks."""
        arcs = len(self.tails)
        flow = values[:arcs].copy()
        np.add.at(flow, self.side, self.sign * values[arcs : arcs + len(self.side)])
        return flow

    def _conductances(self) -> Floats:
        arcs = len(self.tails)
        ratio = self.prices / self.gaps
        conductances = ratio[:arcs].copy()
        np.add.at(conductances, self.side, ratio[arcs : arcs + len(self.side)])
        return conductances

    def _shifts(self, solver: Solves) -> Floats:
        """Return the response of the times to a price of 1 on each sum."""
        return np.array([solver.solve(pull, self.tolerance).solution for pull in self.pulls]).reshape(
            len(self.sums), self.network.events - self.network.fixed
        )

    def _direction(self, solver: Solves, shifts: Floats, aim: Floats, known: Direction | None = None) -> Direction:
        """Return the step to the products ``aim``; solve only for the difference from a ``known`` one."""
        wanted = aim / self.gaps
        pull = self._pull(self._flow(wanted))
        if known is None:
            solution, _, left_over = solver.solve(pull, max(self.tolerance, PREDICTED))
        else:
            changed = known.left_over + (pull - known.pull)
            change, _, left_over = solver.solve(changed, self.tolerance, known.energy)
            solution = known.solution + change
        times = np.zeros(self.network.events)
        times[self.network.fixed :] = solution
        equations = np.zeros(0)
        missing = np.zeros(self.unequal)
        if self.sums:
            slack = self._arcs(self.times)
            missing = self.most - self._summed(slack)
            missing[: self.unequal] -= self.over
            multipliers = self._prices_of_sums(shifts, solution, aim, missing)
            times[self.network.fixed :] -= multipliers @ shifts
            equations = multipliers[self.unequal :] - self.equations
        arcs = times[self.heads] - times[self.tails]
        summed = missing[: self.unequal] - self._summed(arcs)[: self.unequal]
        gaps = np.concatenate([arcs, self.sign * arcs[self.side], summed])
        prices = wanted - self.prices * (1.0 + gaps / self.gaps)
        return Direction(gaps, prices, times, equations, pull, solution, float(solution @ pull), left_over)

    def _prices_of_sums(self, shifts: Floats, solution: Floats, aim: Floats, missing: Floats) -> Floats:
        """Return the prices at which the step meets every sum, up to the gaps of inequalities."""
        first = len(self.prices) - self.unequal
        prices, gaps = self.prices[first:], self.gaps[first:]
        give = np.zeros(len(self.sums))
        give[: self.unequal] = gaps / prices
        right = self.pulls @ solution - missing
        right[: self.unequal] += aim[first:] / prices
        system = self.pulls @ shifts.T + np.diag(give)
        return np.asarray(np.linalg.lstsq(system, right, rcond=None)[0])

    def _lengths(self, direction: Direction, near: float) -> tuple[float, float]:
        """Return the greatest step lengths of times and prices."""
        return longest(self.gaps, direction.gaps, near), longest(self.prices, direction.prices, near)


def longest(values: Floats, steps: Floats, near: float) -> float:
    """Return the greatest step length, at most 1, at which no value loses more than its share ``near``."""
    worst = float((-steps / values).max(initial=0.0))
    return min(1.0, near / worst) if worst > 0 else 1.0
