"""Conjugate gradients for systems of one graph Laplacian, preconditioned by aggregation multigrid.

K-cycles after Notay, An aggregation-based algebraic multigrid method, ETNA 37, 2010: each vertex is merged with its
strongest neighbour, so that stiff parts of the graph become one unknown each. On graphs without a shape, such as random
ones, a coarser grid has hardly fewer entries. A second visit to it would cost as much as the grid above, and is left
out. The matrices of later steps reuse the merged vertices while these work well: then a coarser matrix is one sum of
entries.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

from mrdsl.families.deadline.methods.factors import Direct, Solved
from mrdsl.families.deadline.network import Floats, Ints

COARSEST = 1000
"""Unknowns of the last grid, which is solved as a dense system."""
DAMPING = 0.7
WORTH_A_SECOND = 0.5
"""A grid is visited twice in a cycle where it has no more than such a share of the entries of the one above."""
WORN = 1.5
"""Ratio of the iterations of a step's first system to those at first, from which vertices are merged again."""
USELESS = 4.0
"""Ratio of iterations from which vertices are merged again at once."""
MOST = 300
"""Iterations after which a system is left as it is: most steps are as long with a direction that is a little off."""
_ROUNDS = 4
_MOST_LEVELS = 25


def _never() -> bool:
    return False


@dataclass(frozen=True)
class Merged:
    """Merged vertices: the part of each vertex, and the position of each matrix entry in the matrix of the parts."""

    parts: Ints
    places: Ints
    columns: NDArray[np.int32]
    starts: NDArray[np.int32]

    @property
    def size(self) -> int:
        """Number of parts."""
        return len(self.starts) - 1

    def coarse(self, entries: Floats) -> sparse.csr_matrix:
        """Return the matrix of the parts, of the entries of the other."""
        data = np.bincount(self.places, entries, len(self.columns))
        return sparse.csr_matrix((data, self.columns, self.starts), shape=(self.size, self.size))


@dataclass(frozen=True)
class _Level:
    """One grid: its matrix, the damped inverse diagonal, merged vertices, and if the next has far fewer entries."""

    matrix: sparse.csr_matrix
    smoother: Floats
    merged: Merged
    twice: bool


class Multigrid:
    """Conjugate gradients with aggregation multigrid for systems of one Laplacian.

    ``before`` is the solver of another matrix with the same entries. Its merged vertices are reused unless it was worn.
    """

    def __init__(
        self, matrix: sparse.csr_matrix, late: Callable[[], bool] = _never, before: Multigrid | None = None
    ) -> None:
        self.matrix, self._late = matrix, late
        self.merged: list[Merged] = []
        self._pace: float | None = None
        self._at_first: float | None = None
        self._taken_over = before is not None and not before._worn
        if before is not None and self._taken_over:
            self.merged, self._at_first = before.merged, before._at_first
        self._ready()

    @property
    def _worn(self) -> bool:
        """True if the merged vertices worked so badly that merging anew is worthwhile."""
        if self._pace is None or self._at_first is None:
            return False
        return self._pace > WORN * self._at_first + 1.0

    def _ready(self) -> None:
        """The grids' matrices."""
        matrix = self.matrix
        self._levels: list[_Level] = []
        while len(self._levels) < len(self.merged) if self._taken_over else self._merges(matrix):
            found = self.merged[len(self._levels)]
            coarse = found.coarse(matrix.data)
            twice = coarse.nnz <= WORTH_A_SECOND * matrix.nnz
            self._levels.append(_Level(matrix, DAMPING / matrix.diagonal(), found, twice))
            matrix = coarse
        self._last = Direct(matrix, COARSEST)

    def _merges(self, matrix: sparse.csr_matrix) -> bool:
        """Return True if one more grid was found worth having."""
        if matrix.shape[0] <= COARSEST or len(self._levels) == _MOST_LEVELS:
            return False
        found = _merged_twice(matrix)
        if found.size > 0.9 * matrix.shape[0]:
            return False
        self.merged.append(found)
        return True

    def solve(self, right: Floats, tolerance: float, energy: float = 0.0, most: int = MOST) -> Solved:
        """Return the solution, after at most ``most`` iterations.

        The residual is measured in the norm of the preconditioner, which is near that of the error's energy. It ends
        below ``tolerance`` times that of ``right``, or times the root of ``energy`` if that is more. The solver drops
        reused vertices if they do not help for this matrix.
        """
        if not self._levels:
            return self._last.solve(right)
        decades = max(-float(np.log10(tolerance)), 1.0)
        useful = most
        if self._taken_over and self._at_first is not None:
            useful = min(most, int(USELESS * (self._at_first * decades + 3.0)))
        found = self._solved(right, tolerance, energy, useful)
        if found.iterations == useful < most:
            self.merged, self._taken_over, self._pace, self._at_first = [], False, None, None
            self._ready()
            found = self._solved(right, tolerance, energy, most - useful)
        if self._pace is None:
            self._pace = found.iterations / decades
            self._at_first = self._pace if self._at_first is None else self._at_first
        return found

    def _solved(self, right: Floats, tolerance: float, energy: float, most: int) -> Solved:
        solution = np.zeros_like(right)
        residual, first = right.copy(), None
        direction, image, norm = solution, solution, 1.0
        for iteration in range(most):
            step = self._cycle(0, residual)
            left = float(step @ residual)
            first = max(left, energy) if first is None else first
            if not left > tolerance * tolerance * first or self._late():
                return Solved(solution, iteration, residual)
            step -= (float(step @ image) / norm) * direction
            direction, image = step, self.matrix @ step
            norm = float(direction @ image)
            if not norm > 0.0:
                break
            length = float(direction @ residual) / norm
            solution += length * direction
            residual -= length * image
        return Solved(solution, most, residual)

    def _cycle(self, depth: int, right: Floats) -> Floats:
        """Return one multigrid cycle: a damped Jacobi step, the coarser grid, one more."""
        if depth == len(self._levels):
            return self._last.solve(right).solution
        level = self._levels[depth]
        matrix, smoother, merged = level.matrix, level.smoother, level.merged
        solution = smoother * right
        restricted = np.bincount(merged.parts, right - matrix @ solution, merged.size).astype(np.float64)
        solution += self._accelerated(depth + 1, restricted)[merged.parts]
        solution += smoother * (right - matrix @ solution)
        return solution

    def _accelerated(self, depth: int, right: Floats) -> Floats:
        """Return the K-cycle: up to two steps of flexible conjugate gradients, each preconditioned by a cycle."""
        first = self._cycle(depth, right)
        if depth == len(self._levels) or not self._levels[depth - 1].twice:
            return first
        matrix = self._levels[depth].matrix
        image = matrix @ first
        energy, gain = float(first @ image), float(first @ right)
        if not energy > 0.0:
            return first
        residual = right - (gain / energy) * image
        if float(residual @ residual) <= 0.0625 * float(right @ right):
            return (gain / energy) * first
        second = self._cycle(depth, residual)
        cross = float(second @ image)
        rest = float(second @ (matrix @ second)) - cross * cross / energy
        if not rest > 0.0:
            return (gain / energy) * first
        more = float(second @ residual) / rest
        return np.asarray((gain - cross * more) / energy * first + more * second)


def _merged_twice(matrix: sparse.csr_matrix) -> Merged:
    """Merge vertices with their strongest neighbours, and the resulting parts once more."""
    first = _merged(matrix)
    second = _merged(first.coarse(matrix.data))
    return Merged(second.parts[first.parts], second.places[first.places], second.columns, second.starts)


def _merged(matrix: sparse.csr_matrix) -> Merged:
    parts = _pairs(matrix)
    count = int(parts.max()) + 1
    rows = np.repeat(parts, np.diff(matrix.indptr))
    keys, places = np.unique(rows * count + parts[matrix.indices], return_inverse=True)
    starts = np.searchsorted(keys, np.arange(count + 1) * count)
    return Merged(parts, places.reshape(-1), (keys % count).astype(np.int32), starts.astype(np.int32))


def _pairs(matrix: sparse.csr_matrix) -> Ints:
    """Return the part of each vertex: pairs that are each other's strongest neighbour, and adjacent leftovers.

    A small fixed perturbation breaks ties, so that equal weights do not leave long rows without a pair.
    """
    size = matrix.shape[0]
    own = np.arange(size)
    between = matrix.data < 0
    rows = np.repeat(own, np.diff(matrix.indptr))[between]
    columns, weights = matrix.indices[between].astype(np.int64), -matrix.data[between]
    low, high = np.minimum(rows, columns), np.maximum(rows, columns)
    weights = weights * (1.0 + ((low * 2654435761 + high * 2654404609 >> 7) & 0xFFFFF) * (0.05 / 0xFFFFF))
    strongest = wanted = _strongest(size, rows, columns, weights)
    mate = np.full(size, -1)
    for _ in range(_ROUNDS):
        asking = np.flatnonzero(wanted >= 0)
        matched = asking[wanted[wanted[asking]] == asking]
        mate[matched] = wanted[matched]
        free = (mate[rows] < 0) & (mate[columns] < 0)
        rows, columns, weights = rows[free], columns[free], weights[free]
        if not len(rows):
            break
        wanted = _strongest(size, rows, columns, weights)
    leader = np.where(mate >= 0, np.minimum(own, mate), own)
    alone = np.flatnonzero((mate < 0) & (strongest >= 0))
    joining = alone[mate[strongest[alone]] >= 0]
    leader[joining] = leader[strongest[joining]]
    return np.unique(leader, return_inverse=True)[1]


def _strongest(size: int, rows: Ints, columns: Ints, weights: Floats) -> Ints:
    """Return the column of the greatest weight of each row, -1 if it has none; rows are sorted."""
    strongest = np.full(size, -1)
    if len(rows):
        firsts = np.flatnonzero(np.diff(rows, prepend=-1))
        greatest = np.zeros(size)
        greatest[rows[firsts]] = np.maximum.reduceat(weights, firsts)
        hits = weights >= greatest[rows]
        strongest[rows[hits]] = columns[hits]
    return strongest
