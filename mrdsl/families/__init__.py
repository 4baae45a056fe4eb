"""The problem families, each a separate package that is loaded only when a spec names it."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from mrdsl.contracts.family import Family, missing_in
from mrdsl.core.diagnostics import MrdslError, Related, error
from mrdsl.core.lazy import named
from mrdsl.core.plugins import entry_points_of, load

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from mrdsl.core.plugins import Plugin

SHIPPED = ("bounds", "capacity", "joint", "energy", "deadline", "makespan", "schedule", "hybrid", "timetable")
ENTRY_POINTS = "mrdsl.families"


@cache
def family(name: str) -> Family | None:
    """Return the family of that name, shipped or installed by a third party; None if there is none.

    Raises MrdslError ``broken-family`` if an installed package names one that it cannot load.
    """
    if name in SHIPPED:
        shipped: Family = named(f"mrdsl.families.{name}", "FAMILY")
        return shipped
    return next((_loaded(point) for point in entry_points_of(ENTRY_POINTS) if point.name == name), None)


def family_names() -> tuple[str, ...]:
    """Return every family that a spec may name. The name of a shipped family stays its own."""
    return SHIPPED + tuple(sorted({point.name for point in entry_points_of(ENTRY_POINTS)} - set(SHIPPED)))


def summary(name: str) -> str:
    """Return the purpose of a family in one line; if it cannot be loaded, the reason."""
    try:
        shipped = family(name)
    except MrdslError as broken:
        return "; ".join(diagnostic.message for diagnostic in broken.diagnostics)
    return shipped.summary if shipped is not None else ""


def reference_text(name: str) -> str | None:
    """Return the commented spec that ``mrdsl new`` starts from; None if the family does not exist or has none."""
    if name in SHIPPED:
        from mrdsl.core.resources import resource

        return resource(f"models/{name}/reference.mrspec").read_text(encoding="utf-8")
    known = family(name)
    return known.reference() if known is not None and known.reference is not None else None


def _loaded(point: EntryPoint) -> Family:
    try:
        declared = load(point)
    except Exception as cause:  # whatever a foreign package raises is its own mistake
        raise _broken(point, f"cannot be loaded: {type(cause).__name__}: {cause}", cause) from cause
    if not isinstance(declared, Family):
        raise _broken(point, "is no Family of `mrdsl.contracts.family`")
    if declared.name != point.name:
        raise _broken(point, f"calls itself `{declared.name}`")
    missing = next(missing_in(declared), "")
    if missing:
        raise _broken(point, missing)
    plugin = _plugin(point)
    if plugin is None:
        return declared
    from mrdsl.contracts.guarded_family import guarded_family

    return guarded_family(declared, plugin)


def _plugin(point: EntryPoint) -> Plugin | None:
    from mrdsl.core.plugins import plugin_of

    return plugin_of(f"the family `{point.name}`", point.value.partition(":")[0])


def _broken(point: EntryPoint, what: str, cause: Exception | None = None) -> MrdslError:
    hint = "this is a fault of that package: update it, or uninstall it"
    plugin = _plugin(point)
    place = plugin.place(cause) if plugin is not None and cause is not None else None
    where = () if place is None else (Related("this is where", place),)
    message = f"the family `{point.name}`, `{point.value}`, {what}"
    return MrdslError([error("broken-family", message, None, hint, *where)])
