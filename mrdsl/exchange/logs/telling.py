"""How readers of logs tell what they could not use: with file and line, each kind of mistake once per file."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from mrdsl.core.diagnostics import Diagnostic, Severity
from mrdsl.core.source import Span

SHOWN = 3


def place(path: str, line: int = 1, column: int = 1) -> Span:
    """One place in a log."""
    return Span(path, line, column, line, column + 1)


@dataclass
class Telling:
    """Mistakes of one reading: the first few of a kind and file in full, then a count of the rest."""

    found: list[Diagnostic] = field(default_factory=list)
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)

    def warn(self, code: str, message: str, path: str, line: int = 1, hint: str = "") -> None:
        """Something was left out; the rest is used."""
        self.counts[code, path] += 1
        if self.counts[code, path] <= SHOWN:
            self.found.append(Diagnostic(code, Severity.WARNING, message, place(path, line), hint))

    def fail(self, code: str, message: str, path: str, line: int = 1, hint: str = "") -> None:
        """Nothing of this file can be used."""
        self.found.append(Diagnostic(code, Severity.ERROR, message, place(path, line), hint))

    @property
    def lost(self) -> int:
        """How many things were told, shown or not."""
        return sum(self.counts.values()) + sum(each.severity is Severity.ERROR for each in self.found)

    def failed(self, path: str) -> bool:
        """Whether something was told for which nothing of this file can be used."""
        return any(each.severity is Severity.ERROR and each.span and each.span.file == path for each in self.found)

    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """All of it, with what was not shown as counts."""
        rest = [
            Diagnostic(code, Severity.WARNING, f"and {count - SHOWN} more of this kind in this file", place(path))
            for (code, path), count in self.counts.items()
            if count > SHOWN
        ]
        return (*self.found, *rest)
