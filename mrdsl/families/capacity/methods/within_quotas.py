"""Whole jobs within quotas: a dive from the relaxation, then integer programs around the plan that it finds.

The dive keeps the whole parts of jobs, takes the largest of the other parts as whole jobs, and solves the program again
for what is left, in which no lane has a part of a job for which it has no room; until all jobs are whole. Integer
programs over the pairs of the least reduced costs then leave a part of the plan free, another one each time.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.rounding import PROVEN, ROUNDING, SAME_SUM, ceiling, floor
from mrdsl.families.capacity.market import Floats
from mrdsl.families.capacity.methods.lane_prices import Places, Relaxed, Task, dearest
from mrdsl.families.capacity.methods.pair_program import Columns, PairProgram, Solved, least_of

Flags = NDArray[np.bool_]
TURNS, AT_ONCE = 60, 0.25
"""So many turns of a dive at the most, each of which makes at least this part of what is left whole."""
SEARCHES, NODES, FREE = 6, 1, 3
"""So many integer programs improve a plan, of so many nodes each, that leave one of so many lanes or classes free."""
LANES_OF_ONE = 120
"""So many lanes, divided by the root of the number of classes, are there for each class."""
FEW, MANY_NODES = 400, 100
"""Of so few columns all are left free, for so many nodes."""
LITTLE = 2e-3
"""A part of the cost for which an integer program is searched no further."""
PART = 1e-6
"""A part of a job that is not overlooked."""


@dataclass(frozen=True)
class Whole:
    """Whole jobs by lane and class, their map and reduce slots beyond the fewest, VMs by offer, and what they cost."""

    jobs: Floats
    more: tuple[Floats, Floats] | None
    bought: Floats
    cost: float


def whole_jobs(relaxed: Relaxed, enough: float, until: float | None, scale: Floats | None = None) -> Whole | None:
    """Find whole jobs on whole VMs within the quotas near a relaxed optimum, and stop at a cost of ``enough``.

    Jobs count for ``scale`` times as much in each lane.
    """
    given: PairProgram = relaxed.program
    solved = given.solve(None)
    if solved is None:
        return None
    room = dive(given.scaled(given.scale if scale is None else scale), until)
    if bool((room.total < room.task.low).any()):
        return None
    program, jobs, parts = room.program, room.count, given.jobs_at(solved.point)
    room.program.add_pairs(_cheap_pairs(room.program, solved))
    jobs, parts = (np.append(each, np.zeros(len(program.jobs) - len(each))) for each in (jobs, parts))
    places = _cheap_columns(program, solved, (jobs > 0.0) | (parts > PART))
    search = _Search(room.task, program.scale, program.jobs.at(places), until)
    jobs[places] = search.best(jobs[places], parts[places], enough)
    placed, more = program.placed(jobs)
    bought = room.task.market.buy(search.vms(jobs[places]))
    return Whole(placed, more, bought, room.task.mix.cost(bought, placed))


def _cheap_pairs(program: PairProgram, solved: Solved) -> Flags:
    """Mark pairs of the least reduced costs that have no columns yet."""
    most = int(LANES_OF_ONE / len(program.task.mix) ** 0.5) + 1
    ordered = np.maximum(solved.reduced, 0.0) + SAME_SUM * np.arange(len(solved.reduced))[:, None]
    return least_of(ordered, most) & program.task.mix.possible & ~program.there


def _cheap_columns(program: PairProgram, solved: Solved, used: Flags) -> Places:
    """Find the columns in use and those of the least reduced costs, so many of each class."""
    most = int(LANES_OF_ONE / len(program.task.mix) ** 0.5) + 1
    jobs = program.jobs
    order = np.lexsort((np.arange(len(jobs)), solved.reduced[jobs.of_lane, jobs.of_class], jobs.of_class))
    rank = np.arange(len(jobs)) - np.searchsorted(jobs.of_class[order], jobs.of_class[order])
    kept = used.copy()
    kept[order[rank < most]] = True
    return np.flatnonzero(kept)


def dive(program: PairProgram, until: float | None) -> _Room:
    """Find whole jobs on whole VMs within the quotas, of all jobs that find room."""
    room = _Room(program)
    program.add_lacking(room.lacking)
    for _ in range(TURNS):
        solved = program.solve(None if until is None else until - time.monotonic())
        if solved is None:
            break
        if room.add(solved):
            continue
        if not room.keep(program.jobs_at(solved.point)):
            break
        program.program.bound(*room.bounds())
    room.fill()
    return room


class _Search:
    """Integer programs over some columns, each of which leaves a part of a plan free."""

    def __init__(self, task: Task, scale: Floats, columns: Columns, until: float | None) -> None:
        self.task, self.columns, self.until = task, columns, until
        self.program = PairProgram(task, 1.0, scale)
        self.program.add(columns)
        market, classes = task.market, len(task.mix)
        offers, lanes = len(market.offers), len(market.lanes)
        self.whole = np.ones(self.program.count, dtype=bool)
        self.whole[offers : offers + lanes] = False
        turned_away = offers + lanes + np.arange(classes)
        self.upper = np.zeros(self.program.count)
        self.upper[:offers], self.upper[turned_away] = market.there, task.high - task.low
        self.upper[self.program.place_of] = task.high[columns.of_class]

    def best(self, jobs: Floats, parts: Floats, enough: float) -> Floats:
        """Find better jobs of each column than these, at first around the ``parts`` of jobs of a relaxed optimum."""
        cost = self.cost(jobs)
        for turn in range(SEARCHES):
            if cost <= enough or (self.until is not None and time.monotonic() > self.until):
                break
            least = np.minimum(floor(parts + PART), jobs) if turn == 0 else np.where(self._free(jobs, turn), 0.0, jobs)
            few = len(jobs) <= FEW and turn > 0
            gap, nodes = (PROVEN, MANY_NODES) if few else (LITTLE, NODES)
            found, _ = self.solved(jobs, np.asarray(least), gap * abs(enough), nodes)
            if found is not None and self.cost(found) < cost * (1.0 - SAME_SUM):
                jobs, cost = found, self.cost(found)
            if few:
                break
        return jobs

    def solved(self, jobs: Floats, least: Floats, gap: float, nodes: int) -> tuple[Floats | None, float]:
        """Solve for whole jobs that are no fewer than the least, from ``jobs`` on; and return a bound on the cost."""
        program, mix = self.program, self.task.mix
        lower, upper, start = np.zeros(program.count), self.upper.copy(), np.zeros(program.count)
        lower[program.place_of] = least
        offers, lanes = len(self.task.market.offers), len(self.task.market.lanes)
        start[:offers] = self.task.market.buy(self.vms(jobs))
        total = np.bincount(self.columns.of_class, weights=jobs, minlength=len(mix))
        start[offers + lanes : offers + lanes + len(mix)] = np.maximum(self.task.high - total, 0.0)
        start[program.place_of] = jobs
        kept_together = mix.together[self.columns.of_class] & (jobs == 0.0)
        upper[program.place_of[kept_together & ~self._of_type(jobs)]] = 0.0
        seconds = None if self.until is None else self.until - time.monotonic()
        point, bound = program.program.solve_whole(self.whole, (lower, upper), start, gap, nodes, seconds)
        found = None if point is None else np.rint(program.jobs_at(point))
        return found, bound + float(mix.penalty @ mix.expected)

    def cost(self, jobs: Floats) -> float:
        """What jobs cost on whole VMs."""
        penalty = self.task.mix.penalty
        spared = float(penalty[self.columns.of_class] @ jobs)
        return (
            self.task.mix.vm_cost(self.task.market.buy(self.vms(jobs)))
            + float(penalty @ self.task.mix.expected)
            - spared
        )

    def vms(self, jobs: Floats) -> Floats:
        """The whole VMs of each lane that jobs take."""
        used = np.stack(
            [np.bincount(self.columns.of_lane, row * jobs, len(self.program.scale)) for row in self.columns.taken]
        )
        return np.asarray(ceiling(used.max(axis=0) * self.program.scale + self.task.market.masters_of_lane))

    def _of_type(self, jobs: Floats) -> Flags:
        """Mark the columns of types on which their classes have jobs."""
        vms = self.task.market.vm_of_lane[self.columns.of_lane]
        used = np.zeros((len(self.task.market.names), len(self.task.mix)), dtype=bool)
        used[vms[jobs > 0.0], self.columns.of_class[jobs > 0.0]] = True
        return np.asarray(used[vms, self.columns.of_class])

    def _free(self, jobs: Floats, turn: int) -> Flags:
        """Mark the columns of some lanes in use or of some classes, drawn anew in each turn; all of a few."""
        if len(jobs) <= FEW:
            return np.ones(len(jobs), dtype=bool)
        random = np.random.RandomState(turn)
        of = self.columns.of_lane if turn % 2 else self.columns.of_class
        there = np.unique(of[jobs > 0.0])
        return np.isin(of, random.permutation(there)[: max(2, len(there) // FREE)])


class _Room:
    """Whole jobs that are placed, by column of a program, and what of the lanes is left."""

    def __init__(self, program: PairProgram) -> None:
        task = program.task
        self.program, self.task, market = program, task, task.market
        self.count = np.zeros(len(program.jobs))
        self.shut = np.zeros(len(program.jobs), dtype=bool)
        self.used = np.tile(market.masters_of_lane, (len(program.taken), 1))
        self.total, self.rounds = np.zeros(len(task.mix)), 0
        self.scale = program.scale
        worth = dearest(task) * program.dear
        self.lacking = np.full(len(task.mix), worth) * np.maximum(1.0, task.mix.expected)

    @property
    def on_spot(self) -> Flags:
        """Mark the columns of spot lanes."""
        return self.task.market.spot[self.program.jobs.of_lane]

    @property
    def types(self) -> Places:
        """The type of each column's lane."""
        return self.task.market.vm_of_lane[self.program.jobs.of_lane]

    def vms(self) -> Floats:
        """The whole VMs of each lane."""
        return np.asarray(ceiling(self.used.max(axis=0)))

    def left(self, of_lane: Places) -> Floats:
        """How many VMs each of the lanes may have in all, beside the others of its type."""
        market, vms = self.task.market, self.vms()
        of_type = np.bincount(market.vm_of_lane, weights=vms, minlength=len(market.names))
        types = market.vm_of_lane[of_lane]
        there = np.bincount(market.lane_of_offer, weights=market.there, minlength=len(vms))
        return np.minimum(self.task.available[types] - of_type[types] + vms[of_lane], there[of_lane])

    def keep(self, jobs: Floats) -> bool:
        """Place the whole parts of jobs and the largest other parts; return False if nothing is left to place."""
        whole = np.asarray(floor(jobs + PART)) - self.count
        places = np.flatnonzero(whole > 0.0)
        for place in places[np.argsort(self.on_spot[places], kind="stable")].tolist():
            self.put(place, float(whole[place]))
        part = np.where(self.shut, 0.0, jobs - self.count)
        left = np.flatnonzero(part > PART)
        if not len(left):
            return False
        order = left[np.lexsort((-part[left], self.on_spot[left]))]
        most = max(1, int(np.ceil(AT_ONCE * len(order))))
        for place in order[:most].tolist():
            if not self.put(place, 1.0):
                self.shut[place] = True
        self.shut |= ~self.fits(np.arange(len(self.count)))
        return True

    def add(self, solved: Solved) -> bool:
        """Add pairs that pay at the prices and have room; return False if there are none, or turns enough."""
        self.rounds += 1
        if self.rounds % 3 == 0:
            return False
        new = least_of(np.where(solved.reduced < -ROUNDING, solved.reduced, np.inf), 3) & ~self.program.there
        of_lane, of_class = new.nonzero()
        after = self.used[:, of_lane] + self.program.taken[:, of_lane, of_class] * self.scale[of_lane]
        fits = np.asarray(ceiling(after.max(axis=0))) <= self.left(of_lane) + ROUNDING
        new[of_lane[~fits], of_class[~fits]] = False
        if not new.any():
            return False
        before = len(self.count)
        self.program.add_pairs(new)
        self.count = np.append(self.count, np.zeros(len(self.program.jobs) - before))
        self.shut = np.append(self.shut, np.zeros(len(self.program.jobs) - before, dtype=bool))
        return True

    def fits(self, places: Places) -> Flags:
        """Mark the columns of which the lane has room for another job, and the class may have one."""
        jobs, high = self.program.jobs, self.task.high
        lanes, classes = jobs.of_lane[places], jobs.of_class[places]
        after = self.used[:, lanes] + jobs.taken[:, places] * self.scale[lanes]
        free = np.asarray(ceiling(after.max(axis=0))) <= self.left(lanes) + ROUNDING
        return free & (self.total[classes] + 1.0 <= high[classes] + ROUNDING)

    def put(self, place: int, count: float) -> bool:
        """Place so many jobs, or as many of them as there is room for; return False if there is none."""
        jobs = self.program.jobs
        lane, index = int(jobs.of_lane[place]), int(jobs.of_class[place])
        taken = jobs.taken[:, place] * self.scale[lane]
        room = self.left(np.array([lane]))[0] - self.used[:, lane]
        with np.errstate(divide="ignore", invalid="ignore"):
            most = np.where(taken > 0.0, room / taken, np.inf).min(initial=np.inf)
        count = min(count, float(floor(most + ROUNDING)), float(self.task.high[index] - self.total[index]))
        count = min(count, self._within_share(place, index))
        if count < 1.0 or self.shut[place]:
            return False
        if self.task.mix.together[index]:
            self.shut |= (jobs.of_class == index) & (self.types != self.types[place])
        self.count[place] += count
        self.used[:, lane] += count * taken
        self.total[index] += count
        return True

    def _within_share(self, place: int, index: int) -> float:
        """Count the jobs of a column that may come until more of their class's VM time is on spot than its part."""
        task, jobs = self.task, self.program.jobs
        share, spot = float(task.mix.spot_share[index]), task.market.spot
        if share >= 1.0 or not spot[jobs.of_lane[place]]:
            return np.inf
        mine = np.flatnonzero(jobs.of_class == index)
        hosted = self.program.hosted(jobs)
        vms = hosted[mine] * self.count[mine]
        left = share * float(vms.sum()) - float(vms[spot[jobs.of_lane[mine]]].sum())
        return float(floor(left / (float(hosted[place]) * (1.0 - share)) + ROUNDING))

    def bounds(self) -> tuple[Places, Floats, Floats]:
        """Columns of the program with their least and greatest values for what is left."""
        program, market = self.program, self.task.market
        bought = market.buy(self.vms())
        jobs = program.place_of
        high = np.where(self.shut, self.count, np.inf)
        places = np.concatenate([np.arange(len(bought)), jobs])
        return places, np.concatenate([bought, self.count]), np.concatenate([market.there, high])

    def fill(self) -> None:
        """Place jobs that a class lacks, or that cost less than their penalties, where they cost least."""
        task = self.task
        for index in np.argsort(-task.mix.penalty, kind="stable").tolist():
            while self.total[index] + 1.0 <= task.high[index] + ROUNDING:
                if not self._put_cheapest(index, self.total[index] < task.low[index]):
                    break

    def _put_cheapest(self, index: int, needed: bool) -> bool:
        program, mix, market = self.program, self.task.mix, self.task.market
        lanes = np.flatnonzero(mix.possible[:, index] & self._may_come(index))
        after = self.used[:, lanes] + program.taken[:, lanes, index] * self.scale[lanes]
        vms, more = self.vms()[lanes], np.asarray(ceiling(after.max(axis=0)))
        cost = np.where(more <= self.left(lanes) + ROUNDING, market.cheapest()[lanes] * (more - vms), np.inf)
        if not len(cost) or not cost.min() < (np.inf if needed else mix.penalty[index]):
            return False
        lane = lanes[[int(cost.argmin())]]
        new = program.columns(lane, np.array([index]), mix.map_slots[lane, index], mix.reduce_slots[lane, index])
        program.jobs = program.jobs.and_more(new)
        self.count, self.shut = np.append(self.count, 0.0), np.append(self.shut, False)
        return self.put(len(self.count) - 1, 1.0)

    def _may_come(self, index: int) -> Flags:
        """Mark lanes that a class may use beside those that it uses: firm ones, of its type if it stays on one."""
        mix, vms = self.task.mix, self.task.market.vm_of_lane
        free = ~self.task.market.spot | (mix.spot_share[index] >= 1.0)
        mine = self.types[(self.program.jobs.of_class == index) & (self.count > 0.0)]
        return np.asarray(free & np.isin(vms, mine)) if mix.together[index] and len(mine) else free
