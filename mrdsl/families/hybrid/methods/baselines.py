"""Policies to hold the controller of paper 004 against: baselines, and a calendar of ours that keeps every delay.

``calendar`` books VM-slots ahead. A task is admitted only where a VM is free for its whole length before its delay runs
out, and an admitted task is never preempted and never leaves: its delay is kept by construction. What does not fit is
rejected as long as the queue's acceptance stays at alpha, and outsourced otherwise. Queues whose tasks cost most per
unit of work book first; cheaper ones leave the room in later slots that the dearer ones need on average.
"""

from __future__ import annotations

from dataclasses import replace

from mrdsl.contracts.pipeline import Draft
from mrdsl.core.whole_numbers import floor
from mrdsl.families.hybrid.arrivals import arrivals_of
from mrdsl.families.hybrid.bounds import control_of
from mrdsl.families.hybrid.checks import mean_arrivals
from mrdsl.families.hybrid.facts import HybridFacts, Queue
from mrdsl.families.hybrid.methods.cloud import Bounds, Tasks, lower_bound, outcome_of


def always_outsource(draft: Draft) -> Draft:
    """Every task goes outside: an upper bound on what a sensible policy costs."""
    return _serve(draft, keep_private=False, outsource=True)


def never_outsource(draft: Draft) -> Draft:
    """First come, first served in the private cloud; what cannot start in time is rejected, whatever that means for the
    acceptance."""
    return _serve(draft, keep_private=True, outsource=False, acceptance=0.0)


def threshold(draft: Draft) -> Draft:
    """First come, first served in the order of the spec; what cannot end in time is outsourced, none is rejected."""
    return _serve(draft, keep_private=True, outsource=True, acceptance=1.0)


def calendar(draft: Draft) -> Draft:
    """Ours: see the module. The acceptance is alpha in every prefix of the run."""
    acceptance = control_of(draft.spec.facts).acceptance
    return _serve(draft, keep_private=True, outsource=True, acceptance=acceptance, by_value=True)


def _serve(draft: Draft, keep_private: bool, outsource: bool, acceptance: float = 1.0, by_value: bool = False) -> Draft:
    facts: HybridFacts = draft.spec.facts
    tasks = [Tasks(queue) for queue in facts.queues]
    arrivals = arrivals_of(facts, draft.seed).tolist()
    peaks: dict[str, int] = {}
    for vm in facts.vms:
        members = [i for i, queue in enumerate(facts.queues) if queue.vm == vm.name]
        if by_value:
            members.sort(key=lambda i: -facts.queues[i].outsourcing / facts.queues[i].size)
        free = [vm.available] * (facts.horizon + max(queue.delay for queue in facts.queues) + 2)
        first = [0] * len(members)
        reserve = _reserves([facts.queues[i] for i in members], vm.available) if by_value else [0] * len(members)
        for slot in range(facts.horizon):
            for place, index in enumerate(members):
                submitted = arrivals[slot][index]
                kept: list[int] = []
                if keep_private:
                    queue = facts.queues[index]
                    kept, first[place] = book(free, slot, queue, submitted, reserve[place], first[place])
                _account(tasks[index], slot, submitted, kept, outsource, acceptance)
        peaks[vm.name] = vm.available - min(free[: facts.horizon])
    bounds = [Bounds(delay=queue.delay) for queue in facts.queues]
    plan = outcome_of(draft.spec, tasks, bounds, peaks, control_of(facts).preemption_weight)
    least = lower_bound(facts, arrivals) if outsource else None
    return replace(draft, plan=plan.plan, value=plan.value, bound=least)


def _reserves(queues: list[Queue], vms: int) -> list[int]:
    """For every queue, VMs that it leaves free in later slots for the dearer queues before it."""
    reserves, needed = [], 0.0
    for queue in queues:
        reserves.append(min(vms, round(needed)))
        needed += mean_arrivals(queue) * queue.size
    return reserves


def book(free: list[int], slot: int, queue: Queue, count: int, reserve: int, first: int) -> tuple[list[int], int]:
    """Books VM-slots for up to ``count`` tasks as early as possible, the next slot without regard to the reserve.

    ``first`` is the earliest start that may still have room above the reserve: free VMs only ever become fewer, so no
    start is looked at twice. Gives the slot in which each task ends, and the next ``first``.
    """
    size = queue.size
    ends: list[int] = []
    start, last = slot + 1, slot + queue.delay - size + 1
    if count and start <= last:
        taken = _take(free, start, size, count, 0)
        ends += [start + size - 1] * taken
        count -= taken
    start = max(first, start + 1)
    while count and start <= last:
        taken = _take(free, start, size, count, reserve)
        ends += [start + size - 1] * taken
        count -= taken
        if count:
            start += 1
    return ends, start


def _take(free: list[int], start: int, size: int, count: int, reserve: int) -> int:
    taken = max(0, min(count, min(free[start : start + size]) - reserve))
    if taken:
        for at in range(start, start + size):
            free[at] -= taken
    return taken


def _account(tasks: Tasks, slot: int, submitted: int, ends: list[int], outsource: bool, acceptance: float) -> None:
    """Books the fate of one slot's tasks of one queue."""
    tasks.submitted += submitted
    tasks.admitted += len(ends)
    tasks.finished += len(ends)
    if ends:
        tasks.worst_delay = max(tasks.worst_delay, ends[-1] - slot)
    rest = submitted - len(ends)
    allowed = int(floor((1.0 - acceptance) * tasks.submitted)) - tasks.rejected
    rejected = rest if not outsource else min(rest, max(allowed, 0))
    tasks.rejected += rejected
    tasks.outsourced += rest - rejected
