"""The energetic lower bound: what windows of time leave to the work that must happen inside them.

For a makespan of T, a map task of job j has to end by ``T - R_j`` and a reduce task cannot start before ``M_j``, with
M_j and R_j the phases alone on the whole cluster. In a window ``[a, b)`` a task does at least the least of what it
does when pushed to its earliest and to its latest time. Where that is more than the slots can do in the window, no
schedule ends by T. The bound is the least T in ticks that no window refutes; windows begin and end where a task's
earliest or latest time does, in large batches at some of these moments, evenly spread: fewer windows refute no more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mrdsl.families.makespan.batch import Batch, Floats

MOST_CELLS = 5_000_000
"""So many pairs of a window and a job are looked at for one makespan."""

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
        """Whether some window of time has too much to do."""
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
        """Sorts moments; keeps about the root of ``MOST_CELLS / jobs`` of them, the first and the last among them."""
        moments = np.unique(moments)
        most = max(2, int((MOST_CELLS / max(len(self.tasks), 1)) ** 0.5))
        if len(moments) <= most:
            return moments
        kept: Floats = moments[np.unique(np.rint(np.linspace(0, len(moments) - 1, most)).astype(np.intp))]
        return kept


def energetic_bound(batch: Batch, known: float) -> float:
    """The energetic bound in ticks, at least ``known``, a valid bound."""
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
    """The least whole number from ``known`` on that is not refuted, where smaller ones are whenever greater ones are.

    Only a number whose predecessor was refuted, or ``known`` itself, is returned, so the bound holds in any case.
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
