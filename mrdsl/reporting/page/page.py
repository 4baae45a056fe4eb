"""From a report to the text of the page.

Nothing of it is fetched: charts are drawn by a script in the page, and stand there as pictures for readers without
scripts and for paper. A policy in the page (CSP) lets its own two scripts run, by their fingerprints, and nothing else
load; all text goes through Jinja's escaping, and the charts' JSON holds no ``<``.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable
from typing import Any

from mrdsl.core.charts import Chart
from mrdsl.core.printable import printable
from mrdsl.core.result import Table
from mrdsl.core.version import __version__
from mrdsl.reporting.charts.rendering import bundle, require, specification, svg
from mrdsl.reporting.charts.theme import GROUNDS, configuration
from mrdsl.reporting.page.script import SCRIPT
from mrdsl.reporting.page.style import STYLE
from mrdsl.reporting.page.template import TEMPLATE
from mrdsl.reporting.report import Listing, Part, Report
from mrdsl.reporting.text import cell_text, is_numeric

LONGEST = 1000
"""How many rows a table of the page has at most."""


def page(report: Report) -> str:
    """The page. Raises MrdslError ``missing-extra`` where the libraries of the extra `report` lack."""
    require()
    from jinja2 import Environment
    from markupsafe import Markup

    charts: dict[str, Chart] = {}
    sections = [
        {"title": printable(s.title), "key": _key(number, s.title), "parts": [_part(part, charts) for part in s.parts]}
        for number, s in enumerate(report.sections, 1)
    ]
    script = bundle() if charts else ""
    frame = Environment(autoescape=True).from_string(TEMPLATE)
    text: str = frame.render(
        title=printable(report.title),
        decision=printable(report.decision),
        proof=printable(report.proof),
        sections=sections,
        version=__version__,
        policy=_policy((script, SCRIPT)),
        style=Markup(STYLE),
        charts=Markup(_drawings(charts)) if charts else "",
        bundle=Markup(script),
        script=Markup(SCRIPT),
    )
    return text


def _policy(scripts: Iterable[str]) -> str:
    """What the page may do: run these scripts and use its own styles and pictures."""
    prints = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'" for script in scripts
    )
    own = "style-src 'unsafe-inline'; img-src data: blob:"
    return f"default-src 'none'; script-src {prints}; {own}; base-uri 'none'; form-action 'none'"


def _drawings(charts: dict[str, Chart]) -> str:
    """What the script draws, as JSON that no HTML parser sees markup in."""
    document = {
        "looks": {name: configuration(ground) for name, ground in GROUNDS.items()},
        "drawings": {key: specification(chart, titled=False) for key, chart in charts.items()},
    }
    text = json.dumps(document, ensure_ascii=True)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _part(part: Part, charts: dict[str, Chart]) -> dict[str, Any]:
    if isinstance(part, str):
        return {"form": "text", "text": printable(part)}
    if isinstance(part, Table):
        return {"form": "table", **_table(part)}
    if isinstance(part, Listing):
        return {"form": "listing", "name": printable(part.name), "lines": _lines(part)}
    key = f"chart-{len(charts) + 1}"
    charts[key] = part
    image = base64.b64encode(svg(part).encode()).decode()
    title = printable(part.title)
    numbers = _table(part.table())
    return {
        "form": "chart",
        "key": key,
        "title": title,
        "image": f"data:image/svg+xml;base64,{image}",
        "numbers": {**numbers, "label": f"Numbers of {title}"},
    }


def _table(table: Table) -> dict[str, Any]:
    numeric = [is_numeric(table, i) for i in range(len(table.columns))]
    kinds = [_NUMBER if is_ else "" for is_ in numeric]
    heads = [{"text": printable(head), "kind": kind} for head, kind in zip(table.columns, kinds, strict=True)]
    rows = [
        [{"text": cell_text(cell), "kind": kind} for cell, kind in zip(row, kinds, strict=True)]
        for row in table.rows[:LONGEST]
    ]
    title = printable(table.title)
    more = len(table.rows) - LONGEST
    left = f"{more:,}" if more > 0 else ""
    return {"title": title, "label": title or "Table", "heads": heads, "rows": rows, "left": left}


class _Raw(str):
    """Markup of this module's own."""

    __slots__ = ()

    def __html__(self) -> str:
        return self


_NUMBER = _Raw(' class="number"')


def _lines(listing: Listing) -> list[dict[str, Any]]:
    return [
        {"text": f"{number:4d}  {printable(line)}", "said": [printable(one) for one in listing.marks.get(number, ())]}
        for number, line in enumerate(listing.text.splitlines(), 1)
    ]


def _key(number: int, title: str) -> str:
    """An id that no other element has."""
    return f"section-{number}-{re.sub(r'[^a-z0-9]+', '-', title.lower()).strip('-')[:40]}"
