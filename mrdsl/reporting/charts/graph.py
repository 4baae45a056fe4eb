"""Layered graphs: boxes in layers by longest path from a source, arrows from left to right."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
import networkx as nx

from mrdsl.core.charts import Graph, GraphNode
from mrdsl.core.printable import printable
from mrdsl.reporting.charts.parts import LETTER, chart_of, chosen, coloured, zoom
from mrdsl.reporting.charts.theme import LIMIT

_LINE, _GAP = 14.0, 56.0
_SWEEPS = 8


def layers(graph: Graph) -> list[list[str]]:
    """The keys in layers, each ordered by the average place of its neighbours, swept to and fro (barycentres).

    Raises ValueError where the edges form a cycle and KeyError where one names an unknown node.
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


def draw(graph: Graph) -> Any:
    """The boxes with their names and numbers, filled by their share; marked ones and the arrows between them strong."""
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
    """The text, cut with an ellipsis where it would not fit."""
    return text if len(text) <= room else f"{text[: max(1, room - 1)]}…"
