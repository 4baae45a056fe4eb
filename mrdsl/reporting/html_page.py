"""A report as one HTML page that needs no network.

A script in the page draws the charts in the colors of the reader's system; readers without scripts, and paper, get
pictures. A policy in the page (CSP) allows its own two scripts, by their hashes, and blocks all other loads. All text
passes through Jinja's escaping, and the JSON of charts contains no ``<``.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable
from typing import Any

from mrdsl.core.charts import Chart
from mrdsl.core.diagnostics import printable
from mrdsl.core.result import Table
from mrdsl.core.tables import cell_text, numeric_columns
from mrdsl.core.version import __version__
from mrdsl.reporting.charts.colors import FONT, GROUNDS, Ground, configuration
from mrdsl.reporting.charts.rendering import bundle, require, specification, svg
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


LONGEST = 1000
"""Most rows of a table of the page."""


def page(report: Report) -> str:
    """Return the page. Raises MrdslError ``missing-extra`` if a library of the extra `report` is missing."""
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
    shown = table.shown
    kinds = [_NUMBER if numeric else "" for numeric in numeric_columns(table)]
    heads = [{"text": printable(head), "kind": kind} for head, kind in zip(table.columns, kinds, strict=True)]
    rows = [
        [{"text": cell_text(cell), "kind": kind} for cell, kind in zip(row, kinds, strict=True)]
        for row in shown[:LONGEST]
    ]
    title = printable(table.title)
    more = len(shown) - LONGEST
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
