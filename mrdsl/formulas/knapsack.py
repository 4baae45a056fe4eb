"""Whole optima of knapsacks whose capacity is bought in whole VMs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from mrdsl.core.rounding import SAME_SUM, ceiling, floor

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NO_VMS = 1e-14
"""Rest of VMs that rounding leaves after all jobs have moved away, relative to the most VMs."""


@dataclass(frozen=True)
class VmCost:
    """The cost of VMs: ``available`` at the ``reserved`` price, any more at the ``on_demand`` price."""

    reserved: float
    on_demand: float
    available: float

    def __call__(self, vms: Floats | float) -> Floats:
        """Return the cost of ``vms`` VMs."""
        return np.asarray(
            self.reserved * np.minimum(vms, self.available) + self.on_demand * np.maximum(vms - self.available, 0.0)
        )

    def split(self, vms: float) -> tuple[float, float]:
        """VMs on demand and reserved, the cheapest way."""
        reserved = min(vms, self.available)
        return vms - reserved, reserved

    def idle(self, vms: Floats, price: float) -> Floats:
        """Return the excess cost of ``vms`` fractional VMs in whole ones at that dual price; never below zero."""
        whole = whole_vms(vms)
        least = (self.reserved - price) * self.available
        return np.maximum(self(whole) - price * vms - least, 0.0)


@dataclass(frozen=True)
class Exchange:
    """The best whole jobs found, the whole VMs they take, and ``proven``: any better lie that far above the bound."""

    jobs: Floats
    vms: float
    proven: float
    timed_out: bool = False


@dataclass
class States:
    """Undominated states: VMs used, reduced cost so far, and, per class moved, the previous state.

    ``best`` is the least total found, ``dropped`` the cheapest state left out for lack of room.
    """

    vms: Floats
    cost: Floats
    best: float
    parents: list[Ints] = field(default_factory=list)
    moves: list[Ints] = field(default_factory=list)
    best_stage: int = 0
    best_state: int = 0
    dropped: float = np.inf


def whole_vms(vms: Floats | float) -> Floats:
    """Return the least whole number of VMs, with a tolerance for rounding errors of float sums."""
    return np.asarray(ceiling(vms))


def exchange(
    relaxed: Floats,
    price: float,
    penalty: Floats,
    gamma: Floats,
    low: Floats,
    high: Floats,
    vm_cost: VmCost,
    *,
    enough: float,
    states: int,
    classes: int,
    until: float | None = None,
) -> Exchange:
    """Return the best whole jobs near the relaxed optimum.

    The search moves at most ``classes`` classes. It stops once the cost is within ``enough`` of the relaxed bound, or
    at ``until`` on the monotonic clock.
    """
    start = floor(relaxed)
    used = float(gamma @ start)
    moving = np.abs(penalty - price * gamma)
    moving[moving <= SAME_SUM * penalty] = 0.0
    reached = States(np.array([used]), np.zeros(1), best=float(vm_cost.idle(np.array([used]), price)[0]))
    core = _core(moving, low, high, reached.best, classes + 1)
    order, timed_out = [], False
    beyond = np.inf
    for stage, index in enumerate(core):
        cheapest = float(moving[index])
        timed_out = until is not None and time.monotonic() > until
        if reached.best <= enough or cheapest >= reached.best or stage == classes or timed_out:
            beyond = cheapest
            break
        order.append(index)
        steps = _steps(
            reached.best, cheapest, start[index], low[index], high[index], bool(penalty[index] >= price * gamma[index])
        )
        moved = steps.astype(np.float64)
        move(
            reached,
            steps,
            float(gamma[index]) * moved,
            cheapest * np.abs(moved),
            price,
            lambda vms: vm_cost.idle(vms, price),
            states,
        )
    jobs = start.copy()
    for index, by in zip(order, path(reached), strict=False):
        jobs[index] += by
    proven = min(reached.dropped, beyond) if reached.best > enough else 0.0
    return Exchange(jobs, float(whole_vms(float(gamma @ jobs))), proven, timed_out)


def _core(moving: Floats, low: Floats, high: Floats, gap: float, most: int) -> list[int]:
    """Return the classes whose jobs may move, cheapest first."""
    candidates = ((moving < gap) & (high > low)).nonzero()[0]
    if len(candidates) > most:
        candidates = candidates[np.argpartition(moving[candidates], most - 1)[:most]]
    return [int(i) for i in candidates[np.argsort(moving[candidates], kind="stable")]]


def _steps(gap: float, cheapest: float, start: float, low: float, high: float, full: bool) -> Ints:
    """By how many jobs a class may move: away from the relaxed choice, both ways where it is indifferent."""
    limit = int(gap / cheapest) if cheapest > 0.0 else 10**9
    down = np.arange(1, min(limit, int(start - low)) + 1) if full or cheapest == 0.0 else np.zeros(0)
    up = np.arange(1, min(limit, int(high - start)) + 1) if not full or cheapest == 0.0 else np.zeros(0)
    return np.concatenate([[0], -down, up]).astype(np.int64)


def move(
    states: States,
    steps: Ints,
    weights: Floats,
    losses: Floats,
    price: float,
    idle: Callable[[Floats], Floats],
    most: int,
) -> None:
    """Add one class: combine every state with every step, note the best, and drop dominated and hopeless states.

    A step takes ``weights`` more VMs and costs ``losses``; the first one leaves the state as it is. ``idle`` is the
    additional cost of a state if it is the last.
    """
    count = len(states.vms)
    vms = (states.vms[None, :] + weights[:, None]).ravel()
    vms[np.abs(vms) < NO_VMS * float(np.abs(vms).max())] = 0.0
    cost = (states.cost[None, :] + losses[:, None]).ravel()
    total = cost + idle(vms)
    best = int(np.argmin(total))
    keep = _undominated(vms, cost - price * vms)
    improved = float(total[best]) < states.best
    states.best = min(states.best, float(total[best]))
    keep = keep[cost[keep] < states.best]
    if len(keep) > most:
        keep, left = _most_promising(keep, cost, total, most)
        states.dropped = min(states.dropped, float(cost[left].min()))
    if improved and best not in keep:
        keep = np.append(keep, best)
    if improved:
        states.best_stage, states.best_state = len(states.moves) + 1, int((keep == best).nonzero()[0][0])
    states.vms, states.cost = vms[keep], cost[keep]
    states.parents.append(keep % count)
    states.moves.append(steps[keep // count])


def _most_promising(keep: Ints, cost: Floats, total: Floats, most: int) -> tuple[Ints, Ints]:
    """Return half of the states by cost so far and half by the cost of a plan that stops here, and those left out."""
    by_cost = keep[np.argpartition(cost[keep], most // 2)]
    first, rest = by_cost[: most // 2], by_cost[most // 2 :]
    by_total = rest[np.argpartition(total[rest], most - len(first))]
    return np.concatenate([first, by_total[: most - len(first)]]), by_total[most - len(first) :]


def _undominated(vms: Floats, penalties: Floats) -> Ints:
    """Return states for which none takes as few VMs at as low a penalty."""
    order = np.lexsort((penalties, vms))
    sorted_penalties = penalties[order]
    before = np.minimum.accumulate(np.concatenate([[np.inf], sorted_penalties[:-1]]))
    return order[sorted_penalties < before - SAME_SUM * np.maximum(1.0, np.abs(sorted_penalties))]


def path(states: States) -> list[int]:
    """Return the moves that lead to the best state, in the order of the classes."""
    steps: list[int] = []
    state = states.best_state
    for stage in range(states.best_stage - 1, -1, -1):
        steps.append(int(states.moves[stage][state]))
        state = int(states.parents[stage][state])
    return steps[::-1]


Places = NDArray[np.int64]

CELLS = 1_000_000
"""Most sums that are compared at once."""


@dataclass(frozen=True)
class Pieces:
    """The cheapest machines of any number of jobs of each class, put together from numbers of jobs on one kind each.

    ``least`` is the cost of each number of jobs, ``last`` the number of jobs of its last piece, and ``kind`` the
    machines of a piece of each number of jobs; all of the shape (most + 1, classes).
    """

    least: Floats
    last: Places
    kind: Places

    def jobs(self, count: Places, kinds: int) -> Floats:
        """Return ``count`` jobs of each class by kind, (kinds, classes)."""
        found, each = np.zeros((kinds, len(count))), np.arange(len(count))
        for kind, jobs in self.parts(count):
            found[kind, each] += jobs
        return found

    def parts(self, count: Places) -> Iterator[tuple[Places, Places]]:
        """Yield the kind and the jobs of a piece of each class, 0 jobs if it has none left, for ``count`` jobs."""
        each, left = np.arange(len(count)), count.copy()
        while left.any():
            piece = self.last[left, each]
            yield self.kind[piece, each], piece
            left = left - piece


def machines_alone(gamma: Floats, room: Floats, most: int) -> NDArray[np.float32]:
    """Return the machines of 0 to ``most`` jobs on one kind, (most + 1, kinds, classes); infinite beyond its ``room``.

    ``gamma``, of shape (kinds, classes), is infinite if a class cannot run.
    """
    possible = np.isfinite(gamma)
    each = np.where(possible, gamma, 0.0)
    found = np.empty((most + 1, *gamma.shape), dtype=np.float32)
    found[0] = 0.0
    for jobs in range(1, most + 1):
        machines = ceiling(each * jobs)
        found[jobs] = np.where(possible & (machines <= room[:, None]), machines, np.inf)
    return found


def cheapest_pieces(machines: NDArray[np.float32], prices: Floats) -> Pieces:
    """Return the cheapest pieces, given the price of a machine of each kind.

    ``prices`` are otherwise those of a piece of 0, 1, ... machines, (kinds, sizes): it has none of more.
    Pieces of one kind may together have more machines than its room: their cost bounds that of all mixes from below.
    """
    most, _, classes = machines.shape[0] - 1, *machines.shape[1:]
    alone, kind = np.zeros((most + 1, classes)), np.zeros((most + 1, classes), dtype=np.int64)
    prices = np.maximum(prices, np.finfo(float).tiny)  # beyond the room even free machines are none
    beyond = np.append(prices, np.full((len(prices), 1), np.inf), axis=1) if prices.ndim == 2 else prices
    for jobs in range(1, most + 1):
        if prices.ndim == 2:
            size = np.minimum(machines[jobs], prices.shape[1]).astype(np.int64)
            cost = np.take_along_axis(beyond, size, axis=1)
        else:
            cost = prices[:, None] * machines[jobs]
        kind[jobs] = cost.argmin(axis=0)
        alone[jobs] = np.take_along_axis(cost, kind[jobs][None], axis=0)[0]
    least, last = np.zeros_like(alone), np.zeros_like(kind)
    for jobs in range(1, most + 1):
        sums = alone[1 : jobs + 1] + least[:jobs][::-1]
        last[jobs] = sums.argmin(axis=0) + 1
        least[jobs] = sums.min(axis=0)
    return Pieces(least, last, kind)


def cheapest_mixes(alone: Floats) -> tuple[Floats, Places]:
    """Return the least cost of each number of jobs over mixes of kinds, (classes, most + 1), and these jobs.

    The jobs have the shape (kinds, classes, most + 1): column ``h`` has the number of each kind for ``h`` jobs.
    """
    kinds, classes, width = alone.shape
    best = np.full((classes, width), np.inf)
    best[:, 0] = 0.0
    chosen = np.zeros((kinds, classes, width), dtype=np.int64)
    step = max(1, CELLS // (width * width))
    for start in range(0, classes, step):
        part = slice(start, start + step)
        for kind in range(kinds):
            best[part], chosen[kind, part] = _with_one_more(best[part], alone[kind, part])
    return best, _traced(chosen)


def _with_one_more(best: Floats, alone: Floats) -> tuple[Floats, Places]:
    """Return the least of ``best[h - k] + alone[k]`` over ``k`` for each ``h``, and the first such ``k``."""
    width = best.shape[1]
    before = np.concatenate([np.full((len(best), width - 1), np.inf), best], axis=1)
    sums = sliding_window_view(before, width, axis=1)[:, :, ::-1] + alone[:, None, :]
    jobs = sums.argmin(axis=2)
    return np.take_along_axis(sums, jobs[:, :, None], axis=2)[:, :, 0], jobs


def _traced(chosen: Places) -> Places:
    """Return the jobs of each kind for the last choice, from the last kind back."""
    kinds, classes, width = chosen.shape
    left = np.broadcast_to(np.arange(width), (classes, width)).copy()
    rows = np.arange(classes)[:, None]
    for kind in reversed(range(kinds)):
        chosen[kind] = chosen[kind][rows, left]
        left -= chosen[kind]
    return chosen
