"""A proven lower bound on the cost of elastic machines from the prices that each rental can earn.

Give each run a price for the machine time that it takes. If no rental can do work worth more than it costs, all prices
together are a lower bound: the dual of a covering program with a column for each possible rental. What a rental can do
is bounded from above by the overlap with each run's window, the machine time of the run, and the slots of the machine.
A long rental is bounded as a whole: in parts, runs at their borders would count twice. Columns are added while the
bound improves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.rounding import SAME_SUM
from mrdsl.core.watching import look, until_late
from mrdsl.families.timetable.bounds import time_option
from mrdsl.families.timetable.exact import step_of
from mrdsl.families.timetable.night import TICK, Job, Night
from mrdsl.families.timetable.rented import Rented
from mrdsl.families.timetable.types import Market

RUNS, MOST_RUNS = 400, 2000
"""Most runs of the covering program, and runs of which known prices are tried at most."""
INSIDE = 0.5
"""The part of the best prices in the next ones: those of the program alone move too far."""
CELLS, MOST_CELLS = 6_000_000, 30_000_000
"""Rentals, each with the runs on it, that are priced at most, in rounds or once: steps are longer for that, and times
rounded outwards."""
LEVELS = 6
"""Prices of slot time that are tried to bound the value of a rental."""
PARTS = 1000
"""Parts of a night, from each of which the rental that earns most is added."""
LONG = 300
"""The same of rentals that are longer than those in the table of all."""
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
    if len(market.runs) > MOST_RUNS or not all(machine.least_price for machine in market.machines):
        return 0.0
    return max(until_late(_Covering(market).bounds(known)), default=0.0)


class _Covering:
    """The covering program of runs by rentals of all types; prices are in currency, of whole runs."""

    def __init__(self, market: Market) -> None:
        self.market = market
        parts = [market.part(vm) for vm in range(len(market.nights))]
        share = sum(1 for _, night in parts if night.runs)
        cells = CELLS if len(market.runs) <= RUNS else MOST_CELLS
        self.types = [
            (np.array(numbers, dtype=np.int64), _Pricing(night, cells // share))
            for numbers, night in parts
            if night.runs
        ]
        penalties = [market.penalties[run.job] for run in market.runs]
        self.most = np.array([inf if each is None else each for each in penalties])

    def bounds(self, known: Rented | None) -> Iterator[float]:
        """Yield the bounds of the first prices and of those of the covering program, each better than the last."""
        first = self._first(known)
        has_masters = any(machine.masters for machine in self.market.machines)
        target = inf if known is None or has_masters else known.value
        best, held, earned = max((self._lowered(prices) for prices in (first, self._alike(first))), key=lambda t: t[0])
        yield best
        if len(self.market.runs) > RUNS:
            return
        columns = [
            self._spread(numbers, pricing.alone(index), pricing)
            for numbers, pricing in self.types
            for index in range(len(numbers))
        ]
        lowered = held
        for _ in range(ROUNDS):
            if best >= target * (1.0 - 1e-7):
                break
            for (numbers, pricing), each in zip(self.types, earned, strict=True):
                found = pricing.columns(each, lowered[numbers] / pricing.spent)
                columns += [self._spread(numbers, column, pricing) for column in found]
            solved = self._covering(columns)
            if solved is None or solved[1] <= best * (1.0 + 1e-4):
                break
            value, lowered, earned = self._lowered(INSIDE * held + (1.0 - INSIDE) * solved[0])
            if value > best:
                best, held = value, lowered
                yield best

    def _lowered(self, prices: Floats) -> tuple[float, Floats, list[tuple[Floats, Floats]]]:
        """Return the bound of prices, the prices at which no rental earns more than its cost, and what each earns."""
        prices = np.minimum(prices, self.most)
        earned, factors = [], np.full(len(prices), 1e-12)
        for numbers, pricing in self.types:
            found, factor = pricing.factor(prices[numbers] / pricing.spent)
            earned.append(found)
            factors[numbers] = np.maximum(factors[numbers], factor)
        lowered = np.minimum(prices / (factors * (1.0 + SAME_SUM)), self.most)
        return float(lowered.sum()) * (1.0 - SAME_SUM), lowered, earned

    def _alike(self, prices: Floats) -> Floats:
        """Return the mean price of runs of one class with windows of one length."""
        keys = np.array([(run.job, run.due - run.ready) for run in self.market.runs])
        _, group = np.unique(keys, axis=0, return_inverse=True)
        group = group.ravel()
        means: Floats = np.bincount(group, prices) / np.bincount(group)
        return means[group]

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
            options=time_option(),
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
        self.loss = loss
        self.lengths = lengths.astype(np.float64)
        self.paid = np.maximum(self._billed(self.lengths), 1e-9)
        self.boot = machine.boot / step - loss
        self.begins, self.ends = (np.unique([getattr(work, name) for work in self.works]) for name in ("begin", "end"))
        self.unit = machine.least_price * step / TICK
        self.time = np.array([work.time for work in self.works])
        self.spent = self.time * self.unit
        self.blocks: dict[tuple[int, float], Floats] = {}

    def _billed(self, lengths: Floats) -> Floats:
        """Return the steps that are paid of rentals, at least."""
        machine, step = self.night.machine, self.step
        steps, where = np.unique(np.maximum(lengths - self.loss, 0.0), return_inverse=True)
        paid = [machine.billed(machine.boot + int(each) * step) / step for each in steps.tolist()]
        return np.array(paid)[where].reshape(lengths.shape)

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

    def _levels(self, prices: Floats) -> list[float]:
        """Return the prices of slot time that are tried."""
        ratio = prices / np.array([work.slots for work in self.works])
        return [0.0, *np.unique(np.quantile(ratio, np.linspace(0.0, 1.0, LEVELS)).round(12)).tolist()]

    def _value(self, prices: Floats) -> Floats:
        """Return an upper bound on the value of the work of each rental, by begin and length."""
        slots = self.night.machine.slots
        best: Floats | None = None
        for level in self._levels(prices):
            value = np.zeros((self.count, self.longest)) + level * slots * self.lengths
            for work, price in zip(self.works, prices.tolist(), strict=True):
                look()
                left = price - level * work.slots
                if left > 0.0:
                    first = max(0, work.begin - self.longest + 1)
                    block = self._block(work)[first - (work.begin - self.longest + 1) :]
                    value[first : first + len(block)] += left * block
            best = value if best is None else np.minimum(best, value)
        assert best is not None
        return best

    def factor(self, prices: Floats) -> tuple[tuple[Floats, Floats], float]:
        """Return what rentals earn for their costs, and by how much prices exceed those at which none earns more."""
        earned = self._value(prices) / self.paid, self._long(prices)
        return earned, max(*(float(each.max()) for each in earned), 1e-12)

    def _long(self, prices: Floats) -> Floats:
        """Return the most that rentals longer than ``longest`` steps earn for their costs, by begin and end.

        It does any run whose window it overlaps in whole. Its begin is between two ends of windows, and its end between
        two begins. There the runs are the same. What it earns at a level of prices is most at its shortest or longest.
        """
        slots, works = self.night.machine.slots, self.works
        begins, ends = self.begins, self.ends
        lows, highs = np.append(begins[0] - self.longest, ends[:-1]), ends  # of the begin
        starts, stops = begins, np.append(begins[1:], ends[-1] + self.longest)  # of the end
        longest = (stops[None, :] - lows[:, None]).astype(np.float64)
        there = longest > self.longest
        longest = np.maximum(longest, self.longest + 1.0)
        shortest = np.maximum(starts[None, :] - highs[:, None], self.longest).astype(np.float64)
        paid = self._billed(shortest)
        best = np.full(there.shape, inf)
        worths = prices * self.time
        for level in self._levels(prices):
            left = np.maximum(worths - level * np.array([work.slots for work in works]) * self.time, 0.0)
            begun, over = np.zeros(len(begins)), np.zeros(len(ends))
            np.add.at(begun, np.searchsorted(begins, [work.begin for work in works]), left)
            np.add.at(over, np.searchsorted(ends, [work.end for work in works]), left)
            runs = np.cumsum(begun)[None, :] - (np.cumsum(over) - over)[:, None]
            short, long = (level * slots * steps + runs for steps in (shortest, longest))
            rate = np.maximum(short / (shortest + self.boot), long / (longest + self.boot))
            best = np.minimum(best, np.minimum(rate, long / paid))
        return np.where(there, best, 0.0)

    def columns(self, earned: tuple[Floats, Floats], prices: Floats) -> Iterator[NDArray[np.float64]]:
        """Yield the machine time of each run on the rentals that earn most for their costs, of parts of the night."""
        short, long = earned
        part = max(1, self.longest // 3, self.count // PARTS)
        for first in range(0, self.count, part):
            rows = short[first : first + part]
            begin, length = np.unravel_index(int(rows.argmax()), rows.shape)
            if rows[begin, length] > 0.0:
                yield self._column(first + int(begin), int(length) + 1, prices)
        part = -(-len(long) // LONG)
        for first in range(0, len(long), part):
            rows = long[first : first + part]
            row, column = (int(each) for each in np.unravel_index(int(rows.argmax()), rows.shape))
            if rows[row, column] > 0.0:
                start = int(self.ends[first + row]) - 1
                yield self._column(start, max(int(self.begins[column]) + 1 - start, 1), prices)

    def _column(self, begin: int, length: int, prices: Floats) -> NDArray[np.float64]:
        """Return what a rental does at best at these prices, run by run, and its cost at the end."""
        look()
        found = np.zeros(len(self.works) + 1)
        room = float(self.night.machine.slots * length)
        order = sorted(range(len(self.works)), key=lambda at: -prices[at] / self.works[at].slots)
        for index in order:
            work = self.works[index]
            overlap = min(begin + length, work.end) - max(begin, work.begin)
            if overlap > 0:
                found[index] = min(work.time, overlap, room / work.slots)
                room -= found[index] * work.slots
        found[-1] = float(self._billed(np.array([float(length)]))[0])
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
