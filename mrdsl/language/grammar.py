"""Grammar of the language as Lark reads it, and the nodes of its rules; only texts with errors need it."""

from __future__ import annotations

from functools import cache
from typing import Any

from lark import Lark, Transformer

from mrdsl.core.resources import resource_text
from mrdsl.language import tree


class TreeBuilder(Transformer):  # type: ignore[type-arg]
    """Builds the nodes while the parser runs; no Lark tree is ever made."""

    def word(self, children: list[Any]) -> Any:
        return children[0]

    def number(self, children: list[Any]) -> Any:
        return tree.Number(children[0], None)

    def quantity(self, children: list[Any]) -> Any:
        return tree.Number(children[0], children[1])

    share = quantity

    def name(self, children: list[Any]) -> Any:
        return tree.Name(children[0])

    def clock(self, children: list[Any]) -> Any:
        return tree.Clock(children[0])

    def string(self, children: list[Any]) -> Any:
        return tree.Text(children[0])

    def call(self, children: list[Any]) -> Any:
        return tree.Call(children[0], tuple(children[2:-1]), children[-1])

    def listing(self, children: list[Any]) -> Any:
        return tree.List(children[0], tuple(children[1:-1]), children[-1])

    def group(self, children: list[Any]) -> Any:
        return tree.Group(children[0], children[1], children[2])

    def signed(self, children: list[Any]) -> Any:
        return tree.Signed(children[0], children[1])

    def total(self, children: list[Any]) -> Any:
        return tree.Sum(tuple(children))

    def product(self, children: list[Any]) -> Any:
        return tree.Product(tuple(children))

    def interval(self, children: list[Any]) -> Any:
        return tree.Interval(children[0], children[1])

    def index(self, children: list[Any]) -> Any:
        return tree.Index(children[0], children[1], children[2], children[3])

    def comparison(self, children: list[Any]) -> Any:
        return tree.Comparison(children[0], str(children[1]), children[2])

    def equation(self, children: list[Any]) -> Any:
        return tree.Comparison(children[0], "=", children[1])

    def assignment(self, children: list[Any]) -> Any:
        return tree.Assignment(tuple(children[:-1]), children[-1])

    def goal(self, children: list[Any]) -> Any:
        return tree.Goal((children[0],), children[1])

    def directive(self, children: list[Any]) -> Any:
        return _block(children, None, None, None)

    def braced(self, children: list[Any]) -> Any:
        opening = next(i for i, child in enumerate(children) if getattr(child, "type", "") == "LBRACE")
        return _block(children[:opening], children[opening], tuple(children[opening + 1 : -1]), children[-1])

    def document(self, children: list[Any]) -> Any:
        return tuple(children)


def _block(header: list[Any], opening: Any, statements: Any, closing: Any) -> tree.Block:
    call = index = None
    if header[-1].__class__ is tree.Call:
        call = header[-1]
        header = header[:-1]
    for position, part in enumerate(header):
        if part.__class__ is tree.Index:
            index = part
            return tree.Block(
                tuple(header[:position]), index, tuple(header[position + 1 :]), call, opening, statements, closing
            )
    return tree.Block(tuple(header), None, (), call, opening, statements, closing)


@cache
def grammar() -> Lark:
    """Return the parser of ``grammar/mrspec.lark``."""
    return Lark(
        resource_text("grammar/mrspec.lark"),
        parser="lalr",
        lexer="basic",
        start=["document", "expression"],
        maybe_placeholders=False,
        transformer=TreeBuilder(),
    )
