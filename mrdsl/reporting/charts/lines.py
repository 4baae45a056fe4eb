"""Lines with bands over two axes."""

from __future__ import annotations

from typing import Any

import altair as alt

from mrdsl.core.charts import LineChart, Series
from mrdsl.reporting.charts.parts import (
    HEIGHT,
    WIDTH,
    chart_of,
    chosen,
    coloured,
    finite,
    starts_at_zero,
    titled,
    told,
    zoom,
)

POINTS = 400
"""Up to how many points are marked, each with its tooltip."""


def draw(chart: LineChart) -> Any:
    """Bands below lines below points; a missing value breaks its line."""
    rows = [row for one in chart.series for row in _rows(one)]
    values = finite(row[key] for row in rows for key in ("y", "low", "high"))
    zero = chart.y_zero or starts_at_zero(values)
    color = coloured([one.name for one in chart.series])
    x = alt.X("x:Q", title=titled(chart.x_label), scale=alt.Scale(zero=False, nice=False))
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
        layers.append(base.mark_point(filled=True, size=44, opacity=1).encode(x=x, y=y, color=color, tooltip=words))
    return alt.layer(*layers).properties(width=WIDTH, height=HEIGHT)


def _rows(one: Series) -> list[dict[str, Any]]:
    empty = [None] * len(one.x)
    columns = (one.x, one.y, one.low or empty, one.high or empty)
    return [
        {"series": one.name, "x": x, "y": y, "low": low, "high": high} for x, y, low, high in zip(*columns, strict=True)
    ]
