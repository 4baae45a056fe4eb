"""What a run would have cost at least, had all arrivals been known: a linear program over tasks and slots.

Tasks of one queue and arrival slot are served, leave, wait at the horizon, or are rejected. Served ones get their whole
size within their delay, each at most one VM at a time, no slot more VMs than there are. Tasks may be split and
preemptions are free, so the program bounds every policy's cost (6) from below; it is never below the relaxed bound
of ``hybrid_cloud.lower_bound``, which pools all slots into one.
"""

from __future__ import annotations

import highspy
import numpy as np
from numpy.typing import NDArray

from mrdsl.families.hybrid.bounds import control_of
from mrdsl.families.hybrid.facts import HybridFacts
from mrdsl.families.hybrid.plan import HybridPlan

LARGEST = 60_000


class _Program:
    """Columns and rows as they come."""

    def __init__(self) -> None:
        self.cost: list[float] = []
        self.rows: list[tuple[float, float, dict[int, float]]] = []

    def column(self, cost: float = 0.0) -> int:
        self.cost.append(cost)
        return len(self.cost) - 1

    def solve(self) -> float:
        """The least cost. Raises RuntimeError where HiGHS proves no optimum."""
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = len(self.cost), len(self.rows)
        lp.col_cost_ = np.array(self.cost)
        lp.col_lower_, lp.col_upper_ = np.zeros(len(self.cost)), np.full(len(self.cost), highspy.kHighsInf)
        lp.row_lower_ = np.array([low for low, _, _ in self.rows])
        lp.row_upper_ = np.array([high for _, high, _ in self.rows])
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        lp.a_matrix_.start_ = np.cumsum([0, *(len(entries) for _, _, entries in self.rows)])
        lp.a_matrix_.index_ = np.array([index for _, _, entries in self.rows for index in entries])
        lp.a_matrix_.value_ = np.array([value for _, _, entries in self.rows for value in entries.values()])
        solver = highspy.Highs()
        solver.setOptionValue("output_flag", False)
        solver.setOptionValue("threads", 1)
        solver.passModel(lp)
        solver.run()
        if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            raise RuntimeError(f"the look-ahead program ended with {solver.getModelStatus()}")
        return float(solver.getInfo().objective_function_value)


def size(facts: HybridFacts) -> int:
    """About how many columns the program has; beyond ``LARGEST`` it takes long."""
    return facts.horizon * sum(queue.delay + 3 for queue in facts.queues)


def look_ahead(facts: HybridFacts, arrivals: NDArray[np.int64], plan: HybridPlan, as_rejected: bool = True) -> float:
    """The least average cost per slot for the tasks of a run.

    ``arrivals``: one row per slot, one column per queue. From ``plan`` comes only what a policy may leave undone: how
    many tasks of a queue may wait at the horizon, how far its acceptance may fall short, K_max for the controller, and,
    ``as_rejected``, as many rejections as there were, whatever acceptance that is: then no run costs less.
    """
    program = _Program()
    busy: dict[tuple[str, int], dict[int, float]] = {}
    for index in range(len(facts.queues)):
        _queue(program, busy, facts, index, arrivals[:, index].tolist(), plan, as_rejected)
    available = {vm.name: float(vm.available) for vm in facts.vms}
    program.rows += [(-highspy.kHighsInf, available[vm], entries) for (vm, _), entries in busy.items()]
    return program.solve() / facts.horizon if program.cost else 0.0


def _queue(
    program: _Program, busy: dict[tuple[str, int], dict[int, float]], facts: HybridFacts, index: int,
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
        program.rows.append((float(submitted), float(submitted), fates))
        work = {served: -float(queue.size)}
        for at in range(slot + 1, slot + queue.delay + 1):
            unit = program.column()
            work[unit] = 1.0
            program.rows.append((-highspy.kHighsInf, 0.0, {unit: 1.0, served: -1.0}))
            busy.setdefault((queue.vm, at), {})[unit] = 1.0
        program.rows.append((0.0, 0.0, work))
    short = (1.0 - control_of(facts).acceptance) * sum(arrivals) + (run.debt_bound or 0.0)
    if as_rejected:
        short = max(short, float(run.rejected))
    program.rows.append((-highspy.kHighsInf, short, rejected))
    program.rows.append((-highspy.kHighsInf, float(run.waiting), waiting))
