"""Systems L v = b of weighted graph Laplacians with some vertices fixed at 0, many of them on one graph.

A factorization solves them if it is estimated to be little work, otherwise multigrid (`factors.py`, `multigrid.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
import scipy.sparse as sparse

from mrdsl.families.deadline.methods.factors import Direct, Solved, work_of_factor
from mrdsl.families.deadline.methods.multigrid import MOST, Multigrid
from mrdsl.families.deadline.network import Floats, Ints

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
