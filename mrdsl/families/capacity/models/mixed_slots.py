"""Variables of P2 of several VM types for slots besides the fewest: spare ones, and other pairs where vectors fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyomo.core as pyo
from numpy.typing import NDArray
from pyomo.core.expr.numeric_expr import LinearExpression

from mrdsl.families.capacity.market import FIRM, SPOT, Floats
from mrdsl.families.capacity.mix import Mix
from mrdsl.families.capacity.slot_sizes import RESOURCES
from mrdsl.families.capacity.slots_by_vector import SlotsByVector, in_fractions, slots_by_vector
from mrdsl.families.capacity.spare_slots import Spare, limited_classes, spare_of


@dataclass(frozen=True)
class JobVariables:
    """The variables of jobs: ``of_class`` and ``of_lane`` say where each runs, in the order of the variables."""

    of_class: NDArray[np.int64]
    of_lane: NDArray[np.int64]
    variables: list[Any]

    def by(self, places: NDArray[np.int64], count: int) -> list[list[int]]:
        """The numbers of the variables, grouped by class or by lane."""
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
        """The VMs that those of one class or lane take, ``weight`` times, as terms of a row."""
        mine = np.flatnonzero(places == place).tolist()
        return [(weight * float(self.entries.part[number]), self.variables[number]) for number in mine]


@dataclass(frozen=True)
class OtherPairs:
    """The variables of jobs on other pairs of slots than the first, where cores and memory have to fit."""

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
        """The terms of a row of one class or lane."""
        return [(float(values[n]), self.variables[n]) for n in np.flatnonzero(places == place).tolist()]


def row_of(terms: list[tuple[float, Any]], constant: float = 0.0) -> LinearExpression:
    return LinearExpression(
        constant=constant, linear_coefs=[each for each, _ in terms], linear_vars=[variable for _, variable in terms]
    )


def add_spare(model: pyo.ConcreteModel, mix: Mix, fractions: bool) -> SpareVariables:
    """Variables for slots beyond the fewest that firm jobs may hold, where a part of their class may be spot."""
    spare = spare_of(mix)
    if not len(spare):
        return SpareVariables(spare, [])
    market = mix.market
    columns = spare.of_class.tolist(), spare.of_lane.tolist(), spare.reduces.tolist()
    keys = [
        (mix.names[index], market.names[market.lanes[lane].vm], "reduce" if reduces else "map")
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
    """Variables for jobs on other pairs of slots, where cores and memory have to fit; at most all jobs of a lane.

    ``contents``: what each VM holds is added, for which other pairs are of use than for cores and memory in all.
    """
    if mix.sizes is None:
        return None
    fractions = bound or in_fractions(mix, relax)
    entries = slots_by_vector(mix, fractions, bound, contents)
    model.knows_all_slots = entries.complete and (fractions or not len(limited_classes(mix)))
    market = mix.market
    kinds = [(market.names[lane.vm], SPOT if lane.spot else FIRM) for lane in market.lanes]
    places = list(zip(entries.of_class.tolist(), entries.of_lane.tolist(), strict=True))
    keys = [(mix.names[index], *kinds[lane], number) for number, (index, lane) in enumerate(places)]
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
    lanes = {(market.names[lane.vm], SPOT if lane.spot else FIRM): number for number, lane in enumerate(market.lanes)}
    kind = spare.entries.reduces.astype(np.int64)
    parts = mix.sizes.parts[kind, :, market.vm_of_lane[spare.entries.of_lane], spare.entries.of_class]

    def enough(_: object, vm: str, way: str, resource: str) -> object:
        lane, number = lanes[vm, way], RESOURCES.index(resource)
        first = entries.first_taken[number, lane]
        terms = [(float(first[jobs.of_class[n]]), jobs.variables[n]) for n in rows[lane]]
        mine = np.flatnonzero(spare.entries.of_lane == lane).tolist()
        terms += [(float(parts[n, number]), spare.variables[n]) for n in mine]
        terms += others.at(entries.of_lane, lane, entries.taken[number])
        bought = [(-1.0, vms[n]) for n, offer in enumerate(market.offers) if offer.lane == lane]
        return None, row_of([*terms, *bought]), -float(market.masters_of_lane[lane])

    model.enough_vms = pyo.Constraint([(*key, each) for key in lanes for each in RESOURCES], rule=enough)
