"""P0 and P1 as printed, and P0 in its second-order-cone form (paper 000, section 4).

Correction to the paper: the constraint *functions* (6) of P0 are not convex, but the set they describe is convex: ``A
h^2/s_M + B h^2/s_R <= (D - C) h`` sums quadratics over linear terms, a second-order cone. P1 has convex constraints and
a *concave* objective, ``-sum p/Psi``, so it needs a global solver too. A local solver's solution of P1 is feasible, not
optimal.

Correction to the paper: (6) does not apply if a job has less than one slot of a kind that it uses, or more slots than
tasks. All three forms therefore limit slots: ``h <= s <= N h`` with h jobs of N tasks each. In P1 the upper limit is
``s Psi <= N``, which is not convex: another reason for a global solver.

Slots have bounds from the data, without Theorem 4.1, so that a global solver has a box to search. No optimum gives a
class more VMs than the plain choice that leaves each phase half of the time. If half of the time is too short, the
plain choice is a slot for every task. No optimum gives a phase fewer slots than the deadline requires with the other
phase free. If ``subject to`` compares completion times freely, an optimum can be faster than its deadlines, so the box
is wider.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyomo.core as pyo

from mrdsl.core.diagnostics import MrdslError, error
from mrdsl.core.rounding import ceiling
from mrdsl.families.capacity.constraints import compares_completion, refuse_completion, refuse_promises
from mrdsl.families.capacity.forms import in_fractions, refuse_types
from mrdsl.families.capacity.instance import Instance, instance_of
from mrdsl.families.capacity.models import linear
from mrdsl.families.capacity.models.variables import ModelSpans
from mrdsl.families.capacity.plan import CapacityPlan, plan_of
from mrdsl.formulas import mapreduce
from mrdsl.formulas.pairs import Floats
from mrdsl.spec.spec import Spec

HAIR = 1e-2
OWN_SLOTS = "P0, P1 and P0-cone have slots of their own, as fractions: solve with formulation P2"
LATE = 5e-7
"""Half of what verification lets a deadline be missed by, relatively."""


@dataclass(frozen=True)
class _Deadline:
    """One class's numbers in constraint (6): A, B and D - C."""

    name: str
    map_work: float
    reduce_work: float
    slack: float


def build_p0(spec: Spec, relax: bool) -> pyo.ConcreteModel:
    """Build P0 as printed: (5) subject to (6) to (13); r, d and h are whole unless ``relax``, slots never are.

    Raises MrdslError if a class may admit no job at all: its slots can then be 0, and (6) divides by them.
    """
    instance, model = _start(spec, "capacity_P0", relax)
    _refuse_no_jobs(spec, instance, "P0", "slots")
    linear.add_jobs(model, instance, relax)
    m, r, h = model.map_slots, model.reduce_slots, model.admitted
    times = {
        c.name: _time(c, h[c.name] / m[c.name], h[c.name] / r[c.name] if c.reduce_work else 0.0)
        for c in _deadlines(instance)
    }
    _keep_deadlines(model, instance, times)
    _limit_slots(model, instance)
    linear.add_cost(model, instance)
    return _with_completion(model, instance, times)


def build_p1(spec: Spec, relax: bool) -> pyo.ConcreteModel:
    """Build P1 as printed: P0 in Psi = 1/h; if jobs are whole, ``Psi h = 1`` ties Psi to whole h.

    Raises MrdslError if a class may admit no job at all: its Psi would be infinite.
    """
    instance, model = _start(spec, "capacity_P1", relax)
    _refuse_no_jobs(spec, instance, "P1", "jobs")
    bounds = {
        name: (1.0 / high, 1.0 / low)
        for name, low, high in zip(instance.names, instance.low, instance.expected, strict=True)
    }
    model.inverse_jobs = pyo.Var(model.classes, bounds=lambda _, name: bounds[name])
    psi, m, r = model.inverse_jobs, model.map_slots, model.reduce_slots
    if relax:
        model.admitted = pyo.Expression(model.classes, rule=lambda _, name: 1.0 / psi[name])
    else:
        linear.add_jobs(model, instance, relax)
        model.inverse = pyo.Constraint(model.classes, rule=lambda _, name: psi[name] * model.admitted[name] == 1.0)
    times = {
        c.name: _time(c, 1.0 / (m[c.name] * psi[c.name]), 1.0 / (r[c.name] * psi[c.name]) if c.reduce_work else 0.0)
        for c in _deadlines(instance)
    }
    _keep_deadlines(model, instance, times)
    _limit_slots(model, instance)
    prices, worth = instance.prices, dict(zip(instance.names, instance.worth.tolist(), strict=True))
    model.cost = pyo.Objective(
        sense=pyo.minimize,
        expr=(
            prices.on_demand * model.on_demand
            + prices.reserved * model.reserved
            + float(instance.penalty @ instance.expected)
            - sum(worth[name] / psi[name] for name in instance.names)
        ),
    )
    return _with_completion(model, instance, times)


def build_p0_cone(spec: Spec, relax: bool) -> pyo.ConcreteModel:
    """P0-cone: ``A / (D - C) h^2 <= u s`` per phase and ``u_M + u_R <= h``, in place of (6)."""
    instance, model = _start(spec, "capacity_P0_cone", relax, fixed_completion=True)
    linear.add_jobs(model, instance, relax)
    most = dict(zip(instance.names, instance.most.tolist(), strict=True))
    deadlines = {c.name: c for c in _deadlines(instance)}
    # u_M and u_R: the part of what the deadline leaves that a phase takes, times h
    model.map_use = pyo.Var(model.classes, bounds=lambda _, n: (0.0, most[n]))
    model.reduce_use = pyo.Var(model.classes, bounds=lambda _, n: (0.0, most[n] if deadlines[n].reduce_work else 0.0))
    model.map_cone = pyo.Constraint(
        model.classes,
        rule=lambda k, n: (
            deadlines[n].map_work / deadlines[n].slack * k.admitted[n] ** 2 - k.map_use[n] * k.map_slots[n] <= 0.0
        ),
    )
    model.reduce_cone = pyo.Constraint(
        [n for n, c in deadlines.items() if c.reduce_work],
        rule=lambda k, n: (
            deadlines[n].reduce_work / deadlines[n].slack * k.admitted[n] ** 2 - k.reduce_use[n] * k.reduce_slots[n]
            <= 0.0
        ),
    )
    model.deadline = pyo.Constraint(
        model.classes, rule=lambda k, n: k.map_use[n] + k.reduce_use[n] - k.admitted[n] <= 0.0
    )
    _limit_slots(model, instance)
    linear.add_cost(model, instance)
    linear.add_quantities(model, instance, linear.fixed_completion(model, spec, instance))
    return model


def decode(spec: Spec, model: pyo.ConcreteModel, relax: bool) -> CapacityPlan:
    """Return the plan of a solution, with the solver's slots instead of those of Theorem 4.1.

    Whole jobs within a solver's tolerance are rounded, and the slots of the class grow with them. A class gets at least
    the slots of Theorem 4.1 in two cases:

    - The class has less than ``HAIR`` of a job: the squares in its cones vanish in the tolerance.
    - The slots miss its time limit by more than a plan may: a solver's tolerance is relative to terms far larger
        than the
      deadline.

    The plan rents VMs that these slots lack. Its value is then above the solver's, and its status is not optimal.
    """
    instance = instance_of(in_fractions(spec, OWN_SLOTS))
    jobs = np.clip([pyo.value(value) for value in model.admitted.values()], instance.low, instance.most)
    whole = jobs if relax else np.rint(jobs)
    scale = np.divide(whole, jobs, out=np.ones_like(jobs), where=jobs > 0.0)
    slots = tuple(
        np.array([variable.value for variable in indexed.values()]) * scale
        for indexed in (model.map_slots, model.reduce_slots)
    )
    needed = (whole * each for each in instance.slots_per_job)
    late = mapreduce.completion(instance.work, whole, slots[0], slots[1]) > instance.completion_limit * (1.0 + LATE)
    slots = tuple(
        np.where(late, need, np.where(whole < HAIR, np.maximum(have, need), have))
        for have, need in zip(slots, needed, strict=True)
    )
    on_demand, reserved = linear.vm_numbers(model)
    if not relax:
        on_demand, reserved = float(round(on_demand)), float(round(reserved))
    lacking = float((slots[0] / instance.map_per_vm + slots[1] / instance.reduce_per_vm).sum()) - on_demand - reserved
    if relax:
        on_demand += max(lacking, 0.0)
    elif late.any() and lacking > LATE * max(1.0, on_demand + reserved):
        on_demand += ceiling(lacking)
    return plan_of(instance, (on_demand, reserved), whole, relax, (slots[0], slots[1]))


def slot_bounds(instance: Instance, faster: bool = False) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
    """Return (least, most) map slots and (least, most) reduce slots of every class, from the data alone.

    ``faster``: jobs may have to end before their deadlines. The tasks alone then bound the slots; if the tasks are not
    known, the slots are unbounded.
    """
    a, b, slack, limits = instance.work.map_work, instance.work.reduce_work, instance.slack, instance.limits
    halves = np.maximum(2.0 * a / slack, limits.map_least), np.maximum(2.0 * b / slack, limits.reduce_least)
    fits = (halves[0] <= limits.map_most) & (halves[1] <= limits.reduce_most)
    enough = np.where(fits, halves[0], limits.map_most), np.where(fits, halves[1], limits.reduce_most)
    vms = enough[0] / instance.map_per_vm + enough[1] / instance.reduce_per_vm
    if faster:
        vms = np.full_like(vms, np.inf)
    low, high = instance.low, instance.most
    return (
        (np.maximum(a / slack, limits.map_least) * low, np.minimum(vms * instance.map_per_vm, limits.map_most) * high),
        (
            np.maximum(b / slack, limits.reduce_least) * low,
            np.minimum(vms * instance.reduce_per_vm, limits.reduce_most) * high,
        ),
    )


def _start(spec: Spec, name: str, relax: bool, fixed_completion: bool = False) -> tuple[Instance, pyo.ConcreteModel]:
    """Begin a model with VMs, slots and constraint (8); raise MrdslError if the form does not serve the spec."""
    formulation = name.removeprefix("capacity_").replace("_", "-")
    refuse_promises(spec, formulation)
    if fixed_completion:
        refuse_completion(spec, formulation)
    refuse_types(spec, formulation)
    instance = instance_of(in_fractions(spec, OWN_SLOTS))
    model = pyo.ConcreteModel(name)
    model.spans = ModelSpans(spec.facts)
    linear.add_classes(model, instance)
    linear.add_vms(model, instance, relax)
    (map_least, map_most), (reduce_least, reduce_most) = slot_bounds(instance, compares_completion(spec))
    vms_most = float(np.ceil((map_most / instance.map_per_vm + reduce_most / instance.reduce_per_vm).sum()))
    if np.isfinite(vms_most):
        model.on_demand.setub(vms_most)
    names, classes = list(instance.names), model.classes
    places = {name: index for index, name in enumerate(names)}
    model.map_slots = pyo.Var(classes, bounds=lambda _, n: _finite(map_least[places[n]], map_most[places[n]]))
    model.reduce_slots = pyo.Var(classes, bounds=lambda _, n: _finite(reduce_least[places[n]], reduce_most[places[n]]))
    model.enough_vms = pyo.Constraint(
        expr=sum(
            model.map_slots[n] / float(instance.map_per_vm[i])
            + model.reduce_slots[n] / float(instance.reduce_per_vm[i])
            for i, n in enumerate(names)
        )
        - model.on_demand
        - model.reserved
        <= 0.0
    )
    return instance, model


def _finite(least: float, most: float) -> tuple[float, float | None]:
    return float(least), float(most) if np.isfinite(most) else None


def _limit_slots(model: pyo.ConcreteModel, instance: Instance) -> None:
    """At least one slot of each kind that a job uses, at most one for each of its tasks: ``h <= s <= N h``."""
    limits = instance.limits
    for kind, slots, least, most in (
        ("map", model.map_slots, limits.map_least, limits.map_most),
        ("reduce", model.reduce_slots, limits.reduce_least, limits.reduce_most),
    ):
        used = [(n, float(low), float(high)) for n, low, high in zip(instance.names, least, most, strict=True) if high]
        setattr(model, f"{kind}_at_least", _per_job({n: low for n, low, _ in used}, slots, 1.0))
        known = {n: high for n, _, high in used if np.isfinite(high)}
        setattr(model, f"{kind}_at_most", _per_job(known, slots, -1.0))


def _per_job(limits: dict[str, float], slots: pyo.Var, sign: float) -> pyo.Constraint:
    """``sign * (limit h - s) <= 0``, in P1 ``sign * (limit - s Psi) <= 0``."""

    def rule(k: pyo.ConcreteModel, n: str) -> object:
        if hasattr(k, "inverse_jobs"):
            return sign * limits[n] - sign * slots[n] * k.inverse_jobs[n] <= 0.0
        return sign * limits[n] * k.admitted[n] - sign * slots[n] <= 0.0

    return pyo.Constraint(list(limits), rule=rule)


def _refuse_no_jobs(spec: Spec, instance: Instance, formulation: str, divisor: str) -> None:
    nothing = [
        error(
            "needs-minimum",
            f"{formulation} divides by the {divisor} of class {instance.names[i]}, which may be 0",
            spec.facts.classes[i].span_of("jobs"),
            "admit at least 1, or solve with --formulation P0-cone",
        )
        for i in (instance.low <= 0.0).nonzero()[0].tolist()
    ]
    if nothing:
        raise MrdslError(nothing)


def _deadlines(instance: Instance) -> Iterator[_Deadline]:
    for row in zip(
        instance.names,
        instance.work.map_work.tolist(),
        instance.work.reduce_work.tolist(),
        instance.slack.tolist(),
        strict=True,
    ):
        yield _Deadline(*row)


def _time(deadline: _Deadline, map_time: object, reduce_time: object) -> object:
    return deadline.map_work * map_time + deadline.reduce_work * reduce_time  # type: ignore[operator]


def _keep_deadlines(model: pyo.ConcreteModel, instance: Instance, times: dict[str, object]) -> None:
    """Add constraints (6), (14): work times jobs over slots, as parts of the time that the deadline leaves."""
    slack = dict(zip(instance.names, instance.slack.tolist(), strict=True))
    model.deadline = pyo.Constraint(model.classes, rule=lambda _, name: times[name] / slack[name] <= 1.0)


def _with_completion(model: pyo.ConcreteModel, instance: Instance, times: dict[str, object]) -> pyo.ConcreteModel:
    constants = instance.work.constant.tolist()
    linear.add_quantities(
        model,
        instance,
        {name: times[name] + constant for name, constant in zip(instance.names, constants, strict=True)},
    )
    return model
