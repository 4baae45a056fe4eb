"""Bounds on the execution time of single-phase jobs on shared slots.

Source: Malekimajd et al. 2015, *Optimal Map Reduce Job Capacity Allocation in Cloud Systems*, Propositions 2.1 to 2.5.
All functions are elementwise on numbers or arrays: tasks are counts, ``avg`` and ``longest`` the mean and greatest task
time of the job [s], ``slots`` how many tasks run side by side, ``share`` the job's or class's part of them in (0, 1].

Where they hold. 2.1: one job, each task goes to the slot that is free first. 2.2 and 2.3: two jobs that start
together, whole numbers of slots for each, the rest handed over when one ends. 2.4 and 2.5: whole slots per job, every
job fills its share while another runs, and slots come from jobs of the same class.

Correction to the paper: the first bound of 2.2 fails where a job cannot fill its share (one long task beside a
thousand short ones): the other job takes what it leaves, and may end before ``n mu / (share k)``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Number = float | Floats


def phase_lower(tasks: Number, avg: Number, slots: Number) -> Floats:
    """The least time of one phase on its own slots: ``n mu / k`` (Verma et al., taken over by the paper)."""
    return _array(tasks) * avg / slots


def phase_upper(tasks: Number, avg: Number, longest: Number, slots: Number) -> Floats:
    """The greatest time of one phase under greedy assignment: ``(n mu - lambda) / k + lambda``, Proposition 2.1."""
    return (_array(tasks) * avg - longest) / slots + longest


def two_jobs_lower(work: Number, share: Number, other_work: Number, slots: Number) -> tuple[Floats, Floats]:
    """The least times of the job that ends first and of the one that ends second, Proposition 2.2.

    ``work`` is ``n mu`` [s]; the other job has the share ``1 - share``. The first value assumes that both jobs fill
    their shares until one ends; the second always holds.
    """
    mine, theirs, part = _array(work), _array(other_work), _array(share)
    first = np.minimum(mine / (part * slots), theirs / ((1.0 - part) * slots))
    return first, (mine + theirs) / slots


def two_jobs_upper(
    tasks: Number, avg: Number, longest: Number, share: Number, other_work: Number, slots: Number
) -> Floats:
    """The greatest time of a job beside another that shares its slots work-conservingly, Proposition 2.3."""
    part, rest = _array(share), _array(tasks) * avg - longest
    alone = rest / (part * slots)
    other = _array(other_work)
    together = (other + rest) / slots
    return np.where(other / ((1.0 - part) * slots) >= alone, alone, together) + longest


def class_lower(tasks: Number, avg: Number, jobs: Number, share: Number, slots: Number) -> Floats:
    """The least time of one of ``jobs`` jobs of a class: ``n mu h / (k share)``, Proposition 2.4."""
    return _array(tasks) * avg * jobs / (_array(share) * slots)


def class_upper(tasks: Number, avg: Number, longest: Number, jobs: Number, share: Number, slots: Number) -> Floats:
    """The greatest time of one of ``jobs`` jobs of a class: ``(n mu - 2 lambda) h / (k share) + 2 lambda``, 2.5.

    Correction to the paper: where ``n mu <= 2 lambda`` the first term would be negative; ``n mu`` takes the place of
    its bracket then, which only adds to the bound.
    """
    work = _array(tasks) * avg
    bracket = np.where(work > 2.0 * _array(longest), work - 2.0 * _array(longest), work)
    return bracket * jobs / (_array(share) * slots) + 2.0 * _array(longest)


def _array(value: Number) -> Floats:
    return np.asarray(value, dtype=np.float64)
