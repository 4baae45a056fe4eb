"""Separators of cells in tables, and decimal commas, as spreadsheets write them."""

from __future__ import annotations

import re

from mrdsl.exchange.text import FormatError

SEPARATOR_LINE = re.compile(r'\A"?sep=[;,\t]"?(?=\r?\n)')
"""What Excel writes above the header; the end of its line stays, so that the numbers of lines stay right."""


def delimiter_of(head: str, path: str) -> str:
    """Return the separator of cells: a tab, the semicolon of spreadsheets with decimal commas, or a comma."""
    if "\t" in head or path.endswith(".tsv"):
        return "\t"
    return ";" if ";" in head and "," not in head else ","


_CELL = r"(?<=[;\n\r\"])([^\S\r\n]*[-+]?%s)(?=[^\S\r\n]*(?:[;\n\r\"]|\Z))"
_DECIMAL_COMMA = re.compile(_CELL % r"[0-9]+),([0-9]+(?:[eE][-+]?[0-9]+)?")
_THOUSANDS = re.compile(_CELL % r"[0-9]{1,3}(?:\.[0-9]{3})+(?:,[0-9]+)?")


def with_decimal_points(text: str) -> str:
    """Return the table with a point for each decimal comma, so that every character keeps its place.

    Raises FormatError for ``1.234`` if other cells have decimal commas: it can be 1234 or 1.234.
    """
    pointed, commas = _DECIMAL_COMMA.subn(r"\1.\2", text)
    found = next((each for each in _THOUSANDS.finditer(text) if commas or "," in each[1]), None)
    if found is not None:
        before = text[: found.start(1)]
        message = f"`{found[1].strip()}` may separate thousands, or be a decimal number"
        hint = f"write `{found[1].strip().replace('.', '')}` if it is the larger number"
        raise FormatError(message, hint, before.count("\n") + 1, found.start(1) - before.rfind("\n"))
    return pointed


def without_empty_rows(text: str, delimiter: str) -> str:
    """Return the table with a blank line for each row of empty cells, which spreadsheets write."""
    if f"\n{delimiter}" not in text:
        return text
    return re.sub(rf"^{delimiter}[{delimiter} \t]*(?=\r?$)", "", text, flags=re.MULTILINE)
