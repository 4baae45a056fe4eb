"""The problem families, each a package of its own that is loaded only when a spec names it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from mrdsl.contracts.family import Family

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

SHIPPED = ("bounds", "capacity", "joint", "energy", "deadline", "makespan", "schedule", "hybrid")
ENTRY_POINTS = "mrdsl.families"


@cache
def family(name: str) -> Family | None:
    """The family of that name, shipped or installed by a third party; None where there is none."""
    if name in SHIPPED:
        found = import_module(f"mrdsl.families.{name}").FAMILY
    else:
        found = next((point.load() for point in _installed() if point.name == name), None)
    return found if isinstance(found, Family) else None


def family_names() -> tuple[str, ...]:
    """Every family that a spec may name."""
    return SHIPPED + tuple(sorted(point.name for point in _installed()))


def _installed() -> Iterable[EntryPoint]:
    from importlib.metadata import entry_points

    return entry_points(group=ENTRY_POINTS)
