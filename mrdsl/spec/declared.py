"""What a declared item accepts: one reading of its limits, for texts, for tables and for specs built in Python."""

from __future__ import annotations

from math import ceil, isclose, isfinite
from numbers import Integral, Real
from typing import Any, NamedTuple

from mrdsl.core import units
from mrdsl.spec.schema import Item

WHOLE_TOLERANCE = 1e-9
LARGEST_WHOLE = 2**53
"""Beyond this, whole numbers are no longer told apart by what calculates with them."""
WHOLE_REASON = "whole numbers are exact only up to 2^53"
LARGEST = 1e100
"""Numbers of a spec and their results, in SI, go up to this in size: a product of three still is a number."""
LARGEST_REASON = "numbers go up to 1e100"


class Mistake(NamedTuple):
    """What is wrong with one value: the code, the message, and what to write instead."""

    code: str
    message: str
    hint: str


def acceptable(item: Item, number: Any) -> Any:
    """Whether a number is within the item's limits; for an array, an array of answers."""
    result: Any = number == number
    if item.above is not None:
        result = result & (number > item.above)
    if item.at_least is not None:
        result = result & (number >= item.at_least)
    if item.below is not None:
        result = result & (number < item.below)
    if item.at_most is not None:
        result = result & (number <= item.at_most)
    return result


def within(item: Item, number: float) -> bool:
    """Whether a number that is written is of a size that every item takes, and within the item's limits."""
    return (
        abs(number) <= LARGEST_WHOLE
        and (item.at_least is None or number >= item.at_least)
        and (item.above is None or number > item.above)
        and (item.at_most is None or number <= item.at_most)
        and (item.below is None or number < item.below)
    )


def limit_words(item: Item, currency: str) -> list[str]:
    """Each declared limit in words, in the item's own units."""
    named = (("above", item.above), ("at least", item.at_least), ("below", item.below), ("at most", item.at_most))
    return [f"{word} {units.show(limit, item.kind, currency)}" for word, limit in named if limit is not None]


def limits(item: Item, currency: str) -> str:
    """The declared limits as one phrase."""
    return " and ".join(limit_words(item, currency))


def number_mistake(key: str, item: Item, number: float, currency: str = units.DEFAULT_CURRENCY) -> Mistake | None:
    """What is wrong with a number as a value of ``key``: not finite, outside the limits, not whole; None if nothing."""
    if not isfinite(number):
        return Mistake(
            "number-too-large" if number == number else "not-a-number",
            f"`{key}` is {number}, which nothing can be planned with",
            "write a finite number",
        )
    if abs(number) > LARGEST:
        return Mistake("number-too-large", f"`{key}` is {number:g}, but {LARGEST_REASON}", "write a smaller number")
    if not acceptable(item, number):
        return out_of_range(key, item, number, currency)
    return whole_mistake(key, number) if item.whole else None


def out_of_range(key: str, item: Item, number: float, currency: str) -> Mistake:
    """That a number is outside the declared limits."""
    shown = units.show(float(number), item.kind, currency)
    return Mistake(
        "out-of-range",
        f"`{key}` is {shown}, but must be {limits(item, currency)}",
        f"write {units.KINDS[item.kind].noun} {limits(item, currency)}",
    )


def whole_mistake(key: str, number: float) -> Mistake | None:
    """What is wrong with a number that must be whole; None if nothing."""
    if abs(number) > LARGEST_WHOLE:
        return Mistake(
            "number-too-large",
            f"`{key}` is {number:g}, but {WHOLE_REASON}",
            "write a smaller number",
        )
    if not isclose(number, round(number), rel_tol=WHOLE_TOLERANCE, abs_tol=WHOLE_TOLERANCE):
        return Mistake(
            "not-whole", f"`{key}` is {number:g}, but must be a whole number", f"write `{key} = {ceil(number)}`"
        )
    return None


def near_whole(numbers: Any) -> Any:
    """Of an array, which numbers are whole but for the noise that :func:`whole_mistake` overlooks."""
    size = abs(numbers)
    return abs(numbers - numbers.round()) <= WHOLE_TOLERANCE * size.clip(1.0)


def python_number_mistake(key: str, item: Item, value: Any, currency: str = units.DEFAULT_CURRENCY) -> Mistake | None:
    """:func:`number_mistake` of any Python object, which may be no number at all; a whole number is an ``int``."""
    if type(value) is (int if item.whole else float) and within(item, value):
        return None
    if not isinstance(value, Real) or isinstance(value, bool):
        return Mistake(
            "wrong-value",
            f"`{key}` is {units.KINDS[item.kind].noun}, not {described(value)}",
            f"give a number{_in_si(item, currency)}",
        )
    try:
        number = float(value)
    except OverflowError:
        return Mistake("number-too-large", f"`{key}` is too large for a number", "give a smaller number")
    mistake = number_mistake(key, item, number, currency)
    if mistake is not None:
        return mistake
    if isinstance(value, Integral):
        return whole_mistake(key, int(value))
    if item.whole:
        return Mistake("not-whole", f"`{key}` is the float {number:g}, but must be an int", f"give {round(number)}")
    return None


def described(value: object) -> str:
    """A Python object in a message: its type and, in short, itself."""
    if value is None:
        return "None"
    shown = repr(value)
    return f"the {type(value).__name__} {shown if len(shown) <= 40 else shown[:37] + '...'}"


def advice(item: Item, currency: str = "") -> str:
    """What an item of numbers takes, in words: no number that would be somebody else's."""
    kind = units.KINDS[item.kind]
    unit = kind.shown_in(currency).removeprefix("1")
    if kind.dimension == units.NUMBER or units.is_count(kind.dimension):
        return f"write {kind.noun}"
    return f"write {kind.noun}: a number and its unit, such as `{unit}`"


def _in_si(item: Item, currency: str) -> str:
    unit = units.KINDS[item.kind].si.format(currency=currency)
    return f" in {unit}" if unit else ""
