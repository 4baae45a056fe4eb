"""Lower bounds on the makespan that hold for every assignment of tasks to slots.

Every bound is in ticks. Map tasks of a job run before its reduce tasks, and tasks are not interrupted. These are the
only assumptions, so a bound holds for pools, for orders, and for any other schedule.

The energetic bound is about windows of time and the work that must happen inside them. For a makespan of T, a map task
of job j has to end by ``T - R_j`` and a reduce task cannot start before ``M_j``. M_j and R_j are the lengths of the
phases alone on the whole cluster. In a window ``[a, b)`` a task does at least the minimum of its work at its earliest
and at its latest time. If that is more than the slots can do in the window, no schedule ends by T. The bound is the
least T in ticks that no window refutes. Windows begin and end at the earliest or latest times of tasks; in large
batches at some of these moments, evenly spread: fewer windows refute no more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.rounding import LAST_DIGITS
from mrdsl.families.makespan.schedule import Batch, Floats

MOST_CELLS = 5_000_000
"""Most pairs of a window and a job that are evaluated for one makespan."""

Refutation = Callable[[float], bool]


@dataclass(frozen=True, eq=False)
class _Machine:
    """Tasks with ``release``, and ``tail``, the least time from a task's end to the end of the schedule."""

    tasks: Floats
    time: Floats
    release: Floats
    tail: Floats
    slots: int

    def refutes(self, makespan: float) -> bool:
        """Return True if some window of time has too much to do."""
        latest = makespan - self.tail - self.time
        if (latest < self.release).any():
            return True
        begins = self._some(np.concatenate([self.release, self.release + self.time, latest]))
        finishes = self._some(np.concatenate([latest, latest + self.time, self.release + self.time]))
        for begin in begins:
            ends = finishes[finishes > begin][:, None]
            early = np.minimum(self.release + self.time, ends) - np.maximum(self.release, begin)
            late = np.minimum(latest + self.time, ends) - np.maximum(latest, begin)
            least = np.maximum(np.minimum(early, late), 0.0)
            if (least @ self.tasks > self.slots * (ends[:, 0] - begin)).any():
                return True
        return False

    def _some(self, moments: Floats) -> Floats:
        """Sort moments; retain about the root of ``MOST_CELLS / jobs`` of them, with the first and the last."""
        moments = np.unique(moments)
        most = max(2, int((MOST_CELLS / max(len(self.tasks), 1)) ** 0.5))
        if len(moments) <= most:
            return moments
        kept: Floats = moments[np.unique(np.rint(np.linspace(0, len(moments) - 1, most)).astype(np.intp))]
        return kept


def energetic_bound(batch: Batch, known: float) -> float:
    """Return the energetic bound in ticks, at least ``known``, a valid bound."""
    if not len(batch):
        return known
    heads, tails = batch.phases(batch.map_slots, batch.reduce_slots)
    there = batch.reduce_tasks > 0
    machines = [
        _Machine(batch.map_tasks, batch.map_time, np.zeros(len(batch)), tails, batch.map_slots),
        _Machine(
            batch.reduce_tasks[there], batch.reduce_time[there], heads[there], np.zeros(there.sum()), batch.reduce_slots
        ),
    ]
    return least_not_refuted(lambda makespan: any(machine.refutes(makespan) for machine in machines), known)


def least_not_refuted(refutes: Refutation, known: float) -> float:
    """Return the least whole number from ``known`` on that is not refuted.

    If a number is refuted, so are all smaller ones. The result is ``known`` or has a refuted predecessor, so the bound
    holds in any case.
    """
    if not refutes(known):
        return known
    low, step = known, max(1.0, float(np.floor(known / 64)))
    while refutes(low + step):
        low, step = low + step, 2 * step
    high = low + step
    while high - low > 1.0:
        middle = float(np.floor((low + high) / 2))
        if refutes(middle):
            low = middle
        else:
            high = middle
    return low + 1.0


@dataclass(frozen=True)
class LowerBounds:
    """Lower bounds in ticks; ``unit`` divides the least makespan.

    ``work``: all work of one phase on all its slots, and the least work before or after it. ``critical_job``: the
    longest job, alone on the cluster. ``johnson``: the best order on two machines that take each phase's work over all
    slots. ``energetic``: the work that windows of time must hold, at least the others.
    """

    work: float
    critical_job: float
    johnson: float
    energetic: float
    unit: float = 1.0

    @property
    def best(self) -> float:
        """The greatest of them, up to the next multiple of ``unit``."""
        greatest = max(self.work, self.critical_job, self.johnson, self.energetic)
        return float(np.ceil(greatest / self.unit)) * self.unit


def lower_bounds(batch: Batch) -> LowerBounds:
    """Return all bounds of a batch, in ticks."""
    if not len(batch):
        return LowerBounds(0.0, 0.0, 0.0, 0.0)
    heads, tails = batch.phases(batch.map_slots, batch.reduce_slots)
    work = max(
        _whole(batch.map_work.sum() / batch.map_slots) + tails.min(),
        heads.min() + _whole(batch.reduce_work.sum() / batch.reduce_slots),
    )
    simple = float(work), float((heads + tails).max()), johnson_relaxation(batch)
    return LowerBounds(*simple, energetic_bound(batch, max(simple)), batch.unit)


def johnson_relaxation(batch: Batch) -> float:
    """Compute Johnson's makespan if a phase takes its work divided by all slots.

    It bounds every schedule: sort the jobs by the ends of their map phases. When the k-th ends, the map work of k jobs
    is done, and the reduce work of the k-th and all later ones remains.
    """
    maps, reduces = batch.map_work, batch.reduce_work
    order = johnson_order(maps / batch.map_slots, reduces / batch.reduce_slots)
    done = np.cumsum(maps[order]) / batch.map_slots
    to_come = np.cumsum(reduces[order][::-1])[::-1] / batch.reduce_slots
    return _whole(float((done + to_come).max()))


def johnson_order(first: Floats, second: Floats) -> NDArray[np.intp]:
    """Johnson's rule (003, Algorithm 3): the order of least makespan on two machines; ties by index.

    Jobs that are quicker on the first machine go first, by increasing time there; the others last, by decreasing
    time on the second.
    """
    early = first < second
    return np.lexsort((np.arange(len(first)), np.where(early, first, -second), ~early))


def _whole(ticks: float) -> float:
    """Times are whole ticks, so a fraction counts as a whole one; the noise of a division does not."""
    return float(np.ceil(ticks * (1.0 - LAST_DIGITS)))
