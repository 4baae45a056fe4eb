"""Variables of P2 for jobs and for spare slots, and the spec lines of a model's parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyomo.core as pyo
from numpy.typing import NDArray
from pyomo.core.expr.numeric_expr import LinearExpression

from mrdsl.core.diagnostics import Span
from mrdsl.families.capacity.facts import CapacityFacts
from mrdsl.families.capacity.instance import Mix
from mrdsl.families.capacity.lanes import Spare, limited_classes, spare_of
from mrdsl.families.capacity.market import FIRM, Floats
from mrdsl.families.capacity.slot_choices import SlotsByVector, in_fractions, reaches_all, slots_by_vector
from mrdsl.formulas.containers import RESOURCES
from mrdsl.spec.columns import names_of


@dataclass(frozen=True)
class JobVariables:
    """The variables of jobs; ``of_class`` and ``of_lane`` are the class and the lane of each variable."""

    of_class: NDArray[np.int64]
    of_lane: NDArray[np.int64]
    variables: list[Any]

    def by(self, places: NDArray[np.int64], count: int) -> list[list[int]]:
        """Return the numbers of the variables, grouped by class or by lane."""
        found: list[list[int]] = [[] for _ in range(count)]
        for number, place in enumerate(places.tolist()):
            found[place].append(number)
        return found


@dataclass(frozen=True)
class SpareVariables:
    """The variables of slots beyond the fewest."""

    entries: Spare
    variables: list[Any]

    @property
    def places(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
        """Class, lane, and whether they are reduce slots."""
        return self.entries.of_class, self.entries.of_lane, self.entries.reduces

    def at(self, places: NDArray[np.int64], place: int, weight: float = 1.0) -> list[tuple[float, Any]]:
        """Return the VMs that those of one class or lane take, ``weight`` times, as terms of a row."""
        mine = np.flatnonzero(places == place).tolist()
        return [(weight * float(self.entries.part[number]), self.variables[number]) for number in mine]


@dataclass(frozen=True)
class OtherPairs:
    """The variables of jobs on other pairs of slots than the first, if cores and memory have to fit."""

    entries: SlotsByVector
    variables: list[Any]

    def rows(self) -> list[tuple[int, int, bool, int, Any]]:
        """Class, lane, whether they are reduce slots, how many more than of the first pair, and the variable."""
        entries, found = self.entries, []
        for reduces, more in ((False, entries.maps), (True, entries.reduces)):
            columns = entries.of_class.tolist(), entries.of_lane.tolist(), more.tolist(), self.variables
            found += [(i, lane, reduces, round(n), each) for i, lane, n, each in zip(*columns, strict=True) if n]
        return found

    def at(self, places: NDArray[np.int64], place: int, values: Floats) -> list[tuple[float, Any]]:
        """Return the terms of a row of one class or lane."""
        return [(float(values[n]), self.variables[n]) for n in np.flatnonzero(places == place).tolist()]


def row_of(terms: Sequence[tuple[float, Any]]) -> LinearExpression:
    """Write terms, coefficients with their variables, as a linear sum."""
    return LinearExpression(
        constant=0.0, linear_coefs=[float(each) for each, _ in terms], linear_vars=[variable for _, variable in terms]
    )


class Turns:
    """Variables for the VMs of groups of classes that never run together, added to the model row by row."""

    def __init__(self, model: pyo.ConcreteModel, mix: Mix) -> None:
        self.groups, self.names, self.model = mix.groups, mix.names, model
        if mix.groups is not None:
            model.group_vms = pyo.Var(pyo.Any, domain=pyo.NonNegativeReals, dense=False)
            model.group_holds = pyo.Constraint(pyo.Any)

    def of(
        self, key: tuple[str, ...], terms: list[tuple[float, Any]], classes: Sequence[Any]
    ) -> list[tuple[float, Any]]:
        """Return the terms of a row of VMs in which a group counts as its most demanding class.

        ``classes`` has the class of each term. Other rows hold each class of a group within the VMs of the group.
        """
        if self.groups is None:
            return terms
        number = np.bincount(self.groups)
        alone, shared = [], dict[int, dict[int, list[tuple[float, Any]]]]()
        for term, index in zip(terms, map(int, classes), strict=True):
            group = int(self.groups[index])
            if number[group] < 2:
                alone.append(term)
            else:
                shared.setdefault(group, {}).setdefault(index, []).append(term)
        for group, members in shared.items():
            held = self.model.group_vms[(f"group {group + 1}", *key)]
            alone.append((1.0, held))
            for index, mine in members.items():
                self.model.group_holds[(self.names[index], *key)] = (None, row_of([*mine, (-1.0, held)]), 0.0)
        return alone


def add_spare(model: pyo.ConcreteModel, mix: Mix, fractions: bool) -> SpareVariables:
    """Return variables for slots beyond the fewest that firm jobs hold if a part of their class may be spot."""
    spare = spare_of(mix)
    if not len(spare):
        return SpareVariables(spare, [])
    market = mix.market
    columns = spare.of_class.tolist(), spare.of_lane.tolist(), spare.reduces.tolist()
    keys = [
        (mix.names[index], market.kinds[lane][0], "reduce" if reduces else "map")
        for index, lane, reduces in zip(*columns, strict=True)
    ]
    most = dict(zip(keys, spare.most.tolist(), strict=True))
    all_jobs = dict(zip(keys, (spare.most * mix.expected[spare.of_class]).tolist(), strict=True))
    model.more_slots = pyo.Var(
        keys,
        domain=pyo.NonNegativeReals if fractions else pyo.NonNegativeIntegers,
        bounds=lambda _, *key: (0, all_jobs[key]),
    )
    model.more_slots_of_jobs = pyo.Constraint(
        keys,
        rule=lambda k, *key: (
            None,
            row_of([(1.0, k.more_slots[key]), (-most[key], k.jobs[key[0], key[1], FIRM])]),
            0.0,
        ),
    )
    return SpareVariables(spare, list(model.more_slots.values()))


def add_other_pairs(model: pyo.ConcreteModel, mix: Mix, relax: bool, bound: bool, contents: bool) -> OtherPairs | None:
    """Return variables for jobs on other pairs of slots, at most all jobs of a lane, if cores and memory have to fit.

    ``contents``: the model adds the contents of each VM, for which other pairs are useful than for totals of cores and
    memory.
    """
    if mix.sizes is None:
        return None
    fractions = bound or in_fractions(mix, relax)
    entries = slots_by_vector(mix, fractions, bound, contents)
    every = fractions or not len(limited_classes(mix)) or (contents and reaches_all(mix, entries))
    model.knows_all_slots = entries.complete and every
    market = mix.market
    places = list(zip(entries.of_class.tolist(), entries.of_lane.tolist(), strict=True))
    keys = [(mix.names[index], *market.kinds[lane], number) for number, (index, lane) in enumerate(places)]
    model.jobs_by_slots = pyo.Var(keys, domain=pyo.NonNegativeReals if fractions else pyo.NonNegativeIntegers)
    model.slots_by_vector = entries, not fractions
    variables = list(model.jobs_by_slots.values())
    by_pair: dict[tuple[str, ...], list[Any]] = {}
    for key, variable in zip(keys, variables, strict=True):
        by_pair.setdefault(key[:3], []).append((1.0, variable))
    model.jobs_on_others = pyo.Constraint(
        list(by_pair), rule=lambda k, *key: (None, row_of([*by_pair[key], (-1.0, k.jobs[key])]), 0.0)
    )
    return OtherPairs(entries, variables)


def add_resources(
    model: pyo.ConcreteModel, mix: Mix, jobs: JobVariables, spare: SpareVariables, others: OtherPairs
) -> None:
    """Equation (25) for each lane and each of cores and memory."""
    market, entries = mix.market, others.entries
    assert mix.sizes is not None
    rows = jobs.by(jobs.of_lane, len(market.lanes))
    vms = list(model.vms.values())
    lanes = {kind: number for number, kind in enumerate(market.kinds)}
    turns = Turns(model, mix)
    kind = spare.entries.reduces.astype(np.int64)
    parts = mix.sizes.parts[kind, :, market.vm_of_lane[spare.entries.of_lane], spare.entries.of_class]

    def enough(_: object, vm: str, way: str, resource: str) -> object:
        lane, number = lanes[vm, way], RESOURCES.index(resource)
        first = entries.first_used[number, lane]
        terms = [(float(first[jobs.of_class[n]]), jobs.variables[n]) for n in rows[lane]]
        mine = np.flatnonzero(spare.entries.of_lane == lane).tolist()
        terms += [(float(parts[n, number]), spare.variables[n]) for n in mine]
        terms += others.at(entries.of_lane, lane, entries.taken[number])
        classes = [
            *jobs.of_class[rows[lane]],
            *spare.entries.of_class[mine],
            *entries.of_class[entries.of_lane == lane],
        ]
        terms = turns.of((vm, way, resource), terms, classes)
        bought = [(-1.0, vms[n]) for n, offer in enumerate(market.offers) if offer.lane == lane]
        return None, row_of([*terms, *bought]), -float(market.masters_of_lane[lane])

    model.enough_vms = pyo.Constraint([(*key, each) for key in lanes for each in RESOURCES], rule=enough)


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
    "jobs": "jobs",
    "one_type": "types",
    "spot_share": "spot",
    "together": "types",
    "takes": "types",
    "group_holds": "jobs",
}
_OF_VM = ("available", "vms", "enough_vms")


class ModelSpans(Mapping[Any, Span | None]):
    """``model.spans``: looked up when asked for, since few models of 10,000 classes are ever asked.

    Keys are component names, or (component name, index); an index is a class or a VM type, or begins with one.
    """

    def __init__(self, facts: CapacityFacts) -> None:
        self.facts = facts
        vm = facts.vms[0]
        self.whole = {
            "on_demand": vm.on_demand.span_of("price"),
            "reserved": vm.span if vm.reserved is None else vm.reserved.span_of("available"),
            "cost": vm.span,
        }
        if facts.hdfs is not None:
            self.whole["hdfs"] = facts.hdfs.span
        if len(facts.vms) == 1:
            self.whole["enough_vms"] = vm.span
        self._vms = {vm.name: vm for vm in facts.vms}

    def __getitem__(self, key: Any) -> Span | None:
        if not isinstance(key, tuple):
            return self.whole[key]
        component, at = key
        name = at[0] if isinstance(at, tuple) else at
        if component == "group_vms":
            return self.facts.never_together[0].span
        if component == "quota":
            return next(each for each in self.facts.quotas if each.name == name).span_of("cores")
        if component in _OF_VM:
            vm = self._vms[name]
            return vm.span_of("available") if component == "available" else vm.span
        return self.facts.classes[self._places[name]].span_of(_OF_A_CLASS[component])

    def __iter__(self) -> Iterator[Any]:
        yield from self.whole
        yield from (("available", name) for name in self._vms)
        yield from (("quota", each.name) for each in self.facts.quotas)
        for component in _OF_A_CLASS:
            yield from ((component, name) for name in self._places)

    def __len__(self) -> int:
        return len(self.whole) + len(self._vms) + len(self.facts.quotas) + len(_OF_A_CLASS) * len(self._places)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: index for index, name in enumerate(names_of(self.facts.classes))}
