"""Clock times as a spec writes them: `22:00`, `22:00:30`, `2026-11-23T22:00`."""

from __future__ import annotations

import re
from datetime import date
from math import floor
from typing import NamedTuple

from mrdsl.core.units import DAY, HOUR, MINUTE

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
