"""Machines of classes that share none, by columns: each is a class's jobs by lane with the machines for them.

At prices of the VMs of each lane, dynamic programming finds the cheapest machines of each class, within its quota. A
linear program mixes these answers within the quotas of all classes, its prices give the next answers, and the costs of
the answers bound every plan (Dantzig and Wolfe 1960, *Decomposition principle for linear programs*). Prices of quotas
stay near the best ones until the bound meets the program (du Merle and others 1999, *Stabilized column generation*). An
integer program then chooses one answer for each class.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.linear_program import LinearProgram
from mrdsl.core.rounding import ROUNDING, SAME_SUM, ceiling
from mrdsl.families.capacity.market import Floats
from mrdsl.families.capacity.methods.lane_prices import Places, Task, cheapest, dual_bound, wanted
from mrdsl.families.capacity.plan_parts import summed
from mrdsl.formulas.knapsack import cheapest_pieces, machines_alone

if TYPE_CHECKING:
    from scipy.sparse import csr_array

MOST_JOBS = 200
"""Classes of no more jobs are placed by dynamic programming over their numbers; of more, on one lane each."""
CELLS = 4_000_000
"""Most numbers of machines that are computed at once; three times as many are stored."""


def is_limited(task: Task, index: int) -> bool:
    """Return True if the search has to limit a class's placements.

    That is so if a part of it may be on spot, if it stays on one type of several, or if it has too many jobs.
    """
    mix = task.mix
    possible = mix.possible[:, index]
    on_spot = mix.spot_share[index] < 1.0 and bool((possible & task.market.spot).any())
    return bool(on_spot or task.high[index] > MOST_JOBS or (mix.together[index] and possible.sum() > 1))


def room_of(task: Task, left: Floats | None = None) -> Floats:
    """Return the machines that a class may have in each lane, of the VMs ``left`` of each type."""
    there = task.available - task.market.masters if left is None else left
    return np.asarray(there[task.market.vm_of_lane])


def tightened(task: Task) -> Task:
    """Return the task in which a job counts for its part of the whole machines of any number of its class's jobs.

    A class's jobs in a lane take no fewer machines than that within the quota, so that the relaxation bounds plans in
    which classes share no VM. Classes whose placements are limited, or that need not be whole, are unchanged.
    """
    mix, room = task.mix, room_of(task)[:, None]
    if not task.same_type:
        return task
    at = np.array([index for index in range(len(mix)) if not is_limited(task, index)], dtype=np.int64)
    gamma = mix.gamma.copy()
    if len(at):
        each = np.where(mix.possible[:, at], mix.gamma[:, at], np.inf)
        best = np.full_like(each, np.inf)
        for jobs in range(1, int(task.high[at].max()) + 1):
            vms = np.where(np.isfinite(each), ceiling(np.where(np.isfinite(each), each, 0.0) * jobs), np.inf)
            fits = (vms <= room) & (jobs <= task.high[at])
            best = np.where(fits, np.minimum(best, vms / jobs), best)
        gamma[:, at] = best
    return replace(task, mix=replace(mix, gamma=gamma))


class Answers:
    """The cheapest machines of classes at any prices of lanes, of classes whose placements are not limited."""

    def __init__(self, task: Task, classes: Places | None = None, left: Floats | None = None) -> None:
        every = np.arange(len(task.mix)) if classes is None else classes
        self.task, self.room = task, room_of(task, left)
        self.at = np.array([index for index in every.tolist() if not is_limited(task, index)], dtype=np.int64)
        order = self.at[np.argsort(task.high[self.at], kind="stable")]
        cells = np.cumsum(len(task.market.lanes) * (task.high[order] + 1.0))
        self.parts = np.split(order, np.flatnonzero(np.diff(cells // CELLS)) + 1) if len(order) else []
        keep = len(order) > 0 and cells[-1] <= 3 * CELLS
        self.kept = [self._machines(part) for part in self.parts] if keep else None

    def _machines(self, part: Places) -> NDArray[np.float32]:
        gamma = np.where(self.task.mix.possible[:, part], self.task.mix.gamma[:, part], np.inf)
        return machines_alone(gamma, self.room, int(self.task.high[part].max()))

    def at_prices(self, prices: Floats) -> tuple[Floats, Floats]:
        """Return whole jobs, (lanes, classes), and each class's least cost without its penalties.

        The cost is NaN for limited classes, and infinite if a class's fewest jobs have no room.
        """
        task, mix = self.task, self.task.mix
        jobs, costs = np.zeros_like(mix.gamma), np.full(len(mix), np.nan)
        for place, part in enumerate(self.parts):
            machines = self.kept[place] if self.kept is not None else self._machines(part)
            pieces = cheapest_pieces(machines, prices)
            numbers = np.arange(len(machines))[:, None]
            allowed = (numbers >= task.low[part]) & (numbers <= task.high[part])
            total = np.where(allowed, pieces.least - mix.worth[part] * numbers, np.inf)
            count = total.argmin(axis=0)
            costs[part] = total[count, np.arange(len(part))]
            count = np.where(np.isfinite(costs[part]), count, 0)
            jobs[:, part] = pieces.jobs(count, len(prices))
        return jobs, costs


def bound_at(answers: Answers, prices: Floats, quotas: Floats, cores: Floats | None = None) -> float:
    """Return a lower bound on every plan's cost, for any prices of lanes, quotas and cores."""
    task = answers.task
    ways = cheapest(task, prices)
    count = wanted(task, ways)
    fluid = np.where(count > 0.0, ways.cost - task.mix.worth, 0.0) * count
    costs = answers.at_prices(prices)[1]
    return dual_bound(task, prices, quotas, ways, count, cores) + float((np.fmax(costs, fluid) - fluid).sum())


LEAST_TIME = 0.01
ROUNDS, NODES = 60, 20
"""Most solves of the linear program, and most nodes of an integer program."""
PIECES = 20_000
"""Most pieces, of all lanes, classes and numbers of jobs, among which an integer program chooses."""
NEAR = 1e-3
"""Relative gap at which the integer program ends."""
WIDTH = 0.2
"""First distance of quota prices from the best ones, relative to them and to the cheapest VM of the type."""


@dataclass(frozen=True)
class Columns:
    """Classes and their jobs, (columns, lanes), the machines of each type that they take, and their costs."""

    of_class: Places
    jobs: Floats
    taken: Floats
    costs: Floats


class ClassProgram:
    """The program that mixes answers of some classes within the VMs ``left`` of each type.

    Offers of all lanes are endless. ``best`` is the best bound on the costs of these classes, at the prices ``quotas``.
    """

    def __init__(self, task: Task, classes: Places, left: Floats, quotas: Floats) -> None:
        self.task, self.classes, self.left, self.market = task, classes, left, task.market
        self.prices = task.market.cheapest()
        self.answers = Answers(task, classes, left)
        self.limited = np.flatnonzero(np.isfinite(left))
        self.quotas, self.best = np.where(np.isfinite(left), quotas, 0.0), -np.inf
        self.place_of = {index: place for place, index in enumerate(classes.tolist())}
        self.seen: dict[tuple[int, bytes], tuple[Floats, Floats, float]] = {}

    def chosen(self, start: Floats, until: float | None) -> list[Floats]:
        """Return the cheapest jobs found, (lanes, classes), from the ``start`` on; none if no answers fit."""
        self._add(start)
        jobs, costs = self._priced(self.quotas)
        if not bool(np.isfinite(costs[self.classes]).all()):
            return []
        self._add(jobs)
        program = _Mixing(self)
        for _ in range(ROUNDS):
            if until is not None and time.monotonic() > until:
                break
            value, quotas, beyond = program.solved()
            jobs, costs = self._priced(quotas)
            bound = float(costs[self.classes].sum()) - float(quotas[self.limited] @ self.left[self.limited])
            if bound > self.best:
                self.best, self.quotas = bound, quotas
            new = self._add(jobs)
            if value - self.best <= NEAR * abs(value) or not new:
                if not beyond:
                    break
                program.width *= 2.0
            program.add()
        return [each for each in (self._whole(until), self._in_pieces(until)) if each is not None]

    def _priced(self, quotas: Floats) -> tuple[Floats, Floats]:
        jobs, costs = self.answers.at_prices(self.prices + quotas[self.market.vm_of_lane])
        return jobs, costs + self.task.mix.penalty * self.task.mix.expected

    def _add(self, jobs: Floats) -> bool:
        """Keep a column of each class's jobs if they fit what is left; return True if one is new."""
        mix, types, before = self.task.mix, self.market.vm_of_lane, len(self.seen)
        for index in self.classes.tolist():
            mine = jobs[:, index]
            total = mine.sum()
            key = index, mine.tobytes()
            if key in self.seen or not self.task.low[index] <= total <= self.task.high[index]:
                continue
            lanes = np.flatnonzero(mine)
            vms = np.asarray(ceiling(mix.gamma[lanes, index] * mine[lanes]))
            taken = summed(types[lanes], vms, len(self.left))
            if bool((taken <= self.left).all()):
                cost = float(self.prices[lanes] @ vms + mix.penalty[index] * (mix.expected[index] - total))
                cost += float(mix.transfer[index] * total)
                self.seen[key] = mine.copy(), taken, cost
        return len(self.seen) > before

    def columns(self, first: int = 0) -> Columns:
        """Return the columns from a number on."""
        some = list(self.seen.items())[first:]
        of_class = np.array([self.place_of[key[0]] for key, _ in some], dtype=np.int64)
        jobs = np.array([each[0] for _, each in some]).reshape(len(some), len(self.prices))
        taken = np.array([each[1][self.limited] for _, each in some]).reshape(len(some), len(self.limited))
        return Columns(of_class, jobs, taken, np.array([each[2] for _, each in some]))

    def _whole(self, until: float | None) -> Floats | None:
        """Return the jobs of the cheapest columns, one of each class, by an integer program."""
        from scipy.sparse import csr_array, vstack

        columns = self.columns()
        count, classes = len(columns.costs), len(self.classes)
        used = np.flatnonzero((columns.taken > 0.0).any(axis=0))
        one = csr_array((np.ones(count), (columns.of_class, np.arange(count))), shape=(classes, count))
        room = self.left[self.limited][used]
        limits = np.concatenate([np.full(len(used), -np.inf), np.ones(classes)]), np.append(room, np.ones(classes))
        found = _binary(columns.costs, vstack([csr_array(columns.taken[:, used].T), one]), limits, until)
        if found is None:
            return None
        jobs = np.zeros_like(self.task.mix.gamma)
        for column in np.flatnonzero(found > 0.5).tolist():
            jobs[:, self.classes[columns.of_class[column]]] = columns.jobs[column]
        return jobs

    def _in_pieces(self, until: float | None) -> Floats | None:
        """Return the cheapest jobs on the lanes of all columns; None if there are too many lanes, classes or jobs.

        A piece is a number of jobs of a class in one lane. An integer program chooses at most one of each lane. Its gap
        is relative to the cost, and not to the cost less the penalties that jobs spare.
        """
        from scipy.sparse import csr_array, vstack

        task, mix, classes = self.task, self.task.mix, self.classes
        lanes = np.flatnonzero(self.columns().jobs.any(axis=0))
        jobs = np.arange(1.0, task.high[classes].max(initial=0.0) + 1.0)
        if len(lanes) * len(classes) * len(jobs) > PIECES or not len(lanes) or not np.isfinite(self.best):
            return None
        at = np.ix_(lanes, classes)
        vms = np.where(mix.possible[at], mix.gamma[at], np.inf)[:, :, None] * jobs
        vms = np.where(np.isfinite(vms), ceiling(np.where(np.isfinite(vms), vms, 0.0)), np.inf)
        fits = (vms <= room_of(task, self.left)[lanes][:, None, None]) & (jobs <= task.high[classes][:, None])
        lane, place, number = fits.nonzero()
        taken, number, each = vms[lane, place, number], jobs[number], np.arange(len(lane))
        worth = (mix.penalty - mix.transfer)[classes]
        costs = self.prices[lanes[lane]] * taken - worth[place] * number
        types = self.market.vm_of_lane[lanes[lane]]
        some = np.isfinite(self.left[types])
        rows = vstack(
            [
                csr_array((number, (place, each)), shape=(len(classes), len(each))),
                csr_array(
                    (np.ones(len(each)), (lane * len(classes) + place, each)), shape=(fits[:, :, 0].size, len(each))
                ),
                csr_array((taken[some], (types[some], each[some])), shape=(len(self.left), len(each))),
            ]
        )
        low = np.concatenate([task.low[classes], np.full(rows.shape[0] - len(classes), -np.inf)])
        high = np.concatenate([task.high[classes], np.ones(fits[:, :, 0].size), self.left])
        away = abs(self.best - float(mix.penalty[classes] @ mix.expected[classes]))
        found = _binary(costs, rows, (low, high), until, NEAR * abs(self.best) / max(away, SAME_SUM))
        if found is None:
            return None
        chosen, placed = found > 0.5, np.zeros_like(mix.gamma)
        placed[lanes[lane[chosen]], classes[place[chosen]]] = number[chosen]
        return placed


def _binary(
    costs: Floats, rows: csr_array, limits: tuple[Floats, Floats], until: float | None, gap: float = NEAR
) -> Floats | None:
    """Return the cheapest columns found, 1 for those that are chosen; None if none were found."""
    from mrdsl.solving.backends.highs import integer_point

    rows = rows.tocsr()
    program = LinearProgram(
        costs=costs,
        offset=0.0,
        maximize=False,
        lower=np.zeros(len(costs)),
        upper=np.ones(len(costs)),
        integer=np.ones(len(costs), dtype=bool),
        starts=rows.indptr.astype(np.int64),
        columns=rows.indices.astype(np.int64),
        coefficients=rows.data,
        row_lower=limits[0],
        row_upper=limits[1],
    )
    left = None if until is None else max(until - time.monotonic(), LEAST_TIME)
    return integer_point(program, gap, NODES, left)[0]


class _Mixing:
    """The linear program: a row for each quota and each class; VMs beyond or below a quota cost as a box of prices.

    Its columns are VMs beyond and below each quota and classes without jobs, followed by answers.
    """

    def __init__(self, program: ClassProgram) -> None:
        from mrdsl.solving.backends.highs import GrowingProgram

        self.of, self.width, self.there = program, WIDTH, 0
        self.quotas, classes = len(program.limited), len(program.classes)
        lower = np.concatenate([np.full(self.quotas, -np.inf), np.ones(classes)])
        self.program = GrowingProgram(lower, np.concatenate([program.left[program.limited], np.ones(classes)]))
        cheap = np.full(len(program.left), np.inf)
        np.minimum.at(cheap, program.market.vm_of_lane, program.prices)
        self.cheap = np.where(np.isfinite(cheap), cheap, 0.0)[program.limited]
        each, every = np.arange(self.quotas), np.arange(classes)
        rows = np.concatenate([each, each, self.quotas + every])
        values = np.concatenate([-np.ones(self.quotas), np.ones(self.quotas + classes)])
        dear = 1.0 + 2.0 * float(np.abs(program.columns().costs).sum())
        costs = np.concatenate([np.zeros(2 * self.quotas), np.full(classes, dear)])
        self._columns(costs, np.where(costs > 0.0, 1.0, np.inf), (rows, np.arange(len(rows)), values))
        self.add()

    def _columns(self, costs: Floats, upper: Floats, entries: tuple[Places, Places, Floats]) -> None:
        from scipy.sparse import coo_array

        rows, columns, values = entries
        shape = self.quotas + len(self.of.classes), len(costs)
        self.program.add(costs, upper, coo_array((values, (rows, columns)), shape=shape))

    def add(self) -> None:
        """Add the columns that are new, and put the box around the best prices."""
        new = self.of.columns(self.there)
        self.there += len(new.costs)
        if len(new.costs):
            columns, rows = new.taken.nonzero()
            every = np.arange(len(new.costs))
            entries = np.concatenate([rows, self.quotas + new.of_class]), np.concatenate([columns, every])
            values = np.concatenate([new.taken[columns, rows], np.ones(len(every))])
            self._columns(new.costs, np.ones(len(every)), (*entries, values))
        best = self.of.quotas[self.of.limited]
        width = self.width * np.maximum(best, self.cheap)
        self.low = np.maximum(best - width, 0.0)
        self.program.price(np.arange(2 * self.quotas), np.concatenate([best + width, -self.low]))

    def solved(self) -> tuple[float, Floats, bool]:
        """Return the value, prices of quotas by type, and True if VMs lie beyond or below the quotas."""
        solved = self.program.solve()
        assert solved is not None
        value, point, duals = solved
        prices = np.zeros(len(self.of.left))
        prices[self.of.limited] = np.maximum(-duals[: self.quotas], 0.0)
        beyond, below = point[: self.quotas], point[self.quotas : 2 * self.quotas]
        return value, prices, bool(beyond.sum() + below[self.low > 0.0].sum() > ROUNDING)
