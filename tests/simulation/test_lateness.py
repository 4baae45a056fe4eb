"""The small distribution keeps count, mean and maximum exactly, quantiles to within one percent."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mrdsl.simulation.fleet import Lateness


@settings(derandomize=True, max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.floats(1e-9, 1e6), min_size=1, max_size=60), st.floats(0.01, 1.0))
def test_against_the_sorted_values(values: list[float], share: float) -> None:
    seen = Lateness()
    for value in values:
        seen.add(value)
    exact = sorted(values)[max(int(np.ceil(share * len(values) - 1e-9)) - 1, 0)]
    assert seen.quantile(share) == pytest.approx(exact, rel=0.0101)
    assert (seen.count, seen.largest) == (len(values), max(values))
    assert seen.mean == pytest.approx(np.mean(values))


def test_nothing_is_late() -> None:
    assert (Lateness().mean, Lateness().quantile(0.5), Lateness().count) == (0.0, 0.0, 0)
