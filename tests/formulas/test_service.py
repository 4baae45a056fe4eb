"""Queues against values worked out by hand and against each other."""

from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mrdsl.formulas.service import mean_response, rate_per_vm
from tests.formulas.queues import erlang_c, fifo_wait, multi_server_wait


def test_response_of_a_processor_sharing_queue_is_that_of_an_m_m_1_behind_a_delay():
    assert mean_response(10.0, 16.0, 2.0, 0.25) == pytest.approx(1.0 / 2.0 + 0.25)


def test_saturated_and_absent_vms():
    assert np.array_equal(mean_response(10.0, np.array([20.0, 25.0]), 2.0), [inf, inf])
    assert np.isnan(mean_response(10.0, 5.0, 0.0))


def test_no_number_of_vms_beats_the_delay():
    assert rate_per_vm(10.0, 1.0, 1.0) == -inf
    assert rate_per_vm(10.0, 0.0, 0.05) < 0.0


@settings(derandomize=True, max_examples=100)
@given(st.floats(1, 100), st.floats(0.1, 1e4), st.floats(0, 1), st.floats(1.01, 10))
def test_the_vms_needed_give_exactly_the_response_bound(mu, rate, delay, times):
    bound = delay + times / mu
    assert mean_response(mu, rate, rate / rate_per_vm(mu, delay, bound), delay) == pytest.approx(bound, rel=1e-6)


def test_first_come_first_served_waits():
    # M/M/1: rho / (mu - lambda); M/D/1 waits half as long.
    assert fifo_wait(2.0, 1.0) == pytest.approx(0.5)
    assert fifo_wait(2.0, 1.0, 0.0) == pytest.approx(0.25)
    assert fifo_wait(2.0, 2.0) == inf


def test_erlang_c_against_the_defining_sum():
    from math import factorial

    load, servers = 7.3, 10
    tail = load**servers / factorial(servers) * servers / (servers - load)
    assert erlang_c(load, servers) == pytest.approx(tail / (sum(load**n / factorial(n) for n in range(servers)) + tail))
    assert erlang_c(0.4, 1) == pytest.approx(0.4)
    assert multi_server_wait(1.0, 0.5, 1) == pytest.approx(float(fifo_wait(1.0, 0.5)))
    assert multi_server_wait(1.0, 3.0, 3) == inf
