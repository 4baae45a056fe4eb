"""How results and specs become JSON text and come back, said once by those who can: the floors above, which know them.

``Result.to_json`` and ``Spec.from_json`` are methods of what lies below; importing ``mrdsl`` says who answers them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol


class Form(Protocol):
    """Writes a value as text, and reads it back; ``name`` is the file's, for messages."""

    def write(self, value: Any) -> str: ...

    def read(self, text: str, name: str) -> Any: ...


_FORMS: dict[str, Callable[[], Form]] = {}


def register(kind: str, form: Callable[[], Form]) -> None:
    """Has ``form`` answer for results (``result``) or specs (``spec``); it is called when it is first needed."""
    _FORMS[kind] = form


def of_results() -> Form:
    """The form of results."""
    return _FORMS["result"]()


def of_specs() -> Form:
    """The form of specs."""
    return _FORMS["spec"]()
