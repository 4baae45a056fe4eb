"""mrdsl's policy for a hybrid cloud: VM-slots booked in advance, by rules learned from past arrivals.

A task is admitted only if a VM is free for its whole length before its delay runs out, or if cheaper tasks make room
for it. These have not begun (:mod:`mrdsl.families.hybrid.methods.bookings`). A task that has begun is never preempted
and never leaves. A task that makes room is booked again, or leaves before the slot in which it would have started. So
every delay is met by construction, even with the run in the public cloud. A task without room is rejected while the
queue's acceptance is at least alpha, and outsourced otherwise.

A :class:`Rule` sets how tasks are booked: which queue books first, and the VMs that the cheaper ones leave free in
later slots for the dearer. It also sets the share of the allowed rejections that is used immediately, not reserved for
tasks without room. If there is more work than VMs, rejecting tasks with room makes room for others that would cost
money. The current rule is the one with the least cost on the last arrivals, recomputed after 4, 6, 9, 13, ... slots. If
several cost the same, as without any payment, it is the one with the least cost on three quarters of the VMs. Means are
those of the arrivals so far, too. The policy uses neither the spec's distributions nor the future.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil, inf, sqrt

from mrdsl.contracts.pipeline import Draft
from mrdsl.core.rounding import ROUNDING, floor
from mrdsl.families.hybrid.facts import HybridFacts, control_of
from mrdsl.families.hybrid.methods.bookings import Bookings
from mrdsl.families.hybrid.methods.controller import Bounds, Tasks, lower_bound, outcome_of
from mrdsl.families.hybrid.workload import Counts, arrivals_of, rows_of

FIRST = 4
"""Slots after which the rules are weighed for the first time."""
MEMORY = 2000
"""Slots of the past on which they are weighed, divided by the number of queues."""
STRAIN = 0.75
"""The share of the VMs on which rules of equal cost are weighed again."""


@dataclass(frozen=True)
class Rule:
    """Rule by which queues book.

    ``by_value``: the dearest work books first, otherwise the queues in the order of the spec. ``spare``: VMs that a
    queue leaves to those before it, in standard deviations above the mean of their work in a slot; None for none.
    ``early``: the share of the rejections that is used immediately.
    """

    by_value: bool = True
    spare: float | None = None
    early: float = 0.0


START = Rule()
RULES = (
    *(Rule(early=early) for early in (0.0, 0.5, 1.0)),
    *(
        replace(rule, early=early)
        for rule in (Rule(by_value=False), Rule(spare=0.0), Rule(spare=2.0))
        for early in (0.0, 1.0)
    ),
)
"""Chosen on a sample of regimes, on which three more, half of the rejections with every booking, cost the same to a
thousandth in the mean."""


def calendar(draft: Draft) -> Draft:
    """See the module. The acceptance is alpha in every prefix of the run."""
    facts: HybridFacts = draft.spec.facts
    acceptance = control_of(facts).acceptance
    arrivals = arrivals_of(facts, draft.seed)
    tasks = [Tasks(queue) for queue in facts.queues]
    peaks: dict[str, int] = {}
    for vm in facts.vms:
        members = [i for i, queue in enumerate(facts.queues) if queue.vm == vm.name]
        peaks[vm.name] = _run(draft, [tasks[i] for i in members], vm.available, arrivals[:, members], acceptance)
    bounds = [Bounds(delay=queue.delay) for queue in facts.queues]
    outcome = outcome_of(draft.spec, tasks, bounds, peaks, control_of(facts).preemption_weight)
    return replace(draft, plan=outcome.plan, value=outcome.value, bound=lower_bound(facts, arrivals))


def _run(draft: Draft, tasks: Sequence[Tasks], vms: int, arrivals: Counts, acceptance: float) -> int:
    """Book one VM type's tasks over the horizon; return the most VMs used concurrently."""
    calendar, rule, weighed = Calendar(tasks, vms, acceptance), START, FIRST
    memory = MEMORY // max(len(tasks), 1)
    for slot, submitted in enumerate(draft.paced(rows_of(arrivals))):
        if slot == weighed:
            weighed = weighed * 3 // 2
            rule = cheapest(tasks, vms, arrivals[max(0, slot - memory) : slot].tolist(), acceptance, rule)
        calendar.settle(slot)
        calendar.serve(submitted, rule)
    free = calendar.bookings.free
    for slot in range(len(arrivals), len(free)):
        calendar.settle(slot)
    return vms - min(free[: len(arrivals)], default=vms)


def cheapest(
    tasks: Sequence[Tasks], vms: int, arrivals: Sequence[Sequence[int]], acceptance: float, in_force: Rule = START
) -> Rule:
    """Return the rule with the least cost on these arrivals; of several, on fewer VMs; of several, the first.

    The one ``in_force`` is tried first, so that dearer ones are dropped sooner. That does not change the result.
    """
    ledger = Ledger(tasks)
    rules = _unlike(tasks, ledger.by_value, acceptance)

    def least_of(rules: Sequence[Rule], cloud: int) -> list[Rule]:
        least, costs = inf, {}
        for rule in sorted(rules, key=lambda rule: rule != in_force):
            tried = Calendar([Tasks(each.queue) for each in tasks], cloud, acceptance, ledger)
            costs[rule] = _cost(rule, tried, arrivals, least)
            least = min(least, costs[rule])
        return [rule for rule in rules if costs[rule] <= least]

    even = least_of(rules, vms)
    return even[0] if len(even) == 1 else least_of(even, int(STRAIN * vms))[0]


def _unlike(tasks: Sequence[Tasks], by_value: Sequence[int], acceptance: float) -> list[Rule]:
    """Return one of each group of rules that cannot differ.

    A single queue leaves no VMs to others. If every task is accepted, no task is rejected early. The dearest work may
    come first in the spec.
    """
    first: dict[Rule, Rule] = {}
    in_order = list(by_value) == list(range(len(tasks)))
    for rule in RULES:
        alike = replace(
            rule,
            by_value=rule.by_value or in_order,
            spare=rule.spare if len(tasks) > 1 else None,
            early=rule.early if acceptance < 1.0 else 0.0,
        )
        first.setdefault(alike, rule)
    return list(first.values())


def _cost(rule: Rule, calendar: Calendar, arrivals: Sequence[Sequence[int]], least: float) -> float:
    """Compute the cost of these arrivals under the rule; infinite as soon as it exceeds ``least``."""
    enough = least * (1.0 + ROUNDING)
    for submitted in arrivals:
        calendar.serve(submitted, rule)
        if calendar.paid > enough:
            return inf
    return sum([(each.outsourced + each.left_later) * each.queue.outsourcing for each in calendar.tasks])


class Ledger:
    """Arrivals of the queues of one VM type before each slot, dearest work first: computed once for all rules."""

    def __init__(self, tasks: Sequence[Tasks]) -> None:
        self.by_value = sorted(range(len(tasks)), key=lambda i: -tasks[i].queue.outsourcing / tasks[i].queue.size)
        self._sizes = [each.queue.size for each in tasks]
        self._sums, self._squares = [0] * len(tasks), [0] * len(tasks)
        self._before: list[list[tuple[float, float]]] = [[(0.0, 0.0)] * len(tasks)]
        self._reserves: dict[tuple[int, float], list[int]] = {}

    def note(self, slot: int, submitted: Sequence[int]) -> None:
        """Add the tasks of a slot, each slot in turn; known slots have no effect."""
        if slot < len(self._before) - 1:
            return
        for index, count in enumerate(submitted):
            self._sums[index] += count
            self._squares[index] += count * count
        work, variance, slots = 0.0, 0.0, slot + 1
        before = []
        for index in self.by_value:
            before.append((work, sqrt(variance)))
            size, mean = self._sizes[index], self._sums[index] / slots
            work += mean * size
            variance += max(self._squares[index] / slots - mean * mean, 0.0) * size * size
        self._before.append(before)

    def reserves(self, slot: int, spare: float) -> list[int]:
        """VMs that each queue leaves to the dearer ones, in their order: ``spare`` standard deviations of their work
        in a slot above its mean, of the slots so far."""
        found = self._reserves.get((slot, spare))
        if found is None:
            found = [ceil(work + spare * deviation - 0.5) for work, deviation in self._before[slot]]
            self._reserves[slot, spare] = found
        return found


@lru_cache(maxsize=1 << 16)
def _allowance(acceptance: float, submitted: int) -> int:
    """Return the number of submitted tasks that may be rejected."""
    return int(floor((1.0 - acceptance) * submitted))


class Calendar:
    """One VM type's bookings and its queues' tasks; ``ledger``: one of the same arrivals. ``paid``: cost of tasks."""

    def __init__(self, tasks: Sequence[Tasks], vms: int, acceptance: float, ledger: Ledger | None = None) -> None:
        self.tasks, self.acceptance = tasks, acceptance
        self.ledger = ledger or Ledger(tasks)
        self.bookings = Bookings([each.queue for each in tasks], vms)
        self.slot = 0
        self.paid = 0.0
        self.last: Rule | None = None

    def serve(self, submitted: Sequence[int], rule: Rule) -> None:
        """Books, rejects and outsources the tasks of the next slot."""
        bookings = self.bookings
        if rule is not self.last and rule != self.last:
            bookings.first, self.last = [0] * len(self.tasks), rule
            bookings.reserves = [0] * len(self.tasks)
        bookings.free.append(bookings.vms)
        order = self.ledger.by_value if rule.by_value else range(len(self.tasks))
        if rule.spare is not None:
            for index, reserve in zip(order, self.ledger.reserves(self.slot, rule.spare), strict=True):
                bookings.reserves[index] = min(reserve, bookings.vms)
        for index in order:
            if submitted[index]:
                self._serve(index, submitted[index], rule)
        self.ledger.note(self.slot, submitted)
        self.slot += 1

    def _serve(self, index: int, submitted: int, rule: Rule) -> None:
        tasks = self.tasks[index]
        tasks.submitted += submitted
        early = 0
        if rule.early:
            due = int(rule.early * _allowance(self.acceptance, tasks.submitted)) - tasks.rejected
            early = min(submitted, max(due, 0))
        booked = self.bookings.book(index, self.slot, submitted - early)
        tasks.admitted += booked
        rest = submitted - booked
        if rest:
            allowed = _allowance(self.acceptance, tasks.submitted) - tasks.rejected
            rejected = min(rest, max(allowed, 0))
            tasks.rejected += rejected
            if rest > rejected:
                self._make_room(index, rest - rejected)

    def _make_room(self, index: int, count: int) -> None:
        """Book tasks in place of cheaper ones; outsource displaced tasks and those that still have no room."""
        tasks = self.tasks[index]
        booked, left = self.bookings.displace(index, self.slot, count)
        tasks.admitted += booked
        tasks.outsourced += count - booked
        self.paid += (count - booked) * tasks.queue.outsourcing
        for other, arrival in left:
            gone = self.tasks[other]
            gone.left_later += 1
            gone.worst_leave = max(gone.worst_leave, self.slot - arrival)
            gone.worst_delay = max(gone.worst_delay, gone.worst_leave)
            self.paid += gone.queue.outsourcing

    def settle(self, slot: int) -> None:
        """Count the tasks that start in this slot as finished on time: they will end."""
        for index, groups in self.bookings.begun(slot):
            tasks = self.tasks[index]
            for arrival, count in groups:
                tasks.finished += count
                tasks.worst_delay = max(tasks.worst_delay, slot + tasks.queue.size - 1 - arrival)
