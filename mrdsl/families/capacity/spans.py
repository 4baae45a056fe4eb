"""Which line of the spec stands behind each variable and constraint of a capacity model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mrdsl.core.source import Span
from mrdsl.families.capacity.facts import CapacityFacts
from mrdsl.spec.columns import names_of

_OF_A_CLASS = {
    "admitted": "jobs",
    "inverse_jobs": "jobs",
    "inverse": "jobs",
    "deadline": "deadline",
    "map_slots": "slots",
    "reduce_slots": "slots",
    "map_use": "deadline",
    "reduce_use": "deadline",
    "map_cone": "deadline",
    "reduce_cone": "deadline",
    "any_vm": "jobs",
    "map_at_least": "slots",
    "map_at_most": "map",
    "reduce_at_least": "slots",
    "reduce_at_most": "reduce",
}


class ModelSpans(Mapping[Any, Span | None]):
    """``model.spans``: looked up when asked for, since few models of 10,000 classes are ever asked.

    Keys are component names, or (component name, class name).
    """

    def __init__(self, facts: CapacityFacts) -> None:
        self.facts = facts
        vm = facts.vms[0]
        self.whole = {
            "on_demand": vm.on_demand.span_of("price"),
            "reserved": vm.span if vm.reserved is None else vm.reserved.span_of("available"),
            "enough_vms": vm.span,
            "cost": vm.span,
        }
        self._places: dict[str, int] | None = None

    def __getitem__(self, key: Any) -> Span | None:
        if not isinstance(key, tuple):
            return self.whole[key]
        component, name = key
        return self.facts.classes[self._place(name)].span_of(_OF_A_CLASS[component])

    def __iter__(self) -> Iterator[Any]:
        yield from self.whole
        for component in _OF_A_CLASS:
            yield from ((component, name) for name in names_of(self.facts.classes))

    def __len__(self) -> int:
        return len(self.whole) + len(_OF_A_CLASS) * len(self.facts.classes)

    def _place(self, name: str) -> int:
        if self._places is None:
            self._places = {known: index for index, known in enumerate(names_of(self.facts.classes))}
        return self._places[name]
