"""Types of items: what a field of a block takes when it is built, and what it has afterwards.

A quantity takes a number in SI units or a text with a unit, such as ``"0.192 USD/h"``, and has a number. Type checkers
see a descriptor, whose ``__set__`` is the type of the argument and whose ``__get__`` is that of the attribute; at run
time the names are the types of the attributes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from mrdsl.spec.schema import Distribution, Range

if TYPE_CHECKING:
    Taken = TypeVar("Taken")
    Has = TypeVar("Has")

    class Field(Generic[Taken, Has]):
        """A field that takes values of one type and has values of another."""

        def __get__(self, node: object, owner: Any = None) -> Has: ...
        def __set__(self, node: object, value: Taken) -> None: ...

    Quantity = Field[float | str, float]
    OptionalQuantity = Field[float | str | None, float | None]
    Whole = Field[int | str, int]
    OptionalWhole = Field[int | str | None, int | None]
    RangeOf = Field[Range | str, Range]
    OptionalRange = Field[Range | str | None, Range | None]
    Random = Field[float | Distribution | str, float | Distribution]
    OptionalRandom = Field[float | Distribution | str | None, float | Distribution | None]
    Quantities = Field[Sequence[float | str], tuple[float, ...]]
else:
    Quantity, OptionalQuantity = float, float | None
    Whole, OptionalWhole = int, int | None
    RangeOf, OptionalRange = Range, Range | None
    Random, OptionalRandom = float | Distribution, float | Distribution | None
    Quantities = tuple[float, ...]
