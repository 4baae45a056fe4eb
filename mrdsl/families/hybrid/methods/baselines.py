"""Baselines for the controller and the calendar: policies that use neither prices nor forecasts."""

from __future__ import annotations

from dataclasses import replace

from mrdsl.contracts.pipeline import Draft
from mrdsl.core.rounding import floor
from mrdsl.families.hybrid.facts import HybridFacts
from mrdsl.families.hybrid.guarantees import control_of
from mrdsl.families.hybrid.methods.bookings import book
from mrdsl.families.hybrid.methods.controller import Bounds, Tasks, lower_bound, outcome_of
from mrdsl.families.hybrid.workload import arrivals_of, rows_of


def always_outsource(draft: Draft) -> Draft:
    """Send every task to the public cloud: an upper bound on the cost of a sensible policy."""
    return _serve(draft, keep_private=False, outsource=True)


def never_outsource(draft: Draft) -> Draft:
    """Serve tasks in the private cloud in order of arrival; reject those that cannot start on time.

    The policy ignores the acceptance.
    """
    return _serve(draft, keep_private=True, outsource=False, acceptance=0.0)


def threshold(draft: Draft) -> Draft:
    """Serve tasks in order of arrival, then of the spec; outsource those that cannot end on time, and reject none."""
    return _serve(draft, keep_private=True, outsource=True, acceptance=1.0)


def _serve(draft: Draft, keep_private: bool, outsource: bool, acceptance: float = 1.0) -> Draft:
    facts: HybridFacts = draft.spec.facts
    tasks = [Tasks(queue) for queue in facts.queues]
    arrivals = arrivals_of(facts, draft.seed)
    peaks: dict[str, int] = {}
    for vm in facts.vms:
        members = [i for i, queue in enumerate(facts.queues) if queue.vm == vm.name]
        free = [vm.available] * (facts.horizon + max(queue.delay for queue in facts.queues) + 2)
        first = [0] * len(members)
        for slot, came in enumerate(draft.paced(rows_of(arrivals[:, members]))):
            for place, index in enumerate(members):
                submitted = came[place]
                kept: list[tuple[int, int]] = []
                if keep_private:
                    queue = facts.queues[index]
                    kept, first[place] = book(free, slot, queue, submitted, 0, first[place])
                _account(tasks[index], slot, submitted, kept, outsource, acceptance)
        peaks[vm.name] = vm.available - min(free[: facts.horizon])
    bounds = [Bounds(delay=queue.delay) for queue in facts.queues]
    plan = outcome_of(draft.spec, tasks, bounds, peaks, control_of(facts).preemption_weight)
    least = lower_bound(facts, arrivals) if outsource else None
    return replace(draft, plan=plan.plan, value=plan.value, bound=least)


def _account(
    tasks: Tasks, slot: int, submitted: int, placed: list[tuple[int, int]], outsource: bool, acceptance: float
) -> None:
    """Book the fate of one slot's tasks of one queue."""
    tasks.submitted += submitted
    booked = sum([count for _, count in placed])
    tasks.admitted += booked
    tasks.finished += booked
    if placed:
        tasks.worst_delay = max(tasks.worst_delay, placed[-1][0] + tasks.queue.size - 1 - slot)
    rest = submitted - booked
    allowed = int(floor((1.0 - acceptance) * tasks.submitted)) - tasks.rejected
    rejected = rest if not outsource else min(rest, max(allowed, 0))
    tasks.rejected += rejected
    tasks.outsourced += rest - rejected
