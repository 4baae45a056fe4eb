"""Work that is lost on machines which a provider takes back, as the part of the slots that does it anew.

A machine goes at the rate ``r`` (a Poisson process), and another takes its place. Of the work that it did, two things
are lost. *Running tasks*: at a random moment the task in a busy slot has run for ``E[X^2] / (2 E[X])`` (the age in a
renewal process; Ross, *Introduction to Probability Models*, section 7.7), so that per second of a slot ``r`` times that
is lost. *Ended map tasks*, whose output lies on the machine until the job's last reduce task has fetched it: a job
that maps for ``T_M`` and reduces for ``T_R`` has done half of its map work on average while it maps, and all of it
after, so that ``r (T_M / 2 + T_R)`` of its map work is lost. Both are expectations to the first order in ``r``; what is
done anew may be lost again, so that a part ``l`` lost takes ``1 / (1 - l)`` times the slots. That is no bound on the
time of any single job.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MOST_LOST = 0.5
"""Beyond this part of the work the first order says nothing: no job is planned on such machines."""


def age(avg: Floats, longest: Floats) -> Floats:
    """How long the task in a busy slot has run on average [s]: ``(avg^2 + var) / (2 avg)``; 0 for tasks of 0 s.

    ``var`` is that of times spread evenly up to the longest, at most what any times between 0 and the longest have.
    """
    return _age(avg, spread(avg, longest))


def age_of_two(avg: tuple[Floats, Floats], longest: tuple[Floats, Floats]) -> Floats:
    """:func:`age` of tasks of two parts one after the other, such as a shuffle and a reduce."""
    variance = spread(avg[0], longest[0]) + spread(avg[1], longest[1])
    return _age(avg[0] + avg[1], variance)


def spread(avg: Floats, longest: Floats) -> Floats:
    """The variance of times with this average that reach up to the longest [s^2]."""
    beyond = np.maximum(longest - avg, 0.0)
    return np.minimum(beyond**2 / 3.0, avg * beyond)


def lost(
    rate: float, ages: tuple[Floats, Floats], times: tuple[Floats, Floats], kept_on_machine: NDArray[np.bool_]
) -> tuple[Floats, Floats]:
    """The parts of the map and of the reduce work that are lost, at most 1.

    ``ages`` and ``times``: of a running task, and of the whole phase, for map and reduce [s]. ``kept_on_machine``:
    where map output lies on the machine that made it and is still needed.
    """
    output = np.where(kept_on_machine, times[0] / 2.0 + times[1], 0.0)
    return np.minimum(rate * (ages[0] + output), 1.0), np.minimum(rate * ages[1], 1.0)


def _age(avg: Floats, variance: Floats) -> Floats:
    return np.divide(avg**2 + variance, 2.0 * avg, out=np.zeros_like(avg + variance), where=avg > 0.0)
