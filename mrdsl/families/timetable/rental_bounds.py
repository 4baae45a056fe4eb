"""A proven lower bound on the cost of elastic machines from the prices that each rental can earn.

Give each run a price for the machine time that it takes. If no rental can do work worth more than it costs, all prices
together are a lower bound: the dual of a covering program with a column for each possible rental. What a rental can do
is bounded from above by the overlap with each run's window, the machine time of the run, and the slots of the machine.
Columns are added while the bound improves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.rounding import SAME_SUM
from mrdsl.families.timetable.exact import step_of
from mrdsl.families.timetable.night import TICK, Job, Night
from mrdsl.families.timetable.rented import Rented
from mrdsl.families.timetable.types import Market

RUNS = 400
"""Runs at most; beyond, the fluid bound is as good and faster."""
CELLS = 6_000_000
"""Rentals, each with the runs on it, that are priced at most: times are rounded outwards to longer steps for that."""
LEVELS = 6
"""Prices of slot time that are tried to bound the value of a rental."""
PARTS = 1000
"""Parts of a night, from each of which the rental that earns most is added."""
ROUNDS = 8
"""Times that columns are added."""
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class _Work:
    """What a run needs, in steps: its window, its machine time, and the slots it takes of a machine at least."""

    begin: int
    end: int
    time: float
    slots: int


def rental_bound(market: Market, known: Rented | None) -> float:
    """Return a lower bound on the cost of an elastic timetable without masters, with penalties of runs left out.

    Args:
        market: The night on each VM type.
        known: An elastic timetable; its costs, divided among the runs on each rental, are the first prices.
    """
    if len(market.runs) > RUNS or not all(machine.least_price for machine in market.machines):
        return 0.0
    return _Covering(market).bound(known)


class _Covering:
    """The covering program of runs by rentals of all types; prices are in currency, of whole runs."""

    def __init__(self, market: Market) -> None:
        self.market = market
        parts = [market.part(vm) for vm in range(len(market.nights))]
        share = sum(1 for _, night in parts if night.runs)
        self.types = [
            (np.array(numbers, dtype=np.int64), _Pricing(night, CELLS // share))
            for numbers, night in parts
            if night.runs
        ]
        penalties = [market.penalties[run.job] for run in market.runs]
        self.most = np.array([inf if each is None else each for each in penalties])

    def bound(self, known: Rented | None) -> float:
        """Return the best bound of the first prices and of those of the covering program."""
        prices = self._first(known)
        has_masters = any(machine.masters for machine in self.market.machines)
        best, target = 0.0, inf if known is None or has_masters else known.value
        columns = [
            self._spread(numbers, pricing.alone(index), pricing)
            for numbers, pricing in self.types
            for index in range(len(numbers))
        ]
        for _ in range(ROUNDS):
            prices = np.minimum(prices, self.most)
            values, factors = [], np.full(len(prices), 1e-12)
            for numbers, pricing in self.types:
                value, factor = pricing.factor(prices[numbers] / pricing.spent)
                values.append(value)
                factors[numbers] = np.maximum(factors[numbers], factor)
            lowered = prices / (factors * (1.0 + SAME_SUM))
            best = max(best, float(np.minimum(lowered, self.most).sum()) * (1.0 - SAME_SUM))
            if best >= target * (1.0 - 1e-7):
                break
            for (numbers, pricing), value in zip(self.types, values, strict=True):
                found = pricing.columns(value, lowered[numbers] / pricing.spent)
                columns += [self._spread(numbers, column, pricing) for column in found]
            solved = self._covering(columns)
            if solved is None:
                break
            prices, optimum = solved
            if optimum <= best * (1.0 + 1e-4):
                break
        return best

    def _spread(self, numbers: NDArray[np.int64], column: Floats, pricing: _Pricing) -> Floats:
        """Return a rental as the part of each run that it does, and its cost."""
        found = np.zeros(len(self.most) + 1)
        found[numbers] = column[:-1] / pricing.time
        found[-1] = column[-1] * pricing.unit
        return found

    def _first(self, known: Rented | None) -> Floats:
        """Return the cost of each rental divided among its runs by slot time, and penalties of runs left out."""
        if known is None:
            return np.ones(len(self.most))
        spent, market = np.zeros(len(self.most)), self.market
        shares: list[dict[int, float]] = [{} for _ in known.leases]
        for run, stage, place, _, count in known.pieces:
            job = market.nights[known.leases[place].vm].jobs[market.runs[run].job]
            shares[place][run] = shares[place].get(run, 0.0) + count * job.stages[stage].ticks
        for lease, share in zip(known.leases, shares, strict=True):
            if lease.master:
                continue
            total, machine = sum(share.values()), market.machines[lease.vm]
            paid = lease.count * machine.billed(lease.end - lease.begin) * machine.price_of(lease.reserved) / TICK
            for run, part in share.items():
                spent[run] += paid * part / total
        for index, each in enumerate(known.placed):
            if each is None:
                spent[index] = self.most[index]
        return spent

    def _covering(self, columns: Sequence[Floats]) -> tuple[Floats, float] | None:
        """Return the prices of the covering program of these rentals, and its optimum."""
        from scipy.optimize import linprog
        from scipy.sparse import csr_array

        matrix = np.array(columns)
        scale = float(matrix[:, -1].max()) or 1.0
        highest = [each / scale if np.isfinite(each) else None for each in self.most.tolist()]
        prices = linprog(
            -np.ones(len(self.most)),
            A_ub=csr_array(matrix[:, :-1]),
            b_ub=matrix[:, -1] / scale,
            bounds=[(0.0, each) for each in highest],
            method="highs",
        )
        return None if prices.status else (np.asarray(prices.x) * scale, -float(prices.fun) * scale)


class _Pricing:
    """Rentals of one VM type, and what work each can do at most at given prices of machine time."""

    def __init__(self, night: Night, cells: int) -> None:
        self.night, machine = night, night.machine
        paths = [night.jobs[job].path() for job in {run.job for run in night.runs}]
        first, last = min(run.ready for run in night.runs), max(run.due for run in night.runs)
        window = max(run.due - run.ready for run in night.runs)
        piece = max(4 * machine.boot, 2 * max(paths), min(window, 8 * max(paths)))
        exact = step_of(night)
        step = exact
        widths = [run.due - run.ready + piece for run in night.runs]
        while (piece // step + 1) * max((last - first) // step, sum(widths) // step) > cells:
            step *= 2
        self.step, loss = step, 0 if step == exact else 2
        self.longest = longest = piece // step + 1
        self.begin = first // step - longest
        needs = [_machine_time(job, machine.slots) for job in night.jobs]
        self.works: list[_Work] = [
            _Work(run.ready // step - self.begin, -(-run.due // step) - self.begin, time / step, slots)
            for run in night.runs
            for time, slots in (needs[run.job],)
        ]
        self.count = max(work.end for work in self.works) + 1
        lengths = np.arange(1, longest + 1)
        paid = [machine.billed(machine.boot + max(int(each) - loss, 0) * step) / step for each in lengths]
        self.lengths, self.paid = lengths.astype(np.float64), np.maximum(np.array(paid), 1e-9)
        self.boot = machine.boot / step - loss
        self.unit = machine.least_price * step / TICK
        self.time = np.array([work.time for work in self.works])
        self.spent = self.time * self.unit
        self.blocks: dict[tuple[int, float], Floats] = {}

    def _block(self, work: _Work) -> Floats:
        """Return the machine time of a run on rentals.

        By their begin, from ``longest - 1`` steps before the window on, and by their length.
        """
        width = work.end - work.begin
        key = width, work.time
        if key not in self.blocks:
            begin = np.arange(-self.longest + 1, width)[:, None]
            overlap = np.minimum(begin + self.lengths[None, :], width) - np.maximum(begin, 0)
            self.blocks[key] = np.clip(overlap, 0.0, work.time)
        return self.blocks[key]

    def _value(self, prices: Floats) -> Floats:
        """Return an upper bound on the value of the work of each rental, by begin and length."""
        slots = self.night.machine.slots
        ratio = prices / np.array([work.slots for work in self.works])
        levels = np.unique(np.quantile(ratio, np.linspace(0.0, 1.0, LEVELS)).round(12))
        best: Floats | None = None
        for level in [0.0, *levels.tolist()]:
            value = np.zeros((self.count, self.longest)) + level * slots * self.lengths
            for work, price in zip(self.works, prices.tolist(), strict=True):
                left = price - level * work.slots
                if left > 0.0:
                    first = max(0, work.begin - self.longest + 1)
                    block = self._block(work)[first - (work.begin - self.longest + 1) :]
                    value[first : first + len(block)] += left * block
            best = value if best is None else np.minimum(best, value)
        assert best is not None
        return best

    def factor(self, prices: Floats) -> tuple[Floats, float]:
        """Return the value of rentals, and by how much prices exceed those at which no rental earns its cost."""
        value = self._value(prices)
        factor = max(float((value / self.paid).max()), 1e-12)
        if self._long(value / factor) <= 0.0:
            return value, factor
        low, high = 0, 1
        while self._long(value / (factor * 1.01**high)) > 0.0:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._long(value / (factor * 1.01**middle)) > 0.0 else (low, middle)
        return value, factor * 1.01**high

    def _long(self, value: Floats) -> float:
        """Return the most that a rental of several pieces, each at most ``longest`` steps, can do beyond its cost."""
        gains = value - self.lengths
        best: list[float] = gains.max(axis=1).tolist()
        whole: list[float] = gains[:, -1].tolist()
        for at in range(self.count - self.longest - 1, -1, -1):
            best[at] = max(best[at], whole[at] + best[at + self.longest])
        later = best[self.longest :]
        return max(map(sum, zip(whole, later, strict=False)), default=self.boot) - self.boot

    def columns(self, value: Floats, prices: Floats) -> Iterator[NDArray[np.float64]]:
        """Yield the machine time of each run on the rental that earns most for its cost, of each part of the night."""
        earned = value / self.paid
        part = max(1, self.longest // 3, self.count // PARTS)
        for first in range(0, self.count, part):
            rows = earned[first : first + part]
            begin, length = np.unravel_index(int(rows.argmax()), rows.shape)
            if rows[begin, length] > 0.0:
                yield self._column(first + int(begin), int(length) + 1, prices)

    def _column(self, begin: int, length: int, prices: Floats) -> NDArray[np.float64]:
        """Return what a rental does at best at these prices, run by run, and its cost at the end."""
        found = np.zeros(len(self.works) + 1)
        room = float(self.night.machine.slots * length)
        order = sorted(range(len(self.works)), key=lambda at: -prices[at] / self.works[at].slots)
        for index in order:
            work = self.works[index]
            overlap = min(begin + length, work.end) - max(begin, work.begin)
            if overlap > 0:
                found[index] = min(work.time, overlap, room / work.slots)
                room -= found[index] * work.slots
        found[-1] = self.paid[length - 1]
        return found

    def alone(self, index: int) -> NDArray[np.float64]:
        """Return a rental for one run that does some of its work."""
        work = self.works[index]
        length = min(self.longest, max(1, -int(-work.time // 1)), work.end - work.begin)
        found = np.zeros(len(self.works) + 1)
        found[index], found[-1] = min(work.time, length), self.paid[length - 1]
        return found


def _machine_time(job: Job, slots: int) -> tuple[float, int]:
    """Return the machine time [ticks] of the stages of a run one after the other, and the slots they take at least.

    Of stages side by side, the path with the most machine time counts.
    """
    best: list[tuple[float, int]] = [(0.0, slots)] * len(job.stages)
    for index in job.order:
        stage = job.stages[index]
        rate = min(stage.tasks, slots)
        before = max((best[parent] for parent in stage.after), default=(0.0, slots))
        best[index] = before[0] + stage.tasks * stage.ticks / rate, min(before[1], rate)
    return max(best)
