"""Gantt charts: one lane per machine, slot or task, bars in time."""

from __future__ import annotations

from collections.abc import Sequence

from mrdsl.core.result import Bar
from mrdsl.core.tolerances import ROUNDING
from mrdsl.reporting.drawing.scale import Scale, linear, time_unit
from mrdsl.reporting.drawing.svg import (
    GRID,
    SOFT,
    colours,
    document,
    element,
    label,
    line,
    number,
    shortened,
    text_width,
    tooltip,
)

_WIDTH, _RIGHT = 960.0, 20.0


def gantt(bars: Sequence[Bar], title: str = "") -> str:
    """An SVG document with the bars on their lanes, lanes in order of appearance, a colour per kind.

    Bars of one lane that overlap stand below each other within the lane, so that none hides another.
    """
    lanes = _lanes(bars)
    widest = max((text_width(lane) for lane in lanes), default=0.0)
    left = min(max(widest, 40.0), 240.0) + 24
    top = 52.0 if title else 24.0
    kinds = list(dict.fromkeys(bar.kind for bar in bars))
    colour = colours(kinds)
    if any(kinds):
        top += 22
    longest = max((bar.end for bar in bars), default=1.0)
    unit, unit_name = time_unit(longest)
    earliest = min((bar.start / unit for bar in bars), default=0.0)
    scale = linear([min(0.0, earliest), longest / unit], left, _WIDTH - _RIGHT, zero=True, count=8)
    row = 26.0 if len(lanes) <= 60 else 14.0
    heights = {lane: 6 + row * (1 + max(level for level, _ in placed)) for lane, placed in lanes.items()}
    bottom = top + sum(heights.values())
    body = [label(16, 28, title, size=15, weight="bold")] if title else []
    body += _legend(colour, left, top - 14) if any(kinds) else []
    body += _axis(scale, top, bottom, unit_name)
    y = top
    for lane, placed in lanes.items():
        body += _lane(lane, placed, scale, unit, (left, y, heights[lane], row), colour)
        y += heights[lane]
    return document(_WIDTH, bottom + 48, body, title)


def _lanes(bars: Sequence[Bar]) -> dict[str, list[tuple[int, Bar]]]:
    """Per lane its bars with the level at which each stands: the first level that is free at its start."""
    by_lane: dict[str, list[Bar]] = {}
    for bar in bars:
        by_lane.setdefault(bar.lane, []).append(bar)
    placed: dict[str, list[tuple[int, Bar]]] = {}
    for lane, own in by_lane.items():
        ends: list[float] = []
        placed[lane] = []
        for bar in sorted(own, key=lambda bar: (bar.start, bar.end)):
            tolerance = ROUNDING * max(1.0, abs(bar.start))
            level = next((i for i, end in enumerate(ends) if end <= bar.start + tolerance), len(ends))
            ends[level : level + 1] = [bar.end]
            placed[lane].append((level, bar))
    return placed


def _legend(colour: dict[str, str], left: float, y: float) -> list[str]:
    parts: list[str] = []
    x = left
    for kind, fill in colour.items():
        parts.append(element("rect", x=x, y=y - 9, width=12, height=10, rx=2, fill=fill))
        parts.append(label(x + 17, y, kind or "other", fill=SOFT))
        x += 34 + text_width(kind or "other")
    return parts


def _axis(scale: Scale, top: float, bottom: float, unit_name: str) -> list[str]:
    parts = []
    for tick in scale.ticks():
        x = scale(tick)
        parts.append(line(x, top, x, bottom))
        parts.append(label(x, bottom + 16, scale.tick_label(tick), anchor="middle", fill=SOFT))
    parts.append(line(scale.start, bottom, scale.end, bottom, stroke=SOFT))
    middle = (scale.start + scale.end) / 2
    return [*parts, label(middle, bottom + 36, f"time [{unit_name}]", anchor="middle", fill=SOFT)]


def _lane(
    name: str,
    placed: list[tuple[int, Bar]],
    scale: Scale,
    unit: float,
    place: tuple[float, float, float, float],
    colour: dict[str, str],
) -> list[str]:
    left, y, height, row = place
    parts = [
        label(left - 8, y + height / 2 + 4, shortened(name, left - 20), anchor="end"),
        line(left, y + height, scale.end, y + height, stroke=GRID),
    ]
    for level, bar in placed:
        x, end = scale(bar.start / unit), scale(bar.end / unit)
        width = max(end - x, 1.0)
        top = y + 4 + level * row
        tall = row - 2
        told = f"{bar.lane}: {bar.label} {number(bar.start)} .. {number(bar.end)} s"
        box = element(
            "rect",
            x=x,
            y=top,
            width=width,
            height=tall,
            rx=min(3.0, width / 2),
            fill=colour[bar.kind],
            stroke="#ffffff",
            stroke_width=0.8,
        )
        inside = shortened(bar.label, width - 8) if row > 20 else ""
        written = [label(x + width / 2, top + tall / 2 + 4, inside, anchor="middle", fill="#ffffff")] if inside else []
        parts.append(element("g", tooltip(told), box, *written))
    return parts
