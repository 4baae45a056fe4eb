"""What a report shows of a controller's run."""

from __future__ import annotations

from mrdsl.core.charts import BarChart, Chart, Interval, IntervalChart, parts_chart
from mrdsl.core.result import Result
from mrdsl.core.units import show
from mrdsl.families.hybrid.plan import HybridPlan
from mrdsl.reporting.report import Shown
from mrdsl.spec.spec import Spec


def report(spec: Spec, result: Result) -> Shown:
    """What a slot costs and what becomes of tasks; delays and acceptance beside what is promised."""
    plan = result.plan
    assert isinstance(plan, HybridPlan)
    least = min(plan.queues, key=lambda name: plan.queues[name].acceptance)
    slowest = max(plan.queues, key=lambda name: plan.queues[name].worst_delay)
    decision = (
        f"A slot costs {show(round(plan.cost.average, 4), 'money', spec.currency)} on average; {least} accepts the "
        f"least, {100 * plan.queues[least].acceptance:.3g} % of its tasks, and no task waits longer than "
        f"{plan.queues[slowest].worst_delay} slots ({slowest})."
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
        BarChart("What becomes of tasks", names, fates, y_label="tasks", stacked=True, horizontal=True),
        IntervalChart("Worst delays beside their bounds", "slots of time", delays, "bound"),
        IntervalChart("Accepted tasks beside their floor", "% of all tasks", accepted, "floor"),
        IntervalChart("Longest queues beside their bounds", "tasks", backlog, "bound"),
    ]
