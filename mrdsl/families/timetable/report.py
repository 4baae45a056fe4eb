"""Reports of timetables."""

from __future__ import annotations

import numpy as np

from mrdsl.core.charts import LineChart, Series
from mrdsl.core.result import Result
from mrdsl.core.units import show
from mrdsl.families.timetable.night import TICK, night_of
from mrdsl.families.timetable.plan import TimetablePlan
from mrdsl.reporting.report import Shown
from mrdsl.spec.spec import Spec

ASSUMPTIONS = (
    "Each task takes the time that the spec promises with, `avg` or `max`, on one slot.",
    "Machines are paid from their request, a boot before their first task, to their release.",
)


def report(spec: Spec, result: Result) -> Shown:
    """Report the rented machines with their times, and slots over time."""
    plan = result.plan
    assert isinstance(plan, TimetablePlan)
    begin = min((each.begin for each in plan.rentals), default=0.0)
    end = max((each.end for each in plan.rentals), default=0.0)
    admitted = sum(run.admitted for run in plan.runs)
    runs = f"all {admitted}" if admitted == len(plan.runs) else f"{admitted} of {len(plan.runs)}"
    decision = (
        f"Rent {plan.machines} VMs of {plan.vm} at once at most, from {_time(plan, begin)} to {_time(plan, end)}: "
        f"{runs} runs end in time, for {plan.cost + plan.penalties:.4g} {spec.currency}."
    )
    return Shown(decision, (slots_chart(spec, plan),), ASSUMPTIONS)


def slots_chart(spec: Spec, plan: TimetablePlan) -> LineChart:
    """Return slots that are rented and slots at work over time."""
    night = night_of(spec.facts)
    tasks = plan.tasks
    series = [
        _steps("rented", [(each.begin, each.end, plan.slots * each.count) for each in plan.rentals if not each.master])
    ]
    if tasks is not None:
        ticks = [[stage.ticks / TICK for stage in job.stages] for job in night.jobs]
        busy = [
            (start, start + ticks[night.runs[run].job][stage], count)
            for run, stage, start, count in zip(
                tasks.run.tolist(), tasks.stage.tolist(), tasks.start.tolist(), tasks.count.tolist(), strict=True
            )
        ]
        series.append(_steps("at work", busy))
    return LineChart("Slots over time", "time [s]", "slots", tuple(series), y_zero=True, steps=True)


def _steps(name: str, spans: list[tuple[float, float, int]]) -> Series:
    times = np.array([begin for begin, _, _ in spans] + [end for _, end, _ in spans])
    changes = np.array([count for *_, count in spans] + [-count for *_, count in spans])
    order = np.argsort(times, kind="stable")
    points, first = np.unique(times[order], return_index=True)
    levels = np.add.reduceat(changes[order], first).cumsum()
    return Series(name, points.tolist(), levels.tolist())


def _time(plan: TimetablePlan, seconds: float) -> str:
    shown = plan.time(seconds)
    return shown if isinstance(shown, str) else show(shown, "time")
