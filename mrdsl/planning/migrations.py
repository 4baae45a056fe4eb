"""Versions of the saved plan: what was written under an older one is brought to the present one, step by step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mrdsl.reporting.document import FORMAT as FORMAT
from mrdsl.spec.decoding import MalformedError

Migration = Callable[[dict[str, Any]], dict[str, Any]]

FAMILIES_OF_SLOTS = ("capacity", "joint")


def _without_bounds(document: dict[str, Any]) -> dict[str, Any]:
    """Versions 1 and 2 call estimates bounds that count slots in fractions: the view no longer says so."""
    plan = document.get("plan")
    classes = plan.get("classes") if isinstance(plan, dict) else None
    if not isinstance(plan, dict) or not isinstance(classes, dict):
        return document
    kept = {
        name: {key: value for key, value in each.items() if key != "upper_is_bound"} if isinstance(each, dict) else each
        for name, each in classes.items()
    }
    return {**document, "plan": {**plan, "classes": kept}}


def _slots_as_meant(document: dict[str, Any]) -> dict[str, Any]:
    """A spec of version 1 that leaves `whole` open means `no`, as it did when its plan was made."""
    spec = document.get("spec")
    facts = spec.get("facts") if isinstance(spec, dict) else None
    if not isinstance(spec, dict) or not isinstance(facts, dict) or spec.get("problem") not in FAMILIES_OF_SLOTS:
        return document
    return {**document, "spec": {**spec, "facts": {**facts, "whole": facts.get("whole") or "no"}}}


MIGRATIONS: Mapping[int, Migration] = {1: _slots_as_meant, 2: _without_bounds}
"""From each older version to the next."""


def migrated(document: dict[str, Any]) -> dict[str, Any]:
    """The document in the present version. Raises MalformedError for a newer one, and for none."""
    version = document.get("format")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise MalformedError("format", "is no version of a saved plan")
    if version > FORMAT:
        message = f"is {version}, and this mrdsl reads versions up to {FORMAT}"
        raise MalformedError("format", message, "take the mrdsl that wrote it, which `mrdsl` in it names")
    for older in range(version, FORMAT):
        document = {**MIGRATIONS[older](document), "format": older + 1}
    return document
