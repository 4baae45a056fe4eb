"""Charts as files: SVG, PNG, or a page, as the name ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from mrdsl.core.charts import Chart
from mrdsl.core.diagnostics import MrdslError, error
from mrdsl.reporting.charts.rendering import png, svg

_DRAWN: ContextVar[list[Chart] | None] = ContextVar("_DRAWN", default=None)
FORMS: dict[str, Callable[[Chart], bytes]] = {".svg": lambda chart: svg(chart).encode(), ".png": png}
"""By the ending, how a chart becomes bytes."""


def write_chart(path: Path, chart: Chart, *, force: bool = False) -> None:
    """Writes a chart as its name ends. Raises MrdslError where nothing is written so, or nothing can be."""
    from mrdsl.core.writer import Together

    form = FORMS.get(path.suffix.lower())
    if form is None:
        message = f"`{path.name}` does not say what kind of picture to write"
        raise MrdslError([error("wrong-option", message, None, f"end it in {', '.join(FORMS)}")])
    content = form(chart)
    with Together(force=force) as files, files.binary(path) as stream:
        stream.write(content)
    kept = _DRAWN.get()
    if kept is not None:
        kept.append(chart)


@contextmanager
def collected() -> Iterator[list[Chart]]:
    """The charts that are written while it lasts, by whatever is called meanwhile: a report of a study shows them."""
    charts: list[Chart] = []
    token = _DRAWN.set(charts)
    try:
        yield charts
    finally:
        _DRAWN.reset(token)
