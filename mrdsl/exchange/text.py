"""Text of a file as UTF-8, with or without a byte order mark, and the exception of a reader that refuses a file.

The exception has the reason, the place and what to do. Mistakes of single cells are gathered and reported together.
"""

from __future__ import annotations

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
