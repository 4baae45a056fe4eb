"""Systems L v = b of weighted graph Laplacians with some vertices fixed at 0, many of them on one graph.

A factorization solves them if it is little work, otherwise multigrid: conjugate gradients that are preconditioned
by K-cycles after Notay, An aggregation-based algebraic multigrid method, ETNA 37, 2010. Each vertex is merged with its
strongest neighbour, so that stiff parts of the graph become one unknown each. On graphs without a shape, such as random
ones, a coarser grid has hardly fewer entries. A second visit to it would cost as much as the grid above, and is left
out. The matrices of later steps reuse the merged vertices while these work well: then a coarser matrix is one sum of
entries.

The work of a factorization is foreseen from the graph.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

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


EASY, HARD = 1.5e9, 1e10
"""Work up to which a system is factorized at once, and up to which it is where multigrid is slow."""
SECONDS = 2e-9
"""Upper estimate of the time of a unit of that work [s]: 3e-10 to 6e-10 s were measured on an idle core."""
SLOW, A_FACTOR = 50, 0.03
"""Iterations of a step from which multigrid counts as slow: a least number, and a number for each entry of the matrix
that the work of the factor is worth."""


class Solves(Protocol):
    """Solver of systems of one Laplacian."""

    def solve(self, right: Floats, tolerance: float, energy: float = 0.0) -> Solved:
        """Return the solution, to a residual relative to ``right`` or to ``energy``.

        ``energy`` is that of a larger solution to which this one is added: ``v L v``.
        """
        ...


def _ages() -> float:
    return float(np.inf)


class Pattern:
    """Positions of the entries in the Laplacian of a graph: conductances become a matrix without any sorting.

    Vertices below ``fixed`` are held at 0; the others, less ``fixed``, are the unknowns. ``once`` stores the setup of
    the last solver for the next ones.
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
        self._slow = False
        self._multigrid: Multigrid | None = None
        self.once = False

    def solver(self, conductances: Floats, left: Callable[[], float] = _ages, patient: bool = False) -> Solves:
        """Return a solver for these conductances: a factorization if it is little work, otherwise multigrid.

        ``left`` returns the remaining seconds: no factorization starts that may take more, and multigrid stops when
        none remain. Multigrid stops after ``MOST`` iterations, unless it is ``patient`` and a factorization is worth
        more of them.
        """
        matrix = self.matrix(conductances)
        in_time = self.work * SECONDS <= left()
        self.once = False
        if self.direct and in_time:
            return Direct(matrix)
        self.once = self._multigrid is None
        self._multigrid = Multigrid(matrix, lambda: left() <= 0.0, self._multigrid)
        if self.work <= HARD and in_time:
            return Either(self, matrix, self._multigrid, patient)
        return self._multigrid

    def was_slow(self) -> None:
        """Note that multigrid was slow in the last step: after two such steps, factorizations solve all later ones."""
        self.direct = self.direct or self._slow
        self._slow = True

    def matrix(self, conductances: Floats) -> sparse.csr_matrix:
        """Return the Laplacian of the graph with these conductances, one per arc."""
        data = self._gather @ conductances
        return sparse.csr_matrix((data, self._columns, self._starts), shape=(self.size, self.size))


class Either:
    """Solves a step's systems by multigrid, until that has cost as much as a factor: by this from then on."""

    def __init__(self, pattern: Pattern, matrix: sparse.csr_matrix, multigrid: Multigrid, patient: bool) -> None:
        self._pattern, self._matrix, self._multigrid, self._patient = pattern, matrix, multigrid, patient
        self._factor: Direct | None = None
        self._left = max(SLOW, int(pattern.work * A_FACTOR / matrix.nnz))

    def solve(self, right: Floats, tolerance: float, energy: float = 0.0) -> Solved:
        """As multigrid does, or as the factor."""
        if self._factor is None:
            most = self._left if self._patient else min(self._left, MOST)
            found = self._multigrid.solve(right, tolerance, energy, most)
            self._left -= found.iterations
            if self._left > 0:
                return found
            self._factor = Direct(self._matrix)
            self._pattern.was_slow()
        return self._factor.solve(right)
