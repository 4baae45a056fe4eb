"""Nodes are equal, hashed and shown as dataclasses are, by methods that all of their types share."""

from __future__ import annotations

from dataclasses import dataclass, field, make_dataclass
from typing import Any

import pytest

from mrdsl.core.source import Span
from mrdsl.families import family, family_names
from mrdsl.spec.schema import Block, Node, declarations, quantity


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Shop(Node):
    price: float = quantity("number", "what it asks")
    note: str = field(default="", compare=False)


@dataclass(frozen=True, kw_only=True)
class Made:
    """What the methods of a dataclass make of the same fields."""

    name: str = ""
    price: float = 0.0


def types_below(node: type[Node]) -> set[type[Node]]:
    below = [each.node for each in declarations(node).values() if isinstance(each, Block)]
    return {node}.union(*map(types_below, below))


@pytest.mark.parametrize("name", sorted(family_names()))
def test_no_type_of_a_family_is_given_methods_of_its_own(name: str) -> None:
    """Each costs time at every start."""
    own = {"__eq__", "__hash__", "__repr__"}
    found = family(name)
    assert found is not None
    assert [node for node in types_below(found.facts) if own & vars(node).keys()] == []


def test_nodes_are_equal_by_what_is_compared() -> None:
    span = Span("shop.mrspec", 1, 1, 1, 5)
    node = Shop(name="a", price=2.0)
    assert node == Shop(name="a", price=2.0, note="else", span=span, spans={"price": span})
    assert hash(node) == hash(Shop(name="a", price=2.0, span=span)) == hash(Made(name="a", price=2.0))
    assert node != Shop(name="b", price=2.0)
    assert node != Shop(name="a", price=3.0)
    assert node != Made(name="a", price=2.0)
    assert node != make_dataclass("Other", [], bases=(Shop,), frozen=True)(name="a", price=2.0)


def test_a_node_shows_what_a_dataclass_does() -> None:
    made: Any = repr(Made(name="a", price=2.0))
    assert repr(Shop(name="a", price=2.0)) == made.replace("Made", "Shop").replace(")", ", note='')")
