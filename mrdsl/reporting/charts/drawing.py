"""Bars, lines and intervals as Vega-Lite, and what all kinds of charts share: data, scales and colors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Any

import altair as alt

from mrdsl.core.charts import BarChart, IntervalChart, LineChart, Series
from mrdsl.core.diagnostics import printable
from mrdsl.core.units import UNITS
from mrdsl.reporting.charts.colors import LIMIT, PALETTE

WIDTH, HEIGHT = 640, 300
LETTER = 6.4
"""About how wide a letter is."""
ROW = 26
"""Pixels of a row of bars that has a label."""
_HARMLESS = str.maketrans({'"': "”", "'": "’", "\\": "∖"})
_TIME_UNITS = tuple((UNITS[name].factor, name) for name in ("s", "min", "h", "d"))


def chart_of(rows: Iterable[Mapping[str, Any]]) -> Any:
    """Return a chart over rows of plain values; numbers that are not finite are left out of their row."""
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
    """Return a colour per name, in order of appearance, with a legend unless there is but one."""
    known = shown(names)
    colours = [PALETTE[i % len(PALETTE)] for i in range(len(known))]
    told = alt.Legend(title=None) if legend and len(known) > 1 else None
    return alt.Color(f"{field}:N", scale=alt.Scale(domain=known, range=colours), legend=told)


def chosen(field: str = "series") -> Any:
    """Return the names that were clicked in the legend; all of them before."""
    return alt.selection_point(name="chosen", fields=[field], bind="legend")


def zoom(*encodings: str) -> Any:
    """Wheel and drag move and scale the axes; a double click puts them back."""
    return alt.selection_interval(name="zoom", bind="scales", encodings=list(encodings))


def titled(text: str) -> str | None:
    """Return the title of an axis or of a line of a tooltip.

    Vega-Lite writes it into expressions, in which a quote or a backslash could end the text or hide a character:
    similar characters replace them.
    """
    return printable(text).translate(_HARMLESS) or None


def told(**fields: str) -> list[Any]:
    """Return the tooltip: by the field its type and its title."""
    return [alt.Tooltip(f"{field}:{kind[:1]}", title=titled(kind[2:])) for field, kind in fields.items()]


def finite(values: Iterable[float | None]) -> list[float]:
    """Return those that are numbers."""
    return [float(value) for value in values if value is not None and isfinite(value)]


def starts_at_zero(values: Sequence[float]) -> bool:
    """Return True if an axis of these values should show the origin: where it is near."""
    return not values or ((min(values) > 0) and (min(values) < 0.3 * max(values)))


def time_unit(longest: float) -> tuple[float, str]:
    """Return the seconds per unit and the name of the unit that suit an axis of that many seconds."""
    return next((unit for unit in reversed(_TIME_UNITS) if longest >= 3 * unit[0]), _TIME_UNITS[0])


CLOCK = alt.Axis(
    labelExpr="(datum.value >= 24 ? '+' + floor(datum.value / 24) + ' ' : '') + utcFormat(round(datum.value * 3600) "
    "* 1000, round(datum.value * 3600) % 60 ? '%H:%M:%S' : '%H:%M')"
)
"""Axis of hours after midnight, with clock times."""


def draw_bars(chart: BarChart) -> Any:
    """Return bars from zero, in the order that was given; a missing value leaves a hole."""
    names = list(chart.series)
    rows = [
        {"group": group, "series": name, "value": value}
        for name, values in chart.series.items()
        for group, value in zip(chart.groups, values, strict=True)
    ]
    picked = chosen()
    value = {"title": titled(chart.y_label), "stack": True if chart.stacked else None}
    group = {"title": titled(chart.x_label), "sort": shown(chart.groups)}
    beside = len(names) > 1 and not chart.stacked
    words = told(group=f"N {chart.x_label or 'name'}", series="N part", value=f"Q {chart.y_label or 'value'}")
    bars = chart_of(rows).transform_filter(picked).mark_bar().encode(color=coloured(names), tooltip=words)
    if chart.horizontal:
        drawn = bars.encode(y=alt.Y("group:N", **group), x=alt.X("value:Q", **value))
        drawn = drawn.encode(yOffset=alt.YOffset("series:N", sort=shown(names))) if beside else drawn
        size = {"width": WIDTH, "height": max(1, len(chart.groups)) * ROW * (len(names) if beside else 1)}
    else:
        flat = all(len(name) * LETTER <= WIDTH / len(chart.groups) for name in chart.groups)
        axis = alt.Axis(labelAngle=0 if flat else -40, labelLimit=160)
        drawn = bars.encode(x=alt.X("group:N", axis=axis, **group), y=alt.Y("value:Q", **value))
        drawn = drawn.encode(xOffset=alt.XOffset("series:N", sort=shown(names))) if beside else drawn
        size = {"width": WIDTH, "height": HEIGHT}
    return drawn.add_params(picked).properties(**size)


POINTS = 400
"""Most points that have a tooltip."""
STEPS = 60
"""Most points of steps that are drawn."""


def draw_lines(chart: LineChart) -> Any:
    """Bands below lines below points; a missing value breaks its line."""
    rows = [row for one in chart.series for row in _rows(one)]
    if chart.clock:
        rows = [row | {"x": row["x"] / UNITS["h"].factor} for row in rows]
    values = finite(row[key] for row in rows for key in ("y", "low", "high"))
    zero = chart.y_zero or starts_at_zero(values)
    color = coloured([one.name for one in chart.series])
    axis = {"axis": CLOCK} if chart.clock else {}
    x = alt.X("x:Q", title=titled(chart.x_label), scale=alt.Scale(zero=False, nice=False), **axis)
    y = alt.Y("y:Q", title=titled(chart.y_label), scale=alt.Scale(zero=zero))
    picked = chosen()
    base = chart_of(rows).transform_filter(picked)
    shape = {"interpolate": "step-after"} if chart.steps else {}
    line = base.mark_line(strokeWidth=2, strokeJoin="round", strokeCap="round", **shape).encode(x=x, y=y, color=color)
    layers = [line.add_params(picked, zoom("x", "y"))]
    if any(one.low is not None for one in chart.series):
        band = base.mark_area(opacity=0.16).encode(x=x, y=alt.Y("low:Q"), y2="high:Q", color=color)
        layers.insert(0, band)
    if len(rows) <= POINTS:
        words = told(series="N line", x=f"Q {chart.x_label or 'x'}", y=f"Q {chart.y_label or 'y'}")
        seen = 0 if chart.steps and len(rows) > STEPS else 1
        layers.append(base.mark_point(filled=True, size=44, opacity=seen).encode(x=x, y=y, color=color, tooltip=words))
    if chart.slider is not None and values:
        layers += _at_slider(chart, base, {"x": x, "y": y, "color": color})
    return alt.layer(*layers).properties(width=WIDTH, height=HEIGHT)


SLIDER_STEPS = 90
"""Positions of a slider."""


def _at_slider(chart: LineChart, base: Any, axes: Mapping[str, Any]) -> list[Any]:
    """Return a slider, and the values of the nearest x, inside the chart, with a vertical line through them."""
    places = finite(x for one in chart.series for x in one.x)
    low, high = min(places), max(places)
    bound = alt.binding_range(
        min=low, max=high, step=(high - low) / SLIDER_STEPS, name=f"{titled(chart.x_label) or ''} "
    )
    at = alt.param(name="at", value=chart.slider, bind=bound)
    near = (
        base.transform_filter("isValid(datum.y)")
        .transform_calculate(away="abs(datum.x - at)")
        .transform_joinaggregate(nearest="min(away)")
        .transform_filter("datum.away == datum.nearest")
    )
    line = near.mark_rule(strokeDash=[4, 4]).encode(x=axes["x"]).add_params(at)
    values = finite(y for one in chart.series for y in one.y)
    right, top = f"datum.x > {(low + high) / 2:.15g}", f"datum.y > {(min(values) + max(values)) / 2:.15g}"
    words = near.mark_text(
        align=alt.expr(f"{right} ? 'right' : 'left'"),
        dx=alt.expr(f"{right} ? -8 : 8"),
        dy=alt.expr(f"{top} ? 12 : -10"),
        fontSize=13,
    ).encode(**axes, text=alt.Text("y:Q", format=",.4~r"))
    return [line, words]


def _rows(one: Series) -> list[dict[str, Any]]:
    empty = [None] * len(one.x)
    columns = (one.x, one.y, one.low or empty, one.high or empty)
    return [
        {"series": one.name, "x": x, "y": y, "low": low, "high": high} for x, y, low, high in zip(*columns, strict=True)
    ]


_SHAPES = ("circle", "diamond", "square", "triangle-up", "cross", "triangle-down")
_BAR = "M-0.2,-1.6H0.2V1.6H-0.2Z"


def draw_intervals(chart: IntervalChart) -> Any:
    """Return a thin line from the least to the greatest value of each row, its values on it, and a bar at its limit."""
    kinds = shown(kind for row in chart.rows for kind in row.values)
    rows = [
        {"name": row.name, "kind": kind, "value": value, "order": place}
        for row in chart.rows
        for place, (kind, value) in enumerate([*row.values.items(), (chart.limit, row.limit)])
        if finite([value])
    ]
    spans = [
        {"name": row.name, "low": min(known), "high": max(known)}
        for row in chart.rows
        if (known := finite(row.values.values()))
    ]
    numbers = [0.0, *finite(value for row in chart.rows for value in (*row.values.values(), row.limit))]
    domain = [min(numbers), 1.04 * max(numbers) or 1.0]
    y = alt.Y("name:N", title=None, sort=shown(row.name for row in chart.rows))
    axis = {"title": titled(chart.label), "scale": alt.Scale(domain=domain, nice=False)}
    limited = any(finite([row.limit]) for row in chart.rows)
    names = [*kinds, *([printable(chart.limit)] if limited else [])]
    others = [colour for colour in PALETTE if colour != LIMIT]
    colours = [others[i % len(others)] for i in range(len(kinds))] + [LIMIT] * limited
    shapes = [_SHAPES[i % len(_SHAPES)] for i in range(len(kinds))] + [_BAR] * limited
    picked = chosen("kind")
    line = chart_of(spans).mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", **axis), x2="high:Q", y=y)
    legend = alt.Legend(title=None, symbolSize=90)
    marks = (
        chart_of(rows)
        .transform_filter(picked)
        .mark_point(filled=True, size=110, opacity=1)
        .encode(
            x=alt.X("value:Q", **axis),
            y=y,
            color=alt.Color("kind:N", scale=alt.Scale(domain=names, range=colours), legend=legend),
            shape=alt.Shape("kind:N", scale=alt.Scale(domain=names, range=shapes), legend=legend),
            tooltip=told(name="N name", kind="N what", value=f"Q {chart.label}"),
        )
        .add_params(picked, zoom("x"))
    )
    return alt.layer(line, marks).properties(width=WIDTH, height=max(1, len(chart.rows)) * ROW + 10)
