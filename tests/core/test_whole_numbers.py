"""Rounding that overlooks noise, and nothing else."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mrdsl.core.whole_numbers import begun, ceiling, floor


@pytest.mark.parametrize(
    ("value", "up", "down"),
    [
        (0.07 * 100, 7, 7),
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


@pytest.mark.parametrize("rounding", [begun, ceiling, floor])
def test_numbers_and_arrays_are_rounded_alike(rounding: Callable[[Any], Any]) -> None:
    """On both sides of whole numbers of every size, at and around the noise that is overlooked."""
    rng = np.random.default_rng(2)
    whole = np.floor(2.0 ** rng.uniform(0, 53, 2000))
    off = np.outer([0.0, 1e-12, 0.9e-9, 1.1e-9, 1e-7, 0.9e-6, 1.1e-6, 0.3], [-1.0, 1.0]).ravel()
    values = np.concatenate([whole[:, None] + off, whole[:, None] * (1.0 + off * 1e-3), off[None, :]]).ravel()
    for some in (values, values[np.abs(values) < 2.0**29], np.array([-0.0, 1e-10, -1e-10]), np.array([3.0, np.nan])):
        np.testing.assert_array_equal(rounding(some), [rounding(value) for value in some.tolist()])


def test_what_is_left_of_two_equal_numbers_has_begun_no_whole_one() -> None:
    left = 0.1 + 0.2 - 0.3
    assert left > 0.0
    assert (begun(left), ceiling(left)) == (0.0, 1.0)
    assert (begun(1.5), begun(-1.5), begun(np.inf)) == (2.0, -1.0, np.inf)
