"""Systems L v = b of weighted graph Laplacians with some vertices held at 0, many of them on one graph.

Small ones by Cholesky, large ones by conjugate gradients preconditioned by aggregation multigrid with K-cycles (Notay,
An aggregation-based algebraic multigrid method, ETNA 37, 2010): each vertex is merged with its strongest neighbour, so
that stiff parts of the graph become one unknown each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy.linalg
import scipy.sparse as sparse
import scipy.sparse.linalg
from numpy.typing import NDArray

from mrdsl.families.deadline.methods.factor_work import work_of_factor

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

DENSE = 300
"""Unknowns up to which a system is solved as a dense one."""
SHIFTS = (1e-14, 1e-11, 1e-8)
"""What is added to the diagonal, relative to it, until there is a factor: conductances may span 25 powers of ten."""
EASY, HARD = 1.5e9, 1e10
"""Work up to which a system is factorized at once, and up to which it is where multigrid is slow."""
SECONDS = 2e-9
"""What a unit of that work takes, at most: 3e-10 to 6e-10 s were measured on a core of its own."""
SLOW = 50
"""Iterations from which on multigrid counts as slow."""
DAMPING = 0.7
_ROUNDS = 4
_MOST_LEVELS = 25


class Solves(Protocol):
    """What solves systems of one Laplacian."""

    def solve(self, right: Floats, tolerance: float, energy: float = 0.0) -> tuple[Floats, int]:
        """The solution, to a residual relative to ``right`` or to ``energy``, and the iterations that it took.

        ``energy`` is that of a larger solution to which this one is added: ``v L v``.
        """
        ...


def _ages() -> float:
    return float(np.inf)


def _never() -> bool:
    return False


class Pattern:
    """Where the entries of the Laplacian of a graph stand: conductances become a matrix without any sorting.

    Vertices below ``fixed`` are held at 0; the others, less ``fixed``, are the unknowns.
    """

    def __init__(self, fixed: int, vertices: int, tails: Ints, heads: Ints) -> None:
        self.size = vertices - fixed
        a, b = tails - fixed, heads - fixed
        self._inner = np.flatnonzero((a >= 0) & (b >= 0))
        self.work = work_of_factor(self.size, a[self._inner], b[self._inner])
        self.direct = self.work <= EASY
        arcs = np.arange(len(tails))
        rows = np.concatenate([a[self._inner], b[self._inner], a[a >= 0], b[b >= 0]])
        columns = np.concatenate([b[self._inner], a[self._inner], a[a >= 0], b[b >= 0]])
        sources = np.concatenate([self._inner, self._inner, arcs[a >= 0], arcs[b >= 0]])
        signs = np.concatenate([np.full(2 * len(self._inner), -1.0), np.ones(len(sources) - 2 * len(self._inner))])
        keys, places = np.unique(rows * max(self.size, 1) + columns, return_inverse=True)
        self._columns = (keys % max(self.size, 1)).astype(np.int32)
        self._starts = np.searchsorted(keys, np.arange(self.size + 1) * max(self.size, 1)).astype(np.int32)
        shape = (len(keys), len(tails))
        self._gather = sparse.csr_matrix((signs, (places, sources)), shape=shape)

    def solver(self, conductances: Floats, left: Callable[[], float] = _ages) -> Solves:
        """What solves systems with these conductances: a factor where it is little work, else multigrid.

        ``left`` says how many seconds are left: no factor is begun that may take more, and multigrid stops where it
        stands when none is.
        """
        matrix = self.matrix(conductances)
        in_time = self.work * SECONDS <= left()
        if self.direct and in_time:
            return Direct(matrix)
        if self.work <= HARD and in_time:
            return Either(self, matrix, lambda: left() <= 0.0)
        return Multigrid(matrix, lambda: left() <= 0.0)

    def matrix(self, conductances: Floats) -> sparse.csr_matrix:
        """The Laplacian of the graph with these conductances, one per arc."""
        data = self._gather @ conductances
        return sparse.csr_matrix((data, self._columns, self._starts), shape=(self.size, self.size))


class Either:
    """Solves systems by multigrid, and from the first slow one on by a factor."""

    def __init__(self, pattern: Pattern, matrix: sparse.csr_matrix, late: Callable[[], bool]) -> None:
        self._pattern, self._matrix = pattern, matrix
        self._chosen: Solves | None = None
        self._multigrid = Multigrid(matrix, late)

    def solve(self, right: Floats, tolerance: float, energy: float = 0.0) -> tuple[Floats, int]:
        """As multigrid does, or as the factor."""
        if self._chosen is None:
            found, iterations = self._multigrid.solve(right, tolerance, energy, SLOW)
            if iterations < SLOW:
                return found, iterations
            self._chosen = Direct(self._matrix)
            self._pattern.direct = True
        return self._chosen.solve(right, tolerance, energy)


@dataclass(frozen=True)
class _Level:
    """One grid: its matrix, the damped inverse of its diagonal, and the coarser vertex of each of its own."""

    matrix: sparse.csr_matrix
    smoother: Floats
    coarser: Ints
    size: int


class Multigrid:
    """Solves systems of one Laplacian by conjugate gradients with aggregation multigrid."""

    def __init__(self, matrix: sparse.csr_matrix, late: Callable[[], bool] = _never) -> None:
        self.matrix, self._late = matrix, late
        self._levels: list[_Level] = []
        while matrix.shape[0] > DENSE and len(self._levels) < _MOST_LEVELS:
            coarser, coarse = _coarsened(matrix)
            if coarse.shape[0] > 0.9 * matrix.shape[0]:
                break
            self._levels.append(_Level(matrix, DAMPING / matrix.diagonal(), coarser, coarse.shape[0]))
            matrix = coarse
        self._last = Direct(matrix)

    def solve(self, right: Floats, tolerance: float, energy: float = 0.0, most: int = 300) -> tuple[Floats, int]:
        """The solution and the iterations that it took.

        The residual, in the norm of the preconditioner, which is near that of the error's energy, ends below
        ``tolerance`` times that of ``right``, or times the root of ``energy`` where that is more.
        """
        solution = np.zeros_like(right)
        if not self._levels:
            return self._last.solve(right)
        residual, first = right.copy(), None
        direction, image, norm = solution, solution, 1.0
        for iteration in range(most):
            step = self._cycle(0, residual)
            left = float(step @ residual)
            first = max(left, energy) if first is None else first
            if not left > tolerance * tolerance * first or self._late():
                return solution, iteration
            step -= (float(step @ image) / norm) * direction
            direction, image = step, self.matrix @ step
            norm = float(direction @ image)
            if not norm > 0.0:
                break
            length = float(direction @ residual) / norm
            solution += length * direction
            residual -= length * image
        return solution, most

    def _cycle(self, depth: int, right: Floats) -> Floats:
        """One multigrid cycle: two damped Jacobi steps, the coarser grid, two more."""
        if depth == len(self._levels):
            return self._last.solve(right)[0]
        level = self._levels[depth]
        matrix, smoother = level.matrix, level.smoother
        solution = smoother * right
        solution += smoother * (right - matrix @ solution)
        restricted = np.bincount(level.coarser, right - matrix @ solution, level.size).astype(np.float64)
        solution += self._accelerated(depth + 1, restricted)[level.coarser]
        solution += smoother * (right - matrix @ solution)
        solution += smoother * (right - matrix @ solution)
        return solution

    def _accelerated(self, depth: int, right: Floats) -> Floats:
        """The K-cycle: up to two steps of flexible conjugate gradients, each preconditioned by a cycle."""
        first = self._cycle(depth, right)
        if depth == len(self._levels):
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


class Direct:
    """Solves systems of one Laplacian exactly: dense Cholesky, or SuperLU where it is larger."""

    def __init__(self, matrix: sparse.csr_matrix) -> None:
        self._solve: Callable[[Floats], Floats] = np.copy
        for shift in SHIFTS if matrix.shape[0] else ():
            try:
                self._solve = _factorized(matrix + sparse.diags_array(shift * matrix.diagonal()))
                break
            except (scipy.linalg.LinAlgError, RuntimeError):
                continue

    def solve(self, right: Floats, tolerance: float = 0.0, energy: float = 0.0) -> tuple[Floats, int]:
        """The solution, and no iterations."""
        return self._solve(right), 0


def _factorized(matrix: sparse.csr_matrix) -> Callable[[Floats], Floats]:
    """Solves with a factor of the matrix; raises LinAlgError or RuntimeError where it is singular."""
    if matrix.shape[0] <= DENSE:
        dense = scipy.linalg.cho_factor(matrix.toarray(), overwrite_a=True, check_finite=False)
        return lambda right: np.asarray(scipy.linalg.cho_solve(dense, right, check_finite=False))
    factor = sparse.linalg.splu(
        matrix.tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
    )
    return lambda right: np.asarray(factor.solve(right))


def _coarsened(matrix: sparse.csr_matrix) -> tuple[Ints, sparse.csr_matrix]:
    """Vertices merged twice over, and the matrix of what comes out."""
    first, coarse = _merged(matrix)
    second, coarse = _merged(coarse)
    return second[first], coarse


def _merged(matrix: sparse.csr_matrix) -> tuple[Ints, sparse.csr_matrix]:
    parts = _pairs(matrix)
    count = int(parts.max()) + 1
    size = matrix.shape[0]
    sums = sparse.csr_matrix((np.ones(size), parts, np.arange(size + 1)), shape=(size, count))
    coarse = (sums.T @ matrix @ sums).tocsr()
    coarse.sort_indices()
    return parts, coarse


def _pairs(matrix: sparse.csr_matrix) -> Ints:
    """The part of each vertex: pairs that are each other's strongest neighbour, and those left over beside them.

    A small fixed perturbation breaks ties, so that equal weights do not leave long rows without a pair.
    """
    size = matrix.shape[0]
    own = np.arange(size)
    rows = np.repeat(own, np.diff(matrix.indptr))
    columns = matrix.indices.astype(np.int64)
    between = (rows != columns) & (matrix.data < 0)
    rows, columns, weights = rows[between], columns[between], -matrix.data[between]
    low, high = np.minimum(rows, columns), np.maximum(rows, columns)
    weights = weights * (1.0 + 0.05 * ((low * 2654435761 + high * 2654404609) % 1048573) / 1048573)
    strongest = _strongest(size, rows, columns, weights)
    mate = np.full(size, -1)
    for _ in range(_ROUNDS):
        free = (mate[rows] < 0) & (mate[columns] < 0)
        rows, columns, weights = rows[free], columns[free], weights[free]
        if not len(rows):
            break
        wanted = _strongest(size, rows, columns, weights)
        asking = np.flatnonzero(wanted >= 0)
        matched = asking[wanted[wanted[asking]] == asking]
        mate[matched] = wanted[matched]
    leader = np.where(mate >= 0, np.minimum(own, mate), own)
    alone = np.flatnonzero((mate < 0) & (strongest >= 0))
    joining = alone[mate[strongest[alone]] >= 0]
    leader[joining] = leader[strongest[joining]]
    return np.unique(leader, return_inverse=True)[1]


def _strongest(size: int, rows: Ints, columns: Ints, weights: Floats) -> Ints:
    """Per row the column of its greatest weight, -1 where it has none; rows are sorted."""
    strongest = np.full(size, -1)
    if len(rows):
        firsts = np.flatnonzero(np.diff(rows, prepend=-1))
        greatest = np.zeros(size)
        greatest[rows[firsts]] = np.maximum.reduceat(weights, firsts)
        hits = weights >= greatest[rows]
        strongest[rows[hits]] = columns[hits]
    return strongest
