"""Reports and charts as files: pages, Markdown with the numbers of charts, SVG or PNG, by the file's extension."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from mrdsl.core.charts import Chart
from mrdsl.core.diagnostics import number_of, one_error, printable
from mrdsl.core.output_names import STANDARD_OUTPUT
from mrdsl.core.result import Table
from mrdsl.core.tables import cell_text
from mrdsl.reporting.charts.rendering import png, require, svg
from mrdsl.reporting.report import Listing, Part, Report

_DRAWN: ContextVar[list[Chart] | None] = ContextVar("_DRAWN", default=None)


def _page(chart: Chart) -> bytes:
    from mrdsl.reporting.html_page import page
    from mrdsl.reporting.report import Report, Section

    return page(Report(chart.title, "", "", (Section("Chart", (chart,)),))).encode()


FORMS: dict[str, Callable[[Chart], bytes]] = {".svg": lambda chart: svg(chart).encode(), ".png": png, ".html": _page}
"""By the ending, how a chart becomes bytes."""
PICTURES = (".svg", ".png")
"""File extensions of a single chart."""


def check_form(path: Path) -> None:
    """Raise MrdslError ``wrong-option`` for an unknown extension of a chart, ``missing-extra`` if a library is
    missing.
    """
    _form(path)
    require()


def chart_bytes(path: Path, chart: Chart) -> bytes:
    """Return the chart as the name of its file ends; SVG for standard output. Raises MrdslError as
    :func:`check_form`.
    """
    return _form(path)(chart)


def write_chart(path: Path, chart: Chart, *, force: bool = False) -> None:
    """Write a chart in the format of the extension. Raises MrdslError for an unknown one, or a missing library."""
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
        message = f"`{path.name}` has no extension of a picture"
        raise one_error("wrong-option", message, None, f"end it in {', '.join(FORMS)}")
    return form


@contextmanager
def collected() -> Iterator[list[Chart]]:
    """Yield the charts that are written while it lasts, by whatever is called meanwhile: a report of a study shows
    them.
    """
    charts: list[Chart] = []
    token = _DRAWN.set(charts)
    try:
        yield charts
    finally:
        _DRAWN.reset(token)


PAGES, TEXTS = (".html", ".htm"), (".md", ".markdown")


def check_plot(path: Path) -> None:
    """As :func:`check_ending`, for a file that may be a picture too."""
    if path.suffix.lower() in PICTURES:
        check_form(path)
    else:
        check_ending(path, f", or {' or '.join(PICTURES)} for a picture alone")


def check_ending(path: Path, others: str = "") -> None:
    """Raise MrdslError ``wrong-option`` for an unknown extension, ``missing-extra`` if its library is missing."""
    ending = path.suffix.lower()
    if ending in PAGES:
        from mrdsl.reporting.charts.rendering import require

        require()
    elif ending not in TEXTS and path != STANDARD_OUTPUT:
        message = f"`{path.name}` has no extension of a report"
        raise one_error("wrong-option", message, None, f"end it in .html or .md{others}")


def written(report: Report, path: Path) -> str:
    """Return the page, or Markdown; Markdown for standard output too."""
    if path.suffix.lower() in PAGES:
        from mrdsl.reporting.html_page import page

        return page(report)

    return markdown(report)


_SPECIAL = re.compile(r"([\\`*_\[\]|#~>!])")
LONGEST = 60
"""Most rows of a table."""


def markdown(report: Report) -> str:
    """Return the report; no name in it becomes markup."""
    parts = [
        f"# {plain(report.title)}",
        f"**{plain(report.decision)}**",
        plain(report.proof),
    ]
    for section in report.sections:
        parts.append(f"## {plain(section.title)}")
        parts += [_part(part) for part in section.parts]
    return "\n\n".join(part for part in parts if part) + "\n"


def plain(text: str) -> str:
    """Text that Markdown shows as it is: its signs escaped, HTML's as entities, on one line."""
    entities = printable(text).replace("&", "&amp;").replace("<", "&lt;")
    return _SPECIAL.sub(r"\\\1", entities)


def _part(part: Part) -> str:
    if isinstance(part, str):
        return plain(part)
    if isinstance(part, Table):
        return table_markdown(part, part.title)
    if isinstance(part, Listing):
        return _listing(part)
    return table_markdown(part.table(), part.title)


def table_markdown(table: Table, title: str = "") -> str:
    """Return a table as Markdown."""
    heads = [plain(head) or " " for head in table.columns]
    shown = table.shown
    rows = [heads, ["---"] * len(heads), *([plain(cell_text(c)) for c in row] for row in shown[:LONGEST])]
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    more = len(shown) - LONGEST
    left = [f"... and {number_of(more, 'more row', ',')}"] if more > 0 else []
    return "\n\n".join(filter(None, [f"**{plain(title)}**" if title else "", "\n".join(lines), *left]))


def _listing(listing: Listing) -> str:
    """Return the lines with their numbers, a ``>`` at lines with remarks, and the remarks below."""
    fence = "`" * (3 + max(map(len, re.findall(r"`{3,}", listing.text)), default=0))
    lines = [
        f"{'>' if number in listing.marks else ' '}{number:4d} | {printable(line)}"
        for number, line in enumerate(listing.text.splitlines(), 1)
    ]
    said = [f"- line {number}: {plain(one)}" for number, all_ in sorted(listing.marks.items()) for one in all_]
    code = "\n".join([fence, *lines, fence])
    return "\n\n".join(filter(None, [f"**{plain(listing.name)}**" if listing.name else "", code, "\n".join(said)]))
