"""P2 in arrays, without Pyomo: the same problem as the models of P2."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mrdsl.contracts.family import ArrayForm
from mrdsl.core.linear_program import INTEGRALITY, Array, LinearProgram
from mrdsl.core.rounding import ceiling
from mrdsl.families.capacity.facts import MACHINES, NO
from mrdsl.families.capacity.forms import as_solved, has_closed_form
from mrdsl.families.capacity.instance import Instance, Mix, instance_of
from mrdsl.families.capacity.lanes import Spare, SpareSlots, solved_mix, spare_of
from mrdsl.families.capacity.plan import CapacityPlan, plan_of
from mrdsl.families.capacity.plan_building import places_of, rented_plan, taken_vms
from mrdsl.formulas.pairs import Floats
from mrdsl.spec.spec import Spec


def admitted_again(plan: object, names: Sequence[str], expected: Floats) -> Floats | None:
    """Return the whole jobs of each class of ``names`` that the plan admits, at most ``expected``.

    A class that is not in the plan has no jobs. If the plan has none of the classes, return None.
    """
    if not isinstance(plan, CapacityPlan):
        return None
    before = dict(zip(plan.names, plan.admitted.tolist(), strict=True))
    if not any(name in before for name in names):
        return None
    return np.minimum(_whole(np.array([before.get(name, 0.0) for name in names])), expected)


def placed_again(plan: object, mix: Mix) -> Floats | None:
    """Return the same by lane and class, of shape (lanes, classes); jobs whose lane is not there today are left out."""
    if not isinstance(plan, CapacityPlan) or not set(mix.names) & set(plan.names):
        return None
    market = mix.market
    class_of = {name: number for number, name in enumerate(mix.names)}
    vm_of = {name: number for number, name in enumerate(market.names)}
    lane_of = {(lane.vm, lane.spot): number for number, lane in enumerate(market.lanes)}
    jobs = np.zeros_like(mix.gamma)
    for name, vm, spot, count in _shares(plan):
        lane = lane_of.get((vm_of.get(vm, -1), spot))
        if name in class_of and lane is not None:
            jobs[lane, class_of[name]] += count
    within = np.minimum(np.cumsum(np.where(mix.possible, _whole(jobs), 0.0), axis=0), mix.expected)
    return np.asarray(np.diff(within, axis=0, prepend=0.0))


def _whole(jobs: Floats) -> Floats:
    return np.asarray(np.floor(jobs + INTEGRALITY))


def _shares(plan: CapacityPlan) -> Iterator[tuple[str, str, bool, float]]:
    """Class, type, whether it is spot, and jobs of every share."""
    mixture = plan.mixture
    columns = (mixture.of_class, mixture.of_vm, mixture.spot, mixture.jobs)
    for index, vm, spot, count in zip(*(each.tolist() for each in columns), strict=True):
        yield plan.names[index], mixture.types[vm], spot, count


PRESOLVE_PAYS_UP_TO = 2_000
"""HiGHS's presolve takes time quadratic in the one dense row (100,000 columns: minutes), in vain; see benchmarks."""


def plain_arrays(spec: Spec, relax: bool) -> ArrayForm | None:
    """Return P2 with one VM type, one row (25) and no ``subject to``.

    Columns are d, r and h. Return None if a spec has more, or if a coefficient is 0: Pyomo would leave its variable out
    of a sum.
    """
    if spec.constraints or not has_closed_form(spec.facts):
        return None
    instance = instance_of(as_solved(spec, relax))
    with np.errstate(divide="ignore", invalid="ignore"):  # of a deadline that nothing keeps: told by the model's build
        gamma = instance.vms_per_job()
    prices = instance.prices
    costs = np.concatenate([[prices.on_demand, prices.reserved], -instance.worth])
    plain = np.isfinite(gamma) & (gamma > 0.0)
    if not plain.all() or not costs.all() or (not relax and all_fit_one_vm(instance, gamma)):
        return None
    program = LinearProgram(
        costs=costs,
        offset=float(instance.penalty @ instance.expected),
        maximize=False,
        lower=np.concatenate([[0.0, 0.0], instance.low]),
        upper=np.concatenate([[np.inf, float(prices.available)], instance.most]),
        integer=np.full(len(costs), not relax),
        starts=np.array([0, len(costs)], dtype=np.int64),
        columns=np.concatenate([np.arange(2, len(costs)), [0, 1]]),
        coefficients=np.concatenate([gamma, [-1.0, -1.0]]),
        row_lower=np.array([-np.inf]),
        row_upper=np.array([0.0]),
        hints=solver_hints(instance),
    )
    return ArrayForm(
        program, lambda _: "enough_vms", partial(_decoded_plain, instance, relax), partial(_plain_point, instance)
    )


def _decoded_plain(instance: Instance, relax: bool, point: Floats) -> CapacityPlan:
    on_demand, reserved, *jobs = point.tolist()
    return plan_at(instance, (on_demand, reserved), jobs, relax)


def _plain_point(instance: Instance, plan: object) -> Floats | None:
    """Return the columns at the jobs of a plan, on the VMs that they take; None if it has none of the classes."""
    jobs = admitted_again(plan, instance.names, instance.most)
    if jobs is None:
        return None
    prices, needed = instance.prices, float(ceiling(float(instance.vms_per_job() @ jobs)))
    reserved = min(needed, float(prices.available)) if prices.reserved <= prices.on_demand else 0.0
    return np.concatenate([[needed - reserved, reserved], jobs])


def plan_at(instance: Instance, vms: tuple[float, float], jobs: Sequence[float], relax: bool) -> CapacityPlan:
    """Return the plan with these numbers of VMs, on demand and reserved, and of admitted jobs.

    The slots are Theorem 4.1's. If they lack part of a VM, within a solver's tolerance, the plan rents it, as a
    fraction or as a whole VM.
    """
    on_demand, reserved = vms
    if not relax:
        on_demand, reserved, *jobs = (float(round(number)) for number in (on_demand, reserved, *jobs))
    taken = sum(each * count for each, count in zip(instance.vms_per_job().tolist(), jobs, strict=True) if count)
    on_demand += max((taken if relax else ceiling(taken)) - on_demand - reserved, 0.0)
    return plan_of(instance, (on_demand, reserved), jobs, relax)


def all_fit_one_vm(instance: Instance, gamma: Floats) -> bool:
    """Return True if one VM hosts all expected jobs, so that P2 has a row for each class in addition to (25)."""
    return bool(float(gamma @ instance.expected) <= 1.0)


def solver_hints(instance: Instance) -> Mapping[str, Mapping[str, Any]]:
    """Return the options that P2 sets for particular solvers."""
    return {"highs": {"presolve": "off"}} if len(instance) > PRESOLVE_PAYS_UP_TO else {}


Row = tuple[NDArray[np.int64], Floats, float, float]
"""Columns, coefficients, and what their sum is at least and at most."""


def mixed_arrays(spec: Spec, relax: bool) -> ArrayForm | None:
    """Return P2 over pairs of classes and lanes.

    Columns are the VMs of each offer, the jobs of each pair, and the types of classes with ``types = one``. Return None
    if the spec has comparisons, or classes that share no VMs or never run together. The same holds if a coefficient is
    0: Pyomo would leave its variable out of a sum.
    """
    mix = solved_mix(as_solved(spec, relax))
    if mix.groups is not None:
        return None
    if mix.wholeness == MACHINES or mix.sizes is not None or spec.constraints or not mix.possible.any(axis=0).all():
        return None
    found = program_of(mix, relax)
    pairs = found.pairs
    if not found.program.costs[: pairs.first + len(pairs.gamma)].all() or not pairs.gamma.all():
        return None
    decode, point = partial(decoded, pairs, relax), partial(_point, pairs, found.taken)
    return ArrayForm(found.program, lambda row: found.names[row], decode, point, begins_at_known=True)


def program_of(mix: Mix, relax: bool, bound: bool = False) -> Written:
    """Return P2 of a mix, with the columns of :func:`mixed_arrays`; to ``bound`` plans of any slots if asked."""
    of_class, of_lane = places_of(mix)
    pairs = Pairs(mix, of_class, of_lane, mix.gamma[of_lane, of_class], spare_of(mix))
    costs = np.concatenate([mix.market.prices, -mix.worth[of_class]])
    taken = _taken(pairs) if not relax and bool(mix.together.any()) else np.zeros((0, 2), dtype=np.int64)
    rows = [(name, row) for part in _rows(pairs, taken) for name, row in part]
    spare, count, takes = pairs.spare, len(costs), len(taken)
    whole = (
        np.full(count, not relax),
        np.full(len(spare), not (relax or bound) and mix.wholeness != NO),
        np.full(takes, not relax),
    )
    most = spare.most * mix.expected[spare.of_class]
    program = LinearProgram(
        costs=np.concatenate([costs, np.zeros(len(spare) + takes)]),
        offset=float(mix.penalty @ mix.expected),
        maximize=False,
        lower=np.zeros(count + len(spare) + takes),
        upper=np.concatenate([mix.market.there, mix.expected[of_class], most, np.ones(takes)]),
        integer=np.concatenate(whole),
        starts=np.cumsum([0, *(len(row[0]) for _, row in rows)]),
        columns=np.concatenate([row[0] for _, row in rows]),
        coefficients=np.concatenate([row[1] for _, row in rows]),
        row_lower=np.array([row[2] for _, row in rows]),
        row_upper=np.array([row[3] for _, row in rows]),
        fixed=mix.market.of_masters,
    )
    return Written(program, [name for name, _ in rows], pairs, taken)


@dataclass(frozen=True)
class Pairs:
    """Pairs that may have jobs, class by class: the VM time of one job, and slots beyond the fewest."""

    mix: Mix
    of_class: NDArray[np.int64]
    of_lane: NDArray[np.int64]
    gamma: Floats
    spare: Spare

    @property
    def first(self) -> int:
        """The column of the first pair."""
        return len(self.mix.market.offers)

    @property
    def first_spare(self) -> int:
        """The column of the first slots beyond the fewest."""
        return self.first + len(self.of_class)

    @property
    def first_used(self) -> int:
        """The column of the first choice of a type."""
        return self.first_spare + len(self.spare)

    def parts_of(self, places: NDArray[np.int64], place: int) -> tuple[NDArray[np.int64], Floats]:
        """Return the columns of slots beyond the fewest of one class or lane, and the part of a VM that each takes."""
        mine = np.flatnonzero(places == place)
        return self.first_spare + mine, self.spare.part[mine]


@dataclass(frozen=True)
class Written:
    """P2 in arrays: the names of its rows, the pairs of its columns, and the choices of a type after them."""

    program: LinearProgram
    names: list[str]
    pairs: Pairs
    taken: NDArray[np.int64]


def _rows(pairs: Pairs, taken: NDArray[np.int64]) -> Iterator[Iterator[tuple[str, Row]]]:
    yield _quotas(pairs.mix)
    yield _spare(pairs)
    yield _admitted(pairs)
    yield _lanes(pairs)
    yield _spot(pairs)
    if len(taken):
        yield _together(pairs, taken)
        yield _one_type(pairs, taken)


def _quotas(mix: Mix) -> Iterator[tuple[str, Row]]:
    market = mix.market
    for vm in np.flatnonzero(np.isfinite(market.available)).tolist():
        offers = np.array([number for number, _ in market.offers_of(vm)], dtype=np.int64)
        yield f"available[{market.names[vm]}]", (offers, np.ones(len(offers)), -np.inf, float(market.available[vm]))
    if market.stored_on_all:
        held = market.stored_by_lane[market.lane_of_offer]
        yield "hdfs", (np.flatnonzero(held), held[held > 0.0], market.stored_on_all, np.inf)
    for quota, cores in zip(market.quotas, market.cores_of_quotas[:, market.lane_of_offer], strict=True):
        counted = np.flatnonzero(cores)
        yield f"quota[{quota.name}]", (counted, cores[counted], -np.inf, quota.limit)


def _spare(pairs: Pairs) -> Iterator[tuple[str, Row]]:
    mix, spare = pairs.mix, pairs.spare
    number_of = {place: n for n, place in enumerate(zip(pairs.of_class.tolist(), pairs.of_lane.tolist(), strict=True))}
    columns = spare.of_class.tolist(), spare.of_lane.tolist(), spare.reduces.tolist(), spare.most.tolist()
    for number, (index, lane, reduces, most) in enumerate(zip(*columns, strict=True)):
        kind, vm = "reduce" if reduces else "map", mix.market.kinds[lane][0]
        jobs = pairs.first + number_of[index, lane]
        row = np.array([pairs.first_spare + number, jobs], dtype=np.int64), np.array([1.0, -most]), -np.inf, 0.0
        yield f"more_slots_of_jobs[{mix.names[index]},{vm},{kind}]", row


def _admitted(pairs: Pairs) -> Iterator[tuple[str, Row]]:
    mix = pairs.mix
    ends = np.searchsorted(pairs.of_class, np.arange(len(mix) + 1))
    for index, (low, high) in enumerate(zip(mix.low.tolist(), mix.expected.tolist(), strict=True)):
        columns = pairs.first + np.arange(ends[index], ends[index + 1])
        yield f"admitted[{mix.names[index]}]", (columns, np.ones(len(columns)), low, high)


def _lanes(pairs: Pairs) -> Iterator[tuple[str, Row]]:
    market = pairs.mix.market
    lane_of_offer = market.lane_of_offer
    for lane in range(len(market.lanes)):
        mine, offers = np.flatnonzero(pairs.of_lane == lane), np.flatnonzero(lane_of_offer == lane)
        more, parts = pairs.parts_of(pairs.spare.of_lane, lane)
        columns = np.concatenate([pairs.first + mine, more, offers])
        terms = np.concatenate([pairs.gamma[mine], parts, -np.ones(len(offers))])
        yield (
            f"enough_vms[{','.join(market.kinds[lane])}]",
            (columns, terms, -np.inf, -float(market.masters_of_lane[lane])),
        )


def _spot(pairs: Pairs) -> Iterator[tuple[str, Row]]:
    mix = pairs.mix
    spot = mix.market.spot[pairs.of_lane]
    some = np.bincount(pairs.of_class[spot], minlength=len(mix)) > 0
    for index in np.flatnonzero((mix.spot_share > 0.0) & (mix.spot_share < 1.0) & some).tolist():
        mine = np.flatnonzero(pairs.of_class == index)
        terms = pairs.gamma[mine] * (spot[mine] - mix.spot_share[index])
        more, parts = pairs.parts_of(pairs.spare.of_class, index)
        columns, terms = np.append(pairs.first + mine, more), np.append(terms, -mix.spot_share[index] * parts)
        yield f"spot_share[{mix.names[index]}]", (columns, terms, -np.inf, 0.0)


def _taken(pairs: Pairs) -> NDArray[np.int64]:
    """Return class and type of every choice that ``types = one`` leaves, one row each."""
    mine = np.flatnonzero(pairs.mix.together[pairs.of_class])
    both = np.column_stack([pairs.of_class[mine], pairs.mix.market.vm_of_lane[pairs.of_lane[mine]]])
    return np.array(list(dict.fromkeys(map(tuple, both.tolist()))), dtype=np.int64)


def _together(pairs: Pairs, taken: NDArray[np.int64]) -> Iterator[tuple[str, Row]]:
    mix, after = pairs.mix, pairs.first_used
    vm_of = mix.market.vm_of_lane[pairs.of_lane]
    for number, (index, vm) in enumerate(taken.tolist()):
        mine = np.flatnonzero((pairs.of_class == index) & (vm_of == vm))
        columns = np.append(pairs.first + mine, after + number)
        terms = np.append(np.ones(len(mine)), -float(mix.expected[index]))
        yield f"together[{mix.names[index]},{mix.market.names[vm]}]", (columns, terms, -np.inf, 0.0)


def _one_type(pairs: Pairs, taken: NDArray[np.int64]) -> Iterator[tuple[str, Row]]:
    after = pairs.first_used
    for index in np.unique(taken[:, 0]).tolist():
        columns = after + np.flatnonzero(taken[:, 0] == index)
        yield f"one_type[{pairs.mix.names[index]}]", (columns, np.ones(len(columns)), -np.inf, 1.0)


def decoded(pairs: Pairs, relax: bool, point: Array) -> CapacityPlan:
    """Return the plan at a point of the program."""
    mix = pairs.mix
    ends = [pairs.first, pairs.first_spare, pairs.first_used]
    bought, jobs, more, _ = np.split(np.maximum(point, 0.0), ends)
    placed = np.zeros_like(mix.gamma)
    placed[pairs.of_lane, pairs.of_class] = jobs
    spare = pairs.spare.slots(more if relax or mix.wholeness == NO else np.rint(more), placed.shape)
    return rented_plan(mix, bought, placed, relax, spare)


def _point(pairs: Pairs, taken: NDArray[np.int64], plan: object) -> Array | None:
    """Return the columns with jobs as in a plan, on the VMs that they take; None if it has none of the classes."""
    mix, jobs = pairs.mix, placed_again(plan, pairs.mix)
    if jobs is None:
        return None
    spare, entries = SpareSlots(mix).of_all(jobs), pairs.spare
    vms = mix.market.buy(ceiling(taken_vms(mix, jobs, spare)))
    used = np.zeros((len(mix), len(mix.market.names)))
    np.add.at(used.T, mix.market.vm_of_lane, jobs)
    takes = (used[taken[:, 0], taken[:, 1]] > 0.0).astype(float)
    more = np.stack(spare)[entries.reduces.astype(np.int64), entries.of_lane, entries.of_class]
    return np.concatenate([vms, jobs[pairs.of_lane, pairs.of_class], more, takes])
