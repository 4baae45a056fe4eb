"""Integer programs that methods solve within this process: against trying everything, and without output."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from mrdsl.core.linear_program import LinearProgram
from mrdsl.solving.backends.highs import integer_point


def drawn(seed: int) -> LinearProgram:
    """Draw a covering program with three whole columns up to 4 and two rows."""
    random = np.random.default_rng(seed)
    return LinearProgram(
        costs=random.uniform(0.1, 3.0, 3),
        offset=float(random.uniform(0.0, 5.0)),
        maximize=False,
        lower=np.zeros(3),
        upper=np.full(3, 4.0),
        integer=np.ones(3, dtype=bool),
        starts=np.array([0, 3, 6]),
        columns=np.array([0, 1, 2, 0, 1, 2]),
        coefficients=random.uniform(0.2, 2.0, 6),
        row_lower=random.uniform(1.0, 12.0, 2),
        row_upper=np.full(2, np.inf),
    )


@pytest.mark.parametrize("seed", range(20))
def test_the_point_is_the_best_of_all(seed: int, capfd: pytest.CaptureFixture[str]) -> None:
    program = drawn(seed)
    rows = program.coefficients.reshape(2, 3)
    points = [np.array(each) for each in product(range(5), repeat=3)]
    values = [float(program.costs @ x) for x in points if bool((rows @ x >= program.row_lower - 1e-9).all())]
    found, bound = integer_point(program, 0.0, 10_000, None)
    if not values:
        assert found is None
        return
    assert found is not None
    assert float(program.costs @ found) == pytest.approx(min(values))
    assert bound == pytest.approx(min(values) + program.offset)
    assert capfd.readouterr() == ("", "")


def test_a_limit_of_nodes_leaves_a_bound_below_the_optimum() -> None:
    program = drawn(3)
    best, _ = integer_point(program, 0.0, 10_000, None)
    _, bound = integer_point(program, 0.0, 1, None)
    assert best is not None
    assert bound <= float(program.costs @ best) + program.offset + 1e-9
