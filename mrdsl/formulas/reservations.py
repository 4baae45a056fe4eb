"""How many VMs to reserve for demand that comes and goes: each VM is reserved that is used long enough.

VMs that are rented when needed may be numbered, so that number k is used in every period that needs k or more. On
demand it costs its price in each of those periods, reserved the lower price in all of them, used or not. So number k is
worth reserving where the share of periods that need k VMs or more is above the ratio of the prices: a quantile of the
need, as in the newsvendor's problem (Arrow, Harris and Marschak 1951, *Optimal inventory policy*).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def to_reserve(needed: Floats, on_demand: float, reserved: float) -> int:
    """How many VMs to reserve where ``needed`` whole ones are used in each period, at prices for one period.

    Of equal costs the fewest; 0 where a reserved VM is not cheaper. Prices are not negative.
    """
    if reserved >= on_demand or not len(needed):
        return 0
    least = int(np.floor(len(needed) * reserved / on_demand)) + 1
    while least * on_demand <= len(needed) * reserved:  # the quotient rounded down where it is a whole number
        least += 1
    return 0 if least > len(needed) else int(np.sort(needed)[len(needed) - least])


def reserving_cost(needed: Floats, count: float, on_demand: float, reserved: float) -> float:
    """What VMs cost over all periods where ``count`` are reserved and the rest is rented on demand."""
    return float(reserved * count * len(needed) + on_demand * np.maximum(needed - count, 0.0).sum())
