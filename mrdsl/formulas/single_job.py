"""One job's completion time and its slots, each equation once: the same arithmetic for numbers and arrays.

Sources: Malekimajd et al. 2015, *Optimal Map Reduce Job Capacity Allocation in Cloud Systems*, equation (4) and
Theorem 4.1; Vishal 2015, *Performance Modelling and Scheduling of MapReduce Jobs*, (3.4) to (3.18). Times in seconds.

No range is looked at here: that a phase without work takes no time, that slots lie between 1 and the tasks, and that a
deadline leaves time at all, is held by :mod:`mrdsl.formulas.mapreduce`, :mod:`mrdsl.formulas.sizing` and
:mod:`mrdsl.formulas.waves`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Number = TypeVar("Number", float, "NDArray[np.float64]")


def reduce_phase(waves: Number, first_shuffle: Number, shuffle: Number, reduce: Number) -> Number:
    """Shuffle and reduce in so many waves, from the end of the map phase: (3.4) to (3.10)."""
    return first_shuffle + (waves - 1.0) * shuffle + waves * reduce


def smooth(
    map_tasks: Number, map_time: Number, reduce_tasks: Number, first_shuffle: Number, shuffle: Number, reduce: Number
) -> tuple[Number, Number, Number]:
    """A, B and C of (3.15), waves taken as fractions: ``A / map slots + B / reduce slots + C``."""
    return map_tasks * map_time, reduce_tasks * (shuffle + reduce), first_shuffle - shuffle


def fewest_vms(map_work: Number, reduce_work: Number, left: Number, ratio: Number) -> tuple[Number, Number]:
    """Map and reduce slots that end both phases in ``left`` on the fewest VMs: Theorem 4.1.

    ``ratio`` is the map slots of a VM over its reduce slots. With 1 it is the least sum of slots, (3.17) and (3.18).
    """
    both = map_work * reduce_work
    return ((both * ratio) ** 0.5 + map_work) / left, ((both / ratio) ** 0.5 + reduce_work) / left
