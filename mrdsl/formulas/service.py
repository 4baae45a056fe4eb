"""Response times of queues: web services on VMs, and the reference queues that simulations are checked against.

All functions are elementwise on numbers or arrays; rates in 1/s, times in s.

Sources: Cano et al., *Joint Resource Allocation of MapReduce and Web Service Applications*, equations (2), (12) and
(49); the M/G/1 and M/M/c formulas are the textbook ones (Pollaczek-Khinchine, Erlang C).
"""

from __future__ import annotations

from math import inf, nan

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Number = float | Floats


def mean_response(service_rate: Number, rate: Number, vms: Number, delay: Number = 0.0) -> Floats:
    """Mean response of an M/G/1 processor-sharing queue on each of ``vms`` VMs behind a delay: (2).

    ``1 / (mu - x / v) + L``; it depends on the service times through their mean alone. Infinite where the VMs are
    saturated, NaN where there is no VM.
    """
    mu, x, v = (np.asarray(each, dtype=np.float64) for each in (service_rate, rate, vms))
    with np.errstate(divide="ignore", invalid="ignore"):
        spare = mu - x / v
        response = np.where(spare > 0.0, 1.0 / spare + delay, inf)
    return np.where(v > 0.0, response, nan)


def rate_per_vm(service_rate: Number, delay: Number, response: Number) -> Floats:
    """The rate that one VM may take within a bound on the mean response: ``mu - 1 / (R - L)``, (49).

    At or below zero (minus infinity where ``R <= L``): no number of VMs meets the bound, which the paper leaves unsaid.
    """
    allowed = np.asarray(response, dtype=np.float64) - delay
    with np.errstate(divide="ignore"):
        return np.where(allowed > 0.0, service_rate - 1.0 / np.where(allowed > 0.0, allowed, 1.0), -inf)


def vms_needed(service_rate: Number, rate: Number, delay: Number, response: Number) -> Floats:
    """The VMs, unrounded, with which a service meets its bound; infinite where none do."""
    each = rate_per_vm(service_rate, delay, response)
    x = np.asarray(rate, dtype=np.float64)
    return np.where(each > 0.0, x / np.where(each > 0.0, each, 1.0), np.where(x > 0.0, inf, 0.0))


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
