"""From a chart to a Vega-Lite specification, to SVG and to PNG.

The same chart gives the same bytes: every name in a specification is given here, none is made up by Altair.
"""

from __future__ import annotations

import json
import re
from functools import cache
from types import ModuleType
from typing import Any

from mrdsl.core.charts import BarChart, Chart, GanttChart, Graph, IntervalChart, LineChart
from mrdsl.core.diagnostics import one_error
from mrdsl.reporting.charts.colors import GROUNDS, configuration


def require() -> None:
    """Raise MrdslError ``missing-extra`` (exit code 3) if a library of the extra `report` is missing."""
    try:
        import altair  # noqa: F401
        import jinja2  # noqa: F401
        import vl_convert  # noqa: F401
    except ImportError as missing:
        message = f"charts and reports need {missing.name}, which the extra `report` brings"
        hint = "pip install altair vl-convert-python jinja2"
        raise one_error("missing-extra", message, None, hint, exit_code=3) from None


def specification(chart: Chart, titled: bool = True) -> dict[str, Any]:
    """Return the chart as Vega-Lite, plain JSON values without a theme; without a title unless ``titled``."""
    require()
    from mrdsl.reporting.charts import diagrams, drawing

    drawn: Any
    match chart:
        case LineChart():
            drawn = drawing.draw_lines(chart)
        case BarChart():
            drawn = drawing.draw_bars(chart)
        case IntervalChart():
            drawn = drawing.draw_intervals(chart)
        case GanttChart():
            drawn = diagrams.draw_gantt(chart)
        case Graph():
            drawn = diagrams.draw_graph(chart)
    made: dict[str, Any] = _named(drawn.to_dict(), {})
    made.pop("config", None)
    if titled and chart.title:
        made["title"] = {"text": _line(chart.title)}
    return made


def altair_chart(chart: Chart) -> Any:
    """Return the chart as an Altair chart, for notebooks."""
    made = specification(chart)
    import altair

    return altair.Chart.from_dict(made)


def svg(chart: Chart) -> str:
    """Return the chart as an SVG document on white paper."""
    text: str = _converter().vegalite_to_svg(_standing(chart), vl_version=vega_lite(), allowed_base_urls=[])
    return _numbered(text) + "\n"


def png(chart: Chart) -> bytes:
    """Return the chart as a PNG image on white paper, two pixels a point."""
    image: bytes = _converter().vegalite_to_png(_standing(chart), vl_version=vega_lite(), scale=2, allowed_base_urls=[])
    return image


@cache
def bundle() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script that needs no network."""
    require()
    text: str = _converter().javascript_bundle(vl_version=vega_lite())
    return text


@cache
def vega_lite() -> str:
    """Return the version of Vega-Lite that Altair writes for, as vl-convert names it: ``6.4``."""
    import altair

    return ".".join(altair.SCHEMA_VERSION.removeprefix("v").split(".")[:2])


def _standing(chart: Chart) -> str:
    made = specification(chart)
    made["config"] = configuration(GROUNDS["light"])
    return json.dumps(made, ensure_ascii=False)


_MADE_UP = re.compile(r"(view|param)_[0-9a-f]+(_[0-9]+)?")
_CLIP = re.compile(r'(clip-path="url\(#|<clipPath id=")clip([0-9]+)')


def _named(value: Any, names: dict[str, str]) -> Any:
    """Return the names that Altair makes up, numbered in order of appearance."""
    if isinstance(value, dict):
        return {key: value[key] if key == "data" else _named(value[key], names) for key in value}
    if isinstance(value, list):
        return [_named(item, names) for item in value]
    if isinstance(value, str) and _MADE_UP.fullmatch(value):
        return names.setdefault(value, f"{value.partition('_')[0]}_{len(names) + 1}")
    return value


def _numbered(markup: str) -> str:
    """Return the ids of clip paths, which Vega counts on from one drawing to the next, numbered within this one."""
    names: dict[str, str] = {}
    return _CLIP.sub(lambda match: match[1] + names.setdefault(match[2], f"clip{len(names) + 1}"), markup)


def _converter() -> ModuleType:
    import vl_convert

    return vl_convert


def _line(text: str) -> str:
    from mrdsl.core.diagnostics import printable

    return printable(text)
