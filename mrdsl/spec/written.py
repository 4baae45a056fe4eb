"""Quantities of facts that a program gives as texts, ``price = "0.192 USD/h"``: read as a spec's text would be.

A text that is no quantity stays as it is, and the check
of the facts says why.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from mrdsl.core import saving
from mrdsl.core.diagnostics import MrdslError
from mrdsl.spec.columns import Columns
from mrdsl.spec.declared import Mistake
from mrdsl.spec.schema import Block, Item, Node, declarations

_FORMS = frozenset({"quantity", "range", "distribution", "list"})


def with_values(facts: Any, currency: str) -> Any:
    """The facts with the values of all texts that stand where a quantity belongs; the same facts without any."""
    if not isinstance(facts, Node):
        return facts
    changes: dict[str, Any] = {}
    for name, declared in declarations(type(facts)).items():
        was = getattr(facts, name, None)
        now = _block(was, currency) if isinstance(declared, Block) else _item(name, declared, was, currency)
        if now is not was:
            changes[name] = now
    return replace(facts, **changes) if changes else facts


def mistake_in(key: str, item: Item, text: str, currency: str) -> Mistake | None:
    """Why a text is no value of the item; None where it is not read as one."""
    if item.form not in _FORMS:
        return None
    try:
        saving.of_quantities()(key, item, text, currency)
    except MrdslError as failure:
        first = failure.diagnostics[0]
        return Mistake(first.code, first.message, first.hint)
    return None


def _block(value: Any, currency: str) -> Any:
    if isinstance(value, Node):
        return with_values(value, currency)
    if isinstance(value, Columns) or not isinstance(value, tuple | list):
        return value
    nodes = [with_values(node, currency) for node in value]
    return type(value)(nodes) if any(a is not b for a, b in zip(nodes, value, strict=True)) else value


def _item(name: str, item: Item, value: Any, currency: str) -> Any:
    if item.form == "list" and isinstance(value, Sequence) and any(isinstance(each, str) for each in value):
        one = replace(item, form="quantity")
        return tuple(_item(name, one, each, currency) for each in value) if not isinstance(value, str) else value
    if not isinstance(value, str) or item.form not in _FORMS or item.form == "list":
        return value
    try:
        return saving.of_quantities()(name.rstrip("_"), item, value, currency)
    except MrdslError:
        return value
