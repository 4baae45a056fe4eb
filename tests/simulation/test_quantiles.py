"""Quantiles against numbers found another way."""

from __future__ import annotations

from math import lgamma, log

import numpy as np
import pytest

from mrdsl.formulas.distributions import cumulative, quantile
from mrdsl.simulation.verdicts import student_95
from mrdsl.spec.schema import Distribution


@pytest.mark.parametrize("freedom", [1, 2, 5, 19, 30, 31, 200])
def test_student_s_quantile_holds_95_percent_of_the_density(freedom: int) -> None:
    """The density integrated by Simpson's rule between plus and minus the quantile."""
    x = np.linspace(0.0, student_95(freedom), 100_001)
    constant = lgamma((freedom + 1) / 2) - lgamma(freedom / 2) - 0.5 * log(freedom * np.pi)
    density = np.exp(constant - (freedom + 1) / 2 * np.log1p(x**2 / freedom))
    simpson = density[0] + density[-1] + 4.0 * density[1:-1:2].sum() + 2.0 * density[2:-1:2].sum()
    assert 2.0 * simpson * (x[1] - x[0]) / 3.0 == pytest.approx(0.95, abs=1e-9)


@pytest.mark.parametrize("rate", [0.5, 30.0, 1000.0, 50_000.0])
def test_poisson_of_any_rate_has_quantiles(rate: float) -> None:
    """Beyond a rate of 745 the first term is 0 on a computer; logarithms of the terms are summed here instead."""
    counts = np.arange(0.0, rate + 40.0 * rate**0.5 + 40.0)
    terms = np.exp(counts * log(rate) - rate - np.array([lgamma(count + 1.0) for count in counts]))
    reached = np.cumsum(terms)
    poisson = Distribution("poisson", (rate,))
    for share in (0.1, 0.5, 0.95):
        wanted = int(np.searchsorted(reached, share))
        assert round(quantile(poisson, share)) == wanted
        assert cumulative(poisson, wanted) == pytest.approx(reached[wanted], rel=1e-6)
