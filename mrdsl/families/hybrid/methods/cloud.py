"""The private cloud that every hybrid policy drives: queues of tasks, VMs, and the books on what became of them.

Within a queue the oldest tasks run first, so that older tasks never have more work left than younger ones. Time within
a slot: tasks arrive, the policy decides, the chosen tasks run for one slot, admitted tasks join the queue at its end.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from mrdsl.core.result import Result, SolutionStatus, Termination
from mrdsl.families.hybrid.bounds import control_of, guarantee
from mrdsl.families.hybrid.facts import HybridFacts, Queue
from mrdsl.families.hybrid.plan import Cost, HybridPlan, QueueRun
from mrdsl.spec.spec import Spec


@dataclass
class Tasks:
    """One queue's tasks in order of arrival, as groups ``[arrival, remaining work, count]``."""

    queue: Queue
    groups: deque[list[int]] = field(default_factory=deque)
    count: int = 0
    backlog: int = 0
    leftover: int = 0
    submitted: int = 0
    admitted: int = 0
    outsourced: int = 0
    rejected: int = 0
    left_later: int = 0
    finished: int = 0
    preemptions: int = 0
    worst_delay: int = 0
    worst_leave: int = 0
    backlog_max: int = 0

    def admit(self, slot: int, count: int) -> None:
        """Tasks join at the end of the slot in which they were submitted."""
        if count:
            self.groups.append([slot, self.queue.size, count])
            self.count += count
            self.backlog += count * self.queue.size
            self.admitted += count
        self.backlog_max = max(self.backlog_max, self.backlog)

    def run(self, slot: int, running: int) -> None:
        """The ``running`` oldest tasks run for one slot; leftovers that do not run are preempted."""
        self.preemptions += max(0, self.leftover - running)
        self.backlog -= running
        done, self.leftover = 0, 0
        kept: list[list[int]] = []
        left = running
        while left:
            group = self.groups.popleft()
            arrival, remaining, count = group
            taken = min(left, count)
            left -= taken
            if count > taken:
                self.groups.appendleft([arrival, remaining, count - taken])
            if remaining == 1:
                done += taken
                self.worst_delay = max(self.worst_delay, slot - arrival)
            else:
                kept.append([arrival, remaining - 1, taken])
                self.leftover += taken
        self.groups.extendleft(reversed(kept))
        self.count -= done
        self.finished += done

    def outsource(self, slot: int, behind: int, count: int) -> int:
        """The oldest ``count`` tasks behind the first ``behind`` leave; gives the work that leaves with them."""
        front: list[list[int]] = []
        gone = 0
        while behind:
            group = self.groups.popleft()
            taken = min(behind, group[2])
            behind -= taken
            front.append([group[0], group[1], taken])
            if group[2] > taken:
                self.groups.appendleft([group[0], group[1], group[2] - taken])
        left = count
        while left:
            group = self.groups.popleft()
            taken = min(left, group[2])
            left -= taken
            gone += taken * group[1]
            self.worst_leave = max(self.worst_leave, slot - group[0])
            self.worst_delay = max(self.worst_delay, self.worst_leave)
            if group[2] > taken:
                self.groups.appendleft([group[0], group[1], group[2] - taken])
        self.groups.extendleft(reversed(front))
        self.count -= count
        self.backlog -= gone
        self.left_later += count
        return gone


@dataclass(frozen=True)
class Bounds:
    """What a policy promises of one queue, and the largest virtual queues that were seen."""

    delay: int | None = None
    backlog: float | None = None
    debt: float | None = None
    persistence: float | None = None
    debt_max: float = 0.0
    persistence_max: float = 0.0


def outcome_of(
    spec: Spec, tasks: Sequence[Tasks], bounds: Sequence[Bounds], peaks: dict[str, int], weight: float
) -> Result:
    """The plan of a finished run; ``weight`` is beta, which counts preemptions in (6)."""
    facts: HybridFacts = spec.facts
    slots = facts.horizon
    price = {vm.name: vm.preemption_cost for vm in facts.vms}
    outsourcing = sum((t.outsourced + t.left_later) * t.queue.outsourcing for t in tasks) / slots
    preemption = weight * sum(t.preemptions * price[t.queue.vm] for t in tasks) / slots
    plan = HybridPlan(
        cost=Cost(outsourcing + preemption, outsourcing, preemption),
        queues={
            t.queue.name: _queue_run(t, b, slots, control_of(facts).acceptance)
            for t, b in zip(tasks, bounds, strict=True)
        },
        vm_peak=peaks,
    )
    return Result(Termination.COMPLETED, SolutionStatus.FEASIBLE, plan, plan.cost.average)


def _queue_run(tasks: Tasks, bounds: Bounds, horizon: int, asked: float) -> QueueRun:
    waited = horizon - tasks.groups[0][0] if tasks.groups else 0
    outside = tasks.worst_leave + tasks.queue.size if tasks.outsourced or tasks.left_later else 0
    run = QueueRun(
        submitted=tasks.submitted,
        admitted=tasks.admitted,
        outsourced=tasks.outsourced,
        rejected=tasks.rejected,
        outsourced_after=tasks.left_later,
        acceptance=(tasks.admitted + tasks.outsourced) / tasks.submitted if tasks.submitted else 1.0,
        worst_delay=max(tasks.worst_delay, waited),
        worst_delay_with_run_outside=max(tasks.worst_delay, waited, outside),
        delay_bound=bounds.delay,
        backlog_max=tasks.backlog_max,
        backlog_bound=bounds.backlog,
        finished=tasks.finished,
        waiting=tasks.count,
        preemptions=tasks.preemptions,
        debt_max=bounds.debt_max,
        debt_bound=bounds.debt,
        persistence_max=bounds.persistence_max,
        persistence_bound=bounds.persistence,
    )
    return replace(run, acceptance_floor=run.floor(asked))


def lower_bound(facts: HybridFacts, arrivals: Sequence[Sequence[int]]) -> float:
    """What any policy pays per slot for these arrivals (by slot, then queue), had it known them all.

    (5) asks for the acceptance in the limit only: over so short a run each queue may fall short of it by K_max of (12),
    as the controller may, whoever planned it; and what came within its delay of the horizon may still wait.

    A relaxation of the look-ahead program: VMs may serve any part of any task at any time from the first slot to the
    last delay's end, and nothing is ever preempted; tasks still waiting at the horizon have cost nothing yet. With one
    capacity per VM type left, serving what is dearest per unit of work first is optimal.
    """
    control = control_of(facts)
    cost = 0.0
    for vm in facts.vms:
        own = [(queue, [row[i] for row in arrivals]) for i, queue in enumerate(facts.queues) if queue.vm == vm.name]
        room = float(vm.available * (facts.horizon + max((queue.delay for queue, _ in own), default=0)))
        for queue, came in sorted(own, key=lambda pair: -pair[0].outsourcing / pair[0].size):
            free = guarantee(queue, control).acceptance_debt + sum(came[-queue.delay :])
            needed = max(0.0, control.acceptance * sum(came) - free)
            served = min(needed, room / queue.size)
            room -= served * queue.size
            cost += (needed - served) * queue.outsourcing
    return cost / facts.horizon
