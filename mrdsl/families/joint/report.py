"""What a report shows of a joint plan."""

from __future__ import annotations

from collections.abc import Mapping

from mrdsl.core.charts import BarChart, Chart, Interval, IntervalChart, LineChart, Series, parts_chart
from mrdsl.core.result import Result
from mrdsl.core.units import show
from mrdsl.families.joint.facts import JointFacts
from mrdsl.families.joint.plan import JointPlan
from mrdsl.reporting.report import Shown
from mrdsl.reporting.text import cell_text
from mrdsl.spec.spec import Spec

DRAWN = 30
"""How many classes and services are drawn."""


def report(spec: Spec, result: Result) -> Shown:
    """How many VMs run, and what is turned away; cost, VMs by class and service, responses, periods."""
    plan = result.plan
    assert isinstance(plan, JointPlan)
    return Shown(_decision(spec, plan), tuple(_charts(spec, plan)), _assumptions(spec))


def _decision(spec: Spec, plan: JointPlan) -> str:
    vms = f"{cell_text(float(plan.vms.max()))} of {plan.size:,} VMs"
    periods = len(plan.vms)
    when = f"at most {vms} in each of {periods:,} periods" if periods > 1 else vms
    jobs, requests = plan.classes.rejected.sum(), plan.services.rejected_rate.max(initial=0.0)
    away = [f"{cell_text(float(round(jobs, 6)))} jobs"] if jobs > 0 else []
    away += [f"up to {cell_text(float(round(requests, 6)))} requests a second of one service"] if requests > 0 else []
    turned = f"turn away {' and '.join(away)}" if away else "turn nothing away"
    return f"Run {when} and {turned}: {show(plan.total, 'money', spec.currency)} in all."


def _charts(spec: Spec, plan: JointPlan) -> list[Chart]:
    money = f"cost [{spec.currency}]"
    names = (*plan.class_names[:DRAWN], *plan.service_names[:DRAWN])
    held = (*plan.classes.vms.mean(axis=0)[:DRAWN].tolist(), *plan.services.vms.mean(axis=0)[:DRAWN].tolist())
    charts: list[Chart] = [
        parts_chart(
            "Where the cost comes from",
            {"operation": float(plan.operation.sum()), "penalties": float(plan.penalties.sum())},
            money,
        ),
        BarChart("VMs by class and service", names, {"VMs": held}, y_label="VMs (mean over periods)", horizontal=True),
    ]
    facts: JointFacts = spec.facts
    promised = [
        Interval(service.name, {"worst mean response": float(response)}, service.response)
        for service, response in list(
            zip(facts.services, plan.services.response.max(axis=0, initial=0.0), strict=True)
        )[:DRAWN]
    ]
    if promised:
        charts.append(IntervalChart("Responses beside what was promised", "time [s]", tuple(promised), "promised"))
    charts += _simulated(plan, {one.name: one.deadline for one in facts.classes} if plan.observed else {})
    if len(plan.vms) > 1:
        when = list(range(len(plan.vms)))
        charts += [
            LineChart("VMs by period", "period", "VMs", (Series("VMs", when, plan.vms.tolist()),), y_zero=True),
            LineChart(
                "Cost by period",
                "period",
                money,
                (
                    Series("operation", when, plan.operation.tolist()),
                    Series("penalties", when, plan.penalties.tolist()),
                ),
                y_zero=True,
            ),
        ]
    return charts


def _simulated(plan: JointPlan, deadlines: Mapping[str, float]) -> list[Chart]:
    rows = tuple(
        Interval(name, {"mean": seen.mean, "p50": seen.p50, "p95": seen.p95}, deadlines.get(name))
        for name, seen in list(plan.observed.items())[:DRAWN]
    )
    return [IntervalChart("Simulated completions beside deadlines", "time [s]", rows)] if rows else []


def _assumptions(spec: Spec) -> tuple[str, ...]:
    return (
        "A service's VMs share its requests evenly and answer them one after the other; responses are means.",
        "Jobs of a class come evenly over a period and run in rounds as long as their deadline.",
    )
