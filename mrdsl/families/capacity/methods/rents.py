"""What machines of a class's own cost beside those of all others: contracts first, then those to be had in any number.

Machines that there are not cost far more than any that there are, so that plans that lack some are left wherever
another exists.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mrdsl.core.tolerances import ROUNDING, SAME_SUM
from mrdsl.core.whole_numbers import ceiling
from mrdsl.families.capacity.market import Floats, Market
from mrdsl.families.capacity.methods.lane_prices import Places, Task
from mrdsl.families.capacity.mixture import summed

LACKING = 1000.0
"""How many times the dearest machine and penalty a machine costs that there is not."""


@dataclass(frozen=True)
class Tariff:
    """What each machine of a lane costs: ``prices`` of ``widths`` machines from the ``starts`` on, (lanes, steps)."""

    starts: Floats
    widths: Floats
    prices: Floats

    def cost(self, lanes: Places, vms: Floats) -> Floats:
        """The cost of so many machines of each of the lanes; ``vms`` has the shape (lanes, ...)."""
        each = (slice(None), slice(None), *(None,) * (vms.ndim - 1))
        starts, widths, prices = (steps[lanes][each] for steps in (self.starts, self.widths, self.prices))
        return np.asarray((prices * np.clip(vms[:, None] - starts, 0.0, widths)).sum(axis=1))


def tariff_of(market: Market, lacking: float) -> Tariff:
    """The offers of each lane, the cheapest first; behind the last, machines at the price ``lacking``."""
    by_lane = [
        sorted((offer.price, offer.available) for offer in market.offers if offer.lane == lane)
        for lane in range(len(market.lanes))
    ]
    steps = 1 + max(map(len, by_lane), default=0)
    rows = [[*each, *[(lacking, np.inf)] * (steps - len(each))] for each in by_lane]
    prices, widths = np.moveaxis(np.array(rows).reshape(len(by_lane), steps, 2), 2, 0)
    finite = np.minimum(widths, 1e15)
    return Tariff(np.cumsum(finite, axis=1) - finite, widths, prices)


class Rents:
    """Whole jobs by lane and class, and the machines that each class has for itself."""

    def __init__(self, task: Task, jobs: Floats) -> None:
        market, mix = task.market, task.mix
        self.task, self.jobs = task, jobs.copy()
        self.gamma = np.where(mix.possible, mix.gamma, 0.0)
        self.vms = np.asarray(ceiling(self.gamma * jobs))
        for index in task.spare.entries:
            self.vms[:, index] = self._vms(index, jobs[:, index])
        self.total = self.vms.sum(axis=1) + market.masters_of_lane
        dearest = float(market.prices.max(initial=0.0)) + float(mix.penalty.max(initial=0.0))
        self.lacking = LACKING * max(dearest, SAME_SUM)
        self.tariff = tariff_of(market, self.lacking)

    @classmethod
    def at(cls, task: Task, prices: Floats) -> Rents:
        """No machines yet, each of which costs the price of its lane."""
        found = cls(replace(task, available=np.full(len(task.available), np.inf)), np.zeros_like(task.mix.gamma))
        found.total = np.zeros(len(prices))
        widths = np.full((len(prices), 1), np.inf)
        found.tariff = Tariff(np.zeros((len(prices), 1)), widths, prices[:, None])
        return found

    def without(self, index: int) -> Rents:
        """The same with no machines of one class; its jobs are not looked at."""
        found = object.__new__(Rents)
        found.__dict__.update(self.__dict__, total=self.total - self.vms[:, index])
        return found

    def more(self, lanes: Places, vms: Floats) -> Floats:
        """What so many machines more of each of the lanes cost, each lane by itself; ``vms`` is (lanes, numbers)."""
        before, market = self.total[lanes], self.task.market
        types = market.vm_of_lane
        left = self.task.available - summed(types, self.total, len(market.names))
        over = np.maximum(vms - np.maximum(left[types[lanes]], 0.0)[:, None], 0.0)
        costs = self.tariff.cost(lanes, before[:, None] + vms) - self.tariff.cost(lanes, before)[:, None]
        return np.asarray(costs + self.lacking * over)

    def _vms(self, index: int, jobs: Floats) -> Floats:
        """The machines that jobs of a class by lane take, those for slots beyond the fewest among them."""
        spare = self.task.spare.vms(index, jobs) if index in self.task.spare.entries else None
        return np.asarray(ceiling(self.gamma[:, index] * jobs + (0.0 if spare is None else spare)))

    def cost_of(self, index: int, jobs: Floats) -> float:
        """What jobs of a class, by lane, cost in machines, without the penalties that they spare."""
        lanes = np.flatnonzero(jobs)
        vms = self._vms(index, jobs)[lanes]
        return float(self.more(lanes, vms[:, None]).sum()) - float(self.task.mix.penalty[index] * jobs.sum())

    def give(self, index: int, jobs: Floats) -> None:
        """Gives a class these jobs in place of its own where they cost less."""
        without = self.without(index)
        before, after = without.cost_of(index, self.jobs[:, index]), without.cost_of(index, jobs)
        if after >= before - ROUNDING * max(1.0, abs(before)):
            return
        self.total = without.total
        self.jobs[:, index] = jobs
        self.vms[:, index] = self._vms(index, jobs)
        self.total = self.total + self.vms[:, index]

    def cost(self) -> float:
        """What all machines cost, masters and penalties as well; far too much where some lack."""
        every = np.arange(len(self.total))
        types, market, mix = self.task.market.vm_of_lane, self.task.market, self.task.mix
        over = np.maximum(summed(types, self.total, len(market.names)) - self.task.available, 0.0)
        turned_away = mix.penalty @ (mix.expected - self.jobs.sum(axis=0))
        return float(self.tariff.cost(every, self.total).sum() + turned_away + self.lacking * over.sum())
