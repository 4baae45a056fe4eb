"""The scope of an expression: names, random values, and the report for errors."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from hashlib import blake2s
from typing import TYPE_CHECKING, Any, NamedTuple

from mrdsl.core import budgets
from mrdsl.core.diagnostics import Diagnostic, Related, Span, error
from mrdsl.core.units import Dimension
from mrdsl.language import tree
from mrdsl.spec.declared import acceptable
from mrdsl.spec.schema import Item

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


MAX_ROUNDS = 1000


class OutOfRangeError(Exception):
    """A distribution rarely falls within the item's limits."""


@dataclass
class Draws:
    """Draws of ``count`` values for one item; ``turns`` counts the calls that draw."""

    seed: int
    place: str
    count: int
    item: Item
    turns: int = 0

    def draw(self, name: str, parameters: tuple[Any, ...]) -> NDArray[np.float64]:
        """Return the values of one call; values of normal and mixture that the item does not allow are drawn again.

        Raises OutOfRangeError if a thousand rounds do not give enough acceptable values.
        """
        import numpy as np

        from mrdsl.simulation.sampling import sample

        self.turns += 1
        key = blake2s(f"{self.seed}/{self.place}/{self.turns}".encode(), digest_size=16).digest()
        stream = np.random.RandomState(np.frombuffer(key, dtype="<u4").tolist())
        values = sample(stream, name, parameters, self.count)
        if name not in ("normal", "mixture"):
            return values
        for _ in range(MAX_ROUNDS):
            wrong = ~acceptable(self.item, values)
            if name == "mixture":
                wrong |= values <= 0.0
            if not wrong.any():
                return values
            values[wrong] = sample(stream, name, parameters, int(wrong.sum()))
        raise OutOfRangeError


AUTO = "auto"
"""The word that may be given in place of a number that mrdsl can work out, and a number in place of it."""


@dataclass(frozen=True)
class Word:
    """The value of a param that means a word; ``span`` is its definition."""

    text: str
    span: Span


class Value(NamedTuple):
    """A number (or an array of them, a distribution, or a word) in SI and its dimension."""

    number: Any
    dimension: Dimension


class MistakeError(Exception):
    """The end of the evaluation of one item, with its diagnostic, or None if the cause was reported."""

    def __init__(self, diagnostic: Diagnostic | None) -> None:
        self.diagnostic = diagnostic
        super().__init__()


class TooManyMistakesError(Exception):
    """Ends the resolution of a spec that is wrong in more places than anybody reads."""


@dataclass(frozen=True)
class Renamed:
    """A word of an earlier release: its place, the former word and the current one."""

    span: Span
    was: str
    word: str


@dataclass
class Report:
    """The shared state of a resolution: the diagnostics so far, the currency, and the names of unusable blocks.

    Raises TooManyMistakesError at one diagnostic more than the limit.
    """

    found: list[Diagnostic] = field(default_factory=list)
    currency: str = ""
    currency_span: Span | None = None
    dropped: set[str] = field(default_factory=set)
    renamed: list[Renamed] = field(default_factory=list)

    def add(self, diagnostic: Diagnostic | None) -> None:
        if diagnostic is not None:
            if len(self.found) >= budgets.DIAGNOSTICS:
                raise TooManyMistakesError
            self.found.append(diagnostic)


class Scope(NamedTuple):
    """The names that an expression can use. ``draws`` is None if random values stay distributions.

    ``base`` is the number of which an item may be a share, and its name in the item's expression.
    """

    report: Report
    parameter: Callable[[str], Value | None]
    parameter_names: Collection[str] = ()
    draws: Draws | None = None
    base: tuple[str, Value] | None = None

    def current_word(self, former: Mapping[str, str], word: str, token: Any) -> str:
        """Return the word of today for a word of an earlier release, and note its place."""
        if word not in former:
            return word
        self.report.renamed.append(Renamed(self.span(token), word, former[word]))
        return former[word]

    def span(self, node: Any) -> Span:
        return tree.span_of(node)

    def mistake(self, code: str, message: str, node: Any, hint: str = "", *related: Related) -> MistakeError:
        return MistakeError(error(code, message, self.span(node), hint, *related))
