"""Whole machines for whole jobs of one class, at prices of machines: the cheapest ways, by dynamic programming.

``k`` jobs of a class on machines of one kind take ``ceil(gamma k)`` of them, where one job takes ``gamma`` and nothing
else lies there. Over several kinds the costs are a min-plus convolution. Some cheapest mix leaves out every kind that
is not the cheapest alone for any number of jobs: what it holds costs no more on another, for ceil(x + y) is no more
than ceil(x) + ceil(y).
"""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from mrdsl.core.whole_numbers import ceiling

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

CELLS = 1_000_000
"""So many sums are compared at once."""


def costs_alone(gamma: Floats, prices: Floats, most: int) -> Floats:
    """The cost of 0 to ``most`` jobs on machines of each kind alone, of shape (kinds, classes, most + 1).

    ``gamma``, of shape (kinds, classes), is infinite where a class cannot run.
    """
    possible = np.isfinite(gamma)
    taken = np.where(possible, gamma, 0.0)[:, :, None] * np.arange(most + 1.0)
    costs = prices[:, None, None] * ceiling(taken)
    costs[~possible, 1:] = np.inf
    return np.asarray(costs)


def worth_mixing(alone: Floats) -> Places:
    """The kinds that are the cheapest alone for some class and number of jobs, the first of equal ones."""
    return np.unique(alone[:, :, 1:].argmin(axis=0))


def cheapest_mixes(alone: Floats) -> tuple[Floats, Places]:
    """The least cost of each number of jobs over mixes of kinds, (classes, most + 1), and the jobs that do it.

    The jobs have the shape (kinds, classes, most + 1): in column ``h`` those of each kind where ``h`` jobs run.
    """
    kinds, classes, width = alone.shape
    best = np.full((classes, width), np.inf)
    best[:, 0] = 0.0
    chosen = np.zeros((kinds, classes, width), dtype=np.int64)
    step = max(1, CELLS // (width * width))
    for start in range(0, classes, step):
        part = slice(start, start + step)
        for kind in range(kinds):
            best[part], chosen[kind, part] = _with_one_more(best[part], alone[kind, part])
    return best, _traced(chosen)


def _with_one_more(best: Floats, alone: Floats) -> tuple[Floats, Places]:
    """The least of ``best[h - k] + alone[k]`` over ``k`` for each ``h``, and the first such ``k``."""
    width = best.shape[1]
    before = np.concatenate([np.full((len(best), width - 1), np.inf), best], axis=1)
    sums = sliding_window_view(before, width, axis=1)[:, :, ::-1] + alone[:, None, :]
    jobs = sums.argmin(axis=2)
    return np.take_along_axis(sums, jobs[:, :, None], axis=2)[:, :, 0], jobs


def _traced(chosen: Places) -> Places:
    """The jobs of each kind behind what was chosen last, from the last kind back."""
    kinds, classes, width = chosen.shape
    left = np.broadcast_to(np.arange(width), (classes, width)).copy()
    rows = np.arange(classes)[:, None]
    for kind in reversed(range(kinds)):
        chosen[kind] = chosen[kind][rows, left]
        left -= chosen[kind]
    return chosen
