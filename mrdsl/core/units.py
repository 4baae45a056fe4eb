"""Units, dimensions, kinds of quantities, and clock times as a spec writes them.

A dimension is a tuple of integer exponents over :data:`BASES`. Counts of different items (VMs, slots, jobs, tasks) are
different dimensions, but a plain number is valid for any count.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from math import floor
from types import MappingProxyType
from typing import Any, NamedTuple

from mrdsl.core.rounding import ROUNDING

Dimension = tuple[int, ...]

BASES = ("time", "money", "data", "energy", "vms", "slots", "jobs", "tasks", "requests", "mass")
_COUNTS = frozenset({"vms", "slots", "jobs", "tasks", "requests"})


def _dimension(**exponents: int) -> Dimension:
    return tuple(exponents.get(base, 0) for base in BASES)


NUMBER = _dimension()
TIME = _dimension(time=1)
MONEY = _dimension(money=1)
DATA = _dimension(data=1)
ENERGY = _dimension(energy=1)
MASS = _dimension(mass=1)


@dataclass(frozen=True)
class Unit:
    """One unit: its name, how many SI units it is, its dimension, and its currency (empty for all but money)."""

    name: str
    factor: float
    dimension: Dimension
    currency: str = ""


@dataclass(frozen=True)
class Kind:
    """A kind of quantity: words for messages, its SI unit, a usual unit, and an example.

    ``{currency}`` in the last three is the currency of the spec.
    """

    name: str
    noun: str
    dimension: Dimension
    si: str
    shown: str
    pattern: str

    def example(self, currency: str = "") -> str:
        """Return a value as a person writes it, in the spec's currency (default: the usual one)."""
        return self.pattern.format(currency=currency or DEFAULT_CURRENCY)

    def shown_in(self, currency: str = "") -> str:
        """Return the unit that people write, in the spec's currency (default: the usual one)."""
        return self.shown.format(currency=currency or DEFAULT_CURRENCY)


@cache
def whole_inverse(factor: float) -> float:
    """Return the whole number whose inverse a factor is as a float, 100 for that of ``%``; 0 where it is that
    of none.
    """
    whole = float(round(1.0 / factor)) if _LEAST <= factor < 1.0 else 0.0
    return whole if whole and 1.0 / whole == factor else 0.0


def scaled(number: Any, factor: float) -> Any:
    """``number * factor``, rounded once: 95 times the 0.01 of ``%`` is 0.95. On numbers and on arrays."""
    whole = whole_inverse(factor)
    return number / whole if whole else number * factor


def unscaled(number: float, factor: float) -> float:
    """``number / factor``, rounded once."""
    whole = whole_inverse(factor)
    return number * whole if whole else number / factor


_LEAST = 1e-15
CURRENCIES = ("USD", "EUR", "GBP", "CHF", "JPY", "CNY", "INR", "CAD", "AUD", "SEK", "NOK", "DKK", "PLN", "BRL")
DEFAULT_CURRENCY = "USD"
CENT = "cent"

_TIME_UNITS = {
    "ns": 1e-9,
    "us": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "min": 60.0,
    "h": 3600.0,
    "d": 86400.0,
    "day": 86400.0,
    "days": 86400.0,
    "week": 604800.0,
    "weeks": 604800.0,
}
_DECIMAL = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_BINARY = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50}
_COUNT_UNITS = {
    "vm": "vms",
    "vms": "vms",
    "slot": "slots",
    "slots": "slots",
    "job": "jobs",
    "jobs": "jobs",
    "task": "tasks",
    "tasks": "tasks",
    "request": "requests",
    "requests": "requests",
}


def _all_units() -> dict[str, Unit]:
    units = [Unit(name, factor, TIME) for name, factor in _TIME_UNITS.items()]
    for prefix, factor in (_DECIMAL | _BINARY).items():
        units.append(Unit(prefix + "B", factor, DATA))
        units.append(Unit(prefix + "bit", factor / 8, DATA))
    power = _dimension(energy=1, time=-1)
    for prefix, factor in {"m": 1e-3, **_DECIMAL}.items():
        units.append(Unit(prefix + "W", factor, power))
        units.append(Unit(prefix + "J", factor, ENERGY))
        units.append(Unit(prefix + "Wh", factor * 3600.0, ENERGY))
    units.extend(Unit(name, factor, MASS) for name, factor in {"g": 1e-3, "kg": 1.0, "t": 1e3}.items())
    units.extend(Unit(name, 1.0, MONEY, name) for name in CURRENCIES)
    units.append(Unit(CENT, 0.01, MONEY))
    units.extend(Unit(name, 1.0, _dimension(**{count: 1})) for name, count in _COUNT_UNITS.items())
    units.append(Unit("%", 0.01, NUMBER))
    return {unit.name: unit for unit in units}


UNITS = MappingProxyType(_all_units())
MINUTE, HOUR, DAY = (UNITS[name].factor for name in ("min", "h", "d"))
"""In seconds."""
OTHER_NAMES = MappingProxyType(
    {
        "m": "min",
        "mn": "min",
        "minute": "min",
        "minutes": "min",
        "sec": "s",
        "secs": "s",
        "second": "s",
        "seconds": "s",
        "hr": "h",
        "hrs": "h",
        "hour": "h",
        "hours": "h",
        "Kb": "kbit",
        "kb": "kbit",
        "Mb": "Mbit",
        "Gb": "Gbit",
        "Tb": "Tbit",
        "KB": "kB",
        "watt": "W",
        "joule": "J",
        "dollar": "USD",
        "dollars": "USD",
        "euro": "EUR",
        "cents": "cent",
        "percent": "%",
    }
)
"""Other names of units, and the unit that is probably meant. Read only for hints."""

KINDS = MappingProxyType(
    {
        kind.name: kind
        for kind in (
            Kind("time", "a time", TIME, "s", "s", "15 min"),
            Kind("money", "money", MONEY, "{currency}", "{currency}", "12.50 {currency}"),
            Kind(
                "price",
                "a price per time",
                _dimension(money=1, time=-1),
                "{currency}/s",
                "{currency}/h",
                "0.19 {currency}/h",
            ),
            Kind(
                "storage_price",
                "a price of stored data per time",
                _dimension(money=1, data=-1, time=-1),
                "{currency}/B/s",
                "{currency}/GiB/h",
                "0.0001 {currency}/GiB/h",
            ),
            Kind(
                "data_price",
                "a price of data",
                _dimension(money=1, data=-1),
                "{currency}/B",
                "{currency}/GiB",
                "0.09 {currency}/GiB",
            ),
            Kind("data", "an amount of data", DATA, "B", "MB", "256 MB"),
            Kind("data_rate", "a data rate", _dimension(data=1, time=-1), "B/s", "MB/s", "4 MB/s"),
            Kind("rate", "a rate", _dimension(time=-1), "1/s", "1/s", "1200/s"),
            Kind("event_rate", "a rate of events", _dimension(time=-1), "1/s", "1/h", "0.05/h"),
            Kind("power", "a power", _dimension(energy=1, time=-1), "W", "W", "20 W"),
            Kind("energy", "an energy", ENERGY, "J", "J", "720 J"),
            Kind("number", "a plain number", NUMBER, "", "", "42"),
            Kind("share", "a share", NUMBER, "", "", "85%"),
            Kind("vms", "a number of VMs", _dimension(vms=1), "vms", "vms", "40"),
            Kind("slots", "a number of slots", _dimension(slots=1), "slots", "slots", "128"),
            Kind("jobs", "a number of jobs", _dimension(jobs=1), "jobs", "jobs", "10"),
            Kind("tasks", "a number of tasks", _dimension(tasks=1), "tasks", "tasks", "370"),
        )
    }
)


@cache
def is_count(dimension: Dimension) -> bool:
    """Return True if the dimension counts one thing, such as VMs."""
    return sum(map(abs, dimension)) == 1 and any(
        exponent == 1 and base in _COUNTS for base, exponent in zip(BASES, dimension, strict=True)
    )


def fits(dimension: Dimension, wanted: Dimension) -> bool:
    """Return True if a quantity of the dimension is valid for the wanted one: a plain number is valid for a count."""
    return (
        dimension == wanted
        or (dimension == NUMBER and is_count(wanted))
        or (wanted == _RATE and dimension == _REQUEST_RATE)
    )


_RATE = _dimension(time=-1)
_REQUEST_RATE = _dimension(time=-1, requests=1)


def describe(dimension: Dimension) -> str:
    """Return the dimension in words: ``a time``, ``money``, or ``a quantity in data·time``."""
    for kind in KINDS.values():
        if kind.dimension == dimension:
            return kind.noun
    if dimension == _dimension(requests=1):
        return "a number of requests"
    if dimension == MASS:
        return "a mass"
    return f"a quantity in {_formula(dimension)}"


def _formula(dimension: Dimension) -> str:
    above, below = _factors(dimension, "currency")
    parts = [[symbol if e == 1 else f"{symbol}^{e}" for symbol, e in factors] for factors in (above, below)]
    return ("·".join(parts[0]) or "1") + ("/" + "/".join(parts[1]) if parts[1] else "")


def _factors(dimension: Dimension, currency: str) -> tuple[list[tuple[str, int]], list[tuple[str, int]]]:
    """Return the SI units above and below the line, each with its exponent; counts as no quantity of a plan is
    called.
    """
    symbols = ("s", currency, "B", "J", "vm", "slot", "job", "task", "request", "kg")
    pairs = list(zip(symbols, dimension, strict=True))
    return [(symbol, e) for symbol, e in pairs if e > 0], [(symbol, -e) for symbol, e in pairs if e < 0]


def si_unit(dimension: Dimension, currency: str) -> str:
    """Return the SI unit of a dimension as the language writes it: ``USD``, ``W``, ``USD/vm``; "" for a plain
    number.
    """
    for kind in KINDS.values():
        if kind.dimension == dimension:
            return kind.si.format(currency=currency)
    above, below = ([symbol for symbol, e in factors for _ in range(e)] for factors in _factors(dimension, currency))
    return "/".join(("*".join(above) or "1", *below))


def dimension_of(si: str) -> Dimension | None:
    """Return the dimension of a text of :func:`si_unit`, in any currency, or None."""
    above, *below = si.split("/")
    exponents = [0] * len(BASES)
    parts = [(part, 1) for part in above.split("*") if part not in ("", "1")] + [(part, -1) for part in below]
    for part, sign in parts:
        unit = UNITS.get(part)
        if unit is None or unit.factor != 1.0:
            return None
        exponents = [e + sign * own for e, own in zip(exponents, unit.dimension, strict=True)]
    return tuple(exponents)


def multiply(left: Dimension, right: Dimension) -> Dimension:
    """Return the dimension of a product."""
    return tuple(a + b for a, b in zip(left, right, strict=True))


def divide(left: Dimension, right: Dimension) -> Dimension:
    """Return the dimension of a quotient."""
    return tuple(a - b for a, b in zip(left, right, strict=True))


_SHOWN = {
    "time": (("d", 86400.0), ("h", 3600.0), ("min", 60.0), ("s", 1.0), ("ms", 1e-3)),
    "data": (
        *(("PB", 1e15), ("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)),
        *(("TiB", 2.0**40), ("GiB", 2.0**30), ("MiB", 2.0**20), ("KiB", 2.0**10), ("B", 1.0)),
    ),
    "energy": (("MJ", 1e6), ("kJ", 1e3), ("J", 1.0)),
    "data_rate": (("GB/s", 1e9), ("MB/s", 1e6), ("kB/s", 1e3), ("B/s", 1.0)),
    "power": (("MW", 1e6), ("kW", 1e3), ("W", 1.0)),
    "rate": (("/s", 1.0),),
    "event_rate": (("/s", 1.0),),
}


def show(value: float, kind: str, currency: str = DEFAULT_CURRENCY, beside: Sequence[float] = ()) -> str:
    """Return an SI value as a person writes it, in the language's own units: ``show(900.0, "time") == "15 min"``.

    With ``beside``, the unit is the same for all of these values: the largest one in which each has at most two
    decimals.
    """
    if kind == "money":
        return f"{_digits(value)} {currency}"
    if kind == "price":
        return f"{_digits(value * 3600.0)} {currency}/h"
    if kind == "storage_price":
        return f"{_digits(value * 3600.0 * 2.0**30)} {currency}/GiB/h"
    if kind == "data_price":
        return f"{_digits(value * 2.0**30)} {currency}/GiB"
    if kind == "share":
        return f"{_digits(value * 100.0)}%"
    if kind in ("rate", "event_rate") and 0.0 < abs(value) < 1.0 / MINUTE:
        return f"{_digits(value * HOUR)}/h"
    for unit, factor in _SHOWN.get(kind, ()):
        decimals = 2 if kind == "data" or beside else 1
        neat = unit == KINDS[kind].si or all(_is_neat(each / factor, decimals) for each in (value, *beside))
        if max(map(abs, (value, *beside))) >= factor and neat:
            return f"{_digits(value / factor)} {unit}".replace(" /", "/")
    if kind in _SHOWN:
        return f"{_digits(value)} {KINDS[kind].si}".replace(" 1/s", "/s")
    unit = KINDS[kind].shown
    return f"{_digits(value)} {unit.removesuffix('s') if value == 1.0 else unit}".strip()


def _is_neat(value: float, decimals: int = 1) -> bool:
    """Return True if the value has at most that many decimals, and the shown digits are exact."""
    room, shifted = ROUNDING * abs(value), value * 10.0**decimals
    return abs(shifted - round(shifted)) <= room and abs(float(_digits(value)) - value) <= room


def _digits(value: float) -> str:
    if abs(value) < 1e15 and value == int(value):
        return str(int(value))
    return f"{value:.6g}"


DAY_SECONDS, _HOUR, _MINUTE = int(DAY), int(HOUR), int(MINUTE)
TICK = 10**9
"""Ticks of a second: in whole ticks, sums of times are exact."""
EXAMPLES = "such as `22:00`, `22:00:30` or `2026-11-23T22:00`"
_FORM = re.compile(r"(?:([0-9]{4})-([0-9]{2})-([0-9]{2})T)?([0-9]{1,2}):([0-9]{2})(?::([0-9]{2}))?", re.ASCII)


class Clock(NamedTuple):
    """A time of day [s], and the day's ordinal, or None without a date."""

    day: int | None
    seconds: int


def parse_clock(text: str) -> Clock | None:
    """Read a clock time; return None if the text is not one."""
    match = _FORM.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second = (None if part is None else int(part) for part in match.groups())
    if hour is None or minute is None or hour > 23 or minute > 59 or (second or 0) > 59:
        return None
    try:
        ordinal = None if year is None or month is None or day is None else date(year, month, day).toordinal()
    except ValueError:
        return None
    return Clock(ordinal, hour * _HOUR + minute * _MINUTE + (second or 0))


def clock_text(seconds: float, day: int | None = None) -> str:
    """Write seconds after a midnight as a clock time.

    Later days are as `+1 06:00`, earlier ones as `23:58 (-1 d)`, or all with a date if `day` is known.
    """
    whole = int(seconds // 1)
    days, rest = divmod(whole, DAY_SECONDS)
    hour, minute, second = rest // _HOUR, rest // _MINUTE % 60, rest % 60
    shown = f"{hour:02d}:{minute:02d}" + (f":{second:02d}" if second else "")
    if day is not None:
        return f"{date.fromordinal(day + days).isoformat()}T{shown}"
    return f"+{days} {shown}" if days > 0 else f"{shown} ({days} d)" if days else shown


def ticks_of(seconds: float) -> int:
    """Return a time in whole ticks, rounded down."""
    whole, part = divmod(seconds, 1.0)
    return int(whole) * TICK + floor(part * TICK + 0.01)
