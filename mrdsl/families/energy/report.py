"""What a report shows of an energy plan."""

from __future__ import annotations

from mrdsl.core.charts import BarChart, Chart, Interval, IntervalChart
from mrdsl.core.result import Result
from mrdsl.core.units import show
from mrdsl.families.energy.plan import EnergyPlan
from mrdsl.reporting.report import Shown
from mrdsl.spec.spec import Spec


def report(spec: Spec, result: Result) -> Shown:
    """Which machines are taken; the energy's parts, uptimes beside deadlines, costs beside budgets."""
    plan = result.plan
    assert isinstance(plan, EnergyPlan)
    return Shown(_decision(spec, plan), tuple(_charts(spec, plan)), _ASSUMPTIONS)


_ASSUMPTIONS = (
    "Energy is what tasks, data placement and shuffle take above idle machines.",
    "A job's VMs are paid and up from the start of its data's placement to the end of its last reduce task.",
    "Tasks of one slot run one after the other, each as long as its VM type says.",
)


def _decision(spec: Spec, plan: EnergyPlan) -> str:
    kinds: dict[str, int] = {}
    for use in plan.vms:
        kinds[use.type] = kinds.get(use.type, 0) + 1
    taken = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
    jobs = f"{len(plan.jobs)} jobs" if len(plan.jobs) > 1 else "the job"
    energy = show(round(plan.energy.total, 1), "energy")
    return (
        f"Take {taken}: {jobs} end after {show(round(plan.uptime, 1), 'time')}, "
        f"for {energy} and {show(plan.cost, 'money', spec.currency)}."
    ).replace("the job end", "the job ends")


def _charts(spec: Spec, plan: EnergyPlan) -> list[Chart]:
    jobs = tuple(plan.jobs)
    uses = [plan.jobs[name] for name in jobs]
    parts = {
        "tasks": [use.energy.tasks for use in uses],
        "placement": [use.energy.placement for use in uses],
        "shuffle": [use.energy.shuffle for use in uses],
    }
    up = tuple(Interval(name, {"uptime": use.uptime}, use.deadline) for name, use in plan.jobs.items())
    cost = tuple(Interval(name, {"cost": use.cost}, use.budget) for name, use in plan.jobs.items())
    return [
        BarChart("Where the energy goes", jobs, parts, y_label="energy [J]", stacked=True, horizontal=True),
        IntervalChart("Uptimes beside deadlines", "time [s]", up),
        IntervalChart("Costs beside budgets", f"cost [{spec.currency}]", cost, "budget"),
    ]
