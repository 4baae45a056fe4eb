"""Systems of one matrix solved by a factor of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sparse
import scipy.sparse.linalg

from mrdsl.families.deadline.network import Floats

DENSE = 300
"""Unknowns up to which a system is solved as a dense one."""
SHIFTS = (1e-14, 1e-11, 1e-8)
"""What is added to the diagonal, relative to it, until there is a factor: conductances may span 25 powers of ten."""


class Solved(NamedTuple):
    """A system's solution, the iterations that it took, and what it leaves of the right side."""

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
        """Return the solution, no iterations, and nothing left."""
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
