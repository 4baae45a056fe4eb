"""Several values of each thing on one axis, beside the limit that they should keep."""

from __future__ import annotations

from typing import Any

import altair as alt

from mrdsl.core.charts import IntervalChart
from mrdsl.core.printable import printable
from mrdsl.reporting.charts.parts import ROW, WIDTH, chart_of, chosen, finite, shown, titled, told, zoom
from mrdsl.reporting.charts.theme import LIMIT, PALETTE

_SHAPES = ("circle", "diamond", "square", "triangle-up", "cross", "triangle-down")
_BAR = "M-0.2,-1.6H0.2V1.6H-0.2Z"


def draw(chart: IntervalChart) -> Any:
    """A thin line from the least to the greatest value of each row, its values on it, and a bar at its limit."""
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
