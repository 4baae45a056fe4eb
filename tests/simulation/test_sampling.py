"""Streams repeat, distributions have the moments and quantiles they claim."""

from itertools import islice

import numpy as np
import pytest

from mrdsl.formulas import distributions
from mrdsl.simulation import sampling
from mrdsl.spec.schema import Distribution
from tests.command_lines import run_python

DISTRIBUTIONS = [
    Distribution("uniform", (1.0, 3.0)),
    Distribution("uniform_int", (2, 9)),
    Distribution("normal", (5.0, 2.0)),
    Distribution("exponential", (4.0,)),
    Distribution("poisson", (3.5,)),
    Distribution("choice", ((1.0, 2.0, 7.0),)),
    Distribution("mixture", ((0.7, 0.25, 0.05), (0.012, 0.03, 0.4), (0.02, 0.01, 0.2))),
]


@pytest.mark.parametrize("value", DISTRIBUTIONS, ids=lambda value: value.name)
def test_draws_follow_the_distribution(value: Distribution) -> None:
    count = 40_000
    drawn = sampling.draws(value, sampling.stream(3, value.name), count)
    error = 5 * drawn.std() / np.sqrt(count)
    assert abs(drawn.mean() - distributions.mean(value)) < error
    for share in (0.05, 0.3, 0.62, 0.9, 0.97):
        x = distributions.quantile(value, share)
        assert distributions.cumulative(value, x) >= share - 1e-9
        assert distributions.cumulative(value, x * (1 - 1e-6)) <= share + 1e-4 or x <= 0
        assert abs((drawn <= x + 1e-9).mean() - distributions.cumulative(value, x + 1e-9)) < 5 * 0.5 / np.sqrt(count)


def test_values_outside_the_limits_are_drawn_again() -> None:
    value = Distribution("normal", (0.0, 1.0))
    drawn = sampling.draws(value, sampling.stream(1, "x"), 5000, low=0.5, high=2.0)
    assert drawn.min() >= 0.5
    assert drawn.max() <= 2.0
    with pytest.raises(ValueError, match="hardly ever"):
        sampling.draws(value, sampling.stream(1, "x"), 5, low=90.0)


def test_a_number_is_itself() -> None:
    assert sampling.draws(2.5, sampling.stream(1, "x"), 3).tolist() == [2.5] * 3
    assert list(islice(sampling.series(2.5, sampling.stream(1, "x")), 2)) == [2.5, 2.5]
    assert distributions.quantile(2.5, 0.9) == distributions.mean(2.5) == 2.5


def test_streams_differ_by_place_and_repeat_in_another_process() -> None:
    code = "from mrdsl.simulation.sampling import stream; print(stream(7, 'price', 'a').random_sample(3).tolist())"
    other = run_python(code).stdout.strip()
    assert other == str(sampling.stream(7, "price", "a").random_sample(3).tolist())
    assert other != str(sampling.stream(7, "price", "b").random_sample(3).tolist())
    assert other != str(sampling.stream(8, "price", "a").random_sample(3).tolist())
