"""Reports and charts as files: pages, Markdown with the numbers of charts, SVG or PNG, by the file's extension.

A script in the page draws the charts in the colors of the reader's system; readers without scripts, and paper, get
pictures. A policy in the page (CSP) allows its own two scripts, by their hashes, and blocks all other loads. All text
passes through Jinja's escaping, and the JSON of charts contains no ``<``.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from mrdsl.core.charts import Chart
from mrdsl.core.diagnostics import number_of, one_error, printable
from mrdsl.core.reading import STANDARD_OUTPUT
from mrdsl.core.result import Table
from mrdsl.core.tables import cell_text, numeric_columns
from mrdsl.core.version import __version__
from mrdsl.reporting.charts.colors import FONT, GROUNDS, Ground, configuration
from mrdsl.reporting.charts.rendering import bundle, png, require, specification, svg
from mrdsl.reporting.report import Listing, Part, Report

SCRIPT = """
"use strict";
(() => {
  const charts = JSON.parse(document.getElementById("drawings").textContent);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const actions = { export: true, source: false, compiled: false, editor: false };
  async function draw() {
    const look = dark.matches ? "dark" : "light";
    for (const [id, drawing] of Object.entries(charts.drawings)) {
      const figure = document.getElementById(id);
      await vegaEmbed(figure.querySelector(".live"), drawing, {
        ast: true, renderer: "svg", config: charts.looks[look], actions, tooltip: { theme: look }, downloadFileName: id,
      });
      figure.classList.add("drawn");
    }
    document.documentElement.dataset.drawn = look;
  }
  dark.addEventListener("change", draw);
  draw();
})();
"""


_RULES = """
*{box-sizing:border-box}
body{margin:0 auto;max-width:60rem;padding:0 1.25rem 3rem;background:var(--paper);color:var(--ink);line-height:1.5}
h1{font-size:1.7rem;margin:1.5rem 0 .5rem}
h2{font-size:1.2rem;margin:2.25rem 0 .5rem;border-bottom:1px solid var(--grid);padding-bottom:.2rem}
a{color:var(--link)}
a:focus-visible,summary:focus-visible,.scroll:focus-visible{outline:3px solid var(--link);outline-offset:2px}
.skip{position:absolute;left:-999rem}
.skip:focus{left:1rem;top:.5rem;background:var(--paper);padding:.5rem}
nav ul{display:flex;flex-wrap:wrap;gap:.25rem 1rem;list-style:none;margin:0;padding:0;font-size:.9rem}
.decision{font-size:1.25rem;font-weight:600;margin:.5rem 0;border-left:.35rem solid var(--link);padding-left:.9rem}
.scroll{overflow-x:auto;margin:.5rem 0}
table{border-collapse:collapse;font-size:.9rem;font-variant-numeric:tabular-nums}
caption{text-align:left;font-weight:600;padding:.25rem 0}
th,td{padding:.25rem .75rem .25rem 0;border-bottom:1px solid var(--grid);text-align:left;vertical-align:top}
thead th{color:var(--soft);font-weight:600}
tbody th{font-weight:400}
.number{text-align:right}
figure{margin:1rem 0 1.5rem}
figcaption{font-weight:600}
summary{cursor:pointer;font-size:.9rem;color:var(--soft)}
.still{background:#fff;max-width:100%;height:auto}
.drawn .still{display:none}
pre{margin:0;font-size:.85rem;line-height:1.45}
mark{background:var(--mark);color:var(--ink)}
.said{color:var(--soft);font-style:italic;padding-left:6ch}
footer{margin-top:3rem;color:var(--soft);font-size:.85rem}
#vg-tooltip-element{max-width:24rem}
.vega-embed details:not([open])>:not(summary){display:none}
@media print{
body{max-width:none;font-size:10pt}
nav,.skip,figure .live,footer,details:not([open]){display:none}
figure.drawn .still{display:block}
.scroll{overflow:visible}
pre{white-space:pre-wrap}
figure,tr{break-inside:avoid}
h2{break-after:avoid}
}
"""


def _colours(ground: Ground) -> str:
    return (
        f"--paper:{ground.paper};--ink:{ground.ink};--soft:{ground.soft};--grid:{ground.grid};"
        f"--link:{ground.link};--mark:{ground.mark}"
    )


STYLE = (
    f":root{{color-scheme:light dark;font-family:{FONT};{_colours(GROUNDS['light'])}}}\n"
    f"@media screen and (prefers-color-scheme:dark){{:root{{{_colours(GROUNDS['dark'])}}}}}" + _RULES
)


TEMPLATE = """\
{%- macro cells(table) -%}
<div class="scroll" tabindex="0" role="region" aria-label="{{ table.label }}">
<table>
{% if table.title %}<caption>{{ table.title }}</caption>
{% endif %}<thead><tr>{% for head in table.heads %}{% if head.text %}<th scope="col"{{ head.kind }}>{{ head.text }}</th>
{%- else %}<td></td>{% endif %}{% endfor %}</tr></thead>
<tbody>
{% for row in table.rows %}<tr>{% for cell in row %}{% if loop.first %}<th scope="row">{{ cell.text }}</th>
{%- else %}<td{{ cell.kind }}>{{ cell.text }}</td>{% endif %}{% endfor %}</tr>
{% endfor %}</tbody>
</table>
</div>
{% if table.left %}<p>... and {{ table.left }} more rows</p>
{% endif %}
{%- endmacro -%}
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{{ policy }}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="mrdsl {{ version }}">
<title>{{ title }}</title>
<style>{{ style }}</style>
</head>
<body>
<a class="skip" href="#content">Skip to the report</a>
<header>
<h1>{{ title }}</h1>
<nav aria-label="Sections"><ul>
{% for section in sections %}<li><a href="#{{ section.key }}">{{ section.title }}</a></li>
{% endfor %}</ul></nav>
</header>
<main id="content">
{% if decision %}<section id="decision" aria-labelledby="decision-heading">
<h2 id="decision-heading">Decision</h2>
<p class="decision">{{ decision }}</p>
<p>{{ proof }}</p>
</section>
{% endif %}{% for section in sections %}<section id="{{ section.key }}" aria-labelledby="{{ section.key }}-heading">
<h2 id="{{ section.key }}-heading">{{ section.title }}</h2>
{% for part in section.parts %}{% if part.form == "text" %}<p>{{ part.text }}</p>
{% elif part.form == "table" %}{{ cells(part) }}
{% elif part.form == "chart" %}<figure id="{{ part.key }}">
<figcaption>{{ part.title }}</figcaption>
<div class="scroll" tabindex="0" role="region" aria-label="{{ part.title }}">
<img class="still" alt="{{ part.title }}: its numbers stand below" src="{{ part.image }}">
<div class="live"></div>
</div>
<details><summary>Numbers of &ldquo;{{ part.title }}&rdquo;</summary>
{{ cells(part.numbers) }}
</details>
</figure>
{% elif part.form == "listing" %}<div class="scroll" tabindex="0" role="region" aria-label="{{ part.name }}">
<pre><code>{% for line in part.lines %}{% if line.said %}<mark>{{ line.text }}</mark>
{% for one in line.said %}<span class="said">{{ one }}</span>
{% endfor %}{% else %}{{ line.text }}
{% endif %}{% endfor %}</code></pre>
</div>
{% endif %}{% endfor %}</section>
{% endfor %}</main>
<footer><p>Made by mrdsl {{ version }}. This page needs no network.</p></footer>
{% if charts %}<script type="application/json" id="drawings">{{ charts }}</script>
<script>{{ bundle }}</script>
<script>{{ script }}</script>
{% endif %}</body>
</html>
"""


LONGEST_LINE = 1000
"""Most rows of a table of the page."""


def page(report: Report) -> str:
    """Return the page. Raises MrdslError ``missing-extra`` if a library of the extra `report` is missing."""
    require()
    from jinja2 import Environment
    from markupsafe import Markup

    charts: dict[str, Chart] = {}
    sections = [
        {
            "title": printable(s.title),
            "key": _key(number, s.title),
            "parts": [_piece(part, charts) for part in s.parts],
        }
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
    """Return the policy of the page: these scripts, its own styles and pictures."""
    prints = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'" for script in scripts
    )
    own = "style-src 'unsafe-inline'; img-src data: blob:"
    return f"default-src 'none'; script-src {prints}; {own}; base-uri 'none'; form-action 'none'"


def _drawings(charts: dict[str, Chart]) -> str:
    """Return the charts for the script, as JSON without markup for HTML parsers."""
    document = {
        "looks": {name: configuration(ground) for name, ground in GROUNDS.items()},
        "drawings": {key: specification(chart, titled=False) for key, chart in charts.items()},
    }
    text = json.dumps(document, ensure_ascii=True)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _piece(part: Part, charts: dict[str, Chart]) -> dict[str, Any]:
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
    shown = table.shown
    kinds = [_NUMBER if numeric else "" for numeric in numeric_columns(table)]
    heads = [{"text": printable(head), "kind": kind} for head, kind in zip(table.columns, kinds, strict=True)]
    rows = [
        [{"text": cell_text(cell), "kind": kind} for cell, kind in zip(row, kinds, strict=True)]
        for row in shown[:LONGEST_LINE]
    ]
    title = printable(table.title)
    more = len(shown) - LONGEST_LINE
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
    """Return an id that no other element has."""
    return f"section-{number}-{re.sub(r'[^a-z0-9]+', '-', title.lower()).strip('-')[:40]}"


_DRAWN: ContextVar[list[Chart] | None] = ContextVar("_DRAWN", default=None)


def _page(chart: Chart) -> bytes:
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
