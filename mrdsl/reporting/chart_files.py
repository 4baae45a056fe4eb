"""Charts as files: SVG, PNG, or a page, as the name ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from mrdsl.core.charts import Chart
from mrdsl.core.diagnostics import MrdslError, error
from mrdsl.core.output_names import STANDARD_OUTPUT
from mrdsl.reporting.charts.rendering import png, require, svg

_DRAWN: ContextVar[list[Chart] | None] = ContextVar("_DRAWN", default=None)


def _page(chart: Chart) -> bytes:
    from mrdsl.reporting.page import page
    from mrdsl.reporting.report import Report, Section

    return page(Report(chart.title, "", "", (Section("Chart", (chart,)),))).encode()


FORMS: dict[str, Callable[[Chart], bytes]] = {".svg": lambda chart: svg(chart).encode(), ".png": png, ".html": _page}
"""By the ending, how a chart becomes bytes."""
PICTURES = (".svg", ".png")
"""The endings of a chart that stands alone."""


def check_form(path: Path) -> None:
    """Raises MrdslError ``wrong-option`` where no chart is written as the name ends, ``missing-extra`` where none can
    be."""
    _form(path)
    require()


def chart_bytes(path: Path, chart: Chart) -> bytes:
    """The chart as the name of its file ends; SVG for standard output. Raises MrdslError as :func:`check_form`."""
    return _form(path)(chart)


def write_chart(path: Path, chart: Chart, *, force: bool = False) -> None:
    """Writes a chart as its name ends. Raises MrdslError where nothing is written so, or nothing can be."""
    from mrdsl.core.writer import Together

    content = chart_bytes(path, chart)
    with Together(force=force) as files, files.binary(path) as stream:
        stream.write(content)
    kept = _DRAWN.get()
    if kept is not None:
        kept.append(chart)


def _form(path: Path) -> Callable[[Chart], bytes]:
    form = FORMS[".svg"] if path == STANDARD_OUTPUT else FORMS.get(path.suffix.lower())
    if form is None:
        message = f"`{path.name}` does not say what kind of picture to write"
        raise MrdslError([error("wrong-option", message, None, f"end it in {', '.join(FORMS)}")])
    return form


@contextmanager
def collected() -> Iterator[list[Chart]]:
    """The charts that are written while it lasts, by whatever is called meanwhile: a report of a study shows them."""
    charts: list[Chart] = []
    token = _DRAWN.set(charts)
    try:
        yield charts
    finally:
        _DRAWN.reset(token)
