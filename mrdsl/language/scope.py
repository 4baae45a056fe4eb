"""What an expression may refer to, and where its mistakes go."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from mrdsl.core import budgets
from mrdsl.core.diagnostics import Diagnostic, Related, error
from mrdsl.core.source import Span
from mrdsl.core.units import Dimension
from mrdsl.language import tree
from mrdsl.language.random_values import Draws

AUTO = "auto"
"""The word that may be given in place of a number that mrdsl can work out, and a number in place of it."""


@dataclass(frozen=True)
class Word:
    """What a param is that stands for a word; ``span`` is where that param is defined."""

    text: str
    span: Span


class Value(NamedTuple):
    """A number (or an array of them, a distribution, or a word) in SI and its dimension."""

    number: Any
    dimension: Dimension


class MistakeError(Exception):
    """Ends the evaluation of one item with its diagnostic; None where the cause has been told already."""

    def __init__(self, diagnostic: Diagnostic | None) -> None:
        self.diagnostic = diagnostic
        super().__init__()


class TooManyMistakesError(Exception):
    """Ends the resolution of a spec that is wrong in more places than anybody reads."""


@dataclass
class Report:
    """What all parts of one resolution share: the diagnostics so far, the one currency, names of unusable blocks.

    Raises TooManyMistakesError at one diagnostic more than is told.
    """

    found: list[Diagnostic] = field(default_factory=list)
    currency: str = ""
    currency_span: Span | None = None
    dropped: set[str] = field(default_factory=set)

    def add(self, diagnostic: Diagnostic | None) -> None:
        if diagnostic is not None:
            if len(self.found) >= budgets.DIAGNOSTICS:
                raise TooManyMistakesError
            self.found.append(diagnostic)


@dataclass(frozen=True)
class Scope:
    """What an expression may refer to. ``draws`` is None where random values stay distributions."""

    files: tree.FileNames
    report: Report
    parameter: Callable[[str], Value | None]
    parameter_names: Collection[str] = ()
    draws: Draws | None = None
    accept: Callable[[Any], Any] = lambda values: values == values
    turns: list[int] = field(default_factory=list)

    def span(self, node: Any) -> Span:
        return tree.span_of(self.files, node)

    def mistake(self, code: str, message: str, node: Any, hint: str = "", *related: Related) -> MistakeError:
        return MistakeError(error(code, message, self.span(node), hint, *related))
