"""Gantt charts: one lane per machine, slot or task, bars in time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from mrdsl.core.charts import Bar, GanttChart
from mrdsl.core.printable import printable
from mrdsl.core.tolerances import ROUNDING
from mrdsl.reporting.charts.parts import ROW, WIDTH, chart_of, chosen, coloured, time_unit, told, zoom

DENSE = 60
"""From how many rows on they are low, and bars have no label."""
_LEVEL = "\u2060"
"""A word joiner, which nothing shows: it tells the levels of one lane apart."""


def levels(bars: Sequence[Bar]) -> list[tuple[Bar, int]]:
    """Each bar with its level in its lane: the first one that is free at its start, so that none hides another.

    Lanes keep their order of appearance.
    """
    lanes: dict[str, list[Bar]] = {}
    for bar in bars:
        lanes.setdefault(bar.lane, []).append(bar)
    placed: list[tuple[Bar, int]] = []
    for own in lanes.values():
        ends: list[float] = []
        for bar in sorted(own, key=lambda bar: (bar.start, bar.end)):
            begun = bar.start + ROUNDING * max(1.0, abs(bar.start))
            level = next((i for i, end in enumerate(ends) if end <= begun), len(ends))
            ends[level : level + 1] = [bar.end]
            placed.append((bar, level))
    return placed


def draw(chart: GanttChart) -> Any:
    """Lanes in order of appearance; bars of one lane that overlap stand below each other within it."""
    unit, unit_name = time_unit(max((bar.end for bar in chart.bars), default=1.0))
    rows = [_row(bar, level, unit) for bar, level in levels(chart.bars)]
    lanes = {lane: place for place, lane in enumerate(dict.fromkeys(row["lane"] for row in rows))}
    order = sorted({(lanes[row["lane"]], row["row"]) for row in rows})
    high = ROW if len(order) <= DENSE else ROW // 2
    y = alt.Y(
        "row:N",
        title=None,
        sort=[row for _, row in order],
        axis=alt.Axis(
            ticks=False, labelExpr=f"indexof(datum.value, '{_LEVEL}') < 0 ? datum.value : ''", labelLimit=240
        ),
    )
    x = alt.X("from:Q", title=f"time [{unit_name}]", scale=alt.Scale(zero=True, nice=False))
    picked = chosen("kind")
    base = chart_of(rows).transform_filter(picked).encode(y=y, x=x)
    words = told(lane="N lane", label="N label", kind="N kind", start="Q start [s]", end="Q end [s]")
    color = coloured([row["kind"] for row in rows], "kind")
    bars = base.mark_bar(cornerRadius=2, stroke="#ffffff", strokeWidth=0.8).encode(
        x2="to:Q", color=color, tooltip=words
    )
    layers = [bars.add_params(picked, zoom("x"))]
    if len(order) <= DENSE:
        layers.append(_labels(base))
    return alt.layer(*layers).properties(width=WIDTH + 160, height=alt.Step(high))


def _row(bar: Bar, level: int, unit: float) -> dict[str, Any]:
    lane = printable(bar.lane)
    return {
        "lane": lane,
        "row": lane + _LEVEL * level,
        "label": bar.label,
        "kind": bar.kind or "other",
        "start": bar.start,
        "end": bar.end,
        "from": bar.start / unit,
        "to": bar.end / unit,
    }


def _labels(base: Any) -> Any:
    """Each bar's label in its middle, as far as there is room, anew after each zoom."""
    room = "max(0, scale('x', datum.to) - scale('x', datum.from) - 6)"
    return (
        base.mark_text(
            color="#ffffff",
            fontSize=11,
            limit=alt.expr(f"max(1, {room})"),
            opacity=alt.expr(f"{room} >= 18 ? 1 : 0"),
            tooltip=None,
        )
        .encode(x=alt.X("middle:Q"), text="label:N")
        .transform_calculate(middle="(datum.from + datum.to) / 2")
    )
