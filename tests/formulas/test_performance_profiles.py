"""Performance profiles by hand: three methods on three instances, as Dolan and Moré define them."""

from __future__ import annotations

from math import inf

import pytest

from mrdsl.formulas.performance_profiles import performance_ratios, share_within, steps

TIMES = {"A": [1.0, 4.0, None], "B": [2.0, 2.0, 3.0], "C": [None, 8.0, 6.0]}
"""The best are 1, 2 and 3 seconds."""


def test_ratios_to_the_best_of_each_instance() -> None:
    assert performance_ratios(TIMES) == {"A": (1, 2, inf), "B": (2, 1, 1), "C": (inf, 4, 2)}


@pytest.mark.parametrize(
    ("factor", "shares"),
    [(1.0, (1, 2, 0)), (1.9, (1, 2, 0)), (2.0, (2, 3, 1)), (4.0, (2, 3, 2)), (1e300, (2, 3, 2))],
)
def test_shares_of_instances_within_a_factor(factor: float, shares: tuple[int, int, int]) -> None:
    ratios = performance_ratios(TIMES)
    assert [share_within(ratios[method], factor) for method in "ABC"] == [n / 3 for n in shares]


def test_steps_are_where_shares_grow() -> None:
    assert steps(performance_ratios(TIMES)["A"]) == [(1.0, 1 / 3), (2.0, 2 / 3)]
    assert steps(performance_ratios(TIMES)["C"]) == [(1.0, 0.0), (2.0, 1 / 3), (4.0, 2 / 3)]


def test_at_the_edge_of_the_range() -> None:
    assert performance_ratios({"A": [0.0], "B": [1.0]}) == {"A": (1.0,), "B": (inf,)}
    assert performance_ratios({"A": [None], "B": [None]}) == {"A": (inf,), "B": (inf,)}
    assert performance_ratios({"A": [], "B": []}) == {"A": (), "B": ()}
    assert share_within((), 2.0) == 0.0
    for wrong in (-1.0, float("nan")):
        with pytest.raises(ValueError, match="below 0"):
            performance_ratios({"A": [wrong], "B": [2.0]})
        with pytest.raises(ValueError, match="below 0"):
            performance_ratios({"A": [2.0], "B": [wrong]})
    with pytest.raises(ValueError, match="zip"):
        performance_ratios({"A": [1.0], "B": []})
