"""Whole jobs within quotas, lane by lane: the cheapest VMs are filled first, with jobs that leave least of them idle.

The relaxation says which jobs to admit and what each is worth. Its bound is tight where lanes can be filled: what costs
is the VMs that jobs leave idle. So each lane takes the jobs that are worth most on its VMs, of the jobs that are left,
by dynamic programming over parts of VMs. Large jobs count for a little more: small ones fill what the last lanes leave.
If slots do not fit the VMs one by one, other jobs are tried, then with less room, until slots and VMs fit.

Containers have to fill the cores and the memory of VMs. A lane first takes jobs that the relaxation has on lanes like
it, at random but always more of the resource that is less full, and a pair of jobs to fill what they leave. VMs that
are cheaper than their worth are filled first, even if some of their room stays idle.
"""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import product

import numpy as np

from mrdsl.core.rounding import ROUNDING, ceiling, floor
from mrdsl.families.capacity.lanes import limited_classes
from mrdsl.families.capacity.market import Floats
from mrdsl.families.capacity.methods.lane_columns import DIVISIBLE, Room
from mrdsl.families.capacity.methods.lane_prices import Places, Relaxed, Task, cheapest
from mrdsl.families.capacity.methods.machine_sizes import steps_of
from mrdsl.families.capacity.methods.rental import Spread
from mrdsl.families.capacity.methods.weighing import alike

MOST_VMS, CELLS = 16, 6_000
"""Most VMs that are filled at once, and most parts of them."""
MOST_WITHIN_CORES = 24
"""The same of containers within quotas of cores: these leave small VMs, of which a job takes many."""
AMONG, LARGEST = 40, 13
"""Most classes from which a lane takes jobs, and how many of these are the ones with the largest jobs."""
SLACKS = (0.0, 0.0, 0.02, 0.05, 0.08, 0.12)
"""VMs that stay idle in one trial after another if slots do not fit."""
FULL = 0.9995
"""Part of the room at which a lane counts as full."""
NEARLY = 0.98
"""Part of the price of a VM that jobs are worth at least on a lane, at first; what is left takes any lane."""
FAIRLY, SCARCE = 0.9, 0.999
"""The same of containers in a second turn, and the part of their worth that VMs filled before all others cost at most.
In both turns contents are worth that part of their VMs as well."""
WITHIN_CORES = (0.8, 0.7, 0.6)
"""The same of containers in turns after these, within quotas of cores: most types have no other limit there."""
POWER, LAST, PAIRS = 0.5, 2.0, 150
"""Jobs of containers are drawn by that power of their sizes. When fewer mean jobs than ``LAST`` have room, the best two
of that many classes fill it."""
LARGE = 0.02
"""Additional worth of a job that takes the whole room."""
MOST_TURNS = 4_000
SLACK = 1e-7


def filled(task: Task, relaxed: Relaxed | Spread, until: float | None) -> tuple[Floats, Floats] | None:
    """Return whole jobs, (lanes, classes), and the VMs by lane that hold them, masters not among them.

    None if they do not have room, or if the task has classes with a part on spot or on one type. VMs cost their cores
    in quotas as well, at the prices of the relaxation.
    """
    mix = task.mix
    if len(limited_classes(mix)) or bool((mix.together & task.same_type).any()):
        return None
    lanes, priced = _Lanes(task, relaxed), replace(task, of_cores=relaxed.cores).without_quotas
    steps = [(price, lane, there) for lane, each in enumerate(steps_of(priced)) for price, there in each]
    worth = relaxed.prices[[lane for _, lane, _ in steps]]
    prices = np.array([price for price, _, _ in steps])
    with np.errstate(divide="ignore", invalid="ignore"):
        part = np.where(worth > 0.0, prices / worth, 1.0)
    order = np.lexsort((prices, np.round(part, 9))).tolist()
    there = np.array([each for _, _, each in steps])
    scarce = SCARCE if mix.sizes is not None else 0.0
    cheap, dear = ([place for place in order if (part[place] < scarce) == each] for each in (True, False))
    later = WITHIN_CORES if task.market.quotas else ()
    rounds = (NEARLY, 0.0) if mix.sizes is None else (NEARLY, FAIRLY, *later, 0.0)
    for places, least in product((cheap, dear), rounds):
        for place in places:
            price, lane, _ = steps[place]
            while lanes.left.any() and (vms := lanes.fill(lane, price, float(there[place]), least * worth[place])):
                there[place] -= vms
                if lanes.turns > MOST_TURNS or (until is not None and time.monotonic() > until):
                    return None
    enough = bool((lanes.jobs.sum(axis=0) >= task.low).all())
    return (lanes.jobs, lanes.vms) if enough else None


class _Lanes:
    """Jobs by lane and class, the VMs that hold them, and the jobs that are left."""

    def __init__(self, task: Task, relaxed: Relaxed | Spread) -> None:
        mix = task.mix
        self.task, self.room = task, Room(mix)
        self.gamma = np.where(mix.possible & (task.high > 0.0), mix.gamma, np.inf)
        self.worth = np.minimum(cheapest(task, relaxed.prices).cost, 1e15)
        self.left = np.clip(np.rint(relaxed.jobs.sum(axis=0)), task.low, task.high)
        self.there = task.available - task.market.masters
        self.cores = task.market.quota_limits - task.market.cores_of_quotas @ task.market.masters_of_lane
        self.jobs, self.vms = np.zeros_like(mix.gamma), np.zeros(len(mix.gamma))
        self.random = np.random.RandomState(0)
        self.turns = 0
        self.parts = None if mix.sizes is None else mix.taken(mix.map_slots, mix.reduce_slots)
        if self.parts is not None:
            self.kind, self.meant = alike(mix)[1], np.zeros_like(mix.gamma)
            np.add.at(self.meant, self.kind, relaxed.jobs)

    def fill(self, lane: int, price: float, there: float, least: float) -> float:
        """Fill some VMs of a lane at a price, and return their number; 0 if none are left, or none pay.

        Jobs of classes that are worth less than the ``least`` for the VM that they take are left.
        """
        vm, cores = int(self.task.market.vm_of_lane[lane]), self.task.market.cores_of_quotas[:, lane]
        gamma = self.gamma[lane]
        some = np.flatnonzero((self.left > 0.0) & np.isfinite(gamma))
        some = some[self.worth[some] >= least * gamma[some]]
        counted = cores > 0.0
        there = min(there, float(self.there[vm]), *floor(self.cores[counted] / cores[counted]).tolist())
        widest = MOST_WITHIN_CORES if self.parts is not None and len(cores) else MOST_VMS
        room = int(min(there, widest, ceiling(float(gamma[some] @ self.left[some])) + 1.0))
        if not len(some) or room < 1:
            return 0.0
        self.turns += 1
        vms, content = self._content(lane, price, room, some)
        if not content.any() or not self._pays(price * vms, content):
            return 0.0
        if self.parts is not None and float(self.worth @ content) < least * vms:
            return 0.0
        taken = content > 0.0
        most = min(float((self.left[taken] / content[taken]).min()), there / vms)
        times = max(1.0, float((floor(most) + 1.0) // 2.0))
        self.jobs[lane] += times * content
        self.left -= times * content
        if self.parts is not None:
            self.meant[self.kind[lane]] -= times * content
        self.vms[lane] += times * vms
        self.there[vm] -= times * vms
        self.cores -= times * vms * cores
        return times * vms

    def _pays(self, cost: float, content: Floats) -> bool:
        """Return True if jobs are required or save more than their VMs cost."""
        optional = self.jobs.sum(axis=0) >= self.task.low
        saved = float(self.task.mix.worth @ content)
        return bool((content[~optional] > 0.0).any()) or saved > cost

    def _content(self, lane: int, price: float, room: int, some: Places) -> tuple[int, Floats]:
        """Return jobs that are worth most on some VMs of a lane, and the VMs that they take."""
        gamma, best = self.gamma[lane], (-np.inf, 0, np.zeros(len(self.left)))
        value = float((self.worth[some] / gamma[some]).max())
        for slack in SLACKS:
            full = value * (room - slack) - price * room
            if best[0] >= full * FULL:
                break
            if self.parts is None:
                content = self._most(gamma, room - slack, self._among(gamma, some))
            else:
                content = self._both(lane, gamma, room - slack, some)
            vms, held = self.room.held(lane, room, content)
            net = float(self.worth @ held) - price * vms
            if net > best[0] and vms:
                best = net, vms, held
        return best[1], best[2]

    def _among(self, gamma: Floats, some: Places) -> Places:
        if len(some) <= AMONG:
            return some
        order = some[np.argsort(-gamma[some], kind="stable")]
        others = self.random.choice(order[LARGEST:], AMONG - LARGEST, replace=False)
        return np.concatenate([order[:LARGEST], others])

    def _both(self, lane: int, gamma: Floats, room: float, some: Places) -> Floats:
        """Return jobs that fill both resources of the room, each of those that take more of what is left most.

        Jobs of the relaxation in such lanes come first, the last ones are the pair that is worth most.
        """
        assert self.parts is not None
        parts = self.parts[:, lane]
        content, free = np.zeros(len(gamma)), [room, room]
        number = self.left[some].astype(np.int64)
        count = np.repeat(some, number)
        place = np.arange(len(count)) - np.repeat(np.cumsum(number) - number, number)
        meant = self.meant[self.kind[lane], count] >= place + self.random.uniform(size=len(count))
        order = count[np.lexsort((-(gamma[count] ** POWER) * self.random.uniform(size=len(count)), ~meant))]
        heavy = parts[0, order] >= parts[1, order]
        lists = [order[~heavy][::-1].tolist(), order[heavy][::-1].tolist()]
        sizes = parts.T.tolist()
        last = LAST * float(gamma[count].mean())
        while lists[0] or lists[1]:
            first = int(free[0] > free[1])
            index = lists[first if lists[first] else 1 - first].pop()
            one, other = sizes[index]
            if one > free[0] or other > free[1]:
                continue
            if min(free[0] - one, free[1] - other) < last:
                break
            content[index] += 1.0
            free = [free[0] - one, free[1] - other]
        return self._with_pair(content, parts, np.array(free)[:, None], some)

    def _with_pair(self, content: Floats, parts: Floats, free: Floats, some: Places) -> Floats:
        """Return a content with up to two more jobs in the free room, worth most."""
        more = some[(self.left[some] > content[some]) & (parts[:, some] <= free).all(axis=0)]
        if len(more) > PAIRS:
            more = self.random.choice(more, PAIRS, replace=False)
        if not len(more):
            return content
        worth = np.append(self.worth[more], 0.0)
        both = np.concatenate([parts[:, more], np.zeros((2, 1))], axis=1)
        fits = (both[0][:, None] + both[0] <= free[0]) & (both[1][:, None] + both[1] <= free[1])
        alone = np.append(self.left[more] - content[more] < 2.0, False)
        fits &= ~np.diag(alone)
        best = int(np.where(fits, worth[:, None] + worth, -np.inf).argmax())
        for place in divmod(best, len(worth)):
            if place < len(more):
                content[more[place]] += 1.0
        return content

    def _most(self, gamma: Floats, room: float, some: Places) -> Floats:
        """Return jobs of some classes, worth most in the room, by parts of VMs that are rounded up."""
        each = max(size for size in DIVISIBLE if size * room <= max(CELLS, 12 * MOST_VMS))
        best, taken = np.zeros(int(each * room + ROUNDING) + 1), []
        worth = self.worth[some] * (1.0 + LARGE * gamma[some] / room)
        for place in np.argsort(-worth / gamma[some], kind="stable").tolist():
            index = int(some[place])
            left, count = float(self.left[index]), 1.0
            while left:
                count = min(count, left)
                weight = int(np.ceil(count * gamma[index] * each - SLACK))
                if weight >= len(best):
                    break
                more = best[: len(best) - weight] + count * worth[place]
                better = more > best[weight:]
                best[weight:] = np.maximum(best[weight:], more)
                taken.append((index, count, weight, better))
                left, count = left - count, 2.0 * count
        jobs, cell = np.zeros(len(gamma)), len(best) - 1
        for index, count, weight, better in reversed(taken):
            if cell >= weight and better[cell - weight]:
                jobs[index] += count
                cell -= weight
        return jobs
