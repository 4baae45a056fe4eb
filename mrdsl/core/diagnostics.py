"""Diagnostics as values: code, severity, message, location and hint, with safe text and nearest names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from itertools import islice
from typing import Any


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of one file: lines and columns count from 1, the end is exclusive."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"

    def to(self, other: Span) -> Span:
        """Return the stretch from the start of this span to the end of ``other``."""
        return Span(self.file, self.line, self.column, other.end_line, other.end_column)


_HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f"  # C0, DEL, C1: escapes that a terminal obeys
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # marks and overrides that reorder what is read
    "\u2028\u2029\ufeff\ufff9-\ufffb"  # line ends of their own, invisible marks
    "\ufffe\uffff\ud800-\udfff]"  # what is no character
)
_HIDDEN_IN_JSON = re.compile(_HIDDEN.pattern.replace("\x00-\x1f", ""))
_SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


def is_printable(text: str) -> bool:
    """Return True if a text is free of control characters and of marks that change the order of reading."""
    return _HIDDEN.search(text) is None


def printable(text: str) -> str:
    r"""Return the text with each hidden character as its escape, such as ``\x1b`` or ``\u202e``."""
    return _HIDDEN.sub(_escape, text) if _HIDDEN.search(text) else text


def json_printable(text: str) -> str:
    """Return a JSON text with the characters that terminals obey as JSON escapes; line breaks stay."""
    return _HIDDEN_IN_JSON.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def number_of(count: float, noun: str, form: str = "") -> str:
    """Return a count with its noun, such as `1 VM`, `2 classes` or `1.5 jobs`, in a format such as `,`."""
    shown = f"{count:{form}}"
    ends = "" if shown == "1" else "es" if noun.endswith(("s", "x", "ch")) else "s"
    return f"{shown} {noun}{ends}"


def shortened(text: str, length: int = 60) -> str:
    """Return the text, in short where it is long: its beginning, three dots, and how long it is."""
    return text if len(text) <= length else f"{text[: length - 3]}... ({len(text)} characters)"


MOST_OF_CHAIN = 8
"""Most names of a chain in a message."""


def described(value: object) -> str:
    """Return a Python object in a message: its type and, in short, itself."""
    if value is None:
        return "None"
    shown = repr(value)
    return f"the {type(value).__name__} {shown if len(shown) <= 40 else shown[:37] + '...'}"


def chained(names: Sequence[str], between: str = " -> ") -> str:
    """Join the names of a chain, each in short; of a long chain the first and the last names alone."""
    half = MOST_OF_CHAIN // 2
    shown = names if len(names) <= MOST_OF_CHAIN else [*names[:half], "...", *names[-half:]]
    return between.join(shortened(name) for name in shown)


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    code = ord(character)
    return _SHORT.get(character) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")


class Severity(StrEnum):
    """The severity of a diagnostic: an error leaves no valid spec, a warning does."""

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
    """An error, warning or note with its reason and a hint.

    Attributes:
        code: Word that `mrdsl explain` explains.
        severity: Error, warning or note.
        message: The error in words.
        span: Location in a file.
        hint: Text to write instead.
        related: Related locations.
        impossible: The spec is valid, but no plan meets it (exit code 1 instead of 2).
        path: Location in a spec built in Python, such as `classes[1].slots.map`.
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
        """The place in words: the file with line and column, or the path, or ""."""
        return str(self.span) if self.span is not None else self.path


_LONG_TEXT = 300
_LONG_WORD = re.compile(r"[^\s`]{81,}")


def _brief(text: str) -> str:
    """Return a message without the whole of a number of a thousand digits, or of a name as long, that it quotes."""
    if len(text) <= _LONG_TEXT:
        return text
    return _LONG_WORD.sub(lambda match: shortened(match[0]), text)


def error(code: str, message: str, span: Span | None = None, hint: str = "", *related: Related) -> Diagnostic:
    """Return a mistake in the spec or the command (exit code 2)."""
    return Diagnostic(code, Severity.ERROR, _brief(message), span, _brief(hint), related)


def warning(code: str, message: str, span: Span | None = None, hint: str = "", *related: Related) -> Diagnostic:
    """Make a warning: the spec works, but the author probably meant something different."""
    return Diagnostic(code, Severity.WARNING, _brief(message), span, _brief(hint), related)


def note(code: str, message: str, span: Span | None = None, hint: str = "", *related: Related) -> Diagnostic:
    """Make a note: a fact that requires no action."""
    return Diagnostic(code, Severity.NOTE, _brief(message), span, _brief(hint), related)


def impossible(code: str, message: str, span: Span | None = None, hint: str = "", *related: Related) -> Diagnostic:
    """Return a well-formed promise that no plan can keep (exit code 1)."""
    return Diagnostic(code, Severity.ERROR, _brief(message), span, _brief(hint), related, impossible=True)


def never_admitted(found: Diagnostic, what: str, item: str) -> Diagnostic:
    """Turn an impossible promise into a warning: every plan may reject all ``what`` of the ``item``."""
    message = f"all {what} of {item} are rejected: {found.message}"
    return warning("never-admitted", message, found.span, f"{found.hint}; or remove {item}")


def has_errors(diagnostics: Iterable[Diagnostic]) -> bool:
    """Return True if any diagnostic is an error."""
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
    """The exception of the Python API, with all diagnostics.

    ``exit_code`` is the exit code of the command line for the same mistake.
    """

    def __init__(self, diagnostics: Iterable[Diagnostic], exit_code: int = 2) -> None:
        self.diagnostics = tuple(diagnostics)
        self.exit_code = exit_code
        super().__init__("\n".join(map(_lines_of, self.diagnostics)))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.diagnostics, self.exit_code)


def one_error(
    code: str, message: str, span: Span | None = None, hint: str = "", *related: Related, exit_code: int = 2
) -> MrdslError:
    """Return an exception with one error."""
    return MrdslError([error(code, message, span, hint, *related)], exit_code)


def _lines_of(found: Diagnostic) -> str:
    place = f"{found.place}: " if found.place else ""
    hint = f"\n  hint: {found.hint}" if found.hint else ""
    return f"{place}{found.severity}[{found.code}]: {found.message}{hint}"


MOST_NAMES = 500
"""Most known names that are compared, to keep the search for a similar name cheap."""
MOST_CHARACTERS = 80


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known name that is most similar to the word, or None if no name is similar."""
    names = list(islice(known, MOST_NAMES))
    lowered = {name.lower(): name for name in reversed(names)}
    matches = get_close_matches(word[:MOST_CHARACTERS].lower(), list(lowered), n=1, cutoff=0.6)
    return lowered[matches[0]] if matches else None


def did_you_mean(word: str, known: Iterable[str], listing: str = "known: ") -> str:
    """Return a hint: the nearest name, or the whole list where it is short."""
    names = list(known)
    near = nearest(word, names)
    if near is not None:
        return f"did you mean `{near}`?"
    if not names:
        return ""
    shown = ", ".join(f"`{name}`" for name in names[:12])
    return f"{listing}{shown}" + (", ..." if len(names) > 12 else "")
