"""Quantities for ``subject to`` in a joint spec, as expressions of a Pyomo model; for plans see ``verify``.

Over several periods ``cost`` and ``admitted(c)`` are sums, ``rate(s)`` and ``utilization`` means, ``vms`` and
``response(s)`` the worst period's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

from mrdsl.spec.expression import Constant, Expression, PlanQuantity, quantities_in
from mrdsl.spec.spec import Aim

if TYPE_CHECKING:
    from mrdsl.families.joint.fleet import Fleet
    from mrdsl.families.joint.workload import Workload
    from mrdsl.spec.spec import Constraint, Spec


def response_limits(constraints: Sequence[Constraint]) -> Mapping[str, float]:
    """Return the limits that comparisons like ``response(checkout) <= 1 s`` put on single services.

    Such a limit is the same as a smaller ``response`` of the service.
    """
    limits: dict[str, float] = {}
    for constraint in constraints:
        limit = _limit(constraint)
        if limit is not None:
            name, value = limit
            limits[name] = min(value, limits.get(name, value))
    return limits


def compares_responses(spec: Spec) -> bool:
    """Return True if a response time is in the objective or in a comparison that is not a plain limit: then a model
    has to compute it.
    """
    compared = [side for each in spec.constraints if _limit(each) is None for side in (each.left, each.right)]
    return any(one.name == "response" for side in (*compared, *_aims(spec)) for one in quantities_in(side))


def services_in_goal(spec: Spec) -> set[str]:
    """Return the names of the services whose response time is in the objective."""
    return {one.argument for side in _aims(spec) for one in quantities_in(side) if one.name == "response"}


def compares_worst_period(spec: Spec) -> bool:
    """Return True if a quantity that is a maximum over several periods is compared: then a model picks the period."""
    demand = spec.facts.demand
    several = demand is not None and demand.periods > 1
    return several and (compares_responses(spec) or "vms" in mentioned(spec))


def mentioned(spec: Spec) -> set[str]:
    """Return the names of the quantities in comparisons and in a user-defined objective."""
    compared = [side for each in spec.constraints for side in (each.left, each.right)]
    return {one.name for side in (*compared, *_aims(spec)) for one in quantities_in(side)}


def _aims(spec: Spec) -> tuple[Expression, ...]:
    return () if spec.goal is None or spec.goal.expression is None else (spec.goal.expression,)


def _limit(constraint: Constraint) -> tuple[str, float] | None:
    if isinstance(constraint, Aim):
        return None
    match constraint.left, constraint.comparison, constraint.right:
        case (PlanQuantity("response", name), "<=", Constant(value)):
            return name, value
        case (Constant(value), ">=", PlanQuantity("response", name)):
            return name, value
    return None


def offer(
    spec: Spec, model: Any, work: Workload, vms: Callable[[int, int], Any], demand: Callable[[int, int], Any]
) -> None:
    """Set ``model.plan_quantities`` if the spec compares any.

    ``vms(t, u)`` and ``demand(t, u)`` are expressions of unit u in period t, 0 without demand.
    """
    if not spec.constraints:
        return
    periods = range(work.periods)
    held = [sum(vms(t, u) for u in range(len(work.worth))) for t in periods]
    offered = {("cost", ""): model.cost.expr, ("utilization", ""): sum(held) / (work.size * work.periods)}
    if "vms" in mentioned(spec):
        offered["vms", ""] = _largest(model, "peak", held, float(work.size))
    for i, name in enumerate(work.class_names):
        offered["admitted", name] = sum(demand(t, i) for t in periods)
    for k, name in enumerate(work.service_names):
        u = work.classes + k
        offered["rate", name] = sum(demand(t, u) for t in periods) / work.periods
        if compares_responses(spec):
            some = [t for t in periods if work.high[t, u] > 0.0] or periods
            offered["response", name] = _response(model, work, k, [(vms(t, u), demand(t, u)) for t in some])
        else:
            offered["response", name] = _limited(model, k, spec)
    model.plan_quantities = offered


def offer_of_types(
    spec: Spec, model: Any, fleet: Fleet, vms: Callable[[int, str], Any], served: Callable[[int, int], Any]
) -> None:
    """Set ``model.plan_quantities`` of a spec with VM types if it compares any.

    ``vms(t, name)`` are the VMs of a type in period t, of all for "", and ``served(t, u)`` the demand of unit u.
    """
    if not spec.constraints:
        return
    periods = range(fleet.periods)
    offered: dict[tuple[str, str], Any] = {("cost", ""): model.cost.expr}
    for number, name in enumerate(("", *fleet.names)):
        most = min(fleet.size, float(fleet.available.sum() if not name else fleet.available[number - 1]))
        held = [vms(t, name) for t in periods]
        if fleet.periods == 1 or (isfinite(most) and "vms" in mentioned(spec)):
            offered["vms", name] = _largest(model, f"peak_{number}", held, most)
        if not name and isfinite(most) and most:
            offered["utilization", ""] = sum(held) / (most * fleet.periods)
    for unit, name in enumerate(fleet.names_of_units):
        total = sum(served(t, unit) for t in periods)
        if unit < fleet.classes:
            offered["admitted", name] = total
        else:
            offered["rate", name] = total / fleet.periods
            offered["response", name] = _limited(model, unit - fleet.classes, spec)
    model.plan_quantities = offered


def _response(model: Any, work: Workload, k: int, held: Sequence[tuple[Any, Any]]) -> Any:
    """Return the worst response of service k over the periods, (2) without its division: (R - L) (mu v - x) = v."""
    import pyomo.environ as pyo

    mu, delay, most = (float(a[k]) for a in (work.queues.service_rate, work.queues.delay, work.queues.response))
    block = pyo.Block()
    model.add_component(f"response_of_{k}", block)
    block.sojourn = pyo.Var(range(len(held)), bounds=(1.0 / mu, most - delay))
    block.queue = pyo.Constraint(
        block.sojourn.index_set(), rule=lambda b, t: b.sojourn[t] * (mu * held[t][0] - held[t][1]) == held[t][0]
    )
    return _largest(model, f"worst_response_of_{k}", [block.sojourn[t] + delay for t in range(len(held))], most)


def _limited(model: Any, k: int, spec: Spec) -> Any:
    """Return a substitute for a response that the model limits in any case."""
    import pyomo.environ as pyo

    service = spec.facts.services[k]
    limit = min(response_limits(spec.constraints).get(service.name, service.response), service.response)
    stand_in = pyo.Var(bounds=(0.0, limit))
    model.add_component(f"response_limit_{k}", stand_in)
    return stand_in


def _largest(model: Any, name: str, expressions: Sequence[Any], most: float) -> Any:
    """Return the largest of the expressions: a variable that is at least each of them, and equal to the one picked."""
    import pyomo.environ as pyo

    if len(expressions) == 1:
        return expressions[0]
    block = pyo.Block()
    model.add_component(name, block)
    block.largest = pyo.Var(bounds=(0.0, most))
    block.picked = pyo.Var(range(len(expressions)), within=pyo.Binary)
    block.one = pyo.Constraint(expr=sum(block.picked.values()) == 1)
    block.above = pyo.Constraint(block.picked.index_set(), rule=lambda b, t: b.largest >= expressions[t])
    block.equal = pyo.Constraint(
        block.picked.index_set(), rule=lambda b, t: b.largest <= expressions[t] + most * (1 - b.picked[t])
    )
    return block.largest
