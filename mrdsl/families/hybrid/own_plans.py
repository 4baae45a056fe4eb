"""Plans from decisions by slot, for methods that are not part of mrdsl."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from mrdsl.core.decisions import numbers_by_name, plan_builder, wrong
from mrdsl.core.diagnostics import MrdslError
from mrdsl.families.hybrid.facts import HybridFacts, control_of
from mrdsl.families.hybrid.methods.controller import Bounds, Tasks, outcome_of
from mrdsl.families.hybrid.plan import HybridPlan
from mrdsl.families.hybrid.workload import Counts, arrivals_of
from mrdsl.spec.spec import Spec


@plan_builder("hybrid")
def plan_with(
    spec: Spec,
    admitted: Mapping[str, int | Sequence[int]],
    outsourced: Mapping[str, int | Sequence[int]],
    running: Mapping[str, int | Sequence[int]],
    leaving: Mapping[str, int | Sequence[int]] | None = None,
    *,
    seed: int | None = None,
) -> HybridPlan:
    """Return the plan of a run with these decisions; the oldest tasks run first, and the oldest others leave first.

    In each slot tasks arrive, the chosen tasks run and leave, and admitted tasks join the queue at its end. Tasks that
    are neither admitted nor outsourced are rejected.

    Args:
        spec: The spec. ``mrdsl.families.hybrid.workload.arrivals_of(spec.facts, seed)`` has the tasks that arrive.
        admitted: Tasks that join the queue, of those that arrive, in each slot or in all, by queue.
        outsourced: Tasks that go to the public cloud at once, of those that arrive, alike.
        running: Tasks that run in the slot, alike.
        leaving: Waiting tasks that go to the public cloud in the slot, alike; none by default.
        seed: The seed of the arrivals, by default that of the spec.

    Returns:
        The plan, without guarantees. mrdsl checks it against the spec when a method returns it.

    Raises:
        MrdslError: `unknown-name`, `missing-item`, or `wrong-value`, such as for more tasks than there are.
    """
    facts: HybridFacts = spec.facts
    names, slots = [queue.name for queue in facts.queues], facts.horizon
    leaving = dict.fromkeys(names, 0) if leaving is None else leaving
    given = (("admitted tasks", admitted), ("outsourced tasks", outsourced), ("running tasks", running))
    joins, outside, runs, leaves = (
        _whole(names, what, each, slots) for what, each in (*given, ("leaving tasks", leaving))
    )
    arrivals = arrivals_of(facts, (spec.seed or 0) if seed is None else seed).T
    tasks = [Tasks(queue) for queue in facts.queues]
    for own, came, join, out, run, leave in zip(tasks, arrivals, joins, outside, runs, leaves, strict=True):
        _require(own, "accepted", join + out, came, "arrive")
        own.submitted, own.outsourced = int(came.sum()), int(out.sum())
        own.rejected = own.submitted - int((join + out).sum())
        for slot, (joining, busy, gone) in enumerate(zip(join.tolist(), run.tolist(), leave.tolist(), strict=True)):
            if busy + gone > own.count:
                message = f"queue `{own.queue.name}`, slot {slot}: {busy} tasks run and {gone} leave, {own.count} wait"
                raise MrdslError([wrong(message)])
            own.outsource(slot, busy, gone)
            own.run(slot, busy)
            own.admit(slot, joining)
    on = np.array([queue.vm for queue in facts.queues])
    peaks = {vm.name: int(runs[on == vm.name].sum(axis=0).max(initial=0)) for vm in facts.vms}
    found = outcome_of(spec, tasks, [Bounds()] * len(tasks), peaks, control_of(facts).preemption_weight)
    return found.plan_of(HybridPlan)


def _whole(names: Sequence[str], what: str, given: Mapping[str, int | Sequence[int]], slots: int) -> Counts:
    numbers = numbers_by_name(given, names, "queue", what, slots)
    for name, row in zip(names, numbers, strict=True):
        if (row != np.rint(row)).any():
            raise MrdslError([wrong(f"{what} of queue `{name}` must be whole numbers")])
    return numbers.astype(np.int64)


def _require(tasks: Tasks, what: str, wanted: Counts, there: Counts, how: str) -> None:
    over = np.flatnonzero(wanted > there)
    if over.size:
        slot = int(over[0])
        message = f"queue `{tasks.queue.name}`, slot {slot}: {wanted[slot]} tasks are {what}, {there[slot]} {how}"
        raise MrdslError([wrong(message)])
