"""A report as Markdown, for a pull request or a wiki: charts as their numbers."""

from __future__ import annotations

import re

from mrdsl.core.printable import printable
from mrdsl.core.result import Table
from mrdsl.reporting.report import Listing, Part, Report
from mrdsl.reporting.text import cell_text

_SPECIAL = re.compile(r"([\\`*_\[\]|#~>!])")
LONGEST = 60
"""How many rows a table has at most."""


def markdown(report: Report) -> str:
    """The report; no name in it becomes markup."""
    parts = [f"# {plain(report.title)}", f"**{plain(report.decision)}**", plain(report.proof)]
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
        return _table(part, part.title)
    if isinstance(part, Listing):
        return _listing(part)
    return _table(part.table(), part.title)


def _table(table: Table, title: str) -> str:
    heads = [plain(head) or " " for head in table.columns]
    rows = [heads, ["---"] * len(heads), *([plain(cell_text(c)) for c in row] for row in table.rows[:LONGEST])]
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    more = len(table.rows) - LONGEST
    left = [f"... and {more:,} more rows"] if more > 0 else []
    return "\n\n".join(filter(None, [f"**{plain(title)}**" if title else "", "\n".join(lines), *left]))


def _listing(listing: Listing) -> str:
    """The lines with their numbers, those that something is said of with a ``>``, and below what is said."""
    fence = "`" * (3 + max(map(len, re.findall(r"`{3,}", listing.text)), default=0))
    lines = [
        f"{'>' if number in listing.marks else ' '}{number:4d} | {printable(line)}"
        for number, line in enumerate(listing.text.splitlines(), 1)
    ]
    said = [f"- line {number}: {plain(one)}" for number, all_ in sorted(listing.marks.items()) for one in all_]
    code = "\n".join([fence, *lines, fence])
    return "\n\n".join(filter(None, [f"**{plain(listing.name)}**" if listing.name else "", code, "\n".join(said)]))
