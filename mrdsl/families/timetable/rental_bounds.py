"""A proven lower bound on the cost of elastic machines from the prices that each rental can earn.

Give each run a price for the machine time that it takes. If no rental can do work worth more than it costs, all prices
together are a lower bound: the dual of a covering program with a column for each possible rental. What a rental can do
is bounded from above by the overlap with each run's window, the machine time of the run, and the slots of the machine.
A long rental is bounded as a whole: in parts, runs at their borders would count twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.rounding import SAME_SUM
from mrdsl.core.watching import look, until_late
from mrdsl.families.timetable.exact import step_of
from mrdsl.families.timetable.night import TICK, Job, Night
from mrdsl.families.timetable.rented import Rented
from mrdsl.families.timetable.types import Market

FEW, MOST_RUNS = 400, 2000
"""Runs up to which rentals are in short steps, and at all."""
CELLS, MOST_CELLS = 6_000_000, 30_000_000
"""Rentals, each with the runs on it, that are priced at most, for few runs or more: steps are longer for that, and
times rounded outwards."""
LEVELS = 6
"""Prices of slot time that are tried to bound the value of a rental."""
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
        known: An elastic timetable; its costs, divided among the runs on each rental, are the prices, or their mean
            over runs of one class with windows of one length.
    """
    if len(market.runs) > MOST_RUNS or not all(machine.least_price for machine in market.machines):
        return 0.0
    parts = [(numbers, night) for numbers, night in map(market.part, range(len(market.nights))) if night.runs]
    cells = (CELLS if len(market.runs) <= FEW else MOST_CELLS) // max(len(parts), 1)
    types = [(np.array(numbers, dtype=np.int64), _Pricing(night, cells)) for numbers, night in parts]
    penalties = [market.penalties[run.job] for run in market.runs]
    most = np.array([inf if each is None else each for each in penalties])

    def bound(prices: Floats) -> float:
        """Return the bound of prices: lowered so far that no rental earns more than its cost."""
        prices = np.minimum(prices, most)
        factors = np.full(len(prices), 1e-12)
        for numbers, pricing in types:
            factors[numbers] = np.maximum(factors[numbers], pricing.factor(prices[numbers] / pricing.spent))
        lowered = np.minimum(prices / (factors * (1.0 + SAME_SUM)), most)
        return float(lowered.sum()) * (1.0 - SAME_SUM)

    prices = _shares(market, known, most)
    return max(until_late(map(bound, (prices, _alike(market, prices)))), default=0.0)


def _alike(market: Market, prices: Floats) -> Floats:
    """Return the mean price of runs of one class with windows of one length."""
    keys = np.array([(run.job, run.due - run.ready) for run in market.runs])
    _, group = np.unique(keys, axis=0, return_inverse=True)
    group = group.ravel()
    means: Floats = np.bincount(group, prices) / np.bincount(group)
    return means[group]


def _shares(market: Market, known: Rented | None, most: Floats) -> Floats:
    """Return the cost of each rental divided among its runs by slot time, and penalties of runs left out."""
    if known is None:
        return np.ones(len(most))
    spent = np.zeros(len(most))
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
            spent[index] = most[index]
    return spent


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
        self.time = np.array([work.time for work in self.works])
        self.spent = self.time * machine.least_price * step / TICK
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

    def factor(self, prices: Floats) -> float:
        """Return by how much prices exceed those at which no rental earns more than its cost."""
        return max(float((self._value(prices) / self.paid).max()), self._long(prices), 1e-12)

    def _long(self, prices: Floats) -> float:
        """Return the most that a rental longer than ``longest`` steps earns for its cost.

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
        return float(np.where(there, best, 0.0).max())


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
