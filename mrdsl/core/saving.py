"""How results and specs become JSON text and come back, and quantities are read from texts: by the floors above.

``Result.to_json`` and ``Spec.from_json`` are methods of what lies below, and a Spec takes ``price="0.192 USD/h"``;
importing ``mrdsl`` says who answers them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol


class Form(Protocol):
    """Writes a value as text, and reads it back.

    Names of files in the text are relative to ``folder`` if it is given; ``name`` is the text's own file.
    """

    def write(self, value: Any, folder: str | None = None) -> str: ...

    def read(self, text: str, name: str) -> Any: ...


class QuantityReader(Protocol):
    """Gives the value of an item from its name, its declaration, a text and the spec's currency; raises MrdslError."""

    def __call__(self, key: str, item: Any, text: str, currency: str, /) -> Any: ...


class SpecWriter(Protocol):
    """Gives the text of a spec; raises MrdslError for what is no valid one."""

    def __call__(self, spec: Any, /) -> str: ...


_FORMS: dict[str, Callable[[], Any]] = {}


def register(kind: str, form: Callable[[], Any]) -> None:
    """Has ``form`` answer for ``result``, ``spec``, ``text`` or ``quantity``; it is called when it is first needed."""
    _FORMS[kind] = form


def of_results() -> Form:
    """Return the form of results."""
    form: Form = _FORMS["result"]()
    return form


def of_specs() -> Form:
    """Return the form of specs."""
    form: Form = _FORMS["spec"]()
    return form


def of_texts() -> SpecWriter:
    """What writes a spec as text."""
    writer: SpecWriter = _FORMS["text"]()
    return writer


def of_quantities() -> QuantityReader:
    """What reads a quantity from a text."""
    reader: QuantityReader = _FORMS["quantity"]()
    return reader
