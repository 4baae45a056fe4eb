"""What one VM costs, as a user writes it: ``0.20 USD/h``."""

from __future__ import annotations

import re
from dataclasses import dataclass

from mrdsl.core.units import HOUR, MONEY, TIME, UNITS, scaled

_PRICE = re.compile(r"^\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*([A-Za-z]+)\s*/\s*([A-Za-z]+)\s*$")


@dataclass(frozen=True)
class Price:
    """A price as it was written, and in its currency an hour."""

    text: str
    hourly: float
    currency: str


GUESSED = Price("0.20 USD/h", 0.20, "USD")


def parse_price(text: str) -> Price:
    """The price in a text. Raises ValueError where it is none."""
    match = _PRICE.match(text)
    money, time = (UNITS.get(match[2]), UNITS.get(match[3])) if match else (None, None)
    if match is None or money is None or time is None or money.dimension != MONEY or time.dimension != TIME:
        raise ValueError(f"`{text}` is no price of a VM")
    amount = float(match[1])
    if not amount > 0.0:
        raise ValueError(f"`{text}` is no price of a VM: it must be above 0")
    per_hour = scaled(scaled(amount, money.factor), HOUR / time.factor)
    return Price(f"{match[1]} {match[2]}/{match[3]}", per_hour, money.currency)
