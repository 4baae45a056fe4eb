"""Rounding that overlooks noise, and nothing else."""

import numpy as np
import pytest

from mrdsl.core.whole_numbers import ceiling, floor


@pytest.mark.parametrize(
    ("value", "up", "down"),
    [
        (0.9 * 30, 27, 27),
        (27.0000001, 28, 27),
        (26.9999999, 27, 26),
        (1e9, 1e9, 1e9),
        (1e9 + 0.4, 1e9 + 1, 1e9),
        (1e9 - 0.4, 1e9, 1e9 - 1),
        (2.0**53, 2.0**53, 2.0**53),
        (2.0**53 - 1, 2.0**53 - 1, 2.0**53 - 1),
        (0.0, 0, 0),
        (2e-9, 1, 0),
        (1e-12, 1, 0),
        (-1.5, -1, -2),
        (np.inf, np.inf, np.inf),
        (0.1 * 3, 1, 0),
        (1e12 + 0.5, 1e12 + 1, 1e12),
    ],
)
def test_the_nearest_whole_number_on_either_side(value: float, up: float, down: float) -> None:
    assert (float(ceiling(value)), float(floor(value))) == (up, down)
    assert ceiling(np.array([value, 3.0])).tolist() == [up, 3.0]


def test_whole_numbers_are_themselves_up_to_2_to_53() -> None:
    rng = np.random.default_rng(1)
    whole = np.floor(2.0 ** rng.uniform(0, 53, 5000))
    np.testing.assert_array_equal(ceiling(whole), whole)
    np.testing.assert_array_equal(floor(whole), whole)
    for rounding in (ceiling, floor):
        np.testing.assert_array_equal(rounding(whole * 0.1 * 10.0)[whole < 1e15], whole[whole < 1e15])
