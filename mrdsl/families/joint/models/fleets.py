"""P2 with VM types: whole VMs and whole concurrent jobs of each class and service in each lane, as a Pyomo model.

Only ``subject to`` couples the periods; without it, each period is a separate model.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyomo.environ as pyo

from mrdsl.core.rounding import ROUNDING, ceiling
from mrdsl.families.joint.facts import NO, SLOTS
from mrdsl.families.joint.fleet import Fleet
from mrdsl.families.joint.plan import ClassPlan, JointPlan, LanePlan, ServicePlan
from mrdsl.families.joint.quantities import offer_of_types
from mrdsl.formulas import workloads
from mrdsl.formulas.mapreduce import Floats
from mrdsl.spec.spec import Spec

Allocation = tuple[Floats, Floats, Floats, Floats, Floats]
"""VMs (periods, lanes, units), concurrent jobs by number of rounds (periods, numbers, lanes, classes), the jobs
(periods, classes) and requests per second (periods, services) that are admitted, and the VMs under contract (periods,
types), the same in each."""


AtOnce = dict[tuple[int, int, int], dict[int, Any]]
"""The variable of concurrent jobs by (period, lane, class) and number of rounds."""


def model_types(spec: Spec, fleet: Fleet, relax: bool) -> pyo.ConcreteModel:
    """Build P2 of a fleet; the objective is the whole cost, with its constant."""
    model = pyo.ConcreteModel("joint_P2_types")
    model.relaxed = relax
    cells = [
        (t, lane, unit)
        for t in range(fleet.periods)
        for lane, unit in np.argwhere(fleet.possible).tolist()
        if fleet.high[t, unit] > 0.0
    ]
    class_cells = [cell for cell in cells if cell[2] < fleet.classes]
    service_cells = [cell for cell in cells if cell[2] >= fleet.classes]
    whole = pyo.NonNegativeReals if relax else pyo.NonNegativeIntegers
    jobs = fleet.high[:, : fleet.classes]
    most = {cell: fleet.useful(*cell[1:], float(jobs[cell[0], cell[2]]), relax) for cell in class_cells}
    limit = np.minimum(fleet.available[fleet.vm_of_lane], fleet.size)

    def bounds(_: Any, t: int, lane: int, unit: int) -> tuple[float, float | None]:
        held = float(limit[lane])
        if unit < fleet.classes and not spec.constraints and fleet.spot_share[unit] >= 1.0:
            needed = max(float(fleet.every[n].gamma[lane, unit] * jobs) for n, jobs in most[t, lane, unit].items())
            held = min(held, needed if relax else float(ceiling(needed)))
        return 0.0, held if np.isfinite(held) else None

    model.vms = pyo.Var(cells, bounds=bounds, within=whole)
    first = [cell for cell in class_cells if 0 in most[cell]]
    model.at_once = pyo.Var(first, bounds=lambda _, t, lane, i: (0.0, most[t, lane, i][0]), within=whole)
    more = [(*cell, n) for cell in class_cells for n in most[cell] if n]
    model.at_once_in = pyo.Var(more, bounds=lambda _, t, lane, i, n: (0.0, most[t, lane, i][n]), within=whole)
    at_once = {
        cell: {n: model.at_once_in[(*cell, n)] if n else model.at_once[cell] for n in most[cell]}
        for cell in class_cells
    }
    model.rate = pyo.Var(service_cells, within=pyo.NonNegativeReals)
    units = [(t, unit) for t in range(fleet.periods) for unit in range(fleet.low.shape[1])]
    model.served = pyo.Var(units, bounds=lambda _, t, u: (float(fleet.low[t, u]), float(fleet.high[t, u])))
    of_unit: dict[tuple[int, int], list[int]] = {each: [] for each in units}
    for t, lane, unit in cells:
        of_unit[t, unit].append(lane)

    def hosted(m: Any, t: int, lane: int, i: int) -> Any:
        held = [float(fleet.every[n].gamma[lane, i]) * jobs for n, jobs in at_once[t, lane, i].items()]
        return pyo.quicksum(held) <= m.vms[t, lane, i]

    model.hosted = pyo.Constraint(class_cells, rule=hosted)
    model.answered = pyo.Constraint(
        service_cells,
        rule=lambda m, t, lane, u: (
            m.rate[t, lane, u] <= float(fleet.rate_per_vm[lane, u - fleet.classes]) * m.vms[t, lane, u]
        ),
    )

    def served(m: Any, t: int, unit: int) -> Any:
        if not of_unit[t, unit]:
            return m.served[t, unit] <= 0.0
        if unit < fleet.classes:
            each = [cell for lane in of_unit[t, unit] for cell in at_once[t, lane, unit].items()]
            return m.served[t, unit] <= pyo.quicksum(float(fleet.every[n].reuse[unit]) * jobs for n, jobs in each)
        return m.served[t, unit] == pyo.quicksum(m.rate[t, lane, unit] for lane in of_unit[t, unit])

    model.rounds = pyo.Constraint(units, rule=served)
    _limit_types(model, fleet, of_unit)
    _limit_spot(model, fleet, of_unit)
    _pick_rounds(model, at_once)
    _keep_together(model, fleet, of_unit, at_once)
    return _price(spec, model, fleet, of_unit)


def _cells(of_unit: dict[tuple[int, int], list[int]], fleet: Fleet, t: int) -> list[tuple[int, int]]:
    """Return the lanes and units of a period that have VMs."""
    return [(lane, unit) for unit in range(fleet.low.shape[1]) for lane in of_unit[t, unit]]


def _limit_types(model: pyo.ConcreteModel, fleet: Fleet, of_unit: dict[tuple[int, int], list[int]]) -> None:
    """Add the most VMs of each type and of all, and the quotas of cores, for each period."""
    rows: list[tuple[dict[int, float], float]] = []
    for vm in np.flatnonzero(np.isfinite(fleet.available)).tolist():
        rows.append((dict.fromkeys(np.flatnonzero(fleet.vm_of_lane == vm).tolist(), 1.0), float(fleet.available[vm])))
    if np.isfinite(fleet.size):
        rows.append((dict.fromkeys(range(len(fleet.lanes)), 1.0), fleet.size))
    for quota in fleet.quotas:
        cores = np.where(fleet.spot == quota.spot, quota.cores[fleet.vm_of_lane], 0.0)
        rows.append(({lane: float(cores[lane]) for lane in np.flatnonzero(cores).tolist()}, quota.limit))
    model.limits = pyo.ConstraintList()
    for t in range(fleet.periods):
        for factors, most in rows:
            held = [factors[lane] * model.vms[t, lane, u] for lane, u in _cells(of_unit, fleet, t) if lane in factors]
            if held:
                model.limits.add(pyo.quicksum(held) <= most)


def _limit_spot(model: pyo.ConcreteModel, fleet: Fleet, of_unit: dict[tuple[int, int], list[int]]) -> None:
    """Add the part of the VMs of each class that may be on spot."""
    model.on_spot = pyo.ConstraintList()
    for (t, unit), lanes in of_unit.items():
        if unit < fleet.classes and fleet.spot_share[unit] < 1.0 and fleet.spot[lanes].any():
            share = float(fleet.spot_share[unit])
            held = [(float(fleet.spot[lane]) - share) * model.vms[t, lane, unit] for lane in lanes]
            model.on_spot.add(pyo.quicksum(held) <= 0.0)


def _pick_rounds(model: pyo.ConcreteModel, at_once: AtOnce) -> None:
    """Add one number of rounds for each class, period and lane."""
    several = [(*cell, n) for cell, numbers in at_once.items() if len(numbers) > 1 for n in numbers]
    model.of_rounds = pyo.Var(several, within=pyo.Binary)

    def within(m: Any, t: int, lane: int, i: int, n: int) -> Any:
        jobs = at_once[t, lane, i][n]
        return jobs <= jobs.ub * m.of_rounds[t, lane, i, n]

    model.in_rounds = pyo.Constraint(several, rule=within)
    cells = [cell for cell, numbers in at_once.items() if len(numbers) > 1]
    model.one_number = pyo.Constraint(
        cells, rule=lambda m, *cell: pyo.quicksum(m.of_rounds[(*cell, n)] for n in at_once[cell]) <= 1
    )


def _keep_together(
    model: pyo.ConcreteModel, fleet: Fleet, of_unit: dict[tuple[int, int], list[int]], at_once: AtOnce
) -> None:
    """Add one VM type in each period for classes with ``types = one``."""
    model.one_type = pyo.ConstraintList()
    picks = [
        (t, unit, vm)
        for (t, unit), lanes in of_unit.items()
        if unit < fleet.classes and fleet.together[unit]
        for vm in sorted({int(fleet.vm_of_lane[lane]) for lane in lanes})
    ]
    model.picked = pyo.Var(picks, within=pyo.Binary)
    for t, unit, vm in picks:
        there = [lane for lane in of_unit[t, unit] if fleet.vm_of_lane[lane] == vm]
        every = [jobs for lane in there for jobs in at_once[t, lane, unit].values()]
        most = max(jobs.ub for jobs in every) * len(there)
        model.one_type.add(pyo.quicksum(every) <= most * model.picked[t, unit, vm])
    for t, unit in sorted({(t, unit) for t, unit, _ in picks}):
        model.one_type.add(pyo.quicksum(model.picked[each] for each in picks if each[:2] == (t, unit)) <= 1)


def _price(
    spec: Spec, model: pyo.ConcreteModel, fleet: Fleet, of_unit: dict[tuple[int, int], list[int]]
) -> pyo.ConcreteModel:
    prices, penalties = fleet.prices.tolist(), fleet.penalty.tolist()
    operation = pyo.quicksum(prices[lane] * model.vms[t, lane, unit] for t, lane, unit in model.vms)
    operation += _contracts(model, fleet, of_unit)
    avoided = pyo.quicksum(penalties[unit] * model.served[t, unit] for t, unit in model.served)
    constant = float((fleet.expected @ fleet.penalty).sum())
    model.cost = pyo.Objective(expr=operation - avoided + constant, sense=pyo.minimize)

    def vms(t: int, named: str) -> Any:
        lanes = [lane for lane, each in enumerate(fleet.lanes) if named in ("", fleet.names[each.vm])]
        held = [
            model.vms[t, lane, u] for (at, u), there in of_unit.items() if at == t for lane in there if lane in lanes
        ]
        return pyo.quicksum(held) if held else 0.0

    offer_of_types(spec, model, fleet, vms, lambda t, unit: model.served[t, unit])
    return model


def _contracts(model: pyo.ConcreteModel, fleet: Fleet, of_unit: dict[tuple[int, int], list[int]]) -> Any:
    """Add the VMs under contract and those of them that each period uses; return their cost beyond that on demand."""
    there = np.flatnonzero(fleet.contracts).tolist()
    most = fleet.contracts.tolist()
    model.committed = pyo.Var(
        there,
        bounds=lambda _, vm: (most[vm] if fleet.prepaid[vm] else 0.0, most[vm]),
        within=pyo.NonNegativeReals if model.relaxed else pyo.NonNegativeIntegers,
    )
    cells = [(t, vm) for t in range(fleet.periods) for vm in there]
    model.under_contract = pyo.Var(cells, within=pyo.NonNegativeReals)
    model.contracted = pyo.Constraint(cells, rule=lambda m, t, vm: m.under_contract[t, vm] <= m.committed[vm])

    def used(m: Any, t: int, vm: int) -> Any:
        lanes = {lane for lane in np.flatnonzero(fleet.vm_of_lane == vm).tolist() if not fleet.spot[lane]}
        held = [m.vms[t, lane, unit] for lane, unit in _cells(of_unit, fleet, t) if lane in lanes]
        return m.under_contract[t, vm] <= (pyo.quicksum(held) if held else 0.0)

    model.contracts_in_use = pyo.Constraint(cells, rule=used)
    saved, prices = fleet.on_demand.tolist(), (fleet.periods * fleet.contract_prices).tolist()
    paid = pyo.quicksum(prices[vm] * model.committed[vm] for vm in there)
    return paid - pyo.quicksum(saved[vm] * model.under_contract[t, vm] for t, vm in cells)


def allocation_of_types(spec: Spec, fleet: Fleet, model: Any, relax: bool) -> Allocation:
    """Return the allocation that a solver left in the model."""
    vms = np.zeros((fleet.periods, len(fleet.lanes), fleet.low.shape[1]))
    at_once = np.zeros((fleet.periods, len(fleet.every), len(fleet.lanes), fleet.classes))
    committed = np.zeros((fleet.periods, len(fleet.names)))
    for vm in model.committed:
        committed[:, vm] = max(0.0, float(pyo.value(model.committed[vm])))
    served = np.zeros_like(fleet.low)
    for t, *cell, n in model.at_once_in:
        at_once[(t, n, *cell)] = max(0.0, float(pyo.value(model.at_once_in[(t, *cell, n)])))
    for variables, values in ((model.vms, vms), (model.at_once, at_once[:, 0]), (model.served, served)):
        for cell in variables:
            values[cell] = max(0.0, float(pyo.value(variables[cell])))
    if not relax:
        vms, at_once, committed = np.rint(vms), np.rint(at_once), np.rint(committed)
    able = _able(fleet, vms, at_once)
    if not spec.constraints and not getattr(model, "of_caller", False):
        served = able
    served = np.where(served >= fleet.high * (1 - ROUNDING), fleet.high, served)
    served = np.clip(np.minimum(served, able), fleet.low, fleet.high)
    return vms, at_once, served[:, : fleet.classes], served[:, fleet.classes :], committed


def _able(fleet: Fleet, vms: Floats, at_once: Floats) -> Floats:
    """Return the demand that the VMs serve, at most the expected one, (periods, units)."""
    jobs = (np.stack([one.reuse for one in fleet.every]) * at_once.sum(axis=2)).sum(axis=1)
    rates = (vms[:, :, fleet.classes :] * fleet.rate_per_vm).sum(axis=1)
    every = np.concatenate([jobs, rates], axis=1)
    return np.where(every >= fleet.high * (1 - ROUNDING), fleet.high, every)


def assemble_types(
    fleet: Fleet, vms: Floats, by_rounds: Floats, jobs: Floats, rate: Floats, committed: Floats, relax: bool
) -> JointPlan:
    """Return the plan of an allocation; requests are split by what the VMs of each type can answer."""
    split = fleet.classes
    each = [
        np.stack([np.where(np.isfinite(one.slots[axis]), one.slots[axis], 0.0) for one in fleet.every])
        for axis in (0, 1)
    ]
    map_slots, reduce_slots = ((by_rounds * slots).sum(axis=1) for slots in each)
    at_once = by_rounds.sum(axis=1)
    room = vms[:, :, split:] * fleet.rate_per_vm
    every = room.sum(axis=1, keepdims=True)
    rates = rate[:, None, :] * np.divide(room, every, out=np.zeros_like(room), where=every > 0.0)
    slots = (map_slots + reduce_slots).sum(axis=1)
    total = slots.sum(axis=1, keepdims=True)
    rejected = fleet.expected - np.concatenate([jobs, rate], axis=1)
    held = vms.sum(axis=(1, 2))
    known = fleet.size if np.isfinite(fleet.size) else float(fleet.available.sum())
    size = int(known) if np.isfinite(known) else None
    response = workloads.mean_response(fleet.speeds, rates, vms[:, :, split:], fleet.delay)
    worst = np.where(np.isnan(response), -np.inf, response).max(axis=1)
    firm, types = ~fleet.spot, fleet.vm_of_lane
    lanes = LanePlan(
        vm=[fleet.names[lane.vm] for lane in fleet.lanes],
        way=["spot" if lane.spot else "on_demand" for lane in fleet.lanes],
        prices=fleet.prices,
        class_vms=vms[:, :, :split],
        at_once=at_once,
        map_slots=map_slots,
        reduce_slots=reduce_slots,
        service_vms=vms[:, :, split:],
        rate=rates,
        committed=np.where(firm, committed.max(axis=0, initial=0.0)[types], 0.0),
        contract_prices=np.where(firm, fleet.contract_prices[types], 0.0),
        saved=np.where(firm, fleet.on_demand[types], 0.0),
    )
    return JointPlan(
        class_names=fleet.class_names,
        service_names=fleet.service_names,
        classes=ClassPlan(
            admitted=jobs,
            rejected=rejected[:, :split],
            at_once=at_once.sum(axis=1),
            vms=vms[:, :, :split].sum(axis=1),
            map_slots=map_slots.sum(axis=1),
            reduce_slots=reduce_slots.sum(axis=1),
            weight=np.divide(slots, total, out=np.zeros_like(slots), where=total > 0),
        ),
        services=ServicePlan(
            rate=rate,
            rejected_rate=rejected[:, split:],
            vms=vms[:, :, split:].sum(axis=1),
            response=np.where(np.isneginf(worst), np.nan, worst),
        ),
        size=size,
        vms=held,
        utilization=held / size if size else np.full_like(held, np.nan),
        operation=lanes.costs.sum(axis=1),
        penalties=rejected @ fleet.penalty,
        stages=fleet.stages,
        dags=fleet.dags,
        whole=SLOTS if fleet.whole and not relax else NO,
        by_type=lanes,
    )
