"""P2, the linear formulation (paper 000, Theorem 4.2): how many jobs of each class, how many VMs.

Each admitted job takes ``gamma`` VMs (equations 29 and 30), the slots follow from Theorem 4.1. Whole by default, as in
section 5.3 of the paper: r, d and h are integers, slots never are. The paper's P2 is homogeneous per hour: here prices
are per VM and period, penalties per job, and the objective is equation (5) with its constant.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyomo.core as pyo
from pyomo.core.expr.numeric_expr import LinearExpression

from mrdsl.families.capacity.class_bounds import class_bounds_of, refuse_completion
from mrdsl.families.capacity.instance import Instance, instance_of
from mrdsl.families.capacity.market import ON_DEMAND, RESERVED, SPOT
from mrdsl.families.capacity.models import mixed
from mrdsl.families.capacity.models.patterns import add_patterns, lane_of, other_slots, packing_in
from mrdsl.families.capacity.models.plain_arrays import all_fit_one_vm, plan_at, solver_hints
from mrdsl.families.capacity.plan import CapacityPlan, plan_of
from mrdsl.families.capacity.shape import is_plain
from mrdsl.families.capacity.spans import ModelSpans
from mrdsl.families.capacity.wholeness import as_solved
from mrdsl.spec.spec import Spec


def build(spec: Spec, relax: bool, packing: str = "") -> pyo.ConcreteModel:
    """P2: minimise (5) subject to (24) to (28), with r, d and h whole unless ``relax``.

    ``packing`` as in :func:`mrdsl.families.capacity.models.patterns.add_patterns`.
    """
    spec = as_solved(spec, relax)
    if not is_plain(spec.facts):
        return mixed.build(spec, relax, packing)
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
    """The plan behind a solution of P2; the slots are Theorem 4.1's.

    What they lack of a VM, within a solver's tolerance, is rented: as a fraction, or as the whole VM that it takes.
    """
    spec = as_solved(spec, relax)
    if not is_plain(spec.facts):
        return mixed.decode(spec, model, relax)
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
            linear_coefs=[instance.prices.on_demand, instance.prices.reserved, *(-instance.penalty).tolist()],
            linear_vars=[model.on_demand, model.reserved, *model.admitted.values()],
        ),
    )


def add_quantities(model: pyo.ConcreteModel, instance: Instance, completion: dict[str, Any]) -> None:
    """What ``subject to`` may mention: cost and vms, of the one type too, shares of VMs, admitted(c), completion(c)."""
    prices, every = instance.prices, model.on_demand + model.reserved
    quantities: dict[tuple[str, str], Any] = {("cost", ""): model.cost.expr, ("vms", ""): every}
    quantities["vms", prices.vm] = every
    quantities["cost", prices.vm] = prices.on_demand * model.on_demand + prices.reserved * model.reserved
    for way, bought in ((ON_DEMAND, model.on_demand), (RESERVED, model.reserved), (SPOT, 0.0)):
        quantities["share", way] = mixed.Part(bought, every)
    quantities.update((("admitted", name), variable) for name, variable in model.admitted.items())
    quantities.update((("completion", name), value) for name, value in completion.items())
    model.plan_quantities = quantities


def fixed_completion(model: pyo.ConcreteModel, spec: Spec, instance: Instance) -> dict[str, Any]:
    """The times on Theorem 4.1's slots: numbers, as expressions where ``subject to`` mentions them."""
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
