"""Single quantities as a person writes them, ``"0.192 USD/h"``, where no spec's text is around them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from mrdsl.core.diagnostics import MrdslError, error
from mrdsl.core.printable import shortened
from mrdsl.language import tree
from mrdsl.language.evaluate import evaluate
from mrdsl.language.items import convert
from mrdsl.language.parsing import parse_expression
from mrdsl.language.scope import MistakeError, Report, Scope
from mrdsl.spec.schema import Item

_EXAMPLES = 'write it as in a spec: "15 min", "0.192 USD/h", "16 GiB", "85%"'
_RANGE = ".."


def quantity(text: str, *, currency: str = "") -> float:
    """The number in SI units that a text means: ``quantity("0.192 USD/h")`` is 0.192 / 3600, money per second.

    Seconds, bytes, joules, watts, plain counts and shares; money is in the currency that is written. ``currency``,
    where given, is the only one allowed. Raises MrdslError where the text is no quantity.
    """
    try:
        value = evaluate(_tree(text), _scope(currency))
    except MistakeError as mistake:
        raise _alone(mistake) from None
    if not isinstance(value.number, float):
        raise MrdslError([error("random-value", f"`{shortened(text)}` is no single number", None, _EXAMPLES)])
    return value.number


def item_from_text(key: str, item: Item, text: str, currency: str) -> Any:
    """The value of ``key = text`` as a spec in that currency would have it. Raises MrdslError with the reason."""
    try:
        low, dots, high = text.partition(_RANGE)
        node = tree.Interval(_tree(low), _tree(high)) if dots and item.form == "range" else _tree(text)
        return convert(key, item, node, _scope(currency))
    except MistakeError as mistake:
        raise _alone(mistake) from None


def _tree(text: str) -> Any:
    node = parse_expression(text) if isinstance(text, str) else None
    if node is None:
        shown = f"`{shortened(text)}`" if isinstance(text, str) else f"{type(text).__name__}, not a text,"
        raise MrdslError([error("wrong-value", f"{shown} is no quantity", None, _EXAMPLES)])
    return node


def _scope(currency: str) -> Scope:
    return Scope(tree.FileNames(("<text>",)), Report(currency=currency), lambda name: None)


def _alone(mistake: MistakeError) -> MrdslError:
    """The mistake without its place, which is that of the text alone."""
    assert mistake.diagnostic is not None
    return MrdslError([replace(mistake.diagnostic, span=None, related=())])
