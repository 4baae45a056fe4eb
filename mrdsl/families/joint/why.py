"""What a joint plan means: who stays at the minimum and why, and what another VM would be worth.

Theorem 3.4 where jobs at once are fractional; with whole ones the same questions are answered by optima and staircases.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mrdsl.core.result import Result, Table
from mrdsl.core.tolerances import FEASIBILITY, ROUNDING
from mrdsl.core.units import HOUR
from mrdsl.core.whole_numbers import ceiling, floor
from mrdsl.families.joint.plan import JointPlan
from mrdsl.families.joint.sizes import Sweep, sweep
from mrdsl.families.joint.staircase import choices, wanted
from mrdsl.families.joint.whole_slots import as_planned
from mrdsl.families.joint.why_whole import costs_of_wholeness
from mrdsl.families.joint.workload import Floats, Workload, parts, workload
from mrdsl.spec.spec import Spec

MOST_PERIODS = 48


def why(spec: Spec, result: Result) -> tuple[Table | str, ...]:
    """Sizes of the cluster that matter; the marginal unit and the worth of one VM more; every class's reason."""
    if isinstance(result.plan, JointPlan):
        spec = as_planned(spec, result.plan.whole)
    work = workload(spec)
    if not isinstance(result.plan, JointPlan):
        return (_sizes(spec, work),)
    hour = spec.facts.cluster.period / HOUR
    tables: list[Table | str] = [
        _sizes(spec, work),
        _one_more(spec, work, result.plan, hour),
        _reasons(spec, work, result.plan, hour),
    ]
    costs = costs_of_wholeness(spec, result.plan)
    tables += [] if costs is None else [costs]
    if spec.constraints:
        tables.append("The comparisons under `subject to` are not part of this explanation: they may hold VMs back.")
    return tuple(tables)


def smallest_feasible(work: Workload) -> int:
    """The smallest cluster, in whole VMs, that holds the least demand of every period."""
    return _smallest(work, work.whole_vms(work.low))


def smallest_without_rejections(work: Workload) -> int:
    """The smallest cluster that serves, in whole VMs, whatever is worth its VMs; the rest stays at its least demand."""
    return _smallest(work, _wanted(work))


def _wanted(work: Workload) -> Floats:
    """VMs of every unit where the cluster is large: all demand, as far as the last VM pays; else the least."""
    if work.whole:
        return np.stack([wanted(work, t) for t in range(work.periods)])
    whole, least = floor(work.need_high), ceiling(work.need_low)
    last_pays = work.worth * (work.need_high - whole) >= work.vm_cost
    full = np.where(last_pays, ceiling(work.need_high), np.maximum(whole, least))
    return np.where(work.worth >= work.vm_cost, full, least)


def _smallest(work: Workload, vms: Floats) -> int:
    """The smallest size whose parts hold ``vms`` (periods, units); parts of a split cluster grow with its size."""
    from dataclasses import replace

    size = int(vms.sum(axis=1).max())
    while not all(vms[:, part].sum(axis=1).max() <= held for part, held in parts(replace(work, size=size))):
        size += 1
    return size


def _sizes(spec: Spec, work: Workload) -> Table:
    rows: list[tuple[Any, ...]] = [
        ("smallest cluster that keeps every least demand", smallest_feasible(work)),
        ("smallest cluster that turns nothing away that is worth its VMs", smallest_without_rejections(work)),
        ("this cluster", work.size),
    ]
    if work.partitioned:
        names = ("of it for the classes", "of it for the services")
        rows += [(name, int(held)) for name, (_, held) in zip(names, parts(work), strict=False)]
    return Table("Sizes of the cluster", ("", "VMs"), rows)


def _one_more(spec: Spec, work: Workload, plan: JointPlan, hour: float) -> Table:
    """Per period and part: who is marginal, and by how much one VM more would lower the cost of an hour."""
    rows = []
    for part, held in parts(work):
        gains = _gains(work, part, held) / hour
        used = np.concatenate([plan.classes.vms, plan.services.vms], axis=1)[:, part].sum(axis=1)
        for t in range(min(work.periods, MOST_PERIODS)):
            rows.append(
                (
                    str(t),
                    _name_of(work, part),
                    float(held),
                    float(held - used[t]),
                    _marginal(work, plan, part, t),
                    float(np.maximum(0.0, gains[t])) + 0.0,
                )
            )
    head = ("period", "part", "VMs", "idle", "marginal", f"one VM more saves [{spec.currency}/h]")
    return Table("What one VM more is worth", head, rows)


def _gains(work: Workload, part: slice, held: float) -> Floats:
    """What one VM more saves in every period; NaN where whole jobs at once make that too long a sum."""
    try:
        return _gain(sweep(work, np.array([held, held + 1.0]), False, part))
    except ValueError:
        return np.full(work.periods, np.nan)


def _gain(sweep: Sweep) -> Floats:
    gain: Floats = sweep.total[0] - sweep.total[1]
    return np.where(np.abs(gain) < ROUNDING * np.abs(sweep.total[0]), 0.0, gain)


def _name_of(work: Workload, part: slice) -> str:
    if part == slice(0, len(work.worth)):
        return "all"
    return "classes" if part.start == 0 else "services"


def _marginal(work: Workload, plan: JointPlan, part: slice, t: int) -> str:
    """The unit that the next VM of the part would serve: of those short of VMs the one whose next VM avoids most."""
    vms = np.concatenate([plan.classes.vms[t], plan.services.vms[t]])[part]
    if work.whole:
        return _marginal_jobs(work, part, t, vms)
    missing = np.minimum(work.need_high[t, part] - vms, 1.0)
    worth = np.where(missing > ROUNDING, missing * work.worth[part], -np.inf)
    best = int(np.argmax(worth)) if len(worth) else 0
    if not len(worth) or worth[best] < work.vm_cost:
        return "–"
    return work.names[part][best]


def _marginal_jobs(work: Workload, part: slice, t: int, vms: Floats) -> str:
    """With whole jobs at once: the unit whose next jobs, or next VM, avoid most per VM that they take."""
    options = choices(work, part, t, float(work.whole_vms(work.high)[t, part].sum()))
    more = options.vms - vms[options.unit]
    here = np.maximum.reduceat(np.where(more <= 0.0, options.avoided, -np.inf), options.first)
    beyond = more > 0.0
    worth = np.where(beyond, (options.avoided - here[options.unit]) / np.where(beyond, more, 1.0), -np.inf)
    best = int(np.argmax(worth)) if len(worth) else 0
    if not len(worth) or worth[best] < work.vm_cost:
        return "–"
    return work.names[part][int(options.unit[best])]


def _reasons(spec: Spec, work: Workload, plan: JointPlan, hour: float) -> Table:
    """Every unit: what a VM of it avoids against what it costs, in how many periods it is where, and why."""
    served = np.concatenate([plan.classes.admitted, plan.services.rate], axis=1)
    vms = np.concatenate([plan.classes.vms, plan.services.vms], axis=1)
    full = served >= work.high * (1 - FEASIBILITY)
    least = vms <= work.whole_vms(work.low)
    rows = []
    for u, name in enumerate(work.names):
        at_least = int((least[:, u] & ~full[:, u]).sum())
        everything = int(full[:, u].sum())
        between = work.periods - at_least - everything
        breakeven = work.vm_cost * work.vms_per_demand[u] / (1.0 if u < work.classes else spec.facts.cluster.period)
        rows.append(
            (
                name,
                float(work.worth[u] / hour),
                float(work.vm_cost / hour),
                float(breakeven),
                everything,
                between,
                at_least,
                _reason(work, u, at_least, between),
            )
        )
    head = (
        "class or service",
        f"a VM avoids [{spec.currency}/h]",
        f"and costs [{spec.currency}/h]",
        f"break-even penalty [{spec.currency}]",
        "periods in full",
        "in part",
        "at minimum",
        "because",
    )
    return Table("Classes and services", head, rows)


def _reason(work: Workload, unit: int, at_least: int, between: int) -> str:
    if work.most_worth[unit] < work.vm_cost:
        return "its penalty is below what its VMs cost"
    if not at_least and not between:
        return "there are VMs for all of it"
    if between:
        return "VMs run out on it, or its last ones do not pay"
    return "others avoid more penalty per VM"
