"""The drift-plus-penalty controller of paper 004, III: admission, VM allocation, outsourcing, slot by slot.

Corrections to the paper: Q counts work units; what is scheduled or outsourced never exceeds the tasks that are there
nor the VMs; Z is updated with the service that was *offered*. Where fewer wait than may leave, all of them leave and
the offer counts as epsilon at least, so that Z does not grow: (14) needs no more. Were D_max to count in full there,
Z would fall to 0 again and again while few tasks depart, and (15) breaks (``tests/hybrid`` has the case).
The oldest waiting tasks leave first, so that nothing behind a waiting task departs before it, as Lemma 2 assumes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from mrdsl.contracts.pipeline import Draft
from mrdsl.core.diagnostics import MrdslError
from mrdsl.families.hybrid.arrivals import arrivals_of
from mrdsl.families.hybrid.bounds import Guarantee, control_of, guarantee
from mrdsl.families.hybrid.checks import unpromised
from mrdsl.families.hybrid.facts import Control, HybridFacts
from mrdsl.families.hybrid.methods.cloud import Bounds, Tasks, lower_bound, outcome_of


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
    """Runs the controller over the horizon. Raises MrdslError where it cannot promise a queue's delay."""
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
    arrivals = arrivals_of(facts, draft.seed).tolist()
    for slot, submitted in enumerate(arrivals):
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
    """Algorithm 1, water-filling: VMs go where a unit is worth most; leftover tasks are worth ``preemption`` more.

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
