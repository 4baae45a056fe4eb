"""P2, the linear formulation (paper 000, Theorem 4.2): the number of jobs of each class, and of VMs.

Each admitted job takes ``gamma`` VMs (equations 29 and 30); the slots follow from Theorem 4.1. By default, as in
section 5.3 of the paper, r, d and h are integers and slots are not. The paper's P2 is homogeneous per hour. Here prices
are per VM and period, penalties per job, and the objective is equation (5) with its constant.

P2 with several VM types, or several purchase options of one: jobs of each class by lane, and VMs of each offer.

As in paper 000, Theorem 4.2, each job takes a constant part of a VM, here one for every class and lane. The jobs of a
class add up to its admitted jobs; those of a lane fit the VMs bought for it. An unused pair has no jobs. P0 and P1
exclude that, because their types are fixed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyomo.core as pyo
from pyomo.core.expr.numeric_expr import LinearExpression

from mrdsl.contracts.plan_expressions import SECOND
from mrdsl.families.capacity.constraints import class_bounds_of, refuse_completion
from mrdsl.families.capacity.facts import LARGEST, NO, CapacityFacts
from mrdsl.families.capacity.forms import as_solved, is_plain
from mrdsl.families.capacity.instance import Instance, Mix, instance_of
from mrdsl.families.capacity.lanes import leaves_lanes_out, solved_mix, spare_of
from mrdsl.families.capacity.market import ON_DEMAND, RESERVED, SPOT, Floats, Market
from mrdsl.families.capacity.models.arrays import all_fit_one_vm, plan_at, solver_hints
from mrdsl.families.capacity.models.patterns import (
    ALL,
    BOUND,
    SOME,
    add_patterns,
    lane_of,
    lanes_of,
    other_slots,
    packing_in,
)
from mrdsl.families.capacity.models.variables import (
    JobVariables,
    ModelSpans,
    OtherPairs,
    SpareVariables,
    Turns,
    add_other_pairs,
    add_resources,
    add_spare,
    row_of,
)
from mrdsl.families.capacity.plan import CapacityPlan, plan_of
from mrdsl.families.capacity.plan_building import places_of, rented_plan
from mrdsl.spec.columns import column, names_of
from mrdsl.spec.spec import Spec, requested_quantities


def build_lanes(spec: Spec, relax: bool, packing: str = "") -> pyo.ConcreteModel:
    """Build P2 over pairs of classes and lanes.

    Jobs and VMs are whole, and classes stay on one type if required, unless ``relax``. ``packing`` is as in
    :func:`mrdsl.families.capacity.models.patterns.add_patterns`.
    """
    refuse_completion(spec, "P2")
    mix = solved_mix(spec)
    model = pyo.ConcreteModel("capacity_P2_types")
    model.spans = ModelSpans(spec.facts)
    _add_vms(model, mix.market, relax)
    jobs = _add_jobs(model, mix, relax)
    spare = add_spare(model, mix, relax or mix.wholeness == NO or packing == BOUND)
    others = add_other_pairs(model, mix, relax, packing == BOUND, packing in (ALL, SOME))
    _add_classes(model, mix, jobs)
    if others is None:
        _add_lanes(model, mix, jobs, spare)
    else:
        add_resources(model, mix, jobs, spare, others)
    _limit_spot(model, mix, jobs, spare, others)
    if not relax and bool(mix.together.any()):
        _keep_together(model, mix, jobs)
    _add_cost(model, mix, jobs)
    model.fixed_part = mix.market.of_masters
    _add_quantities(model, spec, mix, jobs)
    placed = zip(jobs.of_class.tolist(), jobs.of_lane.tolist(), jobs.variables, strict=True)
    if mix.groups is None and not leaves_lanes_out(spec):
        places = zip(*(each.tolist() for each in spare.places), spare.variables, strict=True)
        more = [(index, lane, reduces, 1, variable) for index, lane, reduces, variable in places]
        more += [] if others is None else others.rows()
        add_patterns(model, lambda: lanes_of(model, mix, placed, more), mix.wholeness, packing)
    return model


def decode_lanes(spec: Spec, model: pyo.ConcreteModel, relax: bool) -> CapacityPlan:
    """Return the plan of a solution."""
    mix = solved_mix(spec)
    jobs = np.zeros_like(mix.gamma)
    of_class, of_lane = places_of(mix)
    jobs[of_lane, of_class] = _values(model.jobs)
    bought, entries = _values(model.vms), spare_of(mix)
    more = _values(model.more_slots) if len(entries) else np.zeros(0)
    if mix.wholeness != NO:
        more = np.rint(more)
    parts = zip(entries.slots(more, jobs.shape), other_slots(model, *jobs.shape), strict=True)
    maps, reduces = (each + other for each, other in parts)
    held = packing_in(model)
    packing = None if held is None else held.in_tasks(mix.tasks)
    return replace(rented_plan(mix, bought, jobs, relax, (maps, reduces)), packing=packing)


def _values(variable: pyo.Var) -> Floats:
    """Numbers as the solver left them, none below 0; a variable that it never saw is not needed and so 0."""
    found = [float(pyo.value(each, exception=False) or 0.0) for each in variable.values()]
    return np.asarray(np.maximum(np.array(found), 0.0))


def _add_vms(model: pyo.ConcreteModel, market: Market, relax: bool) -> None:
    """Variables for the VMs of each offer, and the quota of each type over all of them."""
    keys = [(market.names[market.lanes[offer.lane].vm], offer.label) for offer in market.offers]
    bounds = {key: (0, _finite(offer.available)) for key, offer in zip(keys, market.offers, strict=True)}
    model.vms = pyo.Var(
        keys,
        domain=pyo.NonNegativeReals if relax else pyo.NonNegativeIntegers,
        bounds=lambda _, *key: bounds[key],
    )
    variables = list(model.vms.values())
    limited = {market.names[vm]: vm for vm in np.isfinite(market.available).nonzero()[0].tolist()}
    model.available = pyo.Constraint(
        list(limited),
        rule=lambda _, name: (
            None,
            row_of([(1.0, variables[number]) for number, _ in market.offers_of(limited[name])]),
            float(market.available[limited[name]]),
        ),
    )
    if market.stored_on_all:
        held = market.stored_by_lane[market.lane_of_offer].tolist()
        terms = [(each, variable) for each, variable in zip(held, variables, strict=True) if each]
        model.hdfs = pyo.Constraint(expr=(market.stored_on_all, row_of(terms), None))
    counted = dict(zip([each.name for each in market.quotas], market.cores_of_quotas, strict=True))
    limits = {each.name: each.limit for each in market.quotas}
    model.quota = pyo.Constraint(
        list(counted),
        rule=lambda _, name: (
            None,
            row_of(
                [
                    (float(counted[name][offer.lane]), variables[number])
                    for number, offer in enumerate(market.offers)
                    if counted[name][offer.lane]
                ]
            ),
            limits[name],
        ),
    )


def _finite(limit: float) -> float | None:
    return limit if np.isfinite(limit) else None


def _add_jobs(model: pyo.ConcreteModel, mix: Mix, relax: bool) -> JobVariables:
    """Return variables for the jobs of each class in each lane that it can run in."""
    market = mix.market
    of_class, of_lane = places_of(mix)
    places = zip(of_class.tolist(), of_lane.tolist(), strict=True)
    keys = [(mix.names[index], *market.kinds[lane]) for index, lane in places]
    most = dict(zip(keys, mix.expected[of_class].tolist(), strict=True))
    model.jobs = pyo.Var(
        keys,
        domain=pyo.NonNegativeReals if relax else pyo.NonNegativeIntegers,
        bounds=lambda _, *key: (0, most[key]),
    )
    return JobVariables(of_class, of_lane, list(model.jobs.values()))


def _add_classes(model: pyo.ConcreteModel, mix: Mix, jobs: JobVariables) -> None:
    """The jobs of a class, over all lanes, lie in its range."""
    rows = dict(zip(mix.names, jobs.by(jobs.of_class, len(mix)), strict=True))
    bounds = dict(zip(mix.names, zip(mix.low.tolist(), mix.expected.tolist(), strict=True), strict=True))
    model.classes = pyo.Set(initialize=list(mix.names), ordered=True)
    model.admitted = pyo.Constraint(
        model.classes,
        rule=lambda _, name: (
            bounds[name][0],
            row_of([(1.0, jobs.variables[number]) for number in rows[name]]),
            bounds[name][1],
        ),
    )


def _add_lanes(model: pyo.ConcreteModel, mix: Mix, jobs: JobVariables, spare: SpareVariables) -> None:
    """Equation (25) for each lane: its jobs and its masters fit the VMs that are bought for it."""
    market = mix.market
    rows = jobs.by(jobs.of_lane, len(market.lanes))
    gamma = mix.gamma[jobs.of_lane, jobs.of_class].tolist()
    vms = list(model.vms.values())
    keys = {kind: number for number, kind in enumerate(market.kinds)}
    turns = Turns(model, mix)

    def enough(_: object, *key: str) -> object:
        lane = keys[key]  # type: ignore[index]
        terms = [(gamma[number], jobs.variables[number]) for number in rows[lane]]
        terms += spare.at(spare.entries.of_lane, lane)
        classes = [*jobs.of_class[rows[lane]], *spare.entries.of_class[spare.entries.of_lane == lane]]
        terms = turns.of(key, terms, classes)
        bought = [(-1.0, vms[number]) for number, offer in enumerate(market.offers) if offer.lane == lane]
        return None, row_of([*terms, *bought]), -float(market.masters_of_lane[lane])

    model.enough_vms = pyo.Constraint(list(keys), rule=enough)


def _limit_spot(
    model: pyo.ConcreteModel, mix: Mix, jobs: JobVariables, spare: SpareVariables, others: OtherPairs | None = None
) -> None:
    """Of a class's VM time at most its share is spot."""
    rows = jobs.by(jobs.of_class, len(mix))
    spot = mix.market.spot[jobs.of_lane]
    gamma = mix.gamma[jobs.of_lane, jobs.of_class]
    more = np.zeros(0)
    if others is not None:
        at = mix.market.vm_of_lane[others.entries.of_lane], others.entries.of_class
        more = others.entries.maps / mix.pairs.map_per_vm[at] + others.entries.reduces / mix.pairs.reduce_per_vm[at]
        on_spot = mix.market.spot[others.entries.of_lane]

    def terms_of_others(index: int) -> list[tuple[float, Any]]:
        if others is None:
            return []
        return others.at(others.entries.of_class, index, more * (on_spot - mix.spot_share[index]))

    limited = {
        mix.names[index]: index
        for index, numbers in enumerate(rows)
        if 0.0 < mix.spot_share[index] < 1.0 and spot[numbers].any()
    }
    model.spot_share = pyo.Constraint(
        list(limited),
        rule=lambda _, name: (
            None,
            row_of(
                [
                    *(
                        (float(gamma[number] * (spot[number] - mix.spot_share[limited[name]])), jobs.variables[number])
                        for number in rows[limited[name]]
                    ),
                    *spare.at(spare.entries.of_class, limited[name], -float(mix.spot_share[limited[name]])),
                    *terms_of_others(limited[name]),
                ]
            ),
            0.0,
        ),
    )


def _keep_together(model: pyo.ConcreteModel, mix: Mix, jobs: JobVariables) -> None:
    """All jobs of such a class run on the one type that it takes."""
    market = mix.market
    together = mix.together[jobs.of_class]
    numbers = together.nonzero()[0].tolist()
    vm_of = market.vm_of_lane[jobs.of_lane]
    pairs = {(mix.names[int(jobs.of_class[n])], market.names[int(vm_of[n])]): int(jobs.of_class[n]) for n in numbers}
    model.takes = pyo.Var(list(pairs), domain=pyo.Binary)
    members: dict[tuple[str, str], list[int]] = {pair: [] for pair in pairs}
    for number in numbers:
        members[mix.names[int(jobs.of_class[number])], market.names[int(vm_of[number])]].append(number)
    model.together = pyo.Constraint(
        list(pairs),
        rule=lambda k, *pair: (
            None,
            row_of(
                [
                    *((1.0, jobs.variables[number]) for number in members[pair]),
                    (-float(mix.expected[pairs[pair]]), k.takes[pair]),
                ]
            ),
            0.0,
        ),
    )
    model.one_type = pyo.Constraint(
        [mix.names[index] for index in np.unique(jobs.of_class[together]).tolist()],
        rule=lambda k, name: (None, row_of([(1.0, k.takes[pair]) for pair in pairs if pair[0] == name]), 1.0),
    )


def _add_cost(model: pyo.ConcreteModel, mix: Mix, jobs: JobVariables) -> None:
    """Equation (5), summed over types."""
    model.cost = pyo.Objective(
        sense=pyo.minimize,
        expr=LinearExpression(
            constant=float(mix.penalty @ mix.expected),
            linear_coefs=[*mix.market.prices.tolist(), *(-mix.worth[jobs.of_class]).tolist()],
            linear_vars=[*model.vms.values(), *jobs.variables],
        ),
    )


def _add_quantities(model: pyo.ConcreteModel, spec: Spec, mix: Mix, jobs: JobVariables) -> None:
    """Add the quantities of ``subject to``: cost, vms (also by type), shares of VMs, admitted(c), completion(c)."""
    model.plan_quantities = {}
    if not spec.constraints:
        return
    market = mix.market
    vms = list(model.vms.values())
    every = row_of([(1.0, each) for each in vms])
    quantities: dict[tuple[str, str], Any] = {("cost", ""): model.cost.expr, ("vms", ""): every}
    for vm, name in enumerate(market.names):
        offers = list(market.offers_of(vm))
        quantities["vms", name] = row_of([(1.0, vms[number]) for number, _ in offers])
        quantities["cost", name] = row_of([(offer.price, vms[number]) for number, offer in offers])
    for way in (ON_DEMAND, RESERVED, SPOT):
        bought = row_of([(1.0, vms[number]) for number, offer in enumerate(market.offers) if offer.way == way])
        quantities["share", way] = Part(bought, every)
    for what, argument in _of_types(spec):
        way, _, name = argument.partition(SECOND)
        there = _bought_by_type(market, vms, way, cores_of(spec.facts) if what == "cores" else None)
        part = there.get(name, 0.0) if name else sum(there.values())
        if name == LARGEST:
            part = _largest(model, f"{what}_{way}", there)
        quantities[what, argument] = Part(part, every) if what == "share" else part
    for index, numbers in enumerate(jobs.by(jobs.of_class, len(mix))):
        quantities["admitted", mix.names[index]] = row_of([(1.0, jobs.variables[number]) for number in numbers])
        quantities["completion", mix.names[index]] = float(mix.pairs.completion_limit[index])
    model.plan_quantities = quantities


def _of_types(spec: Spec) -> list[tuple[str, str]]:
    """List the shares of single types, and all cores, that comparisons and the objective mention."""
    mentioned = ((each.name, each.argument) for each in requested_quantities(spec))
    return list(dict.fromkeys(each for each in mentioned if each[0] == "cores" or SECOND in each[1]))


def cores_of(facts: CapacityFacts) -> dict[str, float]:
    """Return the cores of one VM of each type; 0 if not given."""
    return dict(zip(names_of(facts.vms), column(facts.vms, "cores", missing=0.0).tolist(), strict=True))


def _bought_by_type(market: Market, vms: list[Any], way: str, each: dict[str, float] | None = None) -> dict[str, Any]:
    """Return the VMs of each type that are bought in one way, or with ``each`` their cores."""
    found: dict[str, list[tuple[float, Any]]] = {}
    for number, offer in enumerate(market.offers):
        if offer.way == way:
            name = market.names[market.lanes[offer.lane].vm]
            found.setdefault(name, []).append((1.0 if each is None else each[name], vms[number]))
    return {name: row_of(terms) for name, terms in found.items()}


def _largest(model: pyo.ConcreteModel, name: str, there: dict[str, Any]) -> Any:
    """Return a variable that is at least the VMs or cores of each type; comparisons only bound it from above."""
    largest = pyo.Var(domain=pyo.NonNegativeReals)
    model.add_component(f"largest_{name}", largest)
    model.add_component(f"within_{name}", pyo.Constraint(list(there), rule=lambda _, vm: there[vm] <= largest))
    return largest


@dataclass(frozen=True)
class Part:
    """``part`` of a ``whole`` that is not negative. Sums and multiples of parts of the same whole are parts of it."""

    part: Any
    whole: Any

    @property
    def with_sign(self) -> Any:
        """An expression with the sign of the quotient, or 0 if the whole is 0."""
        return self.part

    def __add__(self, other: Any) -> Part:
        if isinstance(other, Part):
            return Part(self.part + other.part, self.whole)
        return Part(self.part + _number(other) * self.whole, self.whole)

    def __mul__(self, number: Any) -> Part:
        return Part(_number(number) * self.part, self.whole)

    def __truediv__(self, number: Any) -> Part:
        return self * (1.0 / _number(number))

    def __rtruediv__(self, _: Any) -> Part:
        raise ValueError(NOT_LINEAR)

    def __neg__(self) -> Part:
        return self * -1.0

    def __sub__(self, other: Any) -> Part:
        return self.__add__(-other)

    def __rsub__(self, other: Any) -> Part:
        return self.__neg__().__add__(other)

    def __gt__(self, _: Any) -> bool:
        raise ValueError(NOT_LINEAR)

    __radd__, __rmul__, __lt__ = __add__, __mul__, __gt__


NOT_LINEAR = "a share of the VMs is compared with numbers and other shares alone in a linear model"


def _number(value: Any) -> float:
    """Return a number. Raises ValueError for other operands of a share."""
    if not isinstance(value, int | float):
        raise ValueError(NOT_LINEAR)
    return float(value)


def build(spec: Spec, relax: bool, packing: str = "") -> pyo.ConcreteModel:
    """Build P2: minimize (5) subject to (24) to (28), with r, d and h whole unless ``relax``.

    ``packing`` is as in :func:`mrdsl.families.capacity.models.patterns.add_patterns`.
    """
    spec = as_solved(spec, relax)
    if not is_plain(spec.facts):
        return build_lanes(spec, relax, packing)
    refuse_completion(spec, "P2")
    instance = instance_of(spec)
    model = pyo.ConcreteModel("capacity_P2")
    model.spans = ModelSpans(spec.facts)
    add_classes(model, instance)
    add_vms(model, instance, relax)
    add_jobs(model, instance, relax)
    jobs = list(model.admitted.values())
    gamma = instance.vms_per_job()
    model.enough_vms = pyo.Constraint(  # equation (25)
        expr=(
            None,
            LinearExpression(
                linear_coefs=[*gamma.tolist(), -1.0, -1.0], linear_vars=[*jobs, model.on_demand, model.reserved]
            ),
            0.0,
        )
    )
    if not relax and all_fit_one_vm(instance, gamma):
        _any_vm(model, instance)
    add_cost(model, instance)
    add_quantities(model, instance, fixed_completion(model, spec, instance))
    model.solver_hints = solver_hints(instance)
    add_patterns(model, lambda: lane_of(model, instance), instance.wholeness, packing)
    return model


def decode(spec: Spec, model: pyo.ConcreteModel, relax: bool) -> CapacityPlan:
    """Return the plan of a solution of P2; the slots are Theorem 4.1's.

    If they lack part of a VM, within a solver's tolerance, the plan rents it, as a fraction or as a whole VM.
    """
    spec = as_solved(spec, relax)
    if not is_plain(spec.facts):
        return decode_lanes(spec, model, relax)
    instance, jobs = instance_of(spec), job_numbers(model)
    plan = plan_at(instance, vm_numbers(model), jobs, relax)
    more = [each[0] for each in other_slots(model, 1, len(instance))]
    if any(each.any() for each in more):
        slots = plan.map_slots + more[0], plan.reduce_slots + more[1]
        plan = plan_of(instance, (plan.on_demand, plan.reserved), jobs, relax, slots)
    return replace(plan, packing=packing_in(model))


def _any_vm(model: pyo.ConcreteModel, instance: Instance) -> None:
    """All jobs fit one VM: any of them takes one, however small its part, which (25) leaves to a solver's tolerance."""
    expected = dict(zip(instance.names, instance.expected.tolist(), strict=True))
    model.any_vm = pyo.Constraint(
        model.classes, rule=lambda k, name: k.admitted[name] - expected[name] * (k.on_demand + k.reserved) <= 0.0
    )


def add_classes(model: pyo.ConcreteModel, instance: Instance) -> None:
    """The set of class names, in the spec's order."""
    model.classes = pyo.Set(initialize=list(instance.names), ordered=True)


def add_vms(model: pyo.ConcreteModel, instance: Instance, relax: bool) -> None:
    """Variables d and r with (24), (27) and (28)."""
    domain = pyo.NonNegativeReals if relax else pyo.NonNegativeIntegers
    model.on_demand = pyo.Var(domain=domain)
    model.reserved = pyo.Var(domain=domain, bounds=(0, instance.prices.available))


def add_jobs(model: pyo.ConcreteModel, instance: Instance, relax: bool) -> None:
    """Variables h with (26), one per class and named after it."""
    bounds = dict(zip(instance.names, zip(instance.low.tolist(), instance.most.tolist(), strict=True), strict=True))
    model.admitted = pyo.Var(
        model.classes, domain=pyo.Reals if relax else pyo.Integers, bounds=lambda _, name: bounds[name]
    )


def add_cost(model: pyo.ConcreteModel, instance: Instance) -> None:
    """Equation (5) over ``model.on_demand``, ``model.reserved`` and ``model.admitted``."""
    model.cost = pyo.Objective(
        sense=pyo.minimize,
        expr=LinearExpression(
            constant=float(instance.penalty @ instance.expected),
            linear_coefs=[instance.prices.on_demand, instance.prices.reserved, *(-instance.worth).tolist()],
            linear_vars=[model.on_demand, model.reserved, *model.admitted.values()],
        ),
    )


def add_quantities(model: pyo.ConcreteModel, instance: Instance, completion: dict[str, Any]) -> None:
    """Add the quantities of ``subject to``: cost, vms (also by type), shares of VMs, admitted(c), completion(c)."""
    prices, every, cores = instance.prices, model.on_demand + model.reserved, instance.prices.cores
    quantities: dict[tuple[str, str], Any] = {("cost", ""): model.cost.expr, ("vms", ""): every}
    quantities["vms", prices.vm] = every
    quantities["cost", prices.vm] = prices.on_demand * model.on_demand + prices.reserved * model.reserved
    for way, bought in ((ON_DEMAND, model.on_demand), (RESERVED, model.reserved), (SPOT, 0.0)):
        quantities["share", way] = Part(bought, every)
        for name in (prices.vm, LARGEST):
            quantities["share", f"{way}{SECOND}{name}"] = Part(bought, every)
            quantities["cores", f"{way}{SECOND}{name}"] = cores * bought
        quantities["cores", way] = cores * bought
    quantities.update((("admitted", name), variable) for name, variable in model.admitted.items())
    quantities.update((("completion", name), value) for name, value in completion.items())
    model.plan_quantities = quantities


def fixed_completion(model: pyo.ConcreteModel, spec: Spec, instance: Instance) -> dict[str, Any]:
    """Return the times on Theorem 4.1's slots: numbers, or expressions if ``subject to`` mentions them."""
    times: dict[str, Any] = dict(zip(instance.names, instance.time_of_one_job().tolist(), strict=True))
    mentioned = {bound.name for bound in class_bounds_of(spec).bounds if bound.quantity == "completion"}
    model.completion = pyo.Expression(
        [name for name in instance.names if name in mentioned], rule=lambda _, name: times[name]
    )
    return times | dict(model.completion.items())


def vm_numbers(model: pyo.ConcreteModel) -> tuple[float, float]:
    """On-demand and reserved VMs as the solver left them; a variable that it never saw is not needed and so 0."""
    return tuple(float(pyo.value(v, exception=False) or 0.0) for v in (model.on_demand, model.reserved))  # type: ignore


def job_numbers(model: pyo.ConcreteModel) -> list[float]:
    """Admitted jobs of every class as the solver left them."""
    return [float(variable.value) for variable in model.admitted.values()]
