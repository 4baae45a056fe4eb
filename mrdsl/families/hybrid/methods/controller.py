"""The drift-plus-penalty controller of paper 004, III: admission, VM allocation, outsourcing, slot by slot.

Corrections to the paper: Q counts work units. Scheduled or outsourced tasks never exceed the present tasks nor the VMs.
Z is updated with the service that was *offered*. If fewer tasks wait than may leave, all of them leave and the offer
counts as epsilon at least, so that Z does not grow: (14) needs no more. If D_max counted in full there, Z would fall to
0 again and again while few tasks depart, and (15) breaks (``tests/hybrid`` has the case). The oldest waiting tasks
leave first, so that no task departs before an older waiting one, as Lemma 2 assumes.

Every hybrid policy controls this private cloud: queues of tasks, VMs, and the record of their fate. Within a queue the
oldest tasks run first, so that older tasks never have more work left than younger ones. Time within a slot: tasks
arrive, the policy decides, the chosen tasks run for one slot, admitted tasks join the queue at its end.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from mrdsl.contracts.pipeline import Draft
from mrdsl.core.diagnostics import MrdslError
from mrdsl.core.result import Result, SolutionStatus, Termination
from mrdsl.families.hybrid.checks import unpromised
from mrdsl.families.hybrid.facts import Control, Guarantee, HybridFacts, Queue, control_of, guarantee
from mrdsl.families.hybrid.plan import Cost, HybridPlan, QueueRun
from mrdsl.families.hybrid.workload import Counts, arrivals_of, rows_of
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
        """Remove the oldest ``count`` tasks after the first ``behind``; return the work that leaves with them."""
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
    """Guarantees of a policy for one queue, and the largest virtual queues observed."""

    delay: int | None = None
    backlog: float | None = None
    debt: float | None = None
    persistence: float | None = None
    debt_max: float = 0.0
    persistence_max: float = 0.0


def outcome_of(
    spec: Spec, tasks: Sequence[Tasks], bounds: Sequence[Bounds], peaks: dict[str, int], weight: float
) -> Result:
    """Return the plan of a finished run; ``weight`` is beta, which counts preemptions in (6)."""
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


def lower_bound(facts: HybridFacts, arrivals: Counts) -> float:
    """Return the least cost per slot of any policy that knows these arrivals (by slot, then queue).

    (5) requires the acceptance in the limit only. Over such a short run each queue may miss it by K_max of (12), as the
    controller may, for any planner. Tasks that arrived within their delay of the horizon may still wait.

    A relaxation of the look-ahead program: VMs may serve any part of any task at any time from the first slot to the
    last delay's end, without any preemption. Tasks still waiting at the horizon have no cost yet. With one capacity per
    VM type left, serving the dearest work per unit first is optimal.
    """
    control = control_of(facts)
    cost = 0.0
    for vm in facts.vms:
        own = [(queue, arrivals[:, i]) for i, queue in enumerate(facts.queues) if queue.vm == vm.name]
        room = float(vm.available * (facts.horizon + max((queue.delay for queue, _ in own), default=0)))
        for queue, came in sorted(own, key=lambda pair: -pair[0].outsourcing / pair[0].size):
            free = guarantee(queue, control).acceptance_debt + float(came[-queue.delay :].sum(dtype=float))
            needed = max(0.0, control.acceptance * float(came.sum(dtype=float)) - free)
            served = min(needed, room / queue.size)
            room -= served * queue.size
            cost += (needed - served) * queue.outsourcing
    return cost / facts.horizon


@dataclass
class Controlled:
    """One queue under control: its tasks, its constants, the virtual queues K (``debt``) and Z (``persistence``)."""

    tasks: Tasks
    constants: Guarantee
    penalty: float
    debt: float = 0.0
    persistence: float = 0.0
    debt_max: float = 0.0
    persistence_max: float = 0.0

    @property
    def pressure(self) -> float:
        """``Q + 1{Q > 0} Z``, what serving one unit is worth."""
        return self.tasks.backlog + self.persistence if self.tasks.backlog else 0.0


def control(draft: Draft) -> Draft:
    """Run the controller over the horizon. Raises MrdslError if it cannot guarantee a queue's delay."""
    problems = tuple(unpromised(draft.spec))
    if problems:
        raise MrdslError(problems)
    facts: HybridFacts = draft.spec.facts
    weights = control_of(facts)
    queues = [
        Controlled(Tasks(queue), guarantee(queue, weights), weights.V * queue.outsourcing) for queue in facts.queues
    ]
    by_vm = [(vm, [q for q in queues if q.tasks.queue.vm == vm.name]) for vm in facts.vms]
    peaks = {vm.name: 0 for vm in facts.vms}
    arrivals = arrivals_of(facts, draft.seed)
    for slot, submitted in enumerate(draft.paced(rows_of(arrivals))):
        admitted = [_admit(queue, count, weights) for queue, count in zip(queues, submitted, strict=True)]
        for vm, members in by_vm:
            running = allocate(members, vm.available, weights.V * weights.preemption_weight * vm.preemption_cost)
            peaks[vm.name] = max(peaks[vm.name], sum(running))
            for queue, count in zip(members, running, strict=True):
                _serve(queue, slot, count, vm.available, weights)
        for queue, count in zip(queues, admitted, strict=True):
            queue.tasks.admit(slot, count)
    bounds = [
        Bounds(
            q.constants.delay,
            q.constants.backlog,
            q.constants.acceptance_debt,
            q.constants.persistence,
            q.debt_max,
            q.persistence_max,
        )
        for q in queues
    ]
    plan = outcome_of(draft.spec, [q.tasks for q in queues], bounds, peaks, weights.preemption_weight)
    least = lower_bound(facts, arrivals)
    return replace(draft, plan=plan.plan, value=plan.value, bound=least)


def _admit(queue: Controlled, submitted: int, weights: Control) -> int:
    """Cases 1 to 4 of the admission decision; gives how many tasks join the queue."""
    tasks = queue.tasks
    tasks.submitted += submitted
    join, leave = tasks.backlog - queue.debt, queue.penalty - queue.debt
    admitted = submitted if (join < 0 and join < leave) or (join < 0 <= leave) else 0
    outsourced = submitted if not admitted and leave < 0 else 0
    tasks.outsourced += outsourced
    tasks.rejected += submitted - admitted - outsourced
    queue.debt = max(queue.debt + weights.acceptance * submitted - admitted - outsourced, 0.0)
    queue.debt_max = max(queue.debt_max, queue.debt)
    return admitted


def allocate(queues: list[Controlled], vms: int, preemption: float) -> list[int]:
    """Allocate VMs by water-filling (Algorithm 1): units of most worth first; leftover tasks add ``preemption``.

    Exact for (10): each queue's value is concave, its leftover tasks first, and no queue gets more than its tasks.
    """
    running = [0] * len(queues)
    steps = [(q.pressure + preemption, i, q.tasks.leftover) for i, q in enumerate(queues) if q.tasks.leftover]
    steps += [(q.pressure, i, q.tasks.count - q.tasks.leftover) for i, q in enumerate(queues) if q.tasks.count]
    for _, index, most in sorted(steps, key=lambda step: (-step[0], step[1])):
        given = min(vms, most)
        running[index] += given
        vms -= given
    return running


def _serve(queue: Controlled, slot: int, running: int, vms: int, weights: Control) -> None:
    """Runs and outsources tasks of one queue, and updates Z with the service that was offered."""
    tasks = queue.tasks
    busy = tasks.backlog > 0
    leave = weights.outsource_limit if queue.penalty < tasks.backlog + queue.persistence else 0
    waiting = tasks.count - running
    gone = tasks.outsource(slot, running, min(leave, waiting)) if leave and waiting else 0
    offered = max(float(gone), queue.constants.epsilon - running) if leave else 0.0
    tasks.run(slot, running)
    change = queue.constants.epsilon - running - offered if busy else -vms
    queue.persistence = max(queue.persistence + change, 0.0)
    queue.persistence_max = max(queue.persistence_max, queue.persistence)
