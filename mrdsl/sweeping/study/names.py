"""What a study's methods are called in all its runs: one name for one method with one set of limits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mrdsl.core.result import Limits
from mrdsl.sweeping.study.declaration import Design

FORMS = {
    "time": "{:.15g} s",
    "gap": "gap {:.15g}",
    "nodes": "{:d} nodes",
    "threads": "{:d} threads",
    "seed": "seed {:d}",
}
"""Limits in the name of a method that has several: ``10 s, gap 0.01``."""
Names = Mapping[tuple[str, Limits], str]


def names_of(designs: Iterable[Design]) -> Names:
    """The name of every label with its limits: the label alone, unless the study has several limits for it."""
    limits: dict[str, dict[Limits, None]] = {}
    for design in designs:
        for method in design.methods:
            limits.setdefault(method.label, {}).update(dict.fromkeys(design.limits))
    return {
        (label, each): label if len(own) == 1 else f"{label} ({_short(each)})"
        for label, own in limits.items()
        for each in own
    }


def _short(limits: Limits) -> str:
    given = [form.format(value) for name, form in FORMS.items() if (value := getattr(limits, name)) is not None]
    return ", ".join(given) or "no limit"
