"""Charts over axes: lines with bands, and grouped bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

from mrdsl.reporting.drawing.scale import Scale, linear
from mrdsl.reporting.drawing.svg import (
    PALETTE,
    SOFT,
    document,
    element,
    label,
    line,
    number,
    shortened,
    text_width,
    tooltip,
)

_WIDTH, _HEIGHT = 760.0, 440.0


@dataclass(frozen=True)
class Series:
    """One line: ``y`` over ``x``, and where given a band from ``low`` to ``high``, all of one length.

    A value that is not finite leaves a hole.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None


@dataclass(frozen=True)
class _Frame:
    """The plot's area in pixels."""

    left: float
    top: float
    right: float
    bottom: float


def line_chart(series: Sequence[Series], title: str, x_label: str, y_label: str, *, y_zero: bool = False) -> str:
    """An SVG document with one line per series; ``y_zero`` lets the value axis start at 0."""
    names = [one.name for one in series if one.name]
    values = [float(v) for one in series for column in (one.y, one.low, one.high) if column is not None for v in column]
    frame, y = _frame(values, y_zero, _legend_rows(names))
    x = linear([float(v) for one in series for v in one.x], frame.left, frame.right, tight=True, count=8)
    body = _around(frame, title, y, y_label, names)
    body += _x_axis(frame, x, x_label)
    coloured = [(one, PALETTE[i % len(PALETTE)]) for i, one in enumerate(series)]
    for one, colour in coloured:
        if one.low is not None and one.high is not None:
            body += _band(one, x, y, colour)
    for one, colour in coloured:
        body += _line(one, x, y, colour)
    return document(_WIDTH, _HEIGHT, body, title)


def bar_chart(
    groups: Sequence[str], series: Mapping[str, Sequence[float]], title: str, x_label: str = "", y_label: str = ""
) -> str:
    """An SVG document with a cluster of bars per group, one bar per series; heights from 0, NaN leaves a hole."""
    names = list(series)
    shown = names if len(names) > 1 else []
    values = [float(value) for column in series.values() for value in column]
    frame, y = _frame(values, True, _legend_rows(shown))
    body = _around(frame, title, y, y_label, shown)
    slot = (frame.right - frame.left) / max(len(groups), 1)
    width = min(slot * 0.8 / max(len(names), 1), 64.0)
    for g, group in enumerate(groups):
        middle = frame.left + slot * (g + 0.5)
        first = middle - width * len(names) / 2
        for s, name in enumerate(names):
            body += _bar(
                first + s * width,
                width,
                float(series[name][g]),
                y,
                PALETTE[s % len(PALETTE)],
                f"{group} {name}".strip(),
            )
        if slot >= 24 or g % round(0.5 + 24 / slot) == 0:
            body.append(
                label(middle, frame.bottom + 16, shortened(group, max(slot, 40.0) - 2), anchor="middle", fill=SOFT)
            )
    body.append(line(frame.left, y(0.0), frame.right, y(0.0), stroke=SOFT))
    body.append(label((frame.left + frame.right) / 2, frame.bottom + 38, x_label, anchor="middle", fill=SOFT))
    return document(_WIDTH, _HEIGHT, body, title)


def _frame(values: Sequence[float], zero: bool, legend_rows: int) -> tuple[_Frame, Scale]:
    """The plot's area, with room for the title, the legend and the widest number of the value axis."""
    top = 48.0 + 20 * legend_rows
    bottom = _HEIGHT - 56
    y = linear(values, bottom, top, zero=zero)
    left = 44 + max((text_width(y.tick_label(tick)) for tick in y.ticks()), default=0.0)
    return _Frame(left, top, _WIDTH - 24, bottom), y


def _legend_rows(names: Sequence[str]) -> int:
    return max((row for row, _, _ in _legend_places(names)), default=-1) + 1


def _legend_places(names: Sequence[str]) -> list[tuple[int, float, str]]:
    """Row, offset and name of each entry."""
    places, row, x = [], 0, 0.0
    for name in names:
        width = 40 + text_width(name)
        if x > 0 and x + width > _WIDTH - 100:
            row, x = row + 1, 0.0
        places.append((row, x, name))
        x += width
    return places


def _around(frame: _Frame, title: str, y: Scale, y_label: str, names: Sequence[str]) -> list[str]:
    """Title, legend, value axis and its grid."""
    parts = [label(16, 28, title, size=15, weight="bold")] if title else []
    for i, (row, offset, name) in enumerate(_legend_places(names)):
        x, at = frame.left + offset, 52 + 20 * row
        parts.append(element("rect", x=x, y=at - 8, width=16, height=8, rx=2, fill=PALETTE[i % len(PALETTE)]))
        parts.append(label(x + 22, at, name, fill=SOFT))
    for tick in y.ticks():
        parts.append(line(frame.left, y(tick), frame.right, y(tick)))
        parts.append(label(frame.left - 8, y(tick) + 4, y.tick_label(tick), anchor="end", fill=SOFT))
    parts.append(label(20, (frame.top + frame.bottom) / 2, y_label, anchor="middle", fill=SOFT, turned=True))
    return parts


def _x_axis(frame: _Frame, x: Scale, x_label: str) -> list[str]:
    parts = [line(frame.left, frame.bottom, frame.right, frame.bottom, stroke=SOFT)]
    for tick in x.ticks():
        parts.append(line(x(tick), frame.bottom, x(tick), frame.bottom + 4, stroke=SOFT))
        parts.append(label(x(tick), frame.bottom + 18, x.tick_label(tick), anchor="middle", fill=SOFT))
    parts.append(label((frame.left + frame.right) / 2, frame.bottom + 40, x_label, anchor="middle", fill=SOFT))
    return parts


def _pieces(points: Sequence[tuple[float, ...]]) -> list[list[tuple[float, ...]]]:
    """The stretches of points whose numbers are all finite."""
    pieces: list[list[tuple[float, ...]]] = [[]]
    for point in points:
        if all(isfinite(value) for value in point):
            pieces[-1].append(point)
        elif pieces[-1]:
            pieces.append([])
    return [piece for piece in pieces if piece]


def _path(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{number(a)},{number(b)}" for a, b in points)


def _line(one: Series, x: Scale, y: Scale, colour: str) -> list[str]:
    parts = []
    for piece in _pieces([(float(a), float(b)) for a, b in zip(one.x, one.y, strict=True)]):
        points = [(x(a), y(b)) for a, b in piece]
        parts.append(
            element(
                "polyline",
                tooltip(one.name),
                points=_path(points),
                fill="none",
                stroke=colour,
                stroke_width=2,
                stroke_linejoin="round",
                stroke_linecap="round",
            )
        )
        if len(piece) <= 60:
            parts += [
                element(
                    "circle",
                    tooltip(f"{one.name}: {a:g}, {b:g}"),
                    cx=px,
                    cy=py,
                    r=3,
                    fill=colour,
                    stroke="#ffffff",
                    stroke_width=1,
                )
                for (a, b), (px, py) in zip(piece, points, strict=True)
            ]
    return parts


def _band(one: Series, x: Scale, y: Scale, colour: str) -> list[str]:
    parts = []
    rows = zip(one.x, one.low or (), one.high or (), strict=True)
    for piece in _pieces([(float(a), float(low), float(high)) for a, low, high in rows]):
        outline = [(x(a), y(high)) for a, _, high in piece] + [(x(a), y(low)) for a, low, _ in reversed(piece)]
        parts.append(element("polygon", points=_path(outline), fill=colour, fill_opacity="0.16", stroke="none"))
    return parts


def _bar(x: float, width: float, value: float, y: Scale, colour: str, told: str) -> list[str]:
    if not isfinite(value):
        return []
    top, bottom = sorted((y(value), y(0.0)))
    return [
        element(
            "rect",
            tooltip(f"{told}: {value:g}"),
            x=x + 1,
            y=top,
            width=max(width - 2, 0.5),
            height=bottom - top,
            fill=colour,
            rx=1.5,
        )
    ]
