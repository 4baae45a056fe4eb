"""Report of a deadline plan, and its settings."""

from __future__ import annotations

from mrdsl.contracts.family import SET, Operated, Setting
from mrdsl.core.charts import BarChart, Chart
from mrdsl.core.result import Result
from mrdsl.core.units import show
from mrdsl.families.deadline.plan import SHOWN, DeadlinePlan
from mrdsl.reporting.report import Shown
from mrdsl.spec.spec import Spec


def report(spec: Spec, result: Result) -> Shown:
    """Report how much every task may slip: a table of durations and slacks."""
    plan = result.plan
    assert isinstance(plan, DeadlinePlan)
    least = int(plan.slack.argmin())
    decision = (
        f"Every task may take longer than planned, {plan.names[least]} the least, by "
        f"{show(round(float(plan.slack[least]), 2), 'time')}, and all still end within "
        f"{show(round(float(plan.latest_finish.max()), 2), 'time')}."
    )
    if plan.slack[least] <= 0.0:
        decision = f"There is no time to spare: {plan.names[least]} must take no longer than planned."
    return Shown(decision, (_delays(plan),), _ASSUMPTIONS)


_ASSUMPTIONS = (
    "A task starts when all that it comes after have ended; durations are the spec's, waiting is part of the delay.",
    "A task that keeps its delay keeps every deadline, whatever the others do within theirs.",
)


def _delays(plan: DeadlinePlan) -> Chart:
    parts = {"duration": plan.duration[:SHOWN].tolist(), "slack": plan.slack[:SHOWN].tolist()}
    names = tuple(plan.names[:SHOWN])
    return BarChart("Delay of every task", names, parts, y_label="time [s]", stacked=True, horizontal=True)


def operated(_: Spec, plan: DeadlinePlan) -> Operated:
    """Return the settings of a plan."""
    delays = zip(plan.names, plan.delay.tolist(), strict=True)
    return Operated(tuple(Setting(SET, f"the delay of {name}", delay, "s") for name, delay in delays))
