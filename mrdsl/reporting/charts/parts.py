"""What several kinds of charts are made of: data, colours, the legend that filters, zoom, tooltips."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Any

import altair as alt

from mrdsl.core.printable import printable
from mrdsl.core.tolerances import ROUNDING
from mrdsl.core.units import UNITS
from mrdsl.reporting.charts.theme import PALETTE

WIDTH, HEIGHT = 640, 300
LETTER = 6.4
"""About how wide a letter is."""
ROW = 26
"""Pixels of a row of bars that has a label."""
_HARMLESS = str.maketrans({'"': "”", "'": "’", "\\": "∖"})
_TIME_UNITS = tuple((UNITS[name].factor, name) for name in ("s", "min", "h", "d"))


def chart_of(rows: Iterable[Mapping[str, Any]]) -> Any:
    """A chart over rows of plain values; what is no finite number is left out of its row."""
    return alt.Chart(alt.Data(values=[{key: _plain(value) for key, value in row.items()} for row in rows]))


def _plain(value: Any) -> Any:
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, str):
        return printable(value)
    number = float(value)
    if not isfinite(number):
        return None
    return int(number) if number == int(number) and abs(number) < 2**53 else number


def shown(names: Iterable[str]) -> list[str]:
    """Names as charts have them, each once, in order."""
    return list(dict.fromkeys(printable(name) for name in names))


def coloured(names: Iterable[str], field: str = "series", *, legend: bool = True) -> Any:
    """A colour per name, in order of appearance, with a legend unless there is but one."""
    known = shown(names)
    colours = [PALETTE[i % len(PALETTE)] for i in range(len(known))]
    told = alt.Legend(title=None) if legend and len(known) > 1 else None
    return alt.Color(f"{field}:N", scale=alt.Scale(domain=known, range=colours), legend=told)


def chosen(field: str = "series") -> Any:
    """The names that were clicked in the legend; all of them before."""
    return alt.selection_point(name="chosen", fields=[field], bind="legend")


def zoom(*encodings: str) -> Any:
    """Wheel and drag move and scale the axes; a double click puts them back."""
    return alt.selection_interval(name="zoom", bind="scales", encodings=list(encodings))


def titled(text: str) -> str | None:
    """The title of an axis or of a tooltip's line.

    Vega-Lite writes it into expressions, where a quote or a backslash could end the text or stand for a sign that must
    not be shown: signs that look like them stand in their place.
    """
    return printable(text).translate(_HARMLESS) or None


def told(**fields: str) -> list[Any]:
    """The tooltip: by the field its type and its title."""
    return [alt.Tooltip(f"{field}:{kind[:1]}", title=titled(kind[2:])) for field, kind in fields.items()]


def finite(values: Iterable[float | None]) -> list[float]:
    """Those that are numbers."""
    return [float(value) for value in values if value is not None and isfinite(value)]


def starts_at_zero(values: Sequence[float]) -> bool:
    """Whether an axis of these values should show the origin: where it is near."""
    return not values or ((min(values) > 0) and (min(values) < 0.3 * max(values)))


def time_unit(longest: float) -> tuple[float, str]:
    """Seconds per unit and the unit's name that suit an axis of so many seconds."""
    return next((unit for unit in reversed(_TIME_UNITS) if longest >= 3 * unit[0]), _TIME_UNITS[0])


def touching(one: float, other: float) -> bool:
    """Whether two moments are the same but for rounding."""
    return abs(one - other) <= ROUNDING * max(1.0, abs(one))
