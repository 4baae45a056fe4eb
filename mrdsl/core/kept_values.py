"""Values that are worked out once and kept on the frozen object that they follow from."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def kept(owner: object, name: str, make: Callable[[], T]) -> T:
    """The value of ``make``, kept in ``owner`` as ``functools.cached_property`` keeps one of its own class.

    For floors above that of ``owner``, whose modules it does not know. Nobody writes to the value.
    """
    values = vars(owner)
    if name not in values:
        values[name] = make()
    value: T = values[name]
    return value
