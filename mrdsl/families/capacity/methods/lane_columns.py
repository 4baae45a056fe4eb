"""Whole VMs with whole jobs of classes that share them, within quotas, by columns: a bound, and plans near it.

The relaxation takes parts of the VMs with the lowest unit cost. Here each lane has whole VMs and whole jobs.

**Theorem.** Take any prices ``pi_c >= 0`` of a job of each class, and ``pi_c + tau_c`` on firm VMs. Every plan costs at
least the sum of

- the costs of the masters and the penalties of all expected jobs,
- for each class, the least of ``(pi_c - penalty_c) n + tau_c f`` over its range of jobs ``n``, of which ``f`` are firm,
- for each VM type, the least of the cost of its VMs less the worth of the jobs on them, over the VMs of its lanes that
  its quota allows. The worth is the most that whole jobs with those VMs can have at the prices.

**Proof.** Add the prices of the jobs of each class to the cost of a plan, and subtract them by lane: the cost is
unchanged. The parts are then those above, at the plan's numbers of jobs and of VMs, and each is at least its least
value. A plan's jobs in a lane take no more than its VMs, since each takes at least its part ``gamma``, whatever slots
it holds. Other constraints (one type for a class) only remove plans. QED (Geoffrion 1974, *Lagrangean relaxation for
integer programming*).

``tau_c >= 0`` is 0 unless a part of the class, and not all of it, may run on spot. Such a class has firm VM time if it
has any (:class:`mrdsl.families.capacity.methods.spot_limits.Limits`): with ``n >= 1`` jobs, ``f`` is at least 1, and at
most ``n - 1`` jobs are on spot in a lane. The limit itself is left out: it rarely binds on small firm VMs, of which a
job takes many. A second program has it, for plans.

The worth of whole jobs on ``k`` VMs is a bounded knapsack. Dynamic programming over parts of VMs solves it from above:
the parts of jobs are rounded down. So does the knapsack of fractional jobs; the lesser one counts. A lane that can use
many VMs has fractional ones.

A linear program proposes the prices. It chooses *contents*, which are whole jobs on ``k`` VMs, for the lanes that are
alike for all jobs, and lanes with ``k`` VMs for them (Gilmore and Gomory 1961, *A linear programming approach to the
cutting-stock problem*). A plan follows from it by diving: the contents with the largest values are fixed, and the
program is solved again for the remaining jobs and lanes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.rounding import ROUNDING, ceiling, floor
from mrdsl.families.capacity.facts import NO
from mrdsl.families.capacity.instance import Mix
from mrdsl.families.capacity.lanes import limited_classes
from mrdsl.families.capacity.market import Floats
from mrdsl.families.capacity.methods.lane_prices import Places, Task
from mrdsl.families.capacity.methods.own_machines import Tariff, tariff_of
from mrdsl.formulas.packing import pack, quickly_filled, units_of

MOST_VMS = 32
"""A lane that can use more VMs than these has fractional VMs and jobs."""
FINEST, FEWEST_CELLS, MOST_CELLS = 4_000, 512, 55_440
"""Parts of the VMs of a lane for its smallest job, and the fewest and the most parts of all of its VMs."""
DIVISIBLE = (12, 24, 36, 48, 60, 120, 180, 240, 360, 720, 840, 1_260, 1_680, 2_520, 5_040, 10_080, 27_720, 55_440)
"""Numbers of parts of a VM with many divisors: the parts of most slots are whole numbers of these."""
EFFORT = 30_000_000
"""Parts of VMs and numbers of jobs that one round looks at."""
MOST_CLASSES = 120
"""Of more classes, rounding matters little, and the program takes minutes."""
LESS, NOISE = 1.0 - 1e-7, 1e-6
"""VMs that jobs overrun by rounding errors are enough for them: jobs count for this much less in fractions. Parts are
whole numbers, so that errors below 1 in all parts of a lane have no effect; those of one job count as this."""


@dataclass(frozen=True)
class Content:
    """Jobs of each class on some VMs.

    ``slots`` are the map and reduce slots of one job, (classes, 2), or None if every plan has the same.
    """

    jobs: Floats
    slots: Floats | None = None


DEAR, LEAST = 1.5, 1e-3
"""Lacking jobs cost so many times their first prices, which are at least that part of the largest one."""
FURTHER = 1.6
"""Lanes are in the program from the start if they pay at prices of jobs that are so many times the first ones."""


class Filling(Protocol):
    """Contents of 0 to some number of VMs of lanes alike: their worth, from above, and jobs of some."""

    @property
    def worth(self) -> Floats:
        """The most that jobs on each number of VMs are worth, or more."""

    def each(self, vms: int) -> list[Content]:
        """Return contents of so many VMs."""


class Packer(Protocol):
    """What packs on whole VMs."""

    def packed(self, lane: int, vms: int, content: Content) -> tuple[int, Content]:
        """Return the jobs that so many VMs of a lane hold, of the given ones, and the VMs that they take."""


class Packing(Protocol):
    """Slots with which contents pack, and resources of which contents that do not pack take too much."""

    def slots(self, kind: int, vms: int, jobs: Floats, thorough: bool = False) -> Floats | None:
        """Return the map and reduce slots, (2, classes), of one job of each class that pack on VMs; None if unknown."""

    def excluding(self, kind: int, vms: int, jobs: Floats) -> Floats | None:
        """Return parts of a VM that a job of each class takes at least, of which these jobs take too much, or None."""


@dataclass(frozen=True)
class Contents:
    """The worth, from above, of whole jobs on 0 to some number of VMs of lanes alike, and the jobs of it."""

    gamma: Floats
    worth: Floats
    cells: int
    taken: tuple[tuple[int, float, int, NDArray[np.bool_]], ...]

    def each(self, vms: int) -> list[Content]:
        """Return the content of ``vms`` VMs that is worth most: jobs of each class that fit them."""
        jobs, left = np.zeros(len(self.gamma)), vms * self.cells
        for index, count, weight, better in reversed(self.taken):
            if better[left]:
                jobs[index] += count
                left -= weight
        some = np.flatnonzero(jobs)
        while len(some) and float(self.gamma[some] @ jobs[some]) > vms * (1.0 + ROUNDING):
            jobs[some[int(np.where(jobs[some] > 0.0, self.gamma[some], np.inf).argmin())]] -= 1.0
        return [Content(jobs)]


def contents_of(gamma: Floats, most: Floats, prices: Floats, vms: int, finest: int) -> Contents:
    """Return the most valuable contents of up to ``vms`` VMs; ``most`` limits the jobs of each class."""
    some = np.flatnonzero((prices > 0.0) & (gamma <= vms * (1.0 + ROUNDING)) & (most > 0.0))
    order = some[np.argsort(-prices[some] / gamma[some], kind="stable")]
    filled = np.concatenate([[0.0], np.cumsum(gamma[order] * most[order])])
    sums = np.concatenate([[0.0], np.cumsum(prices[order] * most[order])])
    worth = np.interp(np.arange(vms + 1.0), filled * LESS, sums)
    if not len(order):
        return Contents(gamma, worth, 1, ())
    cells = int(min(max(FEWEST_CELLS, FINEST * vms / float(gamma[order].min())), finest)) // vms
    cells = max((each for each in DIVISIBLE if each <= cells), default=max(1, cells))
    best = np.zeros(cells * vms + 1)
    taken = []
    for index in order.tolist():
        left, count = float(most[index]), 1.0
        while left:
            count = min(count, left)
            weight = int(count * gamma[index] * cells + NOISE)
            if weight >= len(best):
                break
            more = best[: len(best) - weight] + count * prices[index]
            better = np.zeros(len(best), dtype=bool)
            better[weight:] = more > best[weight:]
            best[weight:] = np.maximum(best[weight:], more)
            taken.append((index, count, weight, better))
            left, count = left - count, 2.0 * count
    return Contents(gamma, np.minimum(best[::cells], worth), cells, tuple(taken))


class Lanes:
    """The lanes of a task, alike or not, with the VMs that each can use beyond masters, and the costs of these.

    ``closed`` lanes are not used, and ``taken`` VMs of each type are not available. Jobs may be ``begun``: firm, all,
    and the firm VM time that limits on spot leave, (rows, classes). ``high`` are the most jobs in each kind of lanes,
    and ``times`` the VM times of one job there if there are such limits.
    """

    def __init__(
        self,
        task: Task,
        closed: NDArray[np.bool_] | None = None,
        taken: Floats | float = 0.0,
        tariff: Tariff | None = None,
        begun: Floats | None = None,
    ) -> None:
        market = task.market
        self.task, self.market, self.price = task, market, market.cheapest()
        self.limited = limited_classes(task.mix)
        self.gamma, self.kind = self._kinds()
        self.used = np.where(np.isfinite(self.gamma), self.gamma, 0.0)
        self.firm = np.ones(len(self.gamma))
        self.firm[self.kind] = ~market.spot
        self.begun = np.zeros((3, len(task.mix))) if begun is None else begun
        self.first = np.isin(np.arange(len(task.mix)), self.limited) & (self.begun[0] <= 0.0)
        self.high = np.maximum(task.high - (1.0 - self.firm[:, None]) * self.first, 0.0)
        self.room = task.available - market.masters - taken
        useful = ceiling((self.used * task.high).sum(axis=1))[self.kind]
        self.most = np.maximum(np.minimum(self.room[market.vm_of_lane], useful), 0.0)
        if closed is not None:
            self.most[closed] = 0.0
        self.narrow = (self.most >= 1.0) & (self.most <= MOST_VMS)
        self.tariff = tariff_of(market, 0.0) if tariff is None else tariff
        chunks = float(np.log2(task.high[task.high > 0.0] + 1.0).sum()) + 1.0
        first = np.zeros(len(self.gamma), dtype=np.int64)
        first[self.kind] = np.arange(len(self.kind))
        self.times = np.where(task.mix.possible, task.mix.gamma, 0.0)[first]
        kinds = len(np.unique(self.kind[self.narrow])) + 1
        self.finest = int(min(max(EFFORT / (kinds * chunks), FEWEST_CELLS), MOST_CELLS))

    rounds, dear, further = 300, DEAR, FURTHER
    """Most rounds of the linear program, and the first prices of lacking jobs and of lanes in multiples of those of
    jobs."""

    def _kinds(self) -> tuple[Floats, Places]:
        """Return the parts of VMs that jobs take in each kind of lanes, and the kind of each lane."""
        mix = self.task.mix
        gamma = np.where(mix.possible & (self.task.high > 0.0), mix.gamma, np.inf)
        spot = mix.market.spot[:, None] & bool(len(self.limited))
        kinds, kind = np.unique(np.concatenate([gamma, spot], axis=1), axis=0, return_inverse=True)
        return kinds[:, :-1], kind.ravel()

    def within(self, task: Task, closed: NDArray[np.bool_], taken: Floats, begun: Floats) -> Lanes:
        """Return the lanes of the rest of a task."""
        return Lanes(task, closed, taken, self.tariff, begun)

    def sizes(self, worth: Floats, lanes: Places) -> Sequence[int]:
        """Return the numbers of VMs of lanes alike for which contents of that worth are added."""
        return range(1, len(worth))

    def of(self, task: Task) -> Lanes:
        """Return the lanes of a task in which other classes can run there."""
        return Lanes(task)

    def alone(self, kind: int, most: int) -> list[tuple[int, Content]]:
        """Return contents of one class each on at most so many VMs, and their VMs."""
        gamma, high = self.gamma[kind], self.high[kind]
        found = []
        for index in np.flatnonzero(gamma <= most).tolist():
            jobs = np.zeros(len(high))
            jobs[index] = min(high[index], floor(most / float(gamma[index])))
            found.append((int(ceiling(jobs[index] * float(gamma[index]))), Content(jobs)))
        return found

    def parts(self, kind: int) -> Floats:
        """Return what a job of each class takes of a VM of a kind, (resources, classes): each has enough VMs."""
        return np.asarray(self.gamma[kind][None])

    def packing(self) -> Packing:
        """Return what finds slots of contents that pack."""
        return Plain(self)

    def packer(self) -> Packer:
        """Return what packs on whole VMs of these lanes."""
        return Room(self.task.mix)

    @property
    def is_small(self) -> bool:
        """Return True if there are few classes, and a round looks at no more than it may."""
        if len(self.task.mix) > MOST_CLASSES:
            return False
        chunks = float(np.log2(self.task.high + 1.0).sum())
        return len(np.unique(self.kind[self.narrow])) * chunks * FEWEST_CELLS <= EFFORT

    def costs(self, lane: int) -> Floats:
        """Return the cost of 0 to the most VMs of a narrow lane in addition to its masters."""
        vms = self.market.masters_of_lane[lane] + np.arange(self.most[lane] + 1.0)
        costs = self.tariff.cost(np.array([lane]), vms[None])[0]
        return np.asarray(costs - costs[0])

    def saved(self, worth: Floats) -> Floats:
        """Return the worth less the cost of fractional jobs and VMs of each lane, without its quota."""
        jobs = np.where(np.isfinite(self.gamma), worth, 0.0)
        each = jobs[self.kind] - self.price[:, None] * self.used[self.kind]
        return np.where(self.most >= 1.0, (np.maximum(each, 0.0) * self.high[self.kind]).sum(axis=1), 0.0)

    def contents(self, worth: Floats, lanes: Places) -> Iterator[tuple[Filling, Places]]:
        """Yield the contents of each kind of some narrow lanes, and these lanes."""
        for kind in np.unique(self.kind[lanes]).tolist():
            mine = lanes[self.kind[lanes] == kind]
            yield self._contents(kind, int(self.most[mine].max()), worth[kind]), mine

    def _contents(self, kind: int, vms: int, prices: Floats) -> Filling:
        return contents_of(self.gamma[kind], self.high[kind], prices, vms, self.finest)


NEAR = 1e-3
"""Relative gap of the linear program to the bound at which its rounds end."""
INSIDE = 0.5
"""Next prices are this part of the best ones, and the rest of those of the program."""
MORE = 50
"""Most lanes that a round adds."""
MOST_PAIRS = 20_000
"""Most pairs of classes and lanes with fractional VMs in the program."""


class LaneProgram:
    """The linear program of contents, of lanes with 1, 2, ... VMs, and of pairs on lanes of fractional VMs.

    Rows: the least jobs of each class; one number of VMs for each lane; no more contents of each number of VMs of a
    kind than lanes; the VMs of each type; the first firm job of each class with a part on spot; with ``limits``, that
    part of its VM time. ``bound`` is the best bound so far, at the prices ``at``, (rows, classes): of jobs, of first
    firm jobs, and of limits. With these it is not a bound.
    """

    def __init__(self, lanes: Lanes, prices: Floats, limits: bool = False) -> None:
        from mrdsl.solving.backends.highs import GrowingProgram

        self.lanes, self.task, self.at, self.limits = lanes, lanes.task, prices, limits
        self.bound, self.value = -np.inf, np.inf
        classes, self.of_lane = len(self.task.mix), len(self.task.mix)
        limited = np.isin(np.arange(classes), lanes.limited)
        some = (self.task.low > 0.0) | (lanes.begun[1] > 0.0)
        share = np.where(limited, self.task.mix.spot_share, 0.0)
        self.time = lanes.times * (lanes.firm[:, None] * share - (1.0 - lanes.firm[:, None]) * (1.0 - share))
        self.of_kind = self.of_lane + len(lanes.kind)
        self.width = int(lanes.most[lanes.narrow].max(initial=1.0))
        self.of_type = self.of_kind + len(lanes.gamma) * self.width
        self.of_first = self.of_type + len(lanes.room)
        self.of_share = self.of_first + classes
        rows = self.of_share + classes
        lower, upper = np.full(rows, -np.inf), np.full(rows, np.inf)
        lower[:classes] = self.task.low
        lower[self.of_first : self.of_share] = np.where(lanes.first, some, -np.inf)
        lower[self.of_share :] = np.where(limited & limits, -lanes.begun[2], -np.inf)
        upper[self.of_lane : self.of_kind] = 1.0
        upper[self.of_kind : self.of_type] = 0.0
        upper[self.of_type : self.of_first] = np.maximum(lanes.room, 0.0)
        self.program = GrowingProgram(lower, upper)
        self.rows, self.count = rows, 0
        self.chosen: dict[int, tuple[int, int, Content]] = {}
        self.vms: dict[int, tuple[int, int]] = {}
        self.seen: set[tuple[int, int, bytes]] = set()
        self.there = np.zeros(len(lanes.kind), dtype=bool)
        self._worths: tuple[Floats, list[tuple[Floats, Places]]] | None = None
        mix = self.task.mix
        firm = prices[0] + prices[1]
        self.dear = lanes.dear * np.maximum(firm, LEAST * float(firm.max(initial=0.0)) + ROUNDING)
        self.dearest = 10.0 * (float(mix.worth.max(initial=0.0)) + float(self.dear.max(initial=0.0))) + 1.0
        each = np.arange(classes)
        places = np.concatenate([each, self.of_first + each, self.of_share + each])
        of_job = np.where(some, 0.0, lanes.first / np.maximum(self.task.high, 1.0))
        more = np.concatenate([np.ones(classes), of_job, np.zeros(classes)])
        time = np.where(self.time > 0.0, self.time, np.inf).min(axis=0)
        lacking = np.concatenate([np.ones(2 * classes), np.where(np.isfinite(time), time, 0.0)])
        self._columns(-mix.worth, self.task.high - self.task.low, places, np.tile(each, 3), -more)
        self._columns(self.dear, np.full(classes, np.inf), places, np.tile(each, 3), lacking)
        self._pairs(lanes.further * prices)
        self._lanes(np.flatnonzero(lanes.narrow & (lanes.saved(self.worth(lanes.further * prices)) > 0.0)))

    def worth(self, prices: Floats) -> Floats:
        """Return the worth of one job in each kind, (kinds, classes), at some prices."""
        return np.asarray(prices[0] + self.lanes.firm[:, None] * prices[1] + self.time * prices[2])

    def _columns(self, costs: Floats, upper: Floats, rows: Places, columns: Places, values: Floats) -> None:
        from scipy.sparse import coo_array

        self.count += len(costs)
        self.program.add(costs, upper, coo_array((values, (rows, columns)), shape=(self.rows, len(costs))))

    def _pairs(self, prices: Floats) -> None:
        """Add the pairs on lanes of fractional VMs that pay at some prices, the cheapest first if they are many."""
        lanes = self.lanes
        cost = lanes.price[:, None] * lanes.used[lanes.kind]
        worth = np.where(np.isfinite(lanes.gamma), self.worth(prices), 0.0)[lanes.kind]
        pays = (~lanes.narrow & (lanes.most > 0.0))[:, None] & (cost < worth)
        of_lane, of_class = pays.nonzero()
        order = np.argsort(cost[pays] / worth[pays], kind="stable")[:MOST_PAIRS]
        of_lane, of_class = of_lane[order], of_class[order]
        each, kind = np.arange(len(order)), lanes.kind[of_lane]
        types = self.of_type + lanes.market.vm_of_lane[of_lane]
        values = [np.ones(len(order)), lanes.gamma[kind, of_class], lanes.firm[kind], self.time[kind, of_class]]
        rows = np.concatenate([of_class, types, self.of_first + of_class, self.of_share + of_class])
        most = lanes.high[kind, of_class]
        self.fractional = self.count + each
        self._columns(cost[of_lane, of_class], most, rows, np.tile(each, 4), np.concatenate(values))

    def _lanes(self, new: Places) -> None:
        """Add lanes with any number of VMs, and contents of one class alone for their kinds."""
        lanes = self.lanes
        self.there[new] = True
        costs: list[float] = []
        rows: list[tuple[int, int, int, int]] = []
        for lane in new.tolist():
            kind, vm = int(lanes.kind[lane]), int(lanes.market.vm_of_lane[lane])
            for vms, cost in enumerate(lanes.costs(lane)[1:].tolist(), start=1):
                self.vms[self.count + len(costs)] = lane, vms
                costs.append(cost)
                rows.append((self.of_lane + lane, self._row(kind, vms), self.of_type + vm, vms))
        if costs:
            at = np.array(rows)
            each = np.tile(np.arange(len(costs)), 3)
            values = np.concatenate([np.ones(len(costs)), -np.ones(len(costs)), at[:, 3].astype(float)])
            self._columns(np.array(costs), np.ones(len(costs)), at[:, :3].T.ravel(), each, values)
        alone = []
        for kind in np.unique(lanes.kind[new]).tolist():
            most = int(lanes.most[new[lanes.kind[new] == kind]].max())
            alone += [(kind, vms, content) for vms, content in lanes.alone(kind, most)]
        self.add(alone)

    def _row(self, kind: int, vms: int) -> int:
        return self.of_kind + kind * self.width + vms - 1

    def add(self, contents: list[tuple[int, int, Content]]) -> bool:
        """Add contents, each with a kind and a number of VMs; return True if one is new."""
        new: list[tuple[int, int, Content]] = []
        for kind, vms, content in contents:
            key = kind, vms, content.jobs.tobytes()
            if key not in self.seen and content.jobs.any():
                self.seen.add(key)
                self.chosen[self.count + len(new)] = kind, vms, content
                new.append((kind, vms, content))
        if new:
            jobs, kinds = np.array([each[2].jobs for each in new]), np.array([each[0] for each in new])
            columns, of_class = jobs.nonzero()
            count, at, every = jobs[columns, of_class], kinds[columns], np.arange(len(new))
            own = [self._row(kind, vms) for kind, vms, _ in new]
            rows = np.concatenate([of_class, self.of_first + of_class, self.of_share + of_class, own])
            values = [count, count * self.lanes.firm[at], count * self.time[at, of_class], np.ones(len(new))]
            places = np.concatenate([np.tile(columns, 3), every])
            self._columns(np.zeros(len(new)), np.full(len(new), np.inf), rows, places, np.concatenate(values))
        return bool(new)

    @property
    def _constant(self) -> float:
        mix = self.task.mix
        return float(mix.penalty @ mix.expected - mix.worth @ self.task.low) + self.task.market.of_masters

    def solve(self, until: float | None) -> None:
        """Add contents and lanes that pay until the bound meets the program."""
        classes, inside = len(self.task.mix), INSIDE
        prices = self.at
        for _ in range(self.lanes.rounds):
            bound, new, more = self._priced(prices)
            if bound > self.bound:
                self.bound, self.at = bound, prices
            found = self.add(new) or more
            solved = self.program.solve(None if until is None else until - time.monotonic())
            if solved is None:
                return
            value, self.point, duals = solved
            lacking = self.point[classes : 2 * classes] > ROUNDING
            self.value = value + self._constant
            near = self.value - self.bound <= NEAR * abs(self.bound)
            if (near or (not found and not inside)) and not self._dearer(lacking):
                return
            inside = inside if found else 0.0
            found_prices = np.concatenate([duals[:classes], duals[self.of_first :]]).reshape(3, classes)
            prices = inside * self.at + (1.0 - inside) * np.maximum(found_prices, 0.0)

    def only(self, rented: set[tuple[int, int]], contents: list[tuple[int, int, Content]]) -> None:
        """Leave some lanes with numbers of VMs, and some contents, in the program, and nothing else."""
        new = np.array(sorted({lane for lane, _ in rented if not self.there[lane]}), dtype=np.int64)
        self._lanes(new)
        self.add(contents)
        keys = {(kind, vms, each.jobs.tobytes()) for kind, vms, each in contents}
        others = [number for number, vms in self.vms.items() if vms not in rented]
        others += [number for number, each in self.chosen.items() if (*each[:2], each[2].jobs.tobytes()) not in keys]
        self.program.limit(np.array(others, dtype=np.int64), np.zeros(len(others)))

    def whole(self, gap: float, nodes: int, seconds: float | None) -> tuple[Floats | None, float]:
        """Return whole contents and lanes at which no job lacks, None if there are none, and a bound on their cost.

        Lanes of fractional VMs are left out.

        Args:
            gap: Relative gap, to the bound of the linear program.
            nodes: Limit on branch-and-bound nodes.
            seconds: Time limit [s], or None.
        """
        classes, rest = len(self.task.mix), self.program
        out = np.concatenate([np.arange(classes, 2 * classes), self.fractional])
        rest.limit(out, np.zeros(len(out)))
        point, bound = rest.whole(gap * abs(self.bound), nodes, seconds)
        return point, bound + self._constant

    def _dearer(self, lacking: NDArray[np.bool_]) -> bool:
        """Raise the prices of lacking jobs; return False if none lack, or if these are no longer worth it."""
        at = np.flatnonzero(lacking & (self.dear < self.dearest))
        self.dear[at] *= DEAR
        self.program.price(len(lacking) + at, self.dear[at])
        return len(at) > 0

    def _priced(self, prices: Floats) -> tuple[float, list[tuple[int, int, Content]], bool]:
        """Return the bound at some prices, the contents that are worth most, and True if it added lanes."""
        lanes, task = self.lanes, self.task
        worth = self.worth(prices)
        saved = lanes.saved(worth)
        some = np.flatnonzero(lanes.narrow & (saved > 0.0))
        new: list[tuple[int, int, Content]] = []
        both: dict[int, list[Floats]] = {}
        for contents, mine in lanes.contents(worth, some):
            for lane in mine.tolist():
                net = contents.worth[: int(lanes.most[lane]) + 1] - lanes.costs(lane)
                saved[lane] = net.max()
                both.setdefault(int(lanes.market.vm_of_lane[lane]), []).append(net)
            kind = int(lanes.kind[mine[0]])
            new += [(kind, vms, each) for vms in lanes.sizes(contents.worth, mine) for each in contents.each(vms)]
        of_types = np.bincount(lanes.market.vm_of_lane, weights=saved, minlength=len(lanes.room))
        for vm, nets in both.items():
            if len(nets) == 2:
                of_types[vm] = min(of_types[vm], _within(nets[0], nets[1], float(lanes.room[vm])))
        pays = np.flatnonzero((saved > 0.0) & lanes.narrow & ~self.there)
        self._lanes(pays[np.argsort(-saved[pays], kind="stable")[:MORE]])
        firm, price = np.where(lanes.first, prices[1], 0.0), prices[0] - task.mix.worth
        numbers = np.stack([task.low, np.clip(1.0, task.low, task.high), task.high])
        least = float(
            task.mix.penalty @ task.mix.expected + (price * numbers + firm * (numbers > 0.0)).min(axis=0).sum()
        )
        return task.market.of_masters + least - float(of_types.sum()), new, len(pays) > 0

    def worths(self) -> list[tuple[Floats, Places]]:
        """Return what contents of 0, 1, ... VMs are worth at the prices ``at``, and the narrow lanes of each kind."""
        lanes = self.lanes
        if self._worths is None or self._worths[0] is not self.at:
            found = lanes.contents(self.worth(self.at), np.flatnonzero(lanes.narrow))
            self._worths = self.at, [(contents.worth, mine) for contents, mine in found]
        return self._worths[1]

    def with_a_vm(self) -> Floats:
        """Return for each lane a lower bound on plans that rent a VM there; minus infinity on fractional VMs."""
        lanes, vms = self.lanes, self.lanes.market.vm_of_lane
        least = np.where(lanes.most > 0.0, -np.inf, np.inf)
        alone = np.bincount(vms, minlength=len(lanes.room))[vms] == 1
        for worth, mine in self.worths():
            for lane in mine.tolist():
                net = worth[: int(lanes.most[lane]) + 1] - lanes.costs(lane)
                saved = max(float(net[0]), float(net[1:].max())) if alone[lane] else 0.0
                least[lane] = self.bound + saved - float(net[1:].max())
        return least


def _within(one: Floats, other: Floats, room: float) -> float:
    """Return the most that two lanes of one type save within its room."""
    both = one[:, None] + other[None, :]
    vms = np.add.outer(np.arange(len(one)), np.arange(len(other)))
    return float(np.where(vms <= room, both, -np.inf).max())


def program_of_lanes(lanes: Lanes, prices: Floats, until: float | None) -> LaneProgram | None:
    """Return the solved program, from prices of all and of firm jobs on; None if a round would look at too much."""
    task = lanes.task
    if not (lanes.is_small and lanes.narrow.any()):
        return None
    some = np.isin(np.arange(len(task.mix)), lanes.limited) & (task.high > 0.0)
    more = np.subtract(prices[1], prices[0], where=some, out=np.zeros(len(some)))
    program = LaneProgram(lanes, np.where(task.high > 0.0, np.stack([prices[0], more, 0.0 * more]), 0.0))
    program.solve(until)
    return program


def program_of_plans(task: Task, program: LaneProgram, limits: bool, until: float | None) -> LaneProgram:
    """Return a solved program of plans: their contents keep classes on one type, and parts on spot VMs.

    Classes on one type have none. With ``limits``, classes with a part on spot have that, otherwise none there.
    """
    mix = replace(program.task.mix, spot_share=task.mix.spot_share)
    capped = mix.spot_share < 1.0
    capped[limited_classes(mix)] = not limits
    alone = task.market.spot[:, None] & capped
    together = mix.together & task.same_type
    gamma = np.where(alone | together, np.inf, mix.gamma)
    same = bool((gamma == mix.gamma).all())
    if same and not limits:
        return program
    low, high = (np.where(together, 0.0, each) for each in (task.low, task.high))
    possible = np.isfinite(gamma).any(axis=0)
    low, high = np.where(possible, low, 0.0), np.where(possible, high, 0.0)
    left = replace(task, mix=replace(mix, gamma=gamma), low=low, high=high)
    plans = LaneProgram(program.lanes if same else program.lanes.of(left), program.at, limits)
    plans.add(list(program.chosen.values()) if same else [])
    plans.solve(until)
    return plans


SURE, PART = 0.7, 0.25
"""A dive fixes contents of at least that value, but no more than this part of the lanes at once."""


class Room:
    """What packs on whole VMs: contents of VMs of a lane without the jobs whose slots have no room."""

    def __init__(self, mix: Mix) -> None:
        self.mix, self.known = mix, dict[tuple[int, int, bytes], tuple[int, Floats]]()
        vms = mix.market.vm_of_lane
        hosts = mix.pairs.map_per_vm, mix.pairs.reduce_per_vm
        keys = [np.rint(each).astype(np.int64) for each in hosts] if mix.sizes is None else list(mix.sizes.keys)
        self.keys = np.stack([each[vms] for each in keys])
        self.slots = np.stack([mix.map_slots, mix.reduce_slots])

    def packed(self, lane: int, vms: int, content: Content) -> tuple[int, Content]:
        """Return the jobs that ``vms`` VMs of a lane hold, the smallest ones left out, and the VMs that they take."""
        taken, left = self.held(lane, vms, content.jobs)
        return taken, Content(left)

    def held(self, lane: int, vms: int, jobs: Floats) -> tuple[int, Floats]:
        """Return the VMs that jobs on ``vms`` VMs of a lane take, without the smallest ones if necessary, and these."""
        key = lane, vms, jobs.tobytes()
        if key not in self.known:
            left, gamma = jobs.copy(), self.mix.gamma[lane]
            while (taken := self._vms(lane, left, vms)) > vms:
                left[int(np.where(left > 0.0, gamma, np.inf).argmin())] -= 1.0
            self.known[key] = taken, left
        return self.known[key]

    def _vms(self, lane: int, jobs: Floats, most: int) -> int:
        some = np.flatnonzero(jobs)
        slots = np.rint(self.slots[:, lane, some] * jobs[some]).astype(np.int64).ravel()
        keys, place = np.unique(self.keys[:, lane, some].ravel()[slots > 0], return_inverse=True)
        if self.mix.wholeness == NO or not len(keys):
            return int(ceiling(float(self.mix.gamma[lane, some] @ jobs[some])))
        demand = np.bincount(place, weights=slots[slots > 0], minlength=len(keys)).astype(np.int64)
        if self.mix.sizes is None:
            return pack(keys.tolist(), demand.tolist(), quick=True).vms
        units = units_of([self.mix.sizes.of(key) for key in keys.tolist()])
        return quickly_filled(units, demand.tolist(), most=most).vms


class Plain:
    """Packing of slots with the one pair that each class has in a lane."""

    def __init__(self, lanes: Lanes) -> None:
        self.room = Room(lanes.task.mix)
        self.lane_of = dict(zip(lanes.kind.tolist(), range(len(lanes.kind)), strict=True))

    def slots(self, kind: int, vms: int, jobs: Floats, thorough: bool = False) -> Floats | None:
        """See :meth:`Packing.slots`."""
        lane = self.lane_of[kind]
        packs = bool((self.room.packed(lane, vms, Content(jobs))[1].jobs >= jobs).all())
        return self.room.slots[:, lane] if packs else None

    def excluding(self, kind: int, vms: int, jobs: Floats) -> Floats | None:
        """Return None: with another pair these jobs may pack."""
        return None


def dived(program: LaneProgram, until: float | None) -> tuple[Floats, Floats, Floats]:
    """Return whole jobs, (lanes, classes), near a solved program, the VMs of each lane on which they fit, their slots.

    These are VMs of narrow lanes, masters not among them. Jobs may be left. Slots are those of one job, (lanes,
    classes, 2), 0 if contents have none of their own.
    """
    task, kinds = program.task, program.lanes.kind
    spot, times = task.market.spot[:, None], np.where(task.mix.possible, task.mix.gamma, 0.0)
    times *= task.mix.spot_share - spot
    room, jobs, rented = program.lanes.packer(), np.zeros_like(task.mix.gamma), np.zeros(len(task.mix.gamma))
    slots = np.zeros((*jobs.shape, 2))
    closed, taken = np.zeros(len(jobs), dtype=bool), np.zeros(len(task.available))
    low, high = task.low, task.high
    while until is None or time.monotonic() < until:
        fixed = list(_fixed(program, room, high))
        for lane, vms, content in fixed:
            jobs[lane] += content.jobs
            slots[lane] = 0.0 if content.slots is None else content.slots
            closed[lane], rented[lane] = True, vms
            taken[task.market.vm_of_lane[lane]] += vms
        total = jobs.sum(axis=0)
        low, high = np.maximum(task.low - total, 0.0), task.high - total
        if not fixed or not high.any():
            break
        left = replace(task, mix=replace(task.mix, expected=high), low=low, high=high)
        begun = np.stack([jobs[~spot[:, 0]].sum(axis=0), total, (times * jobs).sum(axis=0)])
        before, kinds = list(program.chosen.values()), program.lanes.kind
        first = dict(zip(reversed(kinds.tolist()), reversed(range(len(kinds))), strict=True))
        program = LaneProgram(program.lanes.within(left, closed, taken, begun), program.at, program.limits)
        program.add(
            [
                (int(program.lanes.kind[first[kind]]), vms, replace(content, jobs=np.minimum(content.jobs, high)))
                for kind, vms, content in before
                if vms <= program.width
            ]
        )
        program.solve(until)
    return jobs, rented, slots


def _fixed(program: LaneProgram, room: Packer, left: Floats) -> Iterator[tuple[int, int, Content]]:
    """Yield lanes, numbers of VMs and contents that a plan takes from the program, the largest values first."""
    if program.value == np.inf:
        return
    point, lanes = program.point, program.lanes
    free: dict[tuple[int, int], list[int]] = {}
    for column in sorted(program.vms, key=lambda column: point[column] if column < len(point) else 0.0):
        lane, vms = program.vms[column]
        if column < len(point) and point[column] > ROUNDING:
            free.setdefault((int(lanes.kind[lane]), vms), []).append(lane)
    there = [(float(point[column]), column) for column in program.chosen if column < len(point)]
    there = sorted((each for each in there if each[0] > ROUNDING), key=lambda each: (-each[0], each[1]))
    most, count = max(1.0, PART * sum(value for value, _ in there)), 0
    used: set[int] = set()
    left = left.copy()
    for value, column in there:
        if count and (value < SURE or count >= most):
            return
        kind, vms, content = program.chosen[column]
        for _ in range(max(1, int(value + ROUNDING))):
            some = free.get((kind, vms), [])
            while some and some[-1] in used:
                some.pop()
            if not some or bool((content.jobs > left).any()):
                break
            needed, held = room.packed(some[-1], vms, content)
            used.add(some[-1])
            count += 1
            left -= held.jobs
            yield some[-1], needed, held
