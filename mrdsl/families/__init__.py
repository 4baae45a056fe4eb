"""The problem families, each a package of its own that is loaded only when a spec names it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from mrdsl.contracts.family import Family
from mrdsl.core.diagnostics import MrdslError, error
from mrdsl.core.entry_points import entry_points_of, load

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

SHIPPED = ("bounds", "capacity", "joint", "energy", "deadline", "makespan", "schedule", "hybrid")
ENTRY_POINTS = "mrdsl.families"
KITS = {
    "pipeline": "heuristic steps for a family",
}
"""What `mrdsl new KIND NAME` writes a plug-in of, in a word; no family is called so."""


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
        shipped = family(name)
    except MrdslError as broken:
        return "; ".join(diagnostic.message for diagnostic in broken.diagnostics)
    return shipped.summary if shipped is not None else ""


def reference_text(name: str) -> str | None:
    """The commented spec that ``mrdsl new`` starts from; None where there is no such family, or it has none."""
    if name in SHIPPED:
        from mrdsl.core.resources import resource

        return resource(f"models/{name}/reference.mrspec").read_text(encoding="utf-8")
    known = family(name)
    return known.reference() if known is not None and known.reference is not None else None


def _loaded(point: EntryPoint) -> Family:
    try:
        declared = load(point)
    except Exception as cause:  # whatever a foreign package raises is its own mistake
        raise _broken(point, f"cannot be loaded: {type(cause).__name__}: {cause}") from None
    if not isinstance(declared, Family):
        raise _broken(point, "is no Family of `mrdsl.contracts.family`")
    if declared.name != point.name:
        raise _broken(point, f"calls itself `{declared.name}`")
    return declared


def _broken(point: EntryPoint, what: str) -> MrdslError:
    hint = "this is a fault of that package: update it, or uninstall it"
    return MrdslError([error("broken-family", f"the family `{point.name}`, `{point.value}`, {what}", None, hint)])


def _installed() -> Iterable[EntryPoint]:
    return entry_points_of(ENTRY_POINTS)
