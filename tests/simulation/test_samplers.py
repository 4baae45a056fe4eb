"""How task times spread: means, what the longest stands for, and the same jobs on every cluster."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import lognorm

from mrdsl.simulation.engine.draws import (
    Exponential,
    Lognormal,
    Samples,
    Spread,
    Straggling,
    StreamDraws,
    TaskTimes,
    mean_of,
    sampler,
)
from mrdsl.simulation.sampling import stream

SAMPLERS = (
    Spread(1.0, 4.0, 20.0),
    Spread(4.0, 4.0, 4.0),
    Exponential(7.0),
    Lognormal(10.0, 30.0, 100),
    Samples((1.0, 2.0, 6.0)),
    Straggling(Spread(1.0, 4.0, 20.0), 0.1, 4.0),
)


@pytest.mark.parametrize("times", SAMPLERS)
def test_what_is_drawn_has_the_mean_that_it_says(times) -> None:
    drawn = times(np.random.RandomState(1), 200_000)
    assert drawn.mean() == pytest.approx(mean_of(times), rel=0.01)
    assert drawn.min() >= 0.0


def test_a_lognormals_longest_is_where_the_longest_of_its_tasks_ranks() -> None:
    times = Lognormal(10.0, 30.0, 100)
    s = times.deviation
    assert lognorm(s, scale=10.0 * np.exp(-s * s / 2)).cdf(30.0) == pytest.approx(100 / 101)
    # A ratio that no lognormal reaches there: the deviation at which the ratio is largest.
    assert Lognormal(1.0, 1e9, 10).deviation == pytest.approx(np.log(lognorm(1.0).ppf(10 / 11)))
    assert Lognormal(5.0, 5.0, 10)(np.random.RandomState(0), 3).tolist() == [5.0] * 3


def test_words_choose_samplers() -> None:
    assert sampler("uniform", 1.0, 3.0, 5.0, 9) == Spread(1.0, 3.0, 5.0)
    assert sampler("exponential", 1.0, 3.0, 5.0, 9) == Exponential(3.0)
    assert sampler("lognormal", 1.0, 3.0, 5.0, 9) == Lognormal(3.0, 5.0, 9)
    assert sampler("fixed", 1.0, 3.0, 5.0, 9) == Spread(3.0, 3.0, 3.0)
    assert sampler("lognormal", 0.0, 0.0, 0.0, 9)(np.random.RandomState(0), 2).tolist() == [0.0, 0.0]


def test_the_nth_job_has_the_same_times_whoever_asks_first() -> None:
    def draws() -> StreamDraws:
        return StreamDraws([[TaskTimes(Spread(1.0, 4.0, 20.0), Exponential(1.0))]], [[3000]], lambda *p: stream(5, *p))

    one, other = draws(), draws()
    in_order = [one.block(0, number, 0) for number in range(5)]
    backwards = [other.block(0, number, 0) for number in (4, 3, 2, 1, 0)][::-1]
    assert in_order == backwards
    assert not one.series[0][0][0].held or min(one.series[0][0][0].held) > 4
