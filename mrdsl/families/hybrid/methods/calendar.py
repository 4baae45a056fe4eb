"""Our policy for a hybrid cloud: VM-slots booked ahead, by rules that it learns from what has arrived so far.

A task is admitted only where a VM is free for its whole length before its delay runs out, and an admitted task is
never preempted and never leaves: its delay is kept by construction. What does not fit is rejected as long as the
queue's acceptance stays at alpha, and outsourced otherwise.

How tasks are booked is a :class:`Rule`: which queue books first, how many VMs the cheaper ones leave free in later
slots for the dearer, and which share of the rejections that the acceptance allows is used at once instead of being kept
for what does not fit. Where there is more work than VMs, rejecting tasks that would fit makes room for others that
would have to be paid for. The rule in force is the one that would have cost least on the last arrivals, worked out anew
after 4, 6, 9, 13, ... slots; where several cost the same, as when nothing had to be paid for, the one that would have
cost least on three quarters of the VMs. Means are those of the arrivals so far, too. Nothing is read from the spec's
distributions, and nothing from the future.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import ceil, inf, sqrt

from mrdsl.contracts.pipeline import Draft
from mrdsl.core.whole_numbers import floor
from mrdsl.families.hybrid.arrivals import arrivals_of
from mrdsl.families.hybrid.bounds import control_of
from mrdsl.families.hybrid.facts import HybridFacts, Queue
from mrdsl.families.hybrid.methods.cloud import Bounds, Tasks, lower_bound, outcome_of

FIRST = 4
"""Slots after which the rules are weighed for the first time."""
MEMORY = 2000
"""Slots of the past on which they are weighed, divided by the number of queues."""
STRAIN = 0.75
"""The share of the VMs on which rules of equal cost are weighed again."""


@dataclass(frozen=True)
class Rule:
    """How queues book.

    ``by_value``: the dearest work books first, else the queues in the order of the spec. ``spare``: VMs that a queue
    leaves to those before it, in standard deviations above the mean of their work in a slot; None for none.
    ``at_once``: whether it leaves them free in the next slot as well. ``early``: the share of the rejections that is
    used at once.
    """

    by_value: bool = True
    spare: float | None = 0.0
    at_once: bool = False
    early: float = 0.0


EARLY = (0.0, 0.5, 1.0)
BOOKINGS = (
    Rule(by_value=False, spare=None),
    Rule(spare=None),
    Rule(),
    Rule(spare=2.0),
    Rule(spare=0.0, at_once=True),
    Rule(spare=2.0, at_once=True),
)
START = Rule()
RULES = tuple(replace(rule, early=early) for rule, early in product(BOOKINGS, EARLY))


def calendar(draft: Draft) -> Draft:
    """See the module. The acceptance is alpha in every prefix of the run."""
    facts: HybridFacts = draft.spec.facts
    acceptance = control_of(facts).acceptance
    arrivals = arrivals_of(facts, draft.seed).tolist()
    tasks = [Tasks(queue) for queue in facts.queues]
    peaks: dict[str, int] = {}
    for vm in facts.vms:
        members = [i for i, queue in enumerate(facts.queues) if queue.vm == vm.name]
        own = [[row[i] for i in members] for row in arrivals]
        peaks[vm.name] = _run([tasks[i] for i in members], vm.available, own, acceptance)
    bounds = [Bounds(delay=queue.delay) for queue in facts.queues]
    outcome = outcome_of(draft.spec, tasks, bounds, peaks, control_of(facts).preemption_weight)
    return replace(draft, plan=outcome.plan, value=outcome.value, bound=lower_bound(facts, arrivals))


def _run(tasks: Sequence[Tasks], vms: int, arrivals: Sequence[Sequence[int]], acceptance: float) -> int:
    """Books one VM type's tasks over the horizon; the most VMs that were used at once."""
    calendar, rule, weighed = Calendar(tasks, vms, acceptance), START, FIRST
    memory = MEMORY // max(len(tasks), 1)
    for slot, submitted in enumerate(arrivals):
        if slot == weighed:
            weighed = weighed * 3 // 2
            rule = cheapest(tasks, vms, arrivals[max(0, slot - memory) : slot], acceptance)
        calendar.serve(submitted, rule)
    return vms - min(calendar.free[: len(arrivals)], default=vms)


def cheapest(tasks: Sequence[Tasks], vms: int, arrivals: Sequence[Sequence[int]], acceptance: float) -> Rule:
    """The rule that would have cost least on these arrivals; of several, on fewer VMs; of several, the first."""

    def least_of(rules: Sequence[Rule], cloud: int) -> list[Rule]:
        least, costs = inf, []
        for rule in rules:
            costs.append(_cost(rule, tasks, cloud, arrivals, acceptance, least))
            least = min(least, costs[-1])
        return [rule for rule, cost in zip(rules, costs, strict=True) if cost <= least]

    even = least_of(RULES, vms)
    return even[0] if len(even) == 1 else least_of(even, int(STRAIN * vms))[0]


def _cost(
    rule: Rule, tasks: Sequence[Tasks], vms: int, arrivals: Sequence[Sequence[int]], acceptance: float, least: float
) -> float:
    """What these arrivals would have cost under the rule; infinite as soon as that is more than ``least``."""
    tried = [Tasks(each.queue) for each in tasks]
    calendar, cost = Calendar(tried, vms, acceptance), 0.0
    for submitted in arrivals:
        calendar.serve(submitted, rule)
        cost = sum(each.outsourced * each.queue.outsourcing for each in tried)
        if cost > least:
            return inf
    return cost


class Calendar:
    """One VM type's free VMs in every slot to come, and its queues' tasks."""

    def __init__(self, tasks: Sequence[Tasks], vms: int, acceptance: float) -> None:
        self.tasks, self.vms, self.acceptance = tasks, vms, acceptance
        self.ahead = 1 + max((each.queue.delay for each in tasks), default=0)
        self.free: list[int] = [vms] * (self.ahead + 1)
        self.slot = 0
        self.sums, self.squares = [0] * len(tasks), [0] * len(tasks)
        self.early = [0] * len(tasks)
        self.by_value = sorted(range(len(tasks)), key=lambda i: -tasks[i].queue.outsourcing / tasks[i].queue.size)
        self.first = [0] * len(tasks)
        self.last: Rule | None = None

    def serve(self, submitted: Sequence[int], rule: Rule) -> None:
        """Books, rejects and outsources the tasks of the next slot."""
        if rule != self.last:
            self.first, self.last = [0] * len(self.tasks), rule
        slot = self.slot
        self.free.append(self.vms)
        order = self.by_value if rule.by_value else range(len(self.tasks))
        work = variance = 0.0
        for index in order:
            reserve = 0
            if rule.spare is not None:
                reserve = min(self.vms, ceil(work + rule.spare * sqrt(variance) - 0.5))
                mean, spread = self._seen(index)
                work, variance = work + mean, variance + spread
            self._serve(index, slot, submitted[index], reserve, rule)
        for index, count in enumerate(submitted):
            self.sums[index] += count
            self.squares[index] += count * count
        self.slot += 1

    def _seen(self, index: int) -> tuple[float, float]:
        """Mean and variance of the work that a queue brings in one slot, of the slots so far."""
        if not self.slot:
            return 0.0, 0.0
        size, mean = self.tasks[index].queue.size, self.sums[index] / self.slot
        return mean * size, max(self.squares[index] / self.slot - mean * mean, 0.0) * size * size

    def _serve(self, index: int, slot: int, submitted: int, reserve: int, rule: Rule) -> None:
        tasks = self.tasks[index]
        tasks.submitted += submitted
        if not submitted:
            return
        allowance = int(floor((1.0 - self.acceptance) * tasks.submitted))
        early = min(submitted, max(int(rule.early * allowance) - tasks.rejected, 0)) if rule.early else 0
        next_reserve = reserve if rule.at_once else 0
        ends, self.first[index] = book(
            self.free, slot, tasks.queue, submitted - early, reserve, self.first[index], next_reserve
        )
        tasks.admitted += len(ends)
        tasks.finished += len(ends)
        if ends:
            tasks.worst_delay = max(tasks.worst_delay, ends[-1] - slot)
        rest = submitted - len(ends)
        rejected = min(rest, max(allowance - tasks.rejected, 0))
        tasks.rejected += rejected
        tasks.outsourced += rest - rejected


def book(
    free: list[int], slot: int, queue: Queue, count: int, reserve: int, first: int, next_reserve: int = 0
) -> tuple[list[int], int]:
    """Books VM-slots for up to ``count`` tasks as early as possible, those from the next slot on down to
    ``next_reserve`` free VMs, the others down to ``reserve``.

    ``first`` is the earliest start that may still have room above the reserve: free VMs only ever become fewer, so no
    start is looked at twice. Gives the slot in which each task ends, and the next ``first``.
    """
    size = queue.size
    ends: list[int] = []
    start, last = slot + 1, slot + queue.delay - size + 1
    if count and start <= last:
        taken = _take(free, start, size, count, next_reserve)
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
