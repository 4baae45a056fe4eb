"""Diagnostics for people and machines: text with the line and a caret, JSON, annotations for code review."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from mrdsl.core.diagnostics import Diagnostic, Severity, Span, json_printable, printable
from mrdsl.core.reading import problem_of
from mrdsl.core.tables import wrapped
from mrdsl.core.version import __version__

FORMAT = 1
MAX_LINE = 160
Style = Callable[[str, str], str]


def plain(text: str, _: str) -> str:
    """No colour."""
    return text


def colour(text: str, role: str) -> str:
    """ANSI colour for a terminal."""
    code = {"error": "1;31", "warning": "1;33", "note": "1;36", "place": "1", "caret": "1;31", "hint": "32"}[role]
    return f"\x1b[{code}m{text}\x1b[0m"


def as_text(
    diagnostics: Iterable[Diagnostic], texts: Mapping[str, str], style: Style = plain, width: int | None = None
) -> str:
    """``file:line:column: error[CODE]: message`` with the line, a caret below and the hint; "" for none.

    On a terminal of ``width`` columns, messages and hints are wrapped.
    """
    split = _Lines(texts)
    return "".join(_text(diagnostic, split, style, width) + "\n" for diagnostic in diagnostics)


class _Lines(Mapping[str, str]):
    """Texts by name that are split into lines once, however many places in them are quoted."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.texts = texts
        self.lines: dict[str, list[str]] = {}

    def __getitem__(self, name: str) -> str:
        return self.texts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.texts)

    def __len__(self) -> int:
        return len(self.texts)

    def line(self, name: str, number: int) -> str | None:
        if name not in self.lines:
            self.lines[name] = self.texts[name].split("\n")
        lines = self.lines[name]
        return lines[number - 1].rstrip("\r") if number <= len(lines) else None


def _text(diagnostic: Diagnostic, texts: Mapping[str, str], style: Style, width: int | None) -> str:
    place = f"{printable(diagnostic.place)}: " if diagnostic.place else ""
    head = f"{diagnostic.severity}[{diagnostic.code}]"
    message = wrapped(f"{place}{head}: {printable(diagnostic.message)}", width, 2)
    if message.startswith(place + head):
        colored = (style(place, "place") if place else "") + style(head, str(diagnostic.severity))
        message = colored + message[len(place + head) :]
    lines = [message, *_quote(diagnostic.span, texts, style)]
    if diagnostic.hint:
        hint = wrapped(f"  hint: {printable(diagnostic.hint)}", width, 2)
        lines += ["  " + style(line[2:], "hint") for line in hint.split("\n")]
    for related in diagnostic.related:
        told = f"{related.span}: {related.message}" if related.span is not None else related.message
        lines.append(wrapped("  " + printable(told), width, 2))
    return "\n".join(lines)


def _quote(span: Span | None, texts: Mapping[str, str], style: Style) -> list[str]:
    if span is None or (span.end_column <= span.column and span.end_line == span.line):
        return []
    line = line_of(span, texts)
    if line is None:
        return []
    start = max(0, span.column - 1 - MAX_LINE // 2) if len(line) > MAX_LINE else 0
    quoted = line[start : start + MAX_LINE].replace("\t", " ")
    end = span.end_column if span.end_line == span.line else len(line) + 1
    at = span.column - 1 - start
    before, marked = printable(quoted[:at]), printable(quoted[at : at + max(1, end - span.column)])
    caret = " " * (len(before) + max(0, at - len(quoted))) + style("^" * max(1, len(marked)), "caret")
    return ["    " + printable(quoted), "    " + caret]


def line_of(span: Span, texts: Mapping[str, str]) -> str | None:
    """Return the first line of a span, from a text in memory or from its file."""
    text = texts.get(span.file)
    if text is None:
        return _line_of_file(span)
    if isinstance(texts, _Lines):
        return texts.line(span.file, span.line)
    lines = text.split("\n", span.line)
    return lines[span.line - 1].rstrip("\r") if len(lines) >= span.line else None


def _line_of_file(span: Span) -> str | None:
    """Return the line of a table, a trace or the like, or None if the file does not exist any more."""
    if problem_of(span.file):
        return None
    try:
        with Path(span.file).open(encoding="utf-8-sig") as lines:
            return next((line.rstrip("\r\n") for number, line in enumerate(lines, 1) if number == span.line), None)
    except (OSError, ValueError):
        return None


def as_document(diagnostic: Diagnostic) -> dict[str, Any]:
    """Return one diagnostic as JSON knows it."""
    return {
        "code": diagnostic.code,
        "severity": str(diagnostic.severity),
        "message": diagnostic.message,
        "hint": diagnostic.hint,
        "file": diagnostic.span.file if diagnostic.span is not None else None,
        "range": _range(diagnostic.span),
        "related": [
            {
                "message": related.message,
                "file": related.span.file if related.span is not None else None,
                "range": _range(related.span),
            }
            for related in diagnostic.related
        ],
        "impossible": diagnostic.impossible,
        "path": diagnostic.path,
    }


def as_json(diagnostics: Iterable[Diagnostic]) -> str:
    """``{"format": 1, "diagnostics": [...]}``."""
    document = {"format": FORMAT, "diagnostics": [as_document(d) for d in diagnostics]}
    return json_printable(json.dumps(document, indent=2, ensure_ascii=False))


def as_github(diagnostics: Iterable[Diagnostic]) -> str:
    """Return workflow commands, which a code review shows next to the line."""
    names = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}
    lines = []
    for d in diagnostics:
        place = ""
        if d.span is not None:
            place = (
                f" file={_property(d.span.file)},line={d.span.line},col={d.span.column},"
                f"endLine={d.span.end_line},endColumn={max(d.span.column, d.span.end_column - 1)},"
                f"title={_property(d.code)}"
            )
        message = d.message + (f"\n{d.hint}" if d.hint else "")
        lines.append(f"::{names[d.severity]}{place}::{_data(message)}")
    return "\n".join(lines) + ("\n" if lines else "")


SARIF_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def as_sarif(diagnostics: Iterable[Diagnostic]) -> str:
    """Return a SARIF 2.1.0 log, as code scanning services read it."""
    listed = list(diagnostics)
    codes = sorted({found.code for found in listed})
    driver = {"name": "mrdsl", "version": __version__, "rules": [{"id": code} for code in codes]}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_sarif_result(found, codes.index(found.code)) for found in listed],
    }
    document = {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}
    return json_printable(json.dumps(document, indent=2, ensure_ascii=False))


def _sarif_result(found: Diagnostic, rule: int) -> dict[str, Any]:
    message = found.message + (f"\nhint: {found.hint}" if found.hint else "")
    result: dict[str, Any] = {
        "ruleId": found.code,
        "ruleIndex": rule,
        "level": str(found.severity),
        "message": {"text": message},
    }
    if found.span is not None:
        span = found.span
        region = {
            "startLine": span.line,
            "startColumn": span.column,
            "endLine": span.end_line,
            "endColumn": span.end_column,
        }
        address = {"uri": quote(span.file.replace("\\", "/"))}
        result["locations"] = [{"physicalLocation": {"artifactLocation": address, "region": region}}]
    return result


def _data(text: str) -> str:
    return printable(text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A"))


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _range(span: Span | None) -> dict[str, Any] | None:
    if span is None:
        return None
    return {
        "start": {"line": span.line, "column": span.column},
        "end": {"line": span.end_line, "column": span.end_column},
    }
