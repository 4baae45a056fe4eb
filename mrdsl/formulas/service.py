"""Response times of web services on VMs.

All functions are elementwise on numbers or arrays; rates in 1/s, times in s.

Source: Cano et al., *Joint Resource Allocation of MapReduce and Web Service Applications*, equations (2), (12)
and (49).
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
