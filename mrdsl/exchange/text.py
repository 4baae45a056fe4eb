"""Text of a file as UTF-8, with or without a byte order mark, and the exception of a reader that refuses a file.

The exception has the reason, the place and what to do. Mistakes of single cells are gathered and reported together.
Tables lose what spreadsheets add: other separators of cells, decimal commas and empty rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from mrdsl.core import budgets
from mrdsl.core.diagnostics import Diagnostic, Span, error
from mrdsl.core.reading import UnreadableError, read_bytes


class FormatError(ValueError):
    """An error for a file that is not of its format, with ``hint``, ``line`` and ``column`` (from 1)."""

    def __init__(self, message: str, hint: str = "", line: int = 1, column: int = 1) -> None:
        super().__init__(message)
        self.hint, self.line, self.column = hint, line, column

    def diagnostic(self, code: str, path: str, says: str = "{path} cannot be read: {reason}") -> Diagnostic:
        """Return the mistake at its place in the file."""
        place = Span(path, self.line, self.column, self.line, self.column + 1)
        return error(code, says.format(path=path, reason=self), place, self.hint)


class EmptyFileError(FormatError):
    """A file without a byte."""

    def __init__(self) -> None:
        super().__init__("it is empty", "name a file that holds something")


@dataclass
class Mistakes:
    """The mistakes in a file, in the order in which they were found."""

    found: list[Diagnostic] = field(default_factory=list)

    def add(self, diagnostic: Diagnostic | None) -> None:
        if diagnostic is not None:
            self.found.append(diagnostic)


def decode(data: bytes) -> tuple[str | None, str]:
    """Return the text of a file, or None and the reason."""
    if b"\0" in data[:65536]:
        return None, "it holds binary data"
    try:
        return data.decode("utf-8-sig"), ""
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        return None, f"line {line} has a byte that is not UTF-8 (0x{data[problem.start]:02x})"


def read_document(path: Path, own_descriptors: bool = False) -> tuple[str | None, str]:
    """Return the text of a spec or an imported file, or None and the reason in words."""
    try:
        data = read_bytes(path, budgets.DOCUMENT_BYTES, own_descriptors)
    except UnreadableError as problem:
        return None, str(problem)
    text, reason = decode(data)
    return (text, reason) if text is None else within_budget(text)


def read_text(path: str | Path) -> str:
    """Return the text of a file that another program wrote. Raises FormatError."""
    try:
        text, reason = decode(read_bytes(path))
    except UnreadableError as problem:
        raise FormatError(str(problem), "check the name") from None
    if text is None:
        raise FormatError(reason, "save it as UTF-8 text")
    return text


def within_budget(text: str) -> tuple[str | None, str]:
    """Return the text, or None and the reason where it is too long to be read as a spec."""
    if len(text) > budgets.DOCUMENT_BYTES:
        return None, f"it has more than {budgets.DOCUMENT_BYTES >> 20} MB, the most that is read"
    if text.count("\n") >= budgets.DOCUMENT_LINES:
        return None, f"it has {budgets.DOCUMENT_LINES} lines or more"
    return text, ""


SEPARATOR_LINE = re.compile(r'"?sep=([;,\t])"?(?=\r?\n)')
"""The line that Excel writes above the header. Its line end is kept, so that line numbers stay right."""


def plain_table(text: str, path: str) -> tuple[str, str]:
    """Return a table without what spreadsheets add, every other character in its place, and the separator of its cells.

    These are a line that names the separator, decimal commas, and rows of empty cells. Raises FormatError for numbers
    that can be read in two ways.
    """
    named = SEPARATOR_LINE.match(text)
    text = text if named is None else text[named.end() :]
    delimiter = delimiter_of(head_of(text), path) if named is None else named[1]
    if delimiter == ";" and "," in text:
        text = _outside_lines_of_cells(text, _with_decimal_points)
    if f"\n{delimiter}" in text:
        text = _outside_lines_of_cells(text, lambda whole: _without_empty_rows(whole, delimiter))
    return text, delimiter


def head_of(text: str) -> str:
    """Return the first line that is not blank, or ""."""
    return next((line for line in text.split("\n", 1000) if line.strip()), "")


def delimiter_of(head: str, path: str) -> str:
    """Return the separator of cells: a tab, the semicolon of spreadsheets with decimal commas, or a comma."""
    if "\t" in head or path.endswith(".tsv"):
        return "\t"
    return ";" if ";" in head and "," not in head else ","


_CELL = r"(?<=[;\n\r\"])([^\S\r\n]*[-+]?%s)(?=[^\S\r\n]*(?:[;\n\r\"]|\Z))"
_DECIMAL_COMMA = re.compile(_CELL % r"[0-9]+),([0-9]+(?:[eE][-+]?[0-9]+)?")
_THOUSANDS = re.compile(_CELL % r"[0-9]{1,3}(?:\.[0-9]{3})+(?:,[0-9]+)?")


def _with_decimal_points(text: str) -> str:
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


_QUOTED = re.compile(r'(?<![^;,\t\r\n])"(?:[^"]|"")*"')
_HIDDEN = str.maketrans("\r\n", "\x00\x01")
_SHOWN = str.maketrans("\x00\x01", "\r\n")


def _outside_lines_of_cells(text: str, change: Callable[[str], str]) -> str:
    """Return a changed table; lines within a quoted cell are hidden from the change, which keeps all places."""
    if not any("\n" in found[0] for found in _QUOTED.finditer(text)) or "\x00" in text or "\x01" in text:
        return change(text)
    hidden: str = _QUOTED.sub(lambda found: found[0].translate(_HIDDEN), text)
    return change(hidden).translate(_SHOWN)


def _without_empty_rows(text: str, delimiter: str) -> str:
    """Return the table with a blank line for each row of empty cells, which spreadsheets write."""
    return re.sub(rf"^{delimiter}[{delimiter} \t]*(?=\r?$)", "", text, flags=re.MULTILINE)
