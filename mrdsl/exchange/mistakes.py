"""How a reader says that a file is not what it reads: one exception, with the reason, the place and what to do.

Mistakes of single cells are gathered instead, so that all are told at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from mrdsl.core.diagnostics import Diagnostic, error
from mrdsl.core.source import Span


class FormatError(ValueError):
    """A file that is not of its format: why; ``hint`` says what to do, ``line`` and ``column`` (from 1) where it is."""

    def __init__(self, message: str, hint: str = "", line: int = 1, column: int = 1) -> None:
        super().__init__(message)
        self.hint, self.line, self.column = hint, line, column

    def diagnostic(self, code: str, path: str, says: str = "{path} cannot be read: {reason}") -> Diagnostic:
        """The mistake at its place in the file."""
        place = Span(path, self.line, self.column, self.line, self.column + 1)
        return error(code, says.format(path=path, reason=self), place, self.hint)


class EmptyFileError(FormatError):
    """A file without a byte."""

    def __init__(self) -> None:
        super().__init__("it is empty", "name a file that holds something")


@dataclass
class Mistakes:
    """What is wrong with a file, in the order in which it was found."""

    found: list[Diagnostic] = field(default_factory=list)

    def add(self, diagnostic: Diagnostic | None) -> None:
        if diagnostic is not None:
            self.found.append(diagnostic)
