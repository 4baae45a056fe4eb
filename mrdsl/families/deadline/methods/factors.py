"""Factors of the Laplacian of a graph: systems that one solves, and the work of one, foreseen from the graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sparse
import scipy.sparse.linalg
from numpy.typing import NDArray

from mrdsl.families.deadline.network import Floats, Ints, distinct

DENSE = 300
"""Unknowns up to which a system is solved as a dense one."""
SHIFTS = (1e-14, 1e-11, 1e-8)
"""Additions to the diagonal, relative to it, until a factor exists: conductances may span 25 powers of ten."""


class Solved(NamedTuple):
    """Solution of a system, the number of iterations, and the residual."""

    solution: Floats
    iterations: int
    residual: Floats


class Direct:
    """Solves systems of one Laplacian exactly: dense Cholesky up to ``dense`` unknowns, SuperLU beyond."""

    def __init__(self, matrix: sparse.csr_matrix, dense: int = DENSE) -> None:
        self._solve: Callable[[Floats], Floats] = np.copy
        for shift in SHIFTS if matrix.shape[0] else ():
            try:
                self._solve = _factorized(matrix + sparse.diags_array(shift * matrix.diagonal()), dense)
                break
            except (scipy.linalg.LinAlgError, RuntimeError):
                continue

    def solve(self, right: Floats, tolerance: float = 0.0, energy: float = 0.0) -> Solved:
        """Return the solution, with 0 iterations and no residual."""
        return Solved(self._solve(right), 0, np.zeros_like(right))


def _factorized(matrix: sparse.csr_matrix, most: int) -> Callable[[Floats], Floats]:
    """Return a function that solves with a factor of the matrix; raises LinAlgError or RuntimeError if it is
    singular.
    """
    if matrix.shape[0] <= most:
        dense = scipy.linalg.cho_factor(matrix.toarray(), overwrite_a=True, check_finite=False)
        return lambda right: np.asarray(scipy.linalg.cho_solve(dense, right, check_finite=False))
    factor = sparse.linalg.splu(
        matrix.tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
    )
    return lambda right: np.asarray(factor.solve(right))


SMALL = 100
"""Most vertices for which the work of a full matrix is used as an estimate, without a look at the graph."""
ROUNDS = 50
LEAST = 0.01
"""Least share of the remaining vertices that a pass must eliminate, each with two neighbors, to continue."""


def work_of_factor(size: int, rows: Ints, columns: Ints) -> float:
    """Bound the multiplications of a factorization from above: the sum of squared bandwidths of the vertices.

    The graph has ``size`` vertices and the given edges. Vertices with at most two neighbours are eliminated first at no
    cost. Cuthill and McKee's method orders the others. Minimum degree elimination usually takes less work, on meshes
    far less.
    """
    if size <= SMALL:
        return size**3 / 3.0
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    alive, low, high = _without_paths(size, *_edges(size, rows, columns))
    count = int(alive.sum())
    if not count:
        return 0.0
    number = np.cumsum(alive) - 1
    low, high = number[low], number[high]
    ends = (np.concatenate([low, high]), np.concatenate([high, low]))
    graph = sparse.csr_matrix((np.ones(2 * len(low)), ends), shape=(count, count))
    place = np.argsort(reverse_cuthill_mckee(graph, symmetric_mode=True))
    first = np.arange(count)
    np.minimum.at(first, place[ends[0]], place[ends[1]])
    return float(((np.arange(count) - first).astype(np.float64) ** 2).sum())


def _edges(size: int, rows: Ints, columns: Ints) -> tuple[Ints, Ints]:
    """Return each edge between two vertices once, its lesser vertex first."""
    low, high = np.minimum(rows, columns), np.maximum(rows, columns)
    keys = distinct(low[low < high] * size + high[low < high])
    return keys // max(size, 1), keys % max(size, 1)


def _without_paths(size: int, low: Ints, high: Ints) -> tuple[NDArray[np.bool_], Ints, Ints]:
    """Eliminate vertices of at most two neighbours; return which vertices are left, and the edges between them.

    Adjacent ones are eliminated together: a path of them becomes an edge between its two ends.
    """
    from scipy.sparse.csgraph import connected_components

    alive = np.ones(size, dtype=bool)
    for _ in range(ROUNDS):
        degree = np.bincount(low, minlength=size) + np.bincount(high, minlength=size)
        going = alive & (degree <= 2)
        if going.sum() <= LEAST * alive.sum():
            break
        alive &= ~going
        inner, across = going[low] & going[high], going[low] != going[high]
        paths = sparse.csr_matrix((np.ones(int(inner.sum())), (low[inner], high[inner])), shape=(size, size))
        part = connected_components(paths, directed=False)[1]
        path = part[np.where(going[low], low, high)[across]]
        end = np.where(going[low], high, low)[across]
        order = np.argsort(path, kind="stable")
        twice = np.flatnonzero(np.diff(path[order]) == 0)
        left = alive[low] & alive[high]
        low, high = _edges(
            size,
            np.concatenate([low[left], end[order[twice]]]),
            np.concatenate([high[left], end[order[twice + 1]]]),
        )
    return alive, low, high
