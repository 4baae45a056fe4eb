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
from functools import lru_cache
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
            rule = cheapest(tasks, vms, arrivals[max(0, slot - memory) : slot], acceptance, rule)
        calendar.serve(submitted, rule)
    return vms - min(calendar.free[: len(arrivals)], default=vms)


def cheapest(
    tasks: Sequence[Tasks], vms: int, arrivals: Sequence[Sequence[int]], acceptance: float, in_force: Rule = START
) -> Rule:
    """The rule that would have cost least on these arrivals; of several, on fewer VMs; of several, the first.

    The one ``in_force`` is tried first: dearer ones are given up the sooner. That changes no answer.
    """
    ledger = Ledger(tasks)
    rules = _unlike(len(tasks), acceptance)

    def least_of(rules: Sequence[Rule], cloud: int) -> list[Rule]:
        least, costs = inf, {}
        for rule in sorted(rules, key=lambda rule: rule != in_force):
            tried = Calendar([Tasks(each.queue) for each in tasks], cloud, acceptance, ledger)
            costs[rule] = _cost(rule, tried, arrivals, least)
            least = min(least, costs[rule])
        return [rule for rule in rules if costs[rule] <= least]

    even = least_of(rules, vms)
    return even[0] if len(even) == 1 else least_of(even, int(STRAIN * vms))[0]


def _unlike(queues: int, acceptance: float) -> list[Rule]:
    """The first of each of the rules that may differ: a queue by itself leaves nothing to others, and where every task
    is accepted none is rejected early."""
    first: dict[tuple[Rule | None, float], Rule] = {}
    for rule in RULES:
        booking = replace(rule, early=0.0) if queues > 1 else None
        first.setdefault((booking, rule.early if acceptance < 1.0 else 0.0), rule)
    return list(first.values())


def _cost(rule: Rule, calendar: Calendar, arrivals: Sequence[Sequence[int]], least: float) -> float:
    """What these arrivals would have cost under the rule; infinite as soon as that is more than ``least``."""
    cost = 0.0
    for submitted in arrivals:
        calendar.serve(submitted, rule)
        cost = sum([each.outsourced * each.queue.outsourcing for each in calendar.tasks])
        if cost > least:
            return inf
    return cost


class Ledger:
    """What the queues of one VM type brought before each slot, dearest work first: worked out once for all rules."""

    def __init__(self, tasks: Sequence[Tasks]) -> None:
        self.by_value = sorted(range(len(tasks)), key=lambda i: -tasks[i].queue.outsourcing / tasks[i].queue.size)
        self._sizes = [each.queue.size for each in tasks]
        self._sums, self._squares = [0] * len(tasks), [0] * len(tasks)
        self._before: list[list[tuple[float, float]]] = [[(0.0, 0.0)] * len(tasks)]
        self._reserves: dict[tuple[int, float], list[int]] = {}

    def note(self, slot: int, submitted: Sequence[int]) -> None:
        """The tasks of a slot, each slot in turn; those that are known already change nothing."""
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
    """How many of so many tasks may be rejected."""
    return int(floor((1.0 - acceptance) * submitted))


class Calendar:
    """One VM type's free VMs in every slot to come, and its queues' tasks; ``ledger``: one of the same arrivals."""

    def __init__(self, tasks: Sequence[Tasks], vms: int, acceptance: float, ledger: Ledger | None = None) -> None:
        self.tasks, self.vms, self.acceptance = tasks, vms, acceptance
        self.ledger = ledger or Ledger(tasks)
        self.ahead = 1 + max((each.queue.delay for each in tasks), default=0)
        self.free: list[int] = [vms] * (self.ahead + 1)
        self.slot = 0
        self.first = [0] * len(tasks)
        self.last: Rule | None = None

    def serve(self, submitted: Sequence[int], rule: Rule) -> None:
        """Books, rejects and outsources the tasks of the next slot."""
        if rule is not self.last and rule != self.last:
            self.first, self.last = [0] * len(self.tasks), rule
        self.free.append(self.vms)
        order = self.ledger.by_value if rule.by_value else range(len(self.tasks))
        if rule.spare is None:
            for index in order:
                if submitted[index]:
                    self._serve(index, submitted[index], 0, rule)
        else:
            reserves = self.ledger.reserves(self.slot, rule.spare)
            for index, reserve in zip(order, reserves, strict=True):
                if submitted[index]:
                    self._serve(index, submitted[index], min(reserve, self.vms), rule)
        self.ledger.note(self.slot, submitted)
        self.slot += 1

    def _serve(self, index: int, submitted: int, reserve: int, rule: Rule) -> None:
        tasks = self.tasks[index]
        tasks.submitted += submitted
        allowance = _allowance(self.acceptance, tasks.submitted)
        early = min(submitted, max(int(rule.early * allowance) - tasks.rejected, 0)) if rule.early else 0
        next_reserve = reserve if rule.at_once else 0
        ends, self.first[index] = book(
            self.free, self.slot, tasks.queue, submitted - early, reserve, self.first[index], next_reserve
        )
        if ends:
            tasks.admitted += len(ends)
            tasks.finished += len(ends)
            tasks.worst_delay = max(tasks.worst_delay, ends[-1] - self.slot)
        rest = submitted - len(ends)
        if rest:
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
    room = (free[start] if size == 1 else min(free[start : start + size])) - reserve
    if room <= 0:
        return 0
    taken = min(count, room)
    for at in range(start, start + size):
        free[at] -= taken
    return taken
