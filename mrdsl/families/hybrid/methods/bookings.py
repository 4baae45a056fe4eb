"""VM-slots of one VM type, booked in advance, with displacement of cheaper tasks by dearer ones.

A booked task runs from its start to its end without a pause. Until it starts, another task may displace it. The other
costs at least as much in the public cloud as all that it displaces, and more per VM-slot. Displaced tasks are booked
again if there is room within their delay, or outsourced. No displacement raises the cost; at the same cost it leaves
VM-slots free.

The baselines for the controller and the calendar book without displacement: they use neither prices nor forecasts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mrdsl.contracts.pipeline import Draft
from mrdsl.core.rounding import floor
from mrdsl.families.hybrid.facts import HybridFacts, Queue, control_of
from mrdsl.families.hybrid.methods.controller import Bounds, Tasks, lower_bound, outcome_of
from mrdsl.families.hybrid.workload import arrivals_of, rows_of

Booked = tuple[int, int]
"""A booked task that has not begun: its queue and the slot in which it starts."""


class Bookings:
    """Free VMs in every future slot, and booked tasks that have not begun: arrivals by queue and start.

    ``first`` and ``tried`` are, for each queue, the earliest start that may have room, and the earliest that others may
    leave: no start is tried again before it changes. ``reserves``: VMs that each queue leaves free.
    """

    def __init__(self, queues: Sequence[Queue], vms: int) -> None:
        self.queues, self.vms = queues, vms
        self.free: list[int] = [vms] * (2 + max((queue.delay for queue in queues), default=0))
        self.waiting: list[dict[int, list[list[int]]]] = [{} for _ in queues]
        self.first = [0] * len(queues)
        self.tried = [0] * len(queues)
        self.reserves = [0] * len(queues)
        self._longest = max((queue.size for queue in queues), default=1)
        self._most_tried = 0
        worth = [queue.outsourcing / queue.size for queue in queues]
        by_worth = sorted(range(len(queues)), key=lambda index: worth[index])
        self._cheaper = [[other for other in by_worth if worth[other] < each] for each in worth]
        self._dearer = [[other for other in by_worth if worth[other] > each] for each in worth]

    def book(self, index: int, slot: int, count: int) -> int:
        """Books up to ``count`` tasks that arrive in this slot as early as possible; gives how many."""
        placed, self.first[index] = book(
            self.free, slot, self.queues[index], count, self.reserves[index], self.first[index]
        )
        booked = 0
        waiting = self.waiting[index]
        for start, taken in placed:
            booked += taken
            if start in waiting:
                waiting[start].append([slot, taken])
            else:
                waiting[start] = [[slot, taken]]
        if booked:
            self._may_be_displaced(index, placed[0][0])
        return booked

    def displace(self, index: int, slot: int, count: int) -> tuple[int, list[Booked]]:
        """Books up to ``count`` more tasks in the place of cheaper ones; gives how many, and the queue and arrival of
        each task that has to leave for them."""
        queue, placed = self.queues[index], 0
        left: list[Booked] = []
        start, last = max(slot + 1, self.tried[index]), slot + queue.delay - queue.size + 1
        if not self._cheaper[index]:
            return 0, left
        while placed < count and start <= last:
            found = self._in_the_way(index, slot, start)
            if found is None:
                start += 1
            else:
                left += self._swap(index, slot, start, found)
                placed += 1
        self.tried[index] = start
        self._most_tried = max(self._most_tried, start)
        return placed, left

    def begun(self, slot: int) -> list[tuple[int, list[list[int]]]]:
        """Return the queues with tasks that start in this slot, and when those arrived; they stay."""
        return [(index, waiting.pop(slot)) for index, waiting in enumerate(self.waiting) if slot in waiting]

    def _may_be_displaced(self, index: int, start: int) -> None:
        if self._most_tried < start - self._longest + 2:
            return
        for dearer in self._dearer[index]:
            earliest = start - self.queues[dearer].size + 1
            if self.tried[dearer] > earliest:
                self.tried[dearer] = earliest

    def _in_the_way(self, index: int, slot: int, start: int) -> list[Booked] | None:
        """Return the tasks whose removal lets one of the queue run from ``start``.

        None if they cost more than that task, or have begun.
        """
        queue, found, cost = self.queues[index], list[Booked](), 0.0
        for at in range(start, start + queue.size):
            if self.free[at] > 0 or any(at < begin + self.queues[other].size for other, begin in found):
                continue
            cheapest = self._cheapest(index, slot, at, queue.outsourcing - cost)
            if cheapest is None:
                return None
            found.append(cheapest)
            cost += self.queues[cheapest[0]].outsourcing
        return found

    def _cheapest(self, index: int, slot: int, at: int, most: float) -> Booked | None:
        """Return a booked task that would run in a slot and costs at most ``most``, of the cheapest work."""
        for other in self._cheaper[index]:
            queue, waiting = self.queues[other], self.waiting[other]
            if queue.outsourcing <= most and waiting:
                for begin in range(at, max(slot, at - queue.size), -1):
                    if begin in waiting:
                        return other, begin
        return None

    def _swap(self, index: int, slot: int, start: int, found: Sequence[Booked]) -> list[Booked]:
        """Books a task in the place of others; gives those that found no other place."""
        gone = [(other, begin, self._remove(other, begin)) for other, begin in found]
        self._put(index, start, slot)
        left = [(other, arrival) for other, _, arrival in gone if not self._again(other, slot, arrival)]
        for other, begin, _ in gone:
            self._reopen(slot, begin, begin + self.queues[other].size)
        return left

    def _remove(self, index: int, start: int) -> int:
        """Remove the task of the queue that was booked last of those with this start; return its arrival.

        The arrival may be before that of others: a displaced task is booked again after them.
        """
        groups = self.waiting[index][start]
        arrival = groups[-1][0]
        groups[-1][1] -= 1
        if not groups[-1][1]:
            groups.pop()
        if not groups:
            del self.waiting[index][start]
        for at in range(start, start + self.queues[index].size):
            self.free[at] += 1
        return arrival

    def _put(self, index: int, start: int, arrival: int) -> None:
        for at in range(start, start + self.queues[index].size):
            self.free[at] -= 1
        self.waiting[index].setdefault(start, []).append([arrival, 1])
        self._may_be_displaced(index, start)

    def _again(self, index: int, slot: int, arrival: int) -> bool:
        """Book a displaced task if there is room within its delay."""
        queue, free, reserve = self.queues[index], self.free, self.reserves[index]
        start, last = max(self.first[index], slot + 1), arrival + queue.delay - queue.size + 1
        while start <= last:
            if min(free[start : start + queue.size]) > reserve:
                self._put(index, start, arrival)
                return True
            start = _beyond(free, start, queue.size, reserve)
        return False

    def _reopen(self, slot: int, start: int, end: int) -> None:
        """VMs became free in these slots: queues whose tasks fit there look again."""
        free = self.free
        while start - 1 > slot and free[start - 1] > 0 and end - start < 2 * self._longest:
            start -= 1
        run = longest = 0
        for at in range(start, min(end + self._longest, len(free))):
            run = run + 1 if free[at] > 0 else 0
            longest = max(longest, run)
        for index, queue in enumerate(self.queues):
            if queue.size <= longest and self.first[index] > start:
                self.first[index] = start


def book(
    free: list[int], slot: int, queue: Queue, count: int, reserve: int, first: int
) -> tuple[list[tuple[int, int]], int]:
    """Book VM-slots for up to ``count`` tasks as early as possible.

    The next slot needs one free VM, later ones need more than ``reserve``. ``first`` is the earliest start that may
    still have room above the reserve. Returns starts with the number of tasks that begin there, and the next ``first``.
    """
    size = queue.size
    placed: list[tuple[int, int]] = []
    start, last = slot + 1, slot + queue.delay - size + 1
    kept = 0
    while count and start <= last:
        room = (free[start] if size == 1 else min(free[start : start + size])) - kept
        if room > 0:
            taken = min(count, room)
            for at in range(start, start + size):
                free[at] -= taken
            placed.append((start, taken))
            count -= taken
            if not count:
                break
        if start == slot + 1:
            start, kept = (first if first > start else start + 1), reserve
        else:
            start = start + 1 if size == 1 else _beyond(free, start, size, kept)
    return placed, first if first > start else start


def _beyond(free: list[int], start: int, size: int, kept: int) -> int:
    """Return the slot after the last one that holds a task of this start and size up: no earlier start has room."""
    at = start + size - 1
    while at > start and free[at] > kept:
        at -= 1
    return at + 1


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
