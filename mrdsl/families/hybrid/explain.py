"""Report, explanation and settings of a controller's run, and the least cost with known arrivals."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mrdsl.contracts.family import RUN, Operated, Setting, settings_of
from mrdsl.core.charts import BarChart, Chart, Interval, IntervalChart, parts_chart
from mrdsl.core.diagnostics import number_of
from mrdsl.core.linear_program import ProgramRows
from mrdsl.core.result import Limits, Result, Table
from mrdsl.core.rounding import FEASIBILITY
from mrdsl.core.units import show
from mrdsl.families.hybrid.facts import Control, HybridFacts, control_of
from mrdsl.families.hybrid.plan import HybridPlan, QueueRun
from mrdsl.families.hybrid.workload import arrivals_of
from mrdsl.reporting.report import Shown
from mrdsl.solving.programs import UnsolvedError, optimum
from mrdsl.spec.spec import Spec


def report(spec: Spec, result: Result) -> Shown:
    """Report the cost of a slot and the fate of tasks; delays and acceptance with their guarantees."""
    plan = result.plan
    assert isinstance(plan, HybridPlan)
    least = min(plan.queues, key=lambda name: plan.queues[name].acceptance)
    slowest = max(plan.queues, key=lambda name: plan.queues[name].worst_delay)
    decision = (
        f"A slot costs {show(round(plan.cost.average, 4), 'money', spec.currency)} on average; {least} accepts the "
        f"least, {100 * plan.queues[least].acceptance:.3g} % of its tasks, and no task waits longer than "
        f"{number_of(plan.queues[slowest].worst_delay, 'slot')} ({slowest})."
    )
    return Shown(decision, tuple(_charts(spec, plan)), _ASSUMPTIONS)


_ASSUMPTIONS = (
    "The plan is one run: arrivals are drawn from the spec's seed, or recorded.",
    "A task that is sent outside counts as served when it leaves; its delay with the run outside stands beside that.",
    "Bounds hold for every run of this length, whatever arrives within the spec's limits; most stay far below.",
)


def _charts(spec: Spec, plan: HybridPlan) -> list[Chart]:
    names, runs = tuple(plan.queues), list(plan.queues.values())
    fates = {
        "served inside": [q.admitted - q.outsourced_after for q in runs],
        "sent outside": [q.outsourced + q.outsourced_after for q in runs],
        "turned away": [q.rejected for q in runs],
    }
    delays = tuple(Interval(n, {"worst": q.worst_delay}, q.delay_bound) for n, q in plan.queues.items())
    backlog = tuple(Interval(n, {"most": q.backlog_max}, q.backlog_bound) for n, q in plan.queues.items())
    accepted = tuple(
        Interval(n, {"accepted": 100 * q.acceptance}, None if q.acceptance_floor is None else 100 * q.acceptance_floor)
        for n, q in plan.queues.items()
    )
    parts = {"sent outside": plan.cost.outsourcing, "preemptions": plan.cost.preemption}
    return [
        parts_chart("Where the cost of a slot comes from", parts, f"cost [{spec.currency}]"),
        BarChart("Outcome of tasks", names, fates, y_label="tasks", stacked=True, horizontal=True),
        IntervalChart("Worst delays beside their bounds", "slots of time", delays, "bound"),
        IntervalChart("Accepted tasks beside their floor", "% of all tasks", accepted, "floor"),
        IntervalChart("Longest queues beside their bounds", "tasks", backlog, "bound"),
    ]


OWN = "which tasks are admitted or leave, the controller decides as they come; `mrdsl compare` shows what that came to"


def operated(spec: Spec, _: Any) -> Operated:
    """Return the VMs of the private cloud, and the options of the controller."""
    vms = tuple(Setting(RUN, vm.name, vm.available) for vm in spec.facts.vms)
    return Operated((*vms, *settings_of(spec.facts.control or Control(), "control")), OWN)


LARGEST = 60_000
LIMITS = Limits(time=60.0, threads=1)


def size(facts: HybridFacts) -> int:
    """About how many columns the program has; beyond ``LARGEST`` it takes long."""
    return facts.horizon * sum(queue.delay + 3 for queue in facts.queues)


def look_ahead(facts: HybridFacts, arrivals: NDArray[np.int64], plan: HybridPlan, as_rejected: bool = True) -> float:
    """Return the least average cost per slot for the tasks of a run.

    ``arrivals``: one row per slot, one column per queue. ``plan`` only supplies limits on unfinished work: the tasks of
    a queue that may wait at the horizon, and the shortfall of its acceptance (K_max for the controller). With
    ``as_rejected``, the run may have as many rejections as the plan, for any acceptance: then no run costs less. Raises
    UnsolvedError if no optimum is proven in ``LIMITS``.
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


def why(spec: Spec, result: Result) -> tuple[Table | str, ...]:
    """Build the tables that `mrdsl why` prints for a hybrid cloud."""
    plan = result.plan
    if not isinstance(plan, HybridPlan):
        return ()
    facts: HybridFacts = spec.facts
    told: list[Table | str] = [slack(plan), _money(facts, plan)]
    if size(facts) > LARGEST:
        told.append("The run is too long for the look-ahead program; a shorter horizon shows what foresight is worth.")
        return tuple(told)
    try:
        told += _foresight(spec, facts, plan)
    except UnsolvedError as cause:
        told.append(f"The look-ahead program was not solved ({cause}): what foresight is worth is not known.")
    return tuple(told)


def _foresight(spec: Spec, facts: HybridFacts, plan: HybridPlan) -> list[str]:
    """Return the least cost of the run if all arrivals had been known."""
    told = []
    arrivals = arrivals_of(facts, spec.seed or 0)
    least = look_ahead(facts, arrivals, plan)
    short = [name for name, run in plan.queues.items() if _fell_short(run, control_of(facts).acceptance)]
    rejecting = ", with as many tasks turned away" if short else ""
    told.append(
        f"Had all arrivals been known, the run would still have cost {least:.4g} per slot{rejecting}; it cost "
        f"{plan.cost.average:.4g}."
    )
    if short:
        asked = look_ahead(facts, arrivals, plan, as_rejected=False)
        told.append(
            f"The acceptance of {', '.join(short)} is below the {control_of(facts).acceptance:.4g} asked for; with "
            f"it no run costs less than {asked:.4g} per slot."
        )
    return told


def _fell_short(run: QueueRun, asked: float) -> bool:
    """Return True if more tasks were turned away than the acceptance and the policy's own debt allow."""
    return run.rejected > (1.0 - asked) * run.submitted + (run.debt_bound or 0.0) + FEASIBILITY


def slack(plan: HybridPlan) -> Table:
    """Return each guarantee of the policy, (12) to (15), with the value of the run and the slack."""
    rows = [(name, *row) for name, run in plan.queues.items() for row in _guarantees(run)]
    return Table("Slack to the guarantees", ("queue", "guarantee", "reached", "bound", "slack"), rows)


def _guarantees(run: QueueRun) -> list[tuple[str, float, float, float]]:
    named: tuple[tuple[str, float, float | None], ...] = (
        ("K, acceptance debt (12)", run.debt_max, run.debt_bound),
        ("Q, backlog (13)", run.backlog_max, run.backlog_bound),
        ("Z, persistence (14)", run.persistence_max, run.persistence_bound),
        ("delay in slots (15)", run.worst_delay, run.delay_bound),
    )
    return [(name, reached, bound, bound - reached) for name, reached, bound in named if bound is not None]


def _money(facts: HybridFacts, plan: HybridPlan) -> Table:
    rows = []
    for queue in facts.queues:
        run = plan.queues[queue.name]
        price = queue.outsourcing / facts.horizon
        rows.append((queue.name, run.outsourced * price, run.outsourced_after * price, run.finished, run.preemptions))
    head = ("queue", "sent out on arrival", "sent out later", "finished here", "preempted")
    return Table("Where the money goes", head, rows)
