"""Parts of a plan by the names that the spec gives them, made when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TypeVar

from mrdsl.core.suggestions import did_you_mean

V = TypeVar("V", covariant=True)


class ByName(Mapping[str, V]):
    """``plan.classes["clicks"]``: values by name in the spec's order; ``at`` makes the value at a place."""

    def __init__(self, names: Sequence[str], at: Callable[[int], V]) -> None:
        self._names, self._at = names, at

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self._names)}

    def __getitem__(self, name: str) -> V:
        try:
            return self._at(self._places[name])
        except KeyError:
            raise KeyError(f"{name!r}; {did_you_mean(str(name), self._names, 'there are: ')}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self._names)})"


def place_of(names: Sequence[str], name: str) -> int:
    """Where a name stands. Raises KeyError, with the nearest one."""
    return ByName(names, lambda place: place)[name]
