"""What a run would have cost at least, had all arrivals been known: a linear program over tasks and slots.

Tasks of one queue and arrival slot are served, leave, wait at the horizon, or are rejected. Served ones get their whole
size within their delay, each at most one VM at a time, no slot more VMs than there are. Tasks may be split and
preemptions are free, so the program bounds every policy's cost (6) from below; it is never below the relaxed bound
of ``hybrid_cloud.lower_bound``, which pools all slots into one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.program_rows import ProgramRows
from mrdsl.core.result import Limits
from mrdsl.families.hybrid.bounds import control_of
from mrdsl.families.hybrid.facts import HybridFacts
from mrdsl.families.hybrid.plan import HybridPlan
from mrdsl.solving.programs import UnsolvedError, optimum

LARGEST = 60_000
LIMITS = Limits(time=60.0, threads=1)


def size(facts: HybridFacts) -> int:
    """About how many columns the program has; beyond ``LARGEST`` it takes long."""
    return facts.horizon * sum(queue.delay + 3 for queue in facts.queues)


def look_ahead(facts: HybridFacts, arrivals: NDArray[np.int64], plan: HybridPlan, as_rejected: bool = True) -> float:
    """The least average cost per slot for the tasks of a run.

    ``arrivals``: one row per slot, one column per queue. From ``plan`` comes only what a policy may leave undone: how
    many tasks of a queue may wait at the horizon, how far its acceptance may fall short, K_max for the controller, and,
    ``as_rejected``, as many rejections as there were, whatever acceptance that is: then no run costs less. Raises
    UnsolvedError where no optimum is proven in ``LIMITS``.
    """
    program = ProgramRows()
    busy: dict[tuple[str, int], dict[int, float]] = {}
    for index in range(len(facts.queues)):
        _queue(program, busy, facts, index, arrivals[:, index].tolist(), plan, as_rejected)
    available = {vm.name: float(vm.available) for vm in facts.vms}
    for (vm, _), entries in busy.items():
        program.at_most(entries, available[vm])
    solution = optimum(program.program(), LIMITS)
    if solution is None:
        raise UnsolvedError("the program has no solution")
    return solution.value / facts.horizon


def _queue(
    program: ProgramRows, busy: dict[tuple[str, int], dict[int, float]], facts: HybridFacts, index: int,
    arrivals: list[int], plan: HybridPlan, as_rejected: bool,
) -> None:  # fmt: skip
    queue, run = facts.queues[index], plan.queues[facts.queues[index].name]
    rejected: dict[int, float] = {}
    waiting: dict[int, float] = {}
    for slot, submitted in enumerate(arrivals):
        if not submitted:
            continue
        served, leaves, turned_away = program.column(), program.column(queue.outsourcing), program.column()
        fates = {served: 1.0, leaves: 1.0, turned_away: 1.0}
        rejected[turned_away] = 1.0
        if slot + queue.delay >= facts.horizon:
            waits = program.column()
            fates[waits] = waiting[waits] = 1.0
        program.exactly(fates, float(submitted))
        work = {served: -float(queue.size)}
        for at in range(slot + 1, slot + queue.delay + 1):
            unit = program.column()
            work[unit] = 1.0
            program.at_most({unit: 1.0, served: -1.0}, 0.0)
            busy.setdefault((queue.vm, at), {})[unit] = 1.0
        program.exactly(work, 0.0)
    short = (1.0 - control_of(facts).acceptance) * sum(arrivals) + (run.debt_bound or 0.0)
    if as_rejected:
        short = max(short, float(run.rejected))
    program.at_most(rejected, short)
    program.at_most(waiting, float(run.waiting))
