"""A report as the text of a file, by the file's ending."""

from __future__ import annotations

from pathlib import Path

from mrdsl.core.diagnostics import MrdslError, error
from mrdsl.core.output_names import STANDARD_OUTPUT
from mrdsl.reporting.chart_files import PICTURES, check_form
from mrdsl.reporting.report import Report

PAGES, TEXTS = (".html", ".htm"), (".md", ".markdown")


def check_plot(path: Path) -> None:
    """As :func:`check_ending`, for a file that may be a picture too."""
    if path.suffix.lower() in PICTURES:
        check_form(path)
    else:
        check_ending(path, f", or {' or '.join(PICTURES)} for a picture alone")


def check_ending(path: Path, others: str = "") -> None:
    """Raises MrdslError ``wrong-option`` where the ending says no form, ``missing-extra`` where its library lacks."""
    ending = path.suffix.lower()
    if ending in PAGES:
        from mrdsl.reporting.charts.rendering import require

        require()
    elif ending not in TEXTS and path != STANDARD_OUTPUT:
        message = f"`{path.name}` does not say what kind of report to write"
        raise MrdslError([error("wrong-option", message, None, f"end it in .html or .md{others}")])


def written(report: Report, path: Path) -> str:
    """The page, or Markdown; Markdown for standard output too."""
    if path.suffix.lower() in PAGES:
        from mrdsl.reporting.page import page

        return page(report)
    from mrdsl.reporting.markdown import markdown

    return markdown(report)
