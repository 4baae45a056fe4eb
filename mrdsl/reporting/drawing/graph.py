"""Layered drawings of directed acyclic graphs, left to right."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mrdsl.reporting.drawing.svg import (
    INK,
    PALETTE,
    SOFT,
    document,
    element,
    label,
    number,
    shortened,
    text_width,
    tooltip,
)

_GAP_X, _GAP_Y, _MARGIN = 56.0, 14.0, 24.0
_SWEEPS = 8


@dataclass(frozen=True)
class GraphNode:
    """A box: ``key`` is what edges refer to, ``lines`` the text under the bold ``name``, ``share`` (0 to 1) how far the
    box is filled, ``kind`` its colour, ``marked`` a strong border (a critical path, say)."""

    key: str
    name: str
    lines: tuple[str, ...] = ()
    kind: str = ""
    share: float | None = None
    marked: bool = False


def graph(nodes: Sequence[GraphNode], edges: Iterable[tuple[str, str]], title: str = "") -> str:
    """An SVG document with the nodes in layers by longest path from a source, and an arrow per edge.

    The order within a layer follows the neighbours' average place (barycentre sweeps), so that few edges cross.
    Raises ``ValueError`` where the edges form a cycle and ``KeyError`` where one names an unknown node.
    """
    by_key = {node.key: node for node in nodes}
    pairs = list(dict.fromkeys(edges))
    parents: dict[str, list[str]] = {key: [] for key in by_key}
    children: dict[str, list[str]] = {key: [] for key in by_key}
    for tail, head in pairs:
        parents[head].append(tail)
        children[tail].append(head)
    layers = _ordered(_layers(parents, children), parents, children)
    places = _places(layers, by_key, parents, children, 56.0 if title else _MARGIN)
    width = max((x + wide for x, _, wide, _ in places.values()), default=200.0) + _MARGIN
    height = max((y + tall for _, y, _, tall in places.values()), default=80.0) + _MARGIN
    kinds = {kind: PALETTE[i % len(PALETTE)] for i, kind in enumerate(dict.fromkeys(n.kind for n in nodes))}
    body = [_arrow_head(), *([label(16, 28, title, size=15, weight="bold")] if title else [])]
    body += [_edge(places[a], places[b], by_key[a].marked and by_key[b].marked) for a, b in pairs]
    body += [_box(node, places[node.key], kinds[node.kind]) for node in nodes]
    return document(max(width, 32 + text_width(title, 15)), height, body, title)


def _layers(parents: dict[str, list[str]], children: dict[str, list[str]]) -> list[list[str]]:
    waiting = {key: len(above) for key, above in parents.items()}
    layer = [key for key, count in waiting.items() if count == 0]
    layers: list[list[str]] = []
    while layer:
        layers.append(layer)
        following: list[str] = []
        for key in layer:
            for child in children[key]:
                waiting[child] -= 1
                if waiting[child] == 0:
                    following.append(child)
        layer = following
    if sum(map(len, layers)) < len(parents):
        raise ValueError("the edges form a cycle")
    return layers


def _ordered(layers: list[list[str]], parents: dict[str, list[str]], children: dict[str, list[str]]) -> list[list[str]]:
    """The layers, each sorted by the average relative place of its neighbours, swept to and fro."""
    place: dict[str, float] = {}

    def note(layer: list[str]) -> None:
        place.update({key: (i + 0.5) / len(layer) for i, key in enumerate(layer)})

    def average(key: str, near: list[str]) -> float:
        return sum(place[other] for other in near) / len(near) if near else place[key]

    for layer in layers:
        note(layer)
    for sweep in range(_SWEEPS if len(place) <= 20_000 else 0):
        near = parents if sweep % 2 == 0 else children
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            wanted = {key: average(key, near[key]) for key in layer}
            layer.sort(key=wanted.__getitem__)
            note(layer)
    return layers


def _places(
    layers: list[list[str]],
    by_key: dict[str, GraphNode],
    parents: dict[str, list[str]],
    children: dict[str, list[str]],
    top: float,
) -> dict[str, tuple[float, float, float, float]]:
    """x, y, width and height of every box; a box stands level with its neighbours where there is room."""
    size = {key: _size(node) for key, node in by_key.items()}
    tallest = max((sum(size[key][1] + _GAP_Y for key in layer) for layer in layers), default=0.0)
    middle: dict[str, float] = {}
    for layer in layers:
        y = (tallest - sum(size[key][1] + _GAP_Y for key in layer)) / 2
        for key in layer:
            middle[key] = y + (size[key][1] + _GAP_Y) / 2
            y += size[key][1] + _GAP_Y
    for sweep in range(4):
        near = parents if sweep % 2 == 0 else children
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            wanted = [sum(middle[o] for o in near[k]) / len(near[k]) if near[k] else middle[k] for k in layer]
            heights = [size[key][1] + _GAP_Y for key in layer]
            middle.update(zip(layer, _apart(wanted, heights, tallest), strict=True))
    places, x = {}, _MARGIN
    for layer in layers:
        wide = max(size[key][0] for key in layer)
        for key in layer:
            tall = size[key][1]
            places[key] = (x, top + middle[key] - tall / 2, wide, tall)
        x += wide + _GAP_X
    return places


def _apart(wanted: list[float], heights: list[float], room: float) -> list[float]:
    """Places near the wanted ones, in the same order, without overlap, within ``0 .. room``."""
    down, edge = [], 0.0
    for want, height in zip(wanted, heights, strict=True):
        down.append(max(want, edge + height / 2))
        edge = down[-1] + height / 2
    edge = room
    for i in reversed(range(len(down))):
        down[i] = min(down[i], edge - heights[i] / 2)
        edge = down[i] - heights[i] / 2
    return down


def _size(node: GraphNode) -> tuple[float, float]:
    text = max([text_width(node.name, 12.5), *(text_width(one, 10) for one in node.lines)])
    return min(max(text, 40.0), 200.0) + 20, 24.0 + 14 * len(node.lines)


def _box(node: GraphNode, place: tuple[float, float, float, float], colour: str) -> str:
    x, y, wide, tall = place
    parts = [
        tooltip(" · ".join((node.name, *node.lines))),
        element("rect", x=x, y=y, width=wide, height=tall, rx=5, fill="#ffffff"),
    ]
    if node.share is not None and node.share > 0:
        parts.append(
            element(
                "rect", x=x, y=y, width=wide * min(node.share, 1.0), height=tall, rx=5, fill=colour, fill_opacity="0.22"
            )
        )
    parts.append(
        element(
            "rect",
            x=x,
            y=y,
            width=wide,
            height=tall,
            rx=5,
            fill="none",
            stroke=PALETTE[3] if node.marked else colour,
            stroke_width=2.2 if node.marked else 1.2,
        )
    )
    parts.append(label(x + 10, y + 16, shortened(node.name, wide - 12, 11.5), size=11.5, weight="bold", fill=INK))
    parts += [
        label(x + 10, y + 31 + 14 * i, shortened(one, wide - 12, 10), size=10, fill=SOFT)
        for i, one in enumerate(node.lines)
    ]
    return element("g", *parts)


def _edge(tail: tuple[float, float, float, float], head: tuple[float, float, float, float], marked: bool) -> str:
    x1, y1 = tail[0] + tail[2], tail[1] + tail[3] / 2
    x2, y2 = head[0] - 5, head[1] + head[3] / 2
    bend = (x2 - x1) / 2
    path = (
        f"M{number(x1)} {number(y1)} C{number(x1 + bend)} {number(y1)} {number(x2 - bend)} {number(y2)} "
        f"{number(x2)} {number(y2)}"
    )
    return element(
        "path",
        d=path,
        fill="none",
        stroke=PALETTE[3] if marked else "#9aa4b0",
        stroke_width=1.8 if marked else 1.1,
        marker_end="url(#arrow)",
    )


def _arrow_head() -> str:
    tip = element("path", d="M0 0 L7 3.5 L0 7 z", fill="#9aa4b0")
    marker = element(
        "marker",
        tip,
        id="arrow",
        markerWidth=7,
        markerHeight=7,
        refX=5,
        refY=3.5,
        orient="auto",
        markerUnits="userSpaceOnUse",
    )
    return element("defs", marker)
