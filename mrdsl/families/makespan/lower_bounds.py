"""What no schedule can beat: bounds on the makespan that hold for every assignment of tasks to slots.

Every bound is in ticks. Map tasks of a job run before its reduce tasks; tasks are not interrupted; nothing else is
assumed, so a bound holds for pools, for orders, and for schedules that are neither.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.tolerances import LAST_DIGITS
from mrdsl.families.makespan.batch import Batch, Floats
from mrdsl.families.makespan.energy import energetic_bound


@dataclass(frozen=True)
class LowerBounds:
    """``work``: all work of one phase on all its slots, and the least that comes before or after it;
    ``critical_job``: the longest job, alone on the cluster; ``johnson``: the best order on two machines that take each
    phase's work over all slots; ``energetic``: the work that windows of time must hold, at least the others.
    In ticks; ``unit`` divides the least makespan."""

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
    """All bounds of a batch, in ticks."""
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
    """Johnson's makespan where a phase takes its work divided by all slots.

    It bounds every schedule: sort the jobs by the ends of their map phases. When the k-th ends, the map work of k
    jobs is done, and the reduce work of the k-th and all later ones is still to come.
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
