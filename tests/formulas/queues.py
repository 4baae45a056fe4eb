"""Textbook waits that simulations are checked against: Pollaczek-Khinchine and Erlang C. Rates in 1/s, times in s."""

from __future__ import annotations

from math import inf

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Number = float | Floats


def fifo_wait(service_rate: Number, rate: Number, squared_variation: Number = 1.0) -> Floats:
    """Mean wait in an M/G/1 first-come-first-served queue (Pollaczek-Khinchine); infinite where saturated.

    ``squared_variation`` is the variance of the service time over its squared mean: 1 exponential, 0 constant.
    """
    mu = np.asarray(service_rate, dtype=np.float64)
    load = np.asarray(rate, dtype=np.float64) / mu
    spare = np.where(load < 1.0, 1.0 - load, 1.0)
    return np.where(load < 1.0, load * (1.0 + np.asarray(squared_variation)) / (2.0 * mu * spare), inf)


def erlang_c(load: float, servers: int) -> float:
    """The probability that an arrival waits in an M/M/c queue; ``load`` is the rate over the rate of one server.

    1 where the servers are saturated. By the stable recursion of Erlang B.
    """
    if load >= servers:
        return 1.0
    blocking = 1.0
    for n in range(1, servers + 1):
        blocking = load * blocking / (n + load * blocking)
    return blocking / (1.0 - load / servers * (1.0 - blocking))


def multi_server_wait(service_rate: float, rate: float, servers: int) -> float:
    """Mean wait in an M/M/c queue; infinite where saturated."""
    if rate >= servers * service_rate:
        return inf
    return erlang_c(rate / service_rate, servers) / (servers * service_rate - rate)
