"""Bars, grouped or stacked."""

from __future__ import annotations

from typing import Any

import altair as alt

from mrdsl.core.charts import BarChart
from mrdsl.reporting.charts.parts import HEIGHT, LETTER, ROW, WIDTH, chart_of, chosen, coloured, shown, titled, told


def draw(chart: BarChart) -> Any:
    """Bars from zero, in the order that was given; a missing value leaves a hole."""
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
