"""Report of a bounds plan, and the settings of a plan that sizes slots."""

from __future__ import annotations

from mrdsl.contracts.family import GIVE, Operated, Setting
from mrdsl.core.charts import BarChart, Chart, Interval, IntervalChart
from mrdsl.core.diagnostics import number_of
from mrdsl.core.result import Result
from mrdsl.core.units import show
from mrdsl.families.bounds.plan import ESTIMATES, SHOWN, BoundsPlan
from mrdsl.reporting.report import Shown
from mrdsl.spec.spec import Spec

NAMED = 3
"""Most classes that the decision names."""


def report(spec: Spec, result: Result) -> Shown:
    """Report completion times, or the slots that meet the deadlines, with the deadlines and the observations."""
    plan = result.plan
    assert isinstance(plan, BoundsPlan)
    return Shown(_decision(plan), tuple(_charts(plan)), _assumptions(plan))


def _decision(plan: BoundsPlan) -> str:
    times = [
        f"{name} about {show(float(round(average)), 'time')}" if average == average else f"{name} an unknown time"
        for name, average in zip(plan.names[:NAMED], plan.completion["average"].tolist(), strict=False)
    ]
    more = f" and {number_of(len(plan.names) - NAMED, 'more class', ',')}" if len(plan.names) > NAMED else ""
    takes = f"a job takes as long as this: {', '.join(times)}{more}"
    if plan.sizes:
        slots = number_of(plan.slots, "slot", ".6g")
        return f"Give all jobs {slots} together, the least that keep every deadline: {takes}."
    return f"On these slots, by the average estimate, {takes}."


def _charts(plan: BoundsPlan) -> list[Chart]:
    named = list(enumerate(plan.names[:SHOWN]))
    rows = tuple(Interval(name, _times(plan, i, name), float(plan.deadline[i])) for i, name in named)
    slots = BarChart(
        "Slots of one job",
        tuple(plan.names[:SHOWN]),
        {
            "map, or of stages": plan.map_slots[:SHOWN].tolist(),
            **({"reduce": plan.reduce_slots[:SHOWN].tolist()} if plan.reduce_slots.any() else {}),
        },
        y_label="slots",
        stacked=True,
        horizontal=True,
    )
    return [IntervalChart("Completion of one job by every estimate", "time [s]", rows), slots]


def _times(plan: BoundsPlan, index: int, name: str) -> dict[str, float | None]:
    times: dict[str, float | None] = {each: float(plan.completion[each][index]) for each in ESTIMATES}
    seen = plan.observed.get(name)
    return times if seen is None else {**times, "simulated mean": seen.mean, "simulated p95": seen.p95}


def _assumptions(plan: BoundsPlan) -> tuple[str, ...]:
    shared = "Every job has its share of the slots to itself from its start to its end; slots are counted in fractions."
    if plan.upper_is_bound.all():
        return (shared,)
    return (shared, "Where the plan says so, the upper estimate is none that every job keeps: tasks may take longer.")


NO_SLOTS = "it estimates completion times, and gives no slots"


def operated(_: Spec, plan: BoundsPlan) -> Operated:
    """Return the settings of a plan: none of one that estimates only."""
    if not plan.sizes:
        return Operated((), NO_SLOTS)
    classes = plan.document()["classes"]
    return Operated(
        tuple(
            Setting(GIVE, f"each job of class {name}", slots, key.replace("_", " "))
            for name, got in classes.items()
            for key, slots in got.items()
            if key.endswith("_slots")
        )
    )
