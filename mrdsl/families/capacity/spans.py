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


_OF_ONE_CLASS = {"admitted": "jobs", "one_type": "types", "spot_share": "spot"}
_OF_PAIR = {"jobs": "jobs", "together": "types", "takes": "types"}
_OF_VM = ("available", "vms", "enough_vms")


class MixedSpans(Mapping[Any, Span | None]):
    """The same of models of several VM types. Keys are component names, or (component name, key of its index)."""

    def __init__(self, facts: CapacityFacts) -> None:
        self.facts = facts
        self._classes = {name: index for index, name in enumerate(names_of(facts.classes))}
        self._vms = {vm.name: vm for vm in facts.vms}

    def __getitem__(self, key: Any) -> Span | None:
        if not isinstance(key, tuple):
            return {"cost": self.facts.vms[0].span}[key]
        component, at = key
        if component in _OF_VM:
            vm = self._vms[at if isinstance(at, str) else at[0]]
            return vm.span_of("available") if component == "available" else vm.span
        if component in _OF_PAIR:
            return self.facts.classes[self._classes[at[0]]].span_of(_OF_PAIR[component])
        return self.facts.classes[self._classes[at]].span_of(_OF_ONE_CLASS[component])

    def __iter__(self) -> Iterator[Any]:
        yield "cost"
        for component in _OF_ONE_CLASS:
            yield from ((component, name) for name in self._classes)
        yield from (("available", name) for name in self._vms)

    def __len__(self) -> int:
        return 1 + len(_OF_ONE_CLASS) * len(self._classes) + len(self._vms)
