"""Colors and fonts of charts and pages, without the libraries that draw."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

FONT = "Liberation Sans, Helvetica, Arial, sans-serif"
"""vl-convert brings the first with it, so that drawings do not depend on the machine's fonts; all are equally wide."""
PALETTE = ("#2f6db5", "#a85a00", "#2a7f4f", "#b5405a", "#7a5cab", "#7d6242", "#1f7a87", "#a8478a", "#6e6e1f", "#5b6775")
LIMIT = PALETTE[3]
"""The colour of limits and of what is critical."""


@dataclass(frozen=True)
class Ground:
    """The colors of a page: the paper, text, secondary text, lines of grids and tables, links, marked lines."""

    paper: str
    ink: str
    soft: str
    grid: str
    link: str
    mark: str


GROUNDS: Mapping[str, Ground] = MappingProxyType(
    {
        "light": Ground("#ffffff", "#24292f", "#57606a", "#d8dee4", "#0a58b5", "#fff3c4"),
        "dark": Ground("#15191e", "#e6edf3", "#a3adb8", "#3a424c", "#7ab7ff", "#54451a"),
    }
)


def configuration(ground: Ground) -> dict[str, Any]:
    """Return the look of a chart as Vega-Lite's ``config``."""
    words = {"labelColor": ground.soft, "titleColor": ground.soft, "labelFontSize": 11, "titleFontSize": 11}
    return {
        "background": ground.paper,
        "font": FONT,
        "axis": {**words, "titleFontWeight": "normal", "gridColor": ground.grid, "domainColor": ground.soft},
        "legend": {
            **words,
            "titleFontWeight": "normal",
            "orient": "top",
            "symbolOpacity": 1,
            "labelLimit": 240,
            "columns": 5,
        },
        "title": {"color": ground.ink, "fontSize": 15, "anchor": "start", "offset": 12},
        "view": {"stroke": None},
        "text": {"color": ground.ink},
        "rule": {"color": ground.soft},
        "point": {"color": ground.soft},
        "rect": {"color": ground.paper},
        "range": {"category": list(PALETTE)},
    }
