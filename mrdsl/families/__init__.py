"""The problem families, each a package of its own that is loaded only when a spec names it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from mrdsl.contracts.family import Family
from mrdsl.core.diagnostics import MrdslError, error

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

SHIPPED = ("bounds", "capacity", "joint", "energy", "deadline", "makespan", "schedule", "hybrid")
ENTRY_POINTS = "mrdsl.families"


@cache
def family(name: str) -> Family | None:
    """The family of that name, shipped or installed by a third party; None where there is none.

    Raises MrdslError ``broken-family`` where an installed package names one that it cannot give.
    """
    if name in SHIPPED:
        shipped: Family = import_module(f"mrdsl.families.{name}").FAMILY
        return shipped
    return next((_loaded(point) for point in _installed() if point.name == name), None)


def family_names() -> tuple[str, ...]:
    """Every family that a spec may name. The name of a shipped family stays its own."""
    return SHIPPED + tuple(sorted({point.name for point in _installed()} - set(SHIPPED)))


def summary(name: str) -> str:
    """What a family is for, in one line; of one that cannot be loaded, why not."""
    try:
        found = family(name)
    except MrdslError as broken:
        return "; ".join(diagnostic.message for diagnostic in broken.diagnostics)
    return found.summary if found is not None else ""


def reference_text(name: str) -> str | None:
    """The commented spec that ``mrdsl new`` starts from; None where there is no such family, or it has none."""
    found = family(name)
    if found is not None and found.reference is not None:
        return found.reference()
    if name not in SHIPPED:
        return None
    from mrdsl.core.resources import resource

    return resource(f"models/{name}/reference.mrspec").read_text(encoding="utf-8")


def _loaded(point: EntryPoint) -> Family:
    try:
        found = point.load()
    except Exception as cause:  # whatever a foreign package raises is its own mistake
        raise _broken(point, f"cannot be loaded: {type(cause).__name__}: {cause}") from None
    if not isinstance(found, Family):
        raise _broken(point, "is no Family of `mrdsl.contracts.family`")
    if found.name != point.name:
        raise _broken(point, f"calls itself `{found.name}`")
    return found


def _broken(point: EntryPoint, what: str) -> MrdslError:
    hint = "this is a fault of that package: update it, or uninstall it"
    return MrdslError([error("broken-family", f"the family `{point.name}`, `{point.value}`, {what}", None, hint)])


def _installed() -> Iterable[EntryPoint]:
    from importlib.metadata import entry_points

    return entry_points(group=ENTRY_POINTS)
