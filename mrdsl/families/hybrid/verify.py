"""Verification of a hybrid plan against the input data: no task lost, no guarantee broken."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from mrdsl.core.diagnostics import Diagnostic, error, number_of, warning
from mrdsl.core.rounding import FEASIBILITY
from mrdsl.families.hybrid.facts import Control, HybridFacts, Queue
from mrdsl.families.hybrid.plan import HybridPlan, QueueRun
from mrdsl.spec.spec import Spec

SHORT = 0.99
"""Ratio of accepted to requested jobs below which a warning is reported."""


def measure(spec: Spec, plan: HybridPlan) -> float:
    """Average cost per slot, (6), from what became of the tasks."""
    facts: HybridFacts = spec.facts
    weight = _written(facts).preemption_weight
    price = {vm.name: vm.preemption_cost for vm in facts.vms}
    total = 0.0
    for queue in facts.queues:
        run = plan.queues[queue.name]
        total += (run.outsourced + run.outsourced_after) * queue.outsourcing
        total += weight * run.preemptions * price[queue.vm]
    return total / facts.horizon


def verify(spec: Spec, plan: HybridPlan, _: bool) -> Iterator[Diagnostic]:
    """Check conservation, VMs, delays, and the bounds (12) to (15) that the plan claims; also (5), if missed."""
    facts: HybridFacts = spec.facts
    asked = _written(facts).acceptance
    for queue in facts.queues:
        run = plan.queues[queue.name]
        claims = (run.backlog_bound, run.debt_bound, run.persistence_bound)
        for bound, claim in zip(_bounds(facts, queue) or (), claims, strict=False):
            if claim is not None and not abs(claim - bound) <= FEASIBILITY * max(1.0, bound):
                yield error("broken-plan", f"queue {queue.name}: a bound is {claim:g}, and not {bound:g}", queue.span)
        for problem in _problems(queue, run, asked):
            yield error("broken-plan", f"queue {queue.name}: {problem}", queue.span)
        if run.acceptance < SHORT * asked:
            yield _short(spec, queue, run, asked)
    value = measure(spec, plan)
    if not abs(plan.cost.average - value) <= FEASIBILITY * max(1.0, value):
        yield error(
            "broken-plan", f"the plan claims a cost of {plan.cost.average:g}, its tasks cost {value:g}", spec.span
        )
    for vm in facts.vms:
        if plan.vm_peak.get(vm.name, 0) > vm.available:
            yield error(
                "broken-plan", f"vm {vm.name}: {plan.vm_peak[vm.name]} run at once, there are {vm.available}", vm.span
            )


def _written(facts: HybridFacts) -> Control:
    """Read the controller's weights as they are written, or their defaults."""
    return facts.control or Control()


def _bounds(facts: HybridFacts, queue: Queue) -> tuple[float, ...] | None:
    """Compute the bounds (12), (13) and (14) at the weights of the spec; None if V is not given.

    K is at most ``V H + alpha S_max``, the backlog ``V H + (alpha + l) S_max``, and Z its epsilon more than V H, the
    least for which (15) meets the queue's delay.
    """
    control = _written(facts)
    if control.V is None or queue.delay <= 1:
        return None
    weighed, arrivals = control.V * queue.outsourcing, queue.arrivals_max
    backlog = weighed + (control.acceptance + queue.size) * arrivals
    epsilon = ((1 + queue.size) * backlog + weighed) / (queue.delay - 1)
    return backlog, weighed + control.acceptance * arrivals, weighed + epsilon


def _short(spec: Spec, queue: Queue, run: QueueRun, asked: float) -> Diagnostic:
    """Report that the acceptance misses alpha, with the policy's guarantee for this run and a sufficient length."""
    facts: HybridFacts = spec.facts
    span = _written(facts).span_of("acceptance") or queue.span
    floor = run.floor(asked)
    said = f"{run.acceptance:.1%} of the tasks of queue {queue.name} were accepted, but {asked:.1%} are required: "
    if floor is None or run.debt_bound is None:
        return warning(
            "acceptance-below",
            said + "this policy guarantees no acceptance",
            span,
            "pass `--solver controller` or `--solver calendar`, which take the acceptance into account",
        )
    tasks = ceil(run.debt_bound / ((1 - SHORT) * asked))
    slots = ceil(tasks / run.submitted * facts.horizon)
    return warning(
        "acceptance-below",
        said + f"over {run.submitted} tasks the controller promises {floor:.1%}, "
        f"the share asked less K_max / submitted, with K_max = {run.debt_bound:.4g} tasks",
        span,
        f"a smaller V makes K_max smaller; or write horizon = {slots} slots or more, for which the guarantee is within "
        "1 % of the request",
    )


def _problems(queue: Queue, run: QueueRun, asked: float) -> Iterator[str]:
    if run.admitted + run.outsourced + run.rejected != run.submitted:
        yield "admitted, outsourced and rejected tasks are not those submitted"
    share = 1.0 - run.rejected / run.submitted if run.submitted else run.acceptance
    if not abs(run.acceptance - share) <= FEASIBILITY:
        yield f"it claims an acceptance of {run.acceptance:g}, of its tasks {share:g} were accepted"
    if run.finished + run.waiting + run.outsourced_after != run.admitted:
        yield "an admitted task neither finished, nor waits, nor left"
    if run.delay_bound is not None and run.worst_delay > min(run.delay_bound, queue.delay):
        yield f"a task took {number_of(run.worst_delay, 'slot')}, promised are {min(run.delay_bound, queue.delay)}"
    floor = run.floor(asked)
    if floor is not None and run.acceptance < floor - FEASIBILITY:
        yield f"the acceptance is {run.acceptance:g}, at least {floor:g} is promised"
    for name, largest, bound in (
        ("backlog", float(run.backlog_max), run.backlog_bound),
        ("virtual queue K", run.debt_max, run.debt_bound),
        ("virtual queue Z", run.persistence_max, run.persistence_bound),
    ):
        if bound is not None and largest > bound * (1.0 + FEASIBILITY) + FEASIBILITY:
            yield f"the {name} reached {largest:g}, its bound is {bound:g}"
