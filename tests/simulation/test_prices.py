"""Spot prices: step functions walk as recorded, and bids outlast what they promise to."""

from __future__ import annotations

from math import ceil, inf, sqrt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mrdsl.simulation.fleet import Bill, Cohort, charge, started_periods
from mrdsl.simulation.sampling import ConstantPrice, DrawnPrice, PricePath, RecordedPrice, path, stream
from mrdsl.spec.schema import Distribution

MIXTURE = Distribution("mixture", ((0.7, 0.25, 0.05), (0.012, 0.03, 0.4), (0.002, 0.01, 0.2)))


@pytest.mark.parametrize("reliability", [0.5, 0.9])
@pytest.mark.parametrize("length", [100.0, 700.0, 1500.0])
def test_a_bid_outlasts_the_work_as_often_as_asked(reliability: float, length: float) -> None:
    """From a moment 50 s before a move: the share of paths that never exceed the bid, against the reliability."""
    paths, survived = 1500, 0
    for number in range(paths):
        prices = DrawnPrice(MIXTURE, 300.0, stream(number, "p"))
        now = 250.0
        bid = prices.lasting_bid(now, length, reliability)
        assert bid >= prices.current
        worst = max(path(prices, now + length - 1e-6).prices)
        survived += worst <= bid
    moves = ceil((now + length - 300.0) / 300.0)
    assert moves > 0
    assert survived / paths >= reliability - 4 * sqrt(reliability * (1 - reliability) / paths)


def test_without_a_move_ahead_the_price_now_is_enough() -> None:
    prices = DrawnPrice(MIXTURE, 300.0, stream(1, "p"))
    assert prices.lasting_bid(10.0, 290.0, 0.99) == prices.current
    assert prices.lasting_bid(10.0, 291.0, 0.99) > prices.current
    assert ConstantPrice(0.3).lasting_bid(0.0, 1e9, 0.99) == ConstantPrice(0.3).current == 0.3


def test_a_recorded_price_walks_its_steps() -> None:
    prices = RecordedPrice((0.0, 100.0, 250.0), (1.0, 3.0, 2.0))
    assert path(prices, 1000.0) == PricePath((0.0, 100.0, 250.0), (1.0, 3.0, 2.0))
    assert prices.next_move == inf
    walked = PricePath((0.0, 100.0, 250.0), (1.0, 3.0, 2.0))
    assert [walked.at(time) for time in (0.0, 99.9, 100.0, 249.0, 250.0, 9e9)] == [1.0, 1.0, 3.0, 3.0, 2.0, 2.0]


def test_a_recorded_bid_knows_the_past_only() -> None:
    prices = RecordedPrice((0.0, 100.0, 200.0, 300.0), (1.0, 5.0, 2.0, 90.0))
    assert prices.lasting_bid(50.0, 1000.0, 0.99) == 1.0
    prices.advance()
    prices.advance()
    assert prices.lasting_bid(250.0, 1e6, 0.99) == 5.0
    assert prices.lasting_bid(250.0, 1.0, 0.01) == 2.0


@settings(derandomize=True, max_examples=100)
@given(st.integers(0, 500), st.integers(0, 2000), st.integers(1, 90))
def test_started_periods_by_counting(start: int, length: int, period: int) -> None:
    counted = sum(1 for i in range(length + 1) if i * period < length)
    assert started_periods(float(start), float(start + length), float(period)) == counted


def test_a_cohort_is_charged_once_for_each_period() -> None:
    bill = Bill()
    cohort = Cohort(0, True, 1.0, 100.0, 3, (1, 1))
    assert [charge(bill, cohort, now, 0.5, 10.0) for now in (100.0, 101.0, 110.0, 110.5, 145.0)] == [0, 1, 0, 1, 3]
    assert (bill.spot, bill.spot_seconds, bill.on_demand) == (5 * 10 * 3 * 0.5, 150.0, 0.0)
