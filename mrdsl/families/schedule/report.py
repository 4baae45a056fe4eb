"""What a report shows of a policy's run."""

from __future__ import annotations

from mrdsl.core.charts import Chart, Interval, IntervalChart, parts_chart
from mrdsl.core.result import Result
from mrdsl.core.units import show
from mrdsl.families.schedule.plan import SchedulePlan
from mrdsl.reporting.report import Shown
from mrdsl.spec.spec import Spec


def report(spec: Spec, result: Result) -> Shown:
    """What the policy costs and how many jobs it ends late; money by kind of VM, lateness."""
    plan = result.plan
    assert isinstance(plan, SchedulePlan)
    late = (
        f"{plan.jobs.tardy:,} ({100 * plan.jobs.tardy_share:.3g} %) end late" if plan.jobs.tardy else "none ends late"
    )
    kinds = spec.facts.policy.instances.replace("_", " ")
    decision = (
        f"{spec.facts.policy.algorithm} on {kinds} VMs runs {plan.jobs.count:,} jobs for "
        f"{show(round(plan.cost.total, 4), 'money', spec.currency)}, of which {late}."
    )
    return Shown(decision, tuple(_charts(spec, plan)), _ASSUMPTIONS)


_ASSUMPTIONS = (
    "The plan is one run: jobs, task times and spot prices are drawn from the spec's seed; `--simulate` runs several.",
    "The policy decides without knowing jobs or prices that are to come.",
)


def _charts(spec: Spec, plan: SchedulePlan) -> list[Chart]:
    money = {"on demand": plan.cost.on_demand, "spot": plan.cost.spot}
    hours = {"on demand": plan.vm_hours.on_demand, "spot": plan.vm_hours.spot, "spot, broken off": plan.vm_hours.broken}
    asked = spec.facts.policy.tardy_share
    share = Interval("late jobs", {"share": 100.0 * plan.jobs.tardy_share}, None if asked is None else 100.0 * asked)
    late = plan.tardiness
    how = Interval("late by", {"mean": late.mean, "median": late.p50, "95 %": late.p95, "most": late.max})
    return [
        parts_chart("Where the cost comes from", money, f"cost [{spec.currency}]"),
        parts_chart("Hours of VMs", hours, "VM hours"),
        IntervalChart("Late jobs", "% of all jobs", (share,), "at most"),
        *([IntervalChart("How late the late ones are", "time [s]", (how,))] if plan.jobs.tardy else []),
    ]
