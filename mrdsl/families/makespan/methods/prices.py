"""A lower bound by prices of slots: neither phase hides behind the other.

Suppose that all tasks end by T. Give each moment a price at least 0 for a map slot and another for a reduce slot, so
that all slots until T cost 1 together. Each task pays for the time that it holds a slot, so all tasks together pay at
most 1.

Let the map phase of job j end at E. Its maps start at ``E - p`` at the latest, where p is the time of a map. Its
reduces start at E at the earliest. E is at least M_j and at most ``T - R_j``, where M_j and R_j are the lengths of
the phases alone on the cluster. If all maps start at the moment s at which they are cheapest, and all reduces at the
moment r at which they are, the job pays no more, and ``s + p <= r`` holds. So job j pays at least the least price of
such a pair. If these least prices sum to more than 1, no schedule ends by T. This holds for any prices: they need no
proof of their own.

Prices are constant between moments that are evenly spread. The price of a phase is then piecewise linear in its
start, so its least value is at a corner. Linear programs find the prices: each mixes the pairs found so far, so that
the greatest load of an interval becomes least, and its dual values are the next prices. If the mixed loads fit into
the slots, no prices refute T. The windows of the energetic bound are prices of a single machine.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from mrdsl.contracts.pipeline import Draft
from mrdsl.families.makespan.lower_bounds import least_not_refuted
from mrdsl.families.makespan.methods.orders import late, work_of
from mrdsl.families.makespan.schedule import Batch, Floats

INTERVALS = 48
MARGIN = 1e-9
"""Payments above 1 by less are rounding."""
MOST_JOBS = 200
SMOOTH = 0.7
"""Weight of the best prices so far: new prices alone move too far."""


def prices(draft: Draft, steps: int = 2000, programs: int = 20) -> Draft:
    """Raise the bound by prices of slots; ``draft`` has a schedule.

    Makespans are examined in ``steps`` steps of the bound at least, each with at most ``programs`` linear programs.
    """
    progress = work_of(draft)
    batch, bound = progress.batch, progress.bound
    if progress.schedule is None or progress.proven or len(batch) > MOST_JOBS:
        return replace(draft, state=progress)
    step = batch.unit * max(1.0, np.floor(bound / batch.unit / steps))
    most, search = progress.schedule.makespan, _Prices(batch, programs)

    def refutes(number: float) -> bool:
        makespan = bound + number * step
        return makespan < most and not late(draft) and search.refute(makespan)

    first_open = least_not_refuted(refutes, 0.0)
    if first_open > 0.0:
        progress = replace(progress, bound=bound + (first_open - 1.0) * step + batch.unit)
    return replace(draft, state=progress)


@dataclass
class _Prices:
    """A search for prices that refute one makespan after the other; the last prices are tried first."""

    batch: Batch
    programs: int
    last: Floats | None = field(default=None, init=False)

    def refute(self, makespan: float) -> bool:
        """Return True if prices are found that refute a makespan, in ticks."""
        slots = _Slots(self.batch, makespan)
        last = self.last if self.last is not None and len(self.last) == len(slots.capacity) else None
        if last is not None and slots.cheapest(last)[2] > 1.0 + MARGIN:
            return True
        mixture, best, held = slots.spread(), 0.0, None
        for _ in range(self.programs):
            load, found = mixture.prices()
            if load <= 1.0:
                return False
            for tried in (found,) if held is None else (SMOOTH * held + (1.0 - SMOOTH) * found, found):
                maps, reduces, paid = slots.cheapest(tried)
                if paid > best:
                    best, held = paid, tried
                mixture.add(slots.loads(maps, reduces))
            if best > 1.0 + MARGIN:
                self.last = held
                return True
        return False


class _Slots:
    """The slots until a makespan in intervals: first those of maps, then those of reduces."""

    def __init__(self, batch: Batch, makespan: float) -> None:
        self.tasks = batch.map_tasks[:, None], batch.reduce_tasks[:, None]
        self.times = batch.map_time[:, None], np.where(batch.reduce_tasks > 0, batch.reduce_time, 0.0)[:, None]
        heads, tails = (phase[:, None] for phase in batch.phases(batch.map_slots, batch.reduce_slots))
        self.last_map, self.first_reduce = makespan - tails - self.times[0], heads
        self.last_reduce = makespan - self.times[1]
        self.moments = np.unique(np.rint(np.linspace(0.0, makespan, INTERVALS + 1)))
        lengths = np.diff(self.moments)
        self.capacity = np.concatenate([batch.map_slots * lengths, batch.reduce_slots * lengths])

    def spread(self) -> _Mixture:
        """Return a mixture that begins with starts spread over the time of each job."""
        mixture = _Mixture(len(self.tasks[0]), len(self.capacity))
        for share in np.linspace(0.0, 1.0, 6):
            maps = share * self.last_map
            soon = np.maximum(maps + self.times[0], self.first_reduce)
            for reduces in (soon, np.maximum(soon, self.last_reduce)):
                mixture.add(self.loads(maps, reduces))
        return mixture

    def loads(self, maps: Floats, reduces: Floats) -> Floats:
        """Return the share of each interval's slots that each job takes if it starts then, shape (n, intervals)."""
        begin, end = self.moments[:-1], self.moments[1:]
        both = [
            tasks * np.maximum(np.minimum(start + time, end) - np.maximum(start, begin), 0.0)
            for start, tasks, time in zip((maps, reduces), self.tasks, self.times, strict=True)
        ]
        shares: Floats = np.concatenate(both, axis=1) / self.capacity
        return shares

    def cheapest(self, prices: Floats) -> tuple[Floats, Floats, float]:
        """Return each job's cheapest starts of maps and of reduces, shape (n, 1), and what all jobs pay then.

        ``prices``: of all slots of each interval, their sum is at most 1. Starts of maps that are a corner of either
        phase are sorted, so the maps of one corner may precede the reduces of the same or any later one.
        """
        (map_time, reduce_time), rows = self.times, np.arange(len(self.tasks[0]))
        knots = np.broadcast_to(self.moments, (len(rows), len(self.moments)))
        ends = (self.first_reduce - map_time, 0.0 * map_time, self.last_map, self.last_reduce - map_time)
        corners = np.concatenate([knots, knots - map_time, knots - map_time - reduce_time, *ends], axis=1)
        corners.sort(axis=1)
        maps = np.clip(corners, 0.0, self.last_map)
        reduces = np.clip(corners + map_time, self.first_reduce, self.last_reduce)
        half = len(prices) // 2
        of_maps = self._paid(0, maps, prices[:half])
        of_both = np.minimum.accumulate(of_maps, axis=1) + self._paid(1, reduces, prices[half:])
        last = of_both.argmin(axis=1)
        first = np.where(np.arange(corners.shape[1]) <= last[:, None], of_maps, np.inf).argmin(axis=1)
        paid = float(of_both[rows, last].sum())
        return maps[rows, first][:, None], reduces[rows, last][:, None], paid

    def _paid(self, phase: int, starts: Floats, prices: Floats) -> Floats:
        capacity = self.capacity.reshape(2, -1)[phase]
        until = np.concatenate([[0.0], np.cumsum(prices / capacity * np.diff(self.moments))])
        end = np.interp(starts + self.times[phase], self.moments, until)
        paid: Floats = self.tasks[phase] * (end - np.interp(starts, self.moments, until))
        return paid


class _Mixture:
    """Starts of each job that a linear program mixes, by their loads."""

    def __init__(self, jobs: int, intervals: int) -> None:
        self.jobs, self.intervals = jobs, intervals
        self.columns: list[Floats] = []

    def add(self, loads: Floats) -> None:
        """Add one column for each job; ``loads``: shape (n, intervals)."""
        self.columns.append(loads.T)

    def prices(self) -> tuple[float, Floats]:
        """Return the least greatest load of an interval, and the prices that the program gives the intervals."""
        from scipy import sparse
        from scipy.optimize import linprog

        loads = np.concatenate([*self.columns, -np.ones((self.intervals, 1))], axis=1)
        wholes = [*[sparse.identity(self.jobs)] * len(self.columns), sparse.csr_matrix((self.jobs, 1))]
        cost = np.zeros(loads.shape[1])
        cost[-1] = 1.0
        found = linprog(
            cost,
            A_ub=sparse.csr_matrix(loads),
            b_ub=np.zeros(self.intervals),
            A_eq=sparse.hstack(wholes, format="csr"),
            b_eq=np.ones(self.jobs),
            method="highs",
        )
        if found.x is None:
            return 0.0, np.zeros(self.intervals)
        duals = np.maximum(-np.asarray(found.ineqlin.marginals), 0.0)
        return float(found.fun), duals / max(float(duals.sum()), 1.0)
