"""VM types as a provider lists them, whatever file they are in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, log1p
from typing import TYPE_CHECKING

from mrdsl.core import units
from mrdsl.core.source import Span

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MONTH = 8760.0 / 12.0 * units.HOUR
"""Seconds of a month, a twelfth of a year."""

PRICE, SPOT_PRICE, INTERRUPTIONS = "on_demand.price", "spot.price", "spot.interruptions"
UNKNOWN_RATE = inf
"""In the place of interruptions: the type is sold on spot, and the file does not say how often one is taken back."""


@dataclass(frozen=True, eq=False)
class Catalogue:
    """VM types, one element for each in the order of the file.

    ``values`` are numbers in SI by the dotted path of a vm's attribute, NaN where the file has none: ``cores``,
    ``memory``, :data:`PRICE` and :data:`SPOT_PRICE` in ``currency`` a second, :data:`INTERRUPTIONS` of a VM a second,
    NaN where the type is not sold on spot. ``numbers`` and ``words`` are for requirements alone, by their words;
    numbers have the name of their kind. ``place`` gives where an attribute of a type stands, the type itself for "".
    """

    currency: str
    names: Sequence[str]
    values: Mapping[str, NDArray[np.float64]]
    numbers: Mapping[str, tuple[NDArray[np.float64], str]]
    words: Mapping[str, Sequence[str]]
    place: Callable[[int, str], Span]


def rate_of_share(share: float) -> float:
    """Interruptions of one VM a second where so large a share of VMs is taken back within a month.

    Times to an interruption are exponential, so that 1 - exp(-r T) are taken back within T: r = -ln(1 - share) / T. Up
    to 5 % a month are at most 7.03e-5 an hour.
    """
    return -log1p(-share) / MONTH
