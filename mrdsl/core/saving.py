"""Hooks of upper layers: writing and reading results and specs as JSON, and reading quantities from texts.

``Result.to_json`` and ``Spec.from_json`` are methods of lower layers, and a Spec accepts ``price="0.192 USD/h"``.
Importing ``mrdsl`` registers the functions that answer them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol


class Form(Protocol):
    """Writes a value as text, and reads it back.

    Names of files in the text are relative to ``folder`` if it is given; ``name`` is the text's own file.
    """

    def write(self, value: Any, folder: str | None = None) -> str: ...

    def read(self, text: str, name: str) -> Any: ...


class QuantityReader(Protocol):
    """Gives the value of an item from its name, its declaration, a text and the spec's currency; raises MrdslError.

    The last argument is the number of which the item may be a share.
    """

    def __call__(self, key: str, item: Any, text: str, currency: str, base: float | None = None, /) -> Any: ...


class SpecWriter(Protocol):
    """A writer of specs as text; raises MrdslError for invalid specs."""

    def __call__(self, spec: Any, /) -> str: ...


_FORMS: dict[str, Callable[[], Any]] = {}


def register(kind: str, form: Callable[[], Any]) -> None:
    """Let ``form`` answer for a kind: ``result``, ``spec``, ``text``, ``quantity``, ``chart`` or ``charts``.

    It is called when it is first needed.
    """
    _FORMS[kind] = form


def of_results() -> Form:
    """Return the form of results."""
    form: Form = _FORMS["result"]()
    return form


def of_specs() -> Form:
    """Return the form of specs."""
    form: Form = _FORMS["spec"]()
    return form


def of_charts() -> Callable[[Any], Any]:
    """Return the function that draws a chart with Altair."""
    draw: Callable[[Any], Any] = _FORMS["chart"]()
    return draw


def of_pictures() -> Callable[[Any], Sequence[Any]]:
    """Return the function that gives the charts of a result."""
    charts: Callable[[Any], Sequence[Any]] = _FORMS["charts"]()
    return charts


def of_texts() -> SpecWriter:
    """Return the writer of specs as text."""
    writer: SpecWriter = _FORMS["text"]()
    return writer


def of_quantities() -> QuantityReader:
    """Return the reader of quantities in texts."""
    reader: QuantityReader = _FORMS["quantity"]()
    return reader
