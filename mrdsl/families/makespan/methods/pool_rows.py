"""Many pools at once: a row is a set of jobs on slots of its own.

``members`` and ``orders`` have shape (rows, jobs): indices into the batch, -1 where a row has no more jobs;
``map_slots`` and ``reduce_slots`` have shape (rows,).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.tolerances import LAST_DIGITS
from mrdsl.families.makespan.batch import Batch, Floats
from mrdsl.simulation.slots import Integers, makespans

__all__ = ["Judge", "johnson_rows", "makespans", "pad", "phase_makespans", "row_bounds"]

Judge = Callable[[Batch, Integers, Integers, Integers], Floats]


def johnson_rows(batch: Batch, members: Integers, map_slots: Integers, reduce_slots: Integers) -> Integers:
    """Each row's jobs by Johnson's rule on the phase times that the row's own slots give; ties by batch index."""
    maps, reduces = _phases(batch, members, map_slots, reduce_slots)
    far = 2.0 * max(float(maps.max(initial=1.0)), float(reduces.max(initial=1.0)))
    key = np.where(maps < reduces, maps, 2 * far - reduces)
    key[members < 0] = 4 * far
    by_index = np.where(members < 0, len(batch), members).argsort(axis=1, kind="stable")
    turn = np.take_along_axis(key, by_index, axis=1).argsort(axis=1, kind="stable")
    return np.take_along_axis(members, np.take_along_axis(by_index, turn, axis=1), axis=1)


def row_bounds(batch: Batch, members: Integers, map_slots: Integers, reduce_slots: Integers) -> Floats:
    """A lower bound on any schedule of each row's jobs on its slots: work and critical job, in ticks."""
    there = members >= 0
    maps, reduces = _phases(batch, members, map_slots, reduce_slots)
    map_work = np.where(there, batch.map_work[members], 0.0).sum(axis=1)
    reduce_work = np.where(there, batch.reduce_work[members], 0.0).sum(axis=1)
    tail = np.where(there, reduces, np.inf).min(axis=1)
    head = np.where(there, maps, np.inf).min(axis=1)
    bound: Floats = np.maximum.reduce(
        [
            (maps + reduces).max(axis=1),
            np.ceil(map_work / map_slots * (1 - LAST_DIGITS)) + tail,
            head + np.ceil(reduce_work / reduce_slots * (1 - LAST_DIGITS)),
        ]
    )
    return bound


def phase_makespans(batch: Batch, orders: Integers, map_slots: Integers, reduce_slots: Integers) -> Floats:
    """Makespans in the abstraction of 003, 5.3: a pool's map slots, and its reduce slots, serve one job at a time.

    Each phase holds them for its whole waves (5.4: M_j and R_j), and the next job's begins when it ends.
    """
    maps, reduces = _phases(batch, orders, map_slots, reduce_slots)
    done = np.cumsum(maps, axis=1)
    to_come = np.cumsum(reduces[:, ::-1], axis=1)[:, ::-1]
    last: Floats = (done + to_come).max(axis=1)
    return last


def pad(lists: list[list[int]]) -> Integers:
    """Lists of jobs as rows."""
    rows = np.full((len(lists), max(map(len, lists), default=0)), -1, dtype=np.intp)
    for row, jobs in zip(rows, lists, strict=True):
        row[: len(jobs)] = jobs
    return rows


def _phases(
    batch: Batch, members: Integers, map_slots: NDArray[np.intp], reduce_slots: NDArray[np.intp]
) -> tuple[Floats, Floats]:
    there = members >= 0
    maps = np.ceil(batch.map_tasks[members] / map_slots[:, None]) * batch.map_time[members]
    reduces = np.ceil(batch.reduce_tasks[members] / reduce_slots[:, None]) * batch.reduce_time[members]
    return np.where(there, maps, 0.0), np.where(there, reduces, 0.0)
