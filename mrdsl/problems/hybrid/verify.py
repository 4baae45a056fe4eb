"""A hybrid plan held against the facts: nothing lost, nothing promised and broken."""

from __future__ import annotations

from collections.abc import Iterator

from mrdsl.diagnostics import Diagnostic, error
from mrdsl.problems.hybrid.bounds import control_of
from mrdsl.problems.hybrid.facts import HybridFacts, Queue
from mrdsl.problems.hybrid.plan import HybridPlan, QueueRun
from mrdsl.spec.spec import Spec

TOLERANCE = 1e-6


def measure(spec: Spec, plan: HybridPlan) -> float:
    """Average cost per slot, (6), from what became of the tasks."""
    facts: HybridFacts = spec.facts
    weight = control_of(facts).preemption_weight
    price = {vm.name: vm.preemption_cost for vm in facts.vms}
    total = 0.0
    for queue in facts.queues:
        run = plan.queues[queue.name]
        total += (run.outsourced + run.outsourced_after) * queue.outsourcing
        total += weight * run.preemptions * price[queue.vm]
    return total / facts.horizon


def verify(spec: Spec, plan: HybridPlan, _: bool) -> Iterator[Diagnostic]:
    """Conservation, VMs, delays, and the bounds (12) to (15) that the plan itself claims."""
    facts: HybridFacts = spec.facts
    for queue in facts.queues:
        for problem in _problems(queue, plan.queues[queue.name]):
            yield error("broken-plan", f"queue {queue.name}: {problem}", queue.span)
    for vm in facts.vms:
        if plan.vm_peak.get(vm.name, 0) > vm.available:
            yield error(
                "broken-plan", f"vm {vm.name}: {plan.vm_peak[vm.name]} run at once, there are {vm.available}", vm.span
            )


def _problems(queue: Queue, run: QueueRun) -> Iterator[str]:
    if run.admitted + run.outsourced + run.rejected != run.submitted:
        yield "admitted, outsourced and rejected tasks are not those submitted"
    if run.finished + run.waiting + run.outsourced_after != run.admitted:
        yield "an admitted task neither finished, nor waits, nor left"
    if run.delay_bound is not None and run.worst_delay > min(run.delay_bound, queue.delay):
        yield f"a task took {run.worst_delay} slots, promised are {min(run.delay_bound, queue.delay)}"
    for name, found, bound in (
        ("backlog", float(run.backlog_max), run.backlog_bound),
        ("virtual queue K", run.debt_max, run.debt_bound),
        ("virtual queue Z", run.persistence_max, run.persistence_bound),
    ):
        if bound is not None and found > bound * (1.0 + TOLERANCE) + TOLERANCE:
            yield f"the {name} reached {found:g}, its bound is {bound:g}"


def choose(_spec: Spec, _relax: bool, _formulation: str | None) -> str:
    """``auto`` takes the controller."""
    return "controller"
