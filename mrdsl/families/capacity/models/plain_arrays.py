"""P2 in arrays, without Pyomo: what :mod:`mrdsl.families.capacity.models.linear` builds, where it is the plain form.

The formulation is declared there; tests hold that both come to the same arrays on random instances.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from mrdsl.contracts.family import ArrayForm
from mrdsl.core.linear_program import LinearProgram
from mrdsl.core.whole_numbers import ceiling
from mrdsl.families.capacity.facts import MACHINES
from mrdsl.families.capacity.instance import Floats, Instance, instance_of
from mrdsl.families.capacity.plan import CapacityPlan, plan_of
from mrdsl.families.capacity.shape import is_plain
from mrdsl.families.capacity.starts import admitted_again
from mrdsl.families.capacity.wholeness import as_solved, wholeness_of
from mrdsl.spec.spec import Spec

PRESOLVE_PAYS_UP_TO = 2_000
"""HiGHS's presolve takes time quadratic in the one dense row (100,000 columns: minutes), in vain; see benchmarks."""


def arrays(spec: Spec, relax: bool) -> ArrayForm | None:
    """P2 with one VM type, one row (25) and no ``subject to``; None where a spec has more, or a coefficient is 0.

    Columns are d, r and h; a coefficient of 0 would have Pyomo leave its variable out of a sum.
    """
    if spec.constraints or not is_plain(spec.facts) or wholeness_of(spec.facts) == MACHINES:
        return None
    instance = instance_of(as_solved(spec, relax))
    with np.errstate(divide="ignore", invalid="ignore"):  # of a deadline that nothing keeps: told by the model's build
        gamma = instance.vms_per_job()
    prices = instance.prices
    costs = np.concatenate([[prices.on_demand, prices.reserved], -instance.penalty])
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
    return ArrayForm(program, lambda _: "enough_vms", partial(_decoded, instance, relax), partial(_point, instance))


def _decoded(instance: Instance, relax: bool, point: Floats) -> CapacityPlan:
    on_demand, reserved, *jobs = point.tolist()
    return plan_at(instance, (on_demand, reserved), jobs, relax)


def _point(instance: Instance, plan: object) -> Floats | None:
    """The columns at the jobs of a plan, on as many VMs as they take; None where it has none of the classes."""
    jobs = admitted_again(plan, instance.names, instance.most)
    if jobs is None:
        return None
    prices, needed = instance.prices, float(ceiling(float(instance.vms_per_job() @ jobs)))
    reserved = min(needed, float(prices.available)) if prices.reserved <= prices.on_demand else 0.0
    return np.concatenate([[needed - reserved, reserved], jobs])


def plan_at(instance: Instance, vms: tuple[float, float], jobs: Sequence[float], relax: bool) -> CapacityPlan:
    """The plan with these numbers of VMs, on demand and reserved, and of admitted jobs; the slots are Theorem 4.1's.

    What they lack of a VM, within a solver's tolerance, is rented: as a fraction, or as the whole VM that it takes.
    """
    on_demand, reserved = vms
    if not relax:
        on_demand, reserved, *jobs = (float(round(number)) for number in (on_demand, reserved, *jobs))
    taken = sum(each * count for each, count in zip(instance.vms_per_job().tolist(), jobs, strict=True) if count)
    on_demand += max((taken if relax else ceiling(taken)) - on_demand - reserved, 0.0)
    return plan_of(instance, (on_demand, reserved), jobs, relax)


def all_fit_one_vm(instance: Instance, gamma: Floats) -> bool:
    """Whether one VM hosts all expected jobs, so that P2 has a row for each class beside (25)."""
    return bool(float(gamma @ instance.expected) <= 1.0)


def solver_hints(instance: Instance) -> Mapping[str, Mapping[str, Any]]:
    """What P2 asks of particular solvers."""
    return {"highs": {"presolve": "off"}} if len(instance) > PRESOLVE_PAYS_UP_TO else {}
