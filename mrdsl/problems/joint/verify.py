"""A joint plan against its spec, from the facts alone: whoever found it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from mrdsl.diagnostics import Diagnostic, error
from mrdsl.problems.joint.plan import JointPlan
from mrdsl.problems.joint.workload import Floats, Workload, parts, workload
from mrdsl.spec.spec import Spec

TOLERANCE = 1e-6


def verify(spec: Spec, plan: JointPlan, relax: bool = False) -> Iterable[Diagnostic]:
    """Demand bounds (8), (9), deadlines (3), slots on VMs (4), response times (5), cluster size (7), whole VMs."""
    work = workload(spec)
    yield from _demand(spec, work, plan)
    yield from _deadlines(spec, work, plan)
    yield from _responses(spec, work, plan)
    yield from _cluster(spec, work, plan, relax)


def measure(spec: Spec, plan: JointPlan) -> float:
    """The cost of all periods, from what the plan admits and the VMs that it holds."""
    return cost_of(workload(spec), plan)


def cost_of(work: Workload, plan: JointPlan) -> float:
    """The cost of a plan for a spec that is at hand as arrays."""
    vms, served = _columns(plan)
    return float(work.vm_cost * vms.sum() + ((work.high - served) @ work.penalty).sum())


def _columns(plan: JointPlan) -> tuple[Floats, Floats]:
    vms = np.concatenate([plan.classes.vms, plan.services.vms], axis=1)
    return vms, np.concatenate([plan.classes.admitted, plan.services.rate], axis=1)


def _demand(spec: Spec, work: Workload, plan: JointPlan) -> Iterator[Diagnostic]:
    _, served = _columns(plan)
    scale = TOLERANCE * np.maximum(1.0, work.high)
    for t, u in np.argwhere((served < work.low - scale) | (served > work.high + scale)):
        low, high = work.low[t, u], work.high[t, u]
        yield _broken(spec, work, int(u), f"gets {served[t, u]:.6g} in period {t}, not {low:.6g} to {high:.6g}")


def _deadlines(spec: Spec, work: Workload, plan: JointPlan) -> Iterator[Diagnostic]:
    run, got = work.execution, plan.classes
    at_once = got.admitted / run.reuse
    with np.errstate(divide="ignore", invalid="ignore"):
        time = (np.where(at_once > 0, run.A * at_once / got.map_slots, 0.0)
                + np.where((at_once > 0) & (run.B > 0), run.B * at_once / got.reduce_slots, 0.0) + run.C)
    for t, i in np.argwhere((time > run.deadline * (1 + TOLERANCE)) & (at_once > 0)):
        yield _broken(spec, work, int(i), f"takes {time[t, i]:.6g} s in period {t}, past its {run.deadline[i]:.6g} s")
    needed = got.map_slots / run.map_slots + got.reduce_slots / run.reduce_slots
    for t, i in np.argwhere(needed > got.vms + TOLERANCE * np.maximum(1.0, got.vms)):
        yield _broken(spec, work, int(i), f"needs {needed[t, i]:.6g} VMs in period {t} and has {got.vms[t, i]:.6g}")


def _responses(spec: Spec, work: Workload, plan: JointPlan) -> Iterator[Diagnostic]:
    queues, got = work.queues, plan.services
    response = queues.mean_response(got.rate, got.vms)
    late = (response > queues.response * (1 + TOLERANCE)) | (got.rate >= queues.service_rate * got.vms)
    for t, k in np.argwhere(late & (got.rate > 0)):
        said = f"answers in {response[t, k]:.6g} s in period {t}, past its {queues.response[k]:.6g} s"
        yield _broken(spec, work, work.classes + int(k), said)


def _cluster(spec: Spec, work: Workload, plan: JointPlan, relax: bool) -> Iterator[Diagnostic]:
    vms, _ = _columns(plan)
    for part, size in parts(work, relax):
        for t in np.flatnonzero(vms[:, part].sum(axis=1) > size * (1 + TOLERANCE)):
            used = vms[t, part].sum()
            yield error("broken-plan", f"period {t} uses {used:.6g} VMs of {size:.6g}", spec.facts.cluster.span)
    if not relax:
        for t, u in np.argwhere(np.abs(vms - np.round(vms)) > TOLERANCE):
            yield _broken(spec, work, int(u), f"has {vms[t, u]:.6g} VMs in period {t}, not a whole number")


def _broken(spec: Spec, work: Workload, unit: int, what: str) -> Diagnostic:
    facts = spec.facts
    node = facts.classes[unit] if unit < work.classes else facts.services[unit - work.classes]
    return error("broken-plan", f"the plan breaks the spec: {node.name} {what}", node.span)
