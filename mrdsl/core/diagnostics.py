"""Diagnostics are values before they are text: code, severity, message, place, hint, related places."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from mrdsl.core.printable import shortened
from mrdsl.core.source import Span


class Severity(StrEnum):
    """How much a diagnostic matters: an error leaves no valid spec, a warning does."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Related:
    """Another place that explains the diagnostic, such as the first definition of a duplicate."""

    message: str
    span: Span | None


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One cause, told once: what was written, why it fails, and in ``hint`` what to write instead.

    ``code`` is a kebab-case word; every code has its explanation in ``grammar/diagnostics/CODE.md``.
    ``impossible`` marks a spec that is well formed but that no plan can satisfy (exit code 1, not 2).
    ``path`` names the place in what has no text: a spec built in Python (``classes[1].slots.map``), a param, a limit.
    """

    code: str
    severity: Severity
    message: str
    span: Span | None = None
    hint: str = ""
    related: tuple[Related, ...] = ()
    impossible: bool = False
    path: str = ""

    @property
    def place(self) -> str:
        """Where it is, in words: the file with line and column, else the path, else nothing."""
        return str(self.span) if self.span is not None else self.path


_LONG_TEXT = 300
_LONG_WORD = re.compile(r"[^\s`]{81,}")


def _brief(text: str) -> str:
    """A message without the whole of a number of a thousand digits, or of a name as long, that it quotes."""
    if len(text) <= _LONG_TEXT:
        return text
    return _LONG_WORD.sub(lambda match: shortened(match[0]), text)


def error(code: str, message: str, span: Span | None = None, hint: str = "", *related: Related) -> Diagnostic:
    """A mistake in the spec or the command (exit code 2)."""
    return Diagnostic(code, Severity.ERROR, _brief(message), span, _brief(hint), related)


def warning(code: str, message: str, span: Span | None = None, hint: str = "", *related: Related) -> Diagnostic:
    """Something that works but is probably not what the author meant."""
    return Diagnostic(code, Severity.WARNING, _brief(message), span, _brief(hint), related)


def note(code: str, message: str, span: Span | None = None, hint: str = "", *related: Related) -> Diagnostic:
    """A fact worth knowing that asks for nothing."""
    return Diagnostic(code, Severity.NOTE, _brief(message), span, _brief(hint), related)


def impossible(code: str, message: str, span: Span | None = None, hint: str = "", *related: Related) -> Diagnostic:
    """A well-formed promise that no plan can keep (exit code 1)."""
    return Diagnostic(code, Severity.ERROR, _brief(message), span, _brief(hint), related, impossible=True)


def has_errors(diagnostics: Iterable[Diagnostic]) -> bool:
    """Whether any diagnostic is an error."""
    return any(diagnostic.severity is Severity.ERROR for diagnostic in diagnostics)


def in_order(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """In file order, the same diagnostic once; those without a place first."""
    unique = dict.fromkeys(diagnostics)
    order = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.NOTE: 2}
    return sorted(
        unique,
        key=lambda d: (
            ("", 0, 0, order[d.severity])
            if d.span is None
            else (d.span.file, d.span.line, d.span.column, order[d.severity])
        ),
    )


class MrdslError(Exception):
    """What the Python API raises: the diagnostics that say why, all of them.

    ``exit_code`` is what the command line returns for the same mistake.
    """

    def __init__(self, diagnostics: Iterable[Diagnostic], exit_code: int = 2) -> None:
        self.diagnostics = tuple(diagnostics)
        self.exit_code = exit_code
        super().__init__("\n".join(f"{d.place}: {d.severity}[{d.code}]: {d.message}" for d in self.diagnostics))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.diagnostics, self.exit_code)
