"""Machines of many classes that share none, by sizes of pieces: a bound, and a plan near it.

A *piece* is a number of jobs of one class on the machines of one lane. Lanes on which every job takes the same part of
a VM are of one *kind*: it only matters how many machines a piece has there. So a few prices are enough for a catalogue.

**Theorem.** Take any price ``mu_h(v) >= 0`` of a piece of ``v`` machines in each kind ``h`` of lanes. Every plan costs
at least the sum of

- the costs of the masters and the penalties of all expected jobs,
- for each class, the least of the prices of its pieces less the penalties that its jobs save, over its numbers of jobs,
- for each lane, the least of the cost of ``k`` machines less the most that pieces with ``k`` machines are worth.

**Proof.** A plan's jobs of one class in one lane are a piece. Add the prices of all pieces to the cost of the plan, and
subtract them by lane: the cost is unchanged. The parts are then those above, at the plan's pieces, and each is at least
its least value. QED (Geoffrion 1974, *Lagrangean relaxation for integer programming*).

A lane that has many machines, or no other lane of its kind, is a kind of its own. Its pieces cost their machines times
one price, and it buys its machines offer by offer. A linear program of the classes' answers and of *patterns*, which
are sizes of pieces that fill a lane, finds the prices (Dantzig and Wolfe 1960, *Decomposition principle for linear
programs*). It has few rows beyond one for each class, so that few classes have fractions at its optimum. An integer
program chooses their pieces and all patterns.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.linear_program import LinearProgram
from mrdsl.core.rounding import ROUNDING, SAME_SUM
from mrdsl.families.capacity.market import Floats
from mrdsl.families.capacity.methods.class_columns import is_limited, room_of
from mrdsl.families.capacity.methods.lane_prices import Places, Task
from mrdsl.formulas.knapsack import cheapest_pieces, machines_alone

if TYPE_CHECKING:
    from scipy.sparse import csc_array

Flags = NDArray[np.bool_]
MOST_SIZES = 16
"""Most machines of a lane of a kind of several lanes: there are 914 patterns of sizes up to it."""
MOST_CELLS = 12_000_000
"""Most kinds of lanes times classes times numbers of jobs."""
ROUNDS, INSIDE, NEAR = 60, 0.5, 1e-4
"""Most rounds, the part of the best prices in the next ones, and the relative gap at which the rounds end."""
GAP, NODES, LEAST_TIME = 2e-4, 100, 0.01
"""Relative gap and nodes at which the integer program ends, and its least time [s]."""
DEAR, UNUSABLE = 10.0, 1e15
"""Cost of a class without an answer, relative to the largest penalty and price, and of a pattern beyond a lane."""


@dataclass(frozen=True)
class Kind:
    """Lanes alike for all jobs, the most machines of a piece there, and patterns of sizes; none for a single lane."""

    lanes: Places
    room: int
    patterns: Places | None = None

    @cached_property
    def rows(self) -> int:
        """Rows of the program for its pieces: one of each size, or one of machines."""
        return 1 if self.patterns is None else self.room

    def table(self, prices: Floats) -> Floats:
        """Return the price of a piece by its machines, from 0 on."""
        if self.patterns is None:
            return np.asarray(prices[0] * np.arange(self.room + 1.0))
        return np.append(0.0, prices)


def patterns_of(room: int) -> Places:
    """Return all numbers of pieces of 1 to ``room`` machines that have at most ``room`` in all, none left out."""
    found: list[tuple[int, ...]] = []

    def fill(size: int, left: int, taken: tuple[int, ...]) -> None:
        if not size:
            found.append(taken[::-1])
            return
        for count in range(left // size + 1):
            fill(size - 1, left - count * size, (*taken, count))

    fill(room, room, ())
    return np.array([each for each in found if any(each)], dtype=np.int64).reshape(-1, room)


def kinds_of(task: Task) -> list[Kind] | None:
    """Return the kinds of lanes that jobs can use; None if the program does not cover them."""
    market, mix = task.market, task.mix
    if market.quotas or any(is_limited(task, index) for index in range(len(mix))):
        return None
    gamma = np.where(mix.possible & (task.high > 0.0), mix.gamma, np.inf)
    room = np.where(np.isfinite(gamma).any(axis=1), room_of(task), 0.0)
    alone = np.bincount(market.vm_of_lane[room > 0.0], minlength=len(market.names))
    if bool((np.isfinite(task.available) & (alone > 1)).any()):
        return None
    useful = np.ceil(np.where(np.isfinite(gamma), gamma, 0.0) * task.high).max(axis=1, initial=0.0) + 1.0
    some = np.flatnonzero(room > 0.0)
    _, kind = np.unique(gamma[some], axis=0, return_inverse=True)
    found = []
    for number in range(int(kind.max(initial=-1)) + 1):
        lanes = some[kind.ravel() == number]
        most = float(room[lanes].max())
        if len(lanes) > 1 and most <= MOST_SIZES:
            found.append(Kind(lanes, int(most), patterns_of(int(most))))
        else:
            found += [Kind(lane, int(np.minimum(room[lane], useful[lane])[0])) for lane in lanes[:, None]]
    cells = len(found) * len(mix) * (task.high.max(initial=0.0) + 1.0)
    return found if found and cells <= MOST_CELLS else None


def steps_of(task: Task) -> list[list[tuple[float, float]]]:
    """Return prices and numbers of the machines of each lane beyond masters, the cheapest first, within its room."""
    market, found = task.market, list[list[tuple[float, float]]]()
    by_lane: list[list[tuple[float, float]]] = [[] for _ in market.lanes]
    for offer in market.offers:
        by_lane[offer.lane].append((offer.price, offer.available))
    for offers, masters, room in zip(by_lane, market.masters_of_lane.tolist(), room_of(task).tolist(), strict=True):
        found.append([])
        for price, there in sorted(offers):
            used = min(masters, there)
            count = min(there - used, room)
            masters, room = masters - used, room - count
            if count > 0.0:
                found[-1].append((price, count))
    return found


@dataclass(frozen=True)
class Column:
    """An answer of a class: its pieces, each a kind, jobs and machines, and its cost without the expected penalties."""

    index: int
    pieces: tuple[tuple[int, int, int], ...]
    cost: float


class SizeProgram:
    """The program that mixes answers of all classes; ``bound`` is the best one so far, at ``prices`` of kinds.

    Rows: one answer of each class; for each kind its machines, or pieces of each size; for each kind of several lanes
    the lanes with 1, 2, ... machines; one number of machines for each of these.
    """

    def __init__(self, task: Task, kinds: list[Kind], machine: Floats) -> None:
        from mrdsl.solving.backends.highs import GrowingProgram

        self.task, self.kinds, self.bound = task, kinds, -np.inf
        mix, classes = task.mix, len(task.mix)
        self.constant = float(mix.penalty @ mix.expected) + task.market.of_masters
        gamma = np.array([np.where(mix.possible, mix.gamma, np.inf)[kind.lanes[0]] for kind in kinds])
        rooms = np.array([float(kind.room) for kind in kinds])
        self.machines = machines_alone(gamma, rooms, int(task.high.max(initial=0.0)))
        self.steps = steps_of(task)
        self.costs = [_costs(self.steps, kind) for kind in kinds]
        several = [kind.patterns is not None for kind in kinds]
        self.first = np.cumsum([classes, *(kind.rows for kind in kinds)]).tolist()
        rows = [kind.rows * some for kind, some in zip(kinds, several, strict=True)]
        self.totals = np.cumsum([self.first[-1], *rows]).tolist()
        lanes = [len(kind.lanes) * some for kind, some in zip(kinds, several, strict=True)]
        self.of_lane = np.cumsum([self.totals[-1], *lanes]).tolist()
        self.lower, self.upper = np.full(self.of_lane[-1], -np.inf), np.full(self.of_lane[-1], np.inf)
        self.lower[:classes] = self.upper[:classes] = 1.0
        self.lower[classes : self.first[-1]] = 0.0
        self.upper[self.first[-1] : self.totals[-1]] = 0.0
        self.upper[self.totals[-1] :] = 1.0
        self.program = GrowingProgram(self.lower, self.upper)
        self.blocks: list[tuple[Floats, Floats, Flags, csc_array]] = []
        self.answers: dict[Column, None] = {}
        self.prices = [
            price * np.arange(1.0, kind.rows + 1.0) for price, kind in zip(machine.tolist(), kinds, strict=True)
        ]
        dear = float((np.abs(mix.worth) * mix.expected).max(initial=0.0)) + float(task.market.prices.max(initial=0.0))
        each = np.arange(classes)
        self._columns(np.full(classes, DEAR * dear), np.ones(classes), False, (np.ones(classes), (each, each)))
        for number in range(len(kinds)):
            self._supply(number)

    def _columns(self, costs: Floats, upper: Floats, whole: bool, entries: object) -> None:
        from scipy.sparse import csc_array

        block = csc_array(entries, shape=(len(self.lower), len(costs)))
        self.program.add(costs, upper, block)
        self.blocks.append((costs, upper, np.full(len(costs), whole), block))

    def _supply(self, number: int) -> None:
        """Add the machines of a kind: offers of its one lane, or patterns and lanes with 1, 2, ... machines."""
        kind, row = self.kinds[number], self.first[number]
        if kind.patterns is None:
            steps = self.steps[kind.lanes[0]]
            prices, counts = (np.array(each) for each in zip(*steps, strict=True))
            entries = np.ones(len(steps)), (np.full(len(steps), row), np.arange(len(steps)))
            self._columns(prices, counts, True, entries)
            return
        sizes, total, lane = kind.patterns, self.totals[number], self.of_lane[number]
        pattern, size = sizes.nonzero()
        each = np.arange(len(sizes))
        sums = sizes @ np.arange(1, kind.rows + 1)
        values = np.concatenate([sizes[pattern, size], np.ones(len(sizes))])
        rows = np.concatenate([row + size, total + sums - 1])
        many = np.full(len(sizes), float(len(kind.lanes)))
        self._columns(np.zeros(len(sizes)), many, True, (values, (rows, np.concatenate([pattern, each]))))
        costs = self.costs[number]
        place, machines = np.isfinite(costs[:, 1:]).nonzero()
        each = np.arange(len(place))
        values = np.concatenate([-np.ones(len(place)), np.ones(len(place))])
        rows = np.concatenate([total + machines, lane + place])
        self._columns(costs[place, machines + 1], np.ones(len(place)), False, (values, (rows, np.tile(each, 2))))

    def solve(self, until: float | None) -> Floats | None:
        """Add answers that pay until the bound meets the program; return its point, None if there was no time."""
        inside, point = INSIDE, None
        prices = self.prices
        for _ in range(ROUNDS):
            bound, columns = self._priced(prices)
            if bound > self.bound:
                self.bound, self.prices = bound, prices
            new = self._add(columns)
            solved = self.program.solve(None if until is None else until - time.monotonic())
            if solved is None:
                break
            value, point, duals = solved
            if value + self.constant - self.bound <= NEAR * abs(self.bound) or not (new or inside):
                break
            inside = INSIDE if new else 0.0
            found = [duals[self.first[n] : self.first[n + 1]] for n in range(len(self.kinds))]
            prices = [
                inside * best + (1.0 - inside) * self._least(number, np.maximum(row, 0.0))
                for number, (best, row) in enumerate(zip(self.prices, found, strict=True))
            ]
        return point

    def _least(self, number: int, prices: Floats) -> Floats:
        """Return prices, no higher than that of a machine of which there is any number."""
        kind = self.kinds[number]
        if kind.patterns is not None:
            return prices
        last = self.steps[kind.lanes[0]][-1]
        return np.minimum(prices, last[0]) if np.isinf(last[1]) else prices

    def _priced(self, prices: list[Floats]) -> tuple[float, list[Column]]:
        """Return the bound at some prices, and the answers of all classes."""
        task, width = self.task, max(kind.room for kind in self.kinds) + 1
        table = np.full((len(self.kinds), width), np.inf)
        saved = 0.0
        for number, (kind, each) in enumerate(zip(self.kinds, prices, strict=True)):
            table[number, : kind.room + 1] = kind.table(each)[: kind.room + 1]
            if kind.patterns is None:
                saved += sum(there * (each[0] - price) for price, there in self.steps[kind.lanes[0]] if price < each[0])
            else:
                worth = _worth(kind.table(each))
                saved += float((worth - self.costs[number]).max(axis=1).sum())
        pieces = cheapest_pieces(self.machines, table)
        numbers = np.arange(len(self.machines))[:, None]
        allowed = (numbers >= task.low) & (numbers <= task.high)
        total = np.where(allowed, pieces.least - task.mix.worth * numbers, np.inf)
        count = total.argmin(axis=0)
        bound = self.constant + float(total.min(axis=0).sum()) - saved
        taken: list[list[tuple[int, int, int]]] = [[] for _ in count]
        for kind_of, jobs in pieces.parts(np.where(np.isfinite(total.min(axis=0)), count, 0)):
            for index in np.flatnonzero(jobs).tolist():
                number, many = int(kind_of[index]), int(jobs[index])
                taken[index].append((number, many, int(self.machines[many, number, index])))
        worth = task.mix.worth
        return bound, [
            Column(index, tuple(sorted(mine)), -float(worth[index]) * sum(jobs for _, jobs, _ in mine))
            for index, mine in enumerate(taken)
        ]

    def _add(self, columns: list[Column]) -> bool:
        """Add the columns that are new; return True if there are some."""
        new = [each for each in columns if each not in self.answers]
        new = [each for each in new if sum(piece[1] for piece in each.pieces) >= self.task.low[each.index]]
        if not new:
            return False
        self.answers.update(dict.fromkeys(new))
        rows, values, places = [], [], []
        for place, column in enumerate(new):
            rows += [column.index, *(self._row(piece) for piece in column.pieces)]
            values += [1.0, *(-float(self._taken(piece)) for piece in column.pieces)]
            places += [place] * (1 + len(column.pieces))
        self._columns(
            np.array([each.cost for each in new]), np.ones(len(new)), True, (np.array(values), (rows, places))
        )
        return True

    def _row(self, piece: tuple[int, int, int]) -> int:
        kind, _, machines = piece
        return int(self.first[kind]) + (0 if self.kinds[kind].patterns is None else machines - 1)

    def _taken(self, piece: tuple[int, int, int]) -> int:
        return piece[2] if self.kinds[piece[0]].patterns is None else 1

    def chosen(self, point: Floats, until: float | None) -> Floats | None:
        """Return whole jobs, (lanes, classes), near a point of the program; None if none were found.

        Classes keep the answer that the point takes alone.
        """
        from scipy.sparse import hstack

        costs, upper, whole = (np.concatenate([block[place] for block in self.blocks]) for place in range(3))
        rows = hstack([block[3] for block in self.blocks]).tocsc()
        answers = list(self.answers)
        supply = len(costs) - len(answers)
        point = np.concatenate([point, np.zeros(len(costs) - len(point))])
        sure = np.zeros(len(self.task.mix), dtype=bool)
        of_class = np.array([each.index for each in answers], dtype=np.int64)
        sure[of_class[point[supply:] > 1.0 - ROUNDING]] = True
        keep = np.ones(len(costs), dtype=bool)
        keep[: len(sure)] = False
        keep[supply:] = ~sure[of_class] | (point[supply:] > 0.5)
        some = rows[:, keep].tocsr()
        away = abs(self.bound - self.constant)
        program = LinearProgram(
            costs=costs[keep],
            offset=0.0,
            maximize=False,
            lower=np.zeros(int(keep.sum())),
            upper=upper[keep],
            integer=whole[keep],
            starts=some.indptr.astype(np.int64),
            columns=some.indices.astype(np.int64),
            coefficients=some.data,
            row_lower=self.lower,
            row_upper=self.upper,
        )
        left = None if until is None else max(until - time.monotonic(), LEAST_TIME)
        from mrdsl.solving.backends.highs import integer_point

        found, _ = integer_point(program, GAP * abs(self.bound) / max(away, SAME_SUM), NODES, left)
        if found is None:
            return None
        full = np.zeros(len(costs))
        full[keep] = np.rint(found)
        return self._placed([answers[place] for place in np.flatnonzero(full[supply:] > 0.5).tolist()], full)

    def _placed(self, answers: list[Column], point: Floats) -> Floats:
        """Put the pieces of answers into lanes: patterns with the fewest costs, and pieces into these by size."""
        from scipy.optimize import linear_sum_assignment

        jobs, column = np.zeros_like(self.task.mix.gamma), len(self.task.mix)
        for number, kind in enumerate(self.kinds):
            mine = [(piece[2], piece[1], each.index) for each in answers for piece in each.pieces if piece[0] == number]
            if kind.patterns is None:
                column += len(self.steps[kind.lanes[0]])
                for _, count, index in mine:
                    jobs[kind.lanes[0], index] += count
                continue
            many = point[column : column + len(kind.patterns)].astype(np.int64)
            column += len(kind.patterns) + int(np.isfinite(self.costs[number][:, 1:]).sum())
            patterns = np.repeat(kind.patterns, many, axis=0)
            sums = patterns @ np.arange(1, kind.rows + 1)
            lanes, taken = linear_sum_assignment(np.minimum(self.costs[number][:, sums], UNUSABLE))
            lane_of = np.zeros(len(patterns), dtype=np.int64)
            lane_of[taken] = kind.lanes[lanes]
            free = {size: np.repeat(lane_of, patterns[:, size - 1]).tolist() for size in range(1, kind.rows + 1)}
            for size, count, index in mine:
                jobs[free[size].pop(), index] += count
        return jobs


def _costs(steps: list[list[tuple[float, float]]], kind: Kind) -> Floats:
    """Return the cost of 0, 1, ... machines of each lane of a kind of several, infinite beyond its room."""
    found = np.full((len(kind.lanes), (0 if kind.patterns is None else kind.rows) + 1), np.inf)
    found[:, 0] = 0.0
    if kind.patterns is not None:
        for place, lane in enumerate(kind.lanes.tolist()):
            prices = np.concatenate([np.full(int(count), price) for price, count in steps[lane]])
            found[place, 1 : len(prices) + 1] = np.cumsum(prices)
    return found


def _worth(prices: Floats) -> Floats:
    """Return the most that pieces with 0, 1, ... machines in all are worth, at prices by size."""
    worth = np.zeros(len(prices))
    for machines in range(1, len(prices)):
        sums = worth[machines - 1 :: -1] + prices[1 : machines + 1]
        worth[machines] = max(worth[machines - 1], float(sums.max()))
    return worth


def by_sizes(task: Task, prices: Floats, until: float | None) -> tuple[Floats | None, float]:
    """Return whole jobs, (lanes, classes), or None, and a bound; the search begins at ``prices`` of lanes."""
    kinds = kinds_of(task)
    if kinds is None:
        return None, -np.inf
    machine = np.array([float(prices[kind.lanes].min()) for kind in kinds])
    program = SizeProgram(task, kinds, machine)
    point = program.solve(until)
    return None if point is None else program.chosen(point, until), program.bound
