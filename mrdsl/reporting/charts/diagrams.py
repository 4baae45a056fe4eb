"""Gantt charts and layered graphs as Vega-Lite.

A Gantt chart has one lane per machine, slot or task. A graph has boxes in layers by the longest path from a source, and
arrows from left to right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import networkx as nx

from mrdsl.core.charts import Bar, GanttChart, Graph, GraphNode
from mrdsl.core.diagnostics import printable
from mrdsl.core.rounding import ROUNDING
from mrdsl.core.units import UNITS
from mrdsl.reporting.charts.colors import LIMIT
from mrdsl.reporting.charts.drawing import (
    CLOCK,
    LETTER,
    ROW,
    WIDTH,
    chart_of,
    chosen,
    coloured,
    time_unit,
    told,
    zoom,
)

DENSE = 60
"""From how many rows on they are low, and bars have no label."""
NEAR = 0.1
"""Part of the time before the first bar up to which the axis begins at 0."""
MARGIN = 0.02
"""Part of the time of all bars before the first and after the last, if the axis does not begin at 0."""
_LEVEL = "\u2060"
"""A word joiner, which is invisible: it distinguishes the levels of one lane."""


def levels(bars: Sequence[Bar]) -> list[tuple[Bar, int]]:
    """Return each bar with its level in its lane: the first one that is free at its start, so that none hides another.

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


def draw_gantt(chart: GanttChart) -> Any:
    """Draw lanes in order of appearance; overlapping bars of one lane are below each other within it."""
    first, last = min((bar.start for bar in chart.bars), default=0.0), max((bar.end for bar in chart.bars), default=1.0)
    unit, unit_name = (UNITS["h"].factor, "h") if chart.clock else time_unit(last)
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
    scale: dict[str, Any] = {"zero": True, "nice": False}
    if first > NEAR * last:
        margin = MARGIN * (last - first)
        scale = {"domain": [(first - margin) / unit, (last + margin) / unit], "nice": False, "zero": False}
    axis: dict[str, Any] = {"title": "time", "axis": CLOCK} if chart.clock else {"title": f"time [{unit_name}]"}
    x = alt.X("from:Q", scale=alt.Scale(**scale), **axis)
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
    """Return each bar's label in its middle, as far as there is room, anew after each zoom."""
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


_LINE, _GAP = 14.0, 56.0
_SWEEPS = 8


def layers(graph: Graph) -> list[list[str]]:
    """Return the keys in layers, each ordered by the average place of its neighbors, swept back and forth
    (barycenters).

    Raises ValueError if the edges form a cycle and KeyError if one names an unknown node.
    """
    net = nx.DiGraph()
    net.add_nodes_from(node.key for node in graph.nodes)
    for tail, head in graph.edges:
        net.add_edge(_known(net, tail), _known(net, head))
    try:
        ordered = [list(layer) for layer in nx.topological_generations(net)]
    except nx.NetworkXUnfeasible:
        raise ValueError("the edges form a cycle") from None
    place = {key: (i + 0.5) / len(layer) for layer in ordered for i, key in enumerate(layer)}
    for sweep in range(_SWEEPS):
        near = net.pred if sweep % 2 == 0 else net.succ
        for layer in ordered if sweep % 2 == 0 else reversed(ordered):
            wanted = {key: sum(map(place.__getitem__, near[key])) / (len(near[key]) or 1) for key in layer}
            layer.sort(key=lambda key: wanted[key] if near[key] else place[key])
            place.update({key: (i + 0.5) / len(layer) for i, key in enumerate(layer)})
    return ordered


def _known(net: Any, key: str) -> str:
    if key not in net:
        raise KeyError(key)
    return key


def draw_graph(graph: Graph) -> Any:
    """Return the boxes with their names and numbers, filled by their share; marked ones and the arrows between them
    strong.
    """
    by_key = {node.key: node for node in graph.nodes}
    found = layers(graph)
    wide = min(max((_width(node) for node in graph.nodes), default=60.0), 220.0)
    tall = 10.0 + _LINE * (1 + max((len(node.lines) for node in graph.nodes), default=0))
    high = max((len(layer) for layer in found), default=1) * (tall + _LINE)
    boxes = {
        key: (column * (wide + _GAP), (i + 0.5) * high / len(layer) - tall / 2)
        for column, layer in enumerate(found)
        for i, key in enumerate(layer)
    }
    size = (max(1, len(found)) * (wide + _GAP) - _GAP, high)
    rows = [_box(by_key[key], place, wide, tall) for key, place in boxes.items()]
    arrows = [
        {
            "x": boxes[tail][0] + wide,
            "y": boxes[tail][1] + tall / 2,
            "x2": boxes[head][0] - 7,
            "y2": boxes[head][1] + tall / 2,
            "marked": by_key[tail].marked and by_key[head].marked,
        }
        for tail, head in dict.fromkeys(graph.edges)
    ]
    return alt.layer(*_edges(arrows, size), *_boxes(rows, size, graph)).properties(width=size[0], height=size[1])


def _axes(size: tuple[float, float], x: str = "x", y: str = "y") -> Mapping[str, Any]:
    return {
        "x": alt.X(f"{x}:Q", axis=None, scale=alt.Scale(domain=[-2, size[0] + 2], nice=False, zero=False)),
        "y": alt.Y(f"{y}:Q", axis=None, scale=alt.Scale(domain=[size[1], 0], nice=False, zero=False)),
    }


def _edges(arrows: list[dict[str, Any]], size: tuple[float, float]) -> list[Any]:
    """Plain arrows, then strong ones, then their tips; a layer without marks would have no name for its reader."""
    looks = ((False, {"strokeWidth": 1.1}), (True, {"strokeWidth": 2, "stroke": LIMIT}))
    groups = [([arrow for arrow in arrows if arrow["marked"] == flag], look) for flag, look in looks]
    lines = [
        chart_of(group).mark_rule(**look).encode(**_axes(size), x2="x2", y2="y2") for group, look in groups if group
    ]
    tips = chart_of(arrows).mark_point(shape="triangle-right", filled=True, size=60, opacity=1)
    return [*lines, *([tips.encode(**_axes(size, "x2", "y2"))] if arrows else [])]


def _boxes(rows: list[dict[str, Any]], size: tuple[float, float], graph: Graph) -> list[Any]:
    picked = chosen("kind")
    base = chart_of(rows).transform_filter(picked)
    color = coloured([node.kind or "other" for node in graph.nodes], "kind")
    words = [alt.Tooltip("name:N"), alt.Tooltip("numbers:N")]
    axes = _axes(size)
    lines = range(max((len(node.lines) for node in graph.nodes), default=0))
    paper = base.mark_rect(cornerRadius=4).encode(**axes, x2="x2", y2="y2")
    filled = base.mark_rect(cornerRadius=4, opacity=0.22).encode(**axes, x2="filled", y2="y2", color=color)
    border = base.mark_rect(cornerRadius=4, fillOpacity=0, filled=False).encode(
        **axes,
        x2="x2",
        y2="y2",
        stroke=color,
        strokeWidth=alt.condition("datum.marked", alt.value(3), alt.value(1.2)),
        tooltip=words,
    )
    name = base.mark_text(align="left", dx=8, dy=15, fontSize=11.5, fontWeight="bold").encode(**axes, text="short:N")
    more = [
        base.mark_text(align="left", dx=8, dy=15 + _LINE * (i + 1), fontSize=10).encode(**axes, text=f"line{i}:N")
        for i in lines
    ]
    return [paper, filled, border.add_params(picked, zoom("x", "y")), name, *more]


def _box(node: GraphNode, place: tuple[float, float], wide: float, tall: float) -> dict[str, Any]:
    x, y = place
    room = int((wide - 12) / LETTER)
    return {
        "name": node.name,
        "short": _shortened(printable(node.name), room),
        "numbers": ", ".join(node.lines),
        **{f"line{i}": _shortened(printable(line), room) for i, line in enumerate(node.lines)},
        "kind": node.kind or "other",
        "marked": node.marked,
        "x": x,
        "y": y,
        "x2": x + wide,
        "y2": y + tall,
        "filled": x + wide * min(max(node.share or 0.0, 0.0), 1.0),
    }


def _width(node: GraphNode) -> float:
    return 20 + LETTER * max(len(text) for text in (node.name, *node.lines))


def _shortened(text: str, room: int) -> str:
    """Return the text, cut with an ellipsis if it does not fit."""
    return text if len(text) <= room else f"{text[: max(1, room - 1)]}…"
