"""Reports of timetables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from mrdsl.core.charts import Bar, GanttChart, Interval, IntervalChart, LineChart, Series, Use
from mrdsl.core.diagnostics import number_of
from mrdsl.core.result import Result
from mrdsl.core.units import show, ticks_of
from mrdsl.families.timetable.night import TICK
from mrdsl.families.timetable.plan import TimetablePlan, types_of_runs
from mrdsl.families.timetable.types import market_of_plan
from mrdsl.reporting.report import Shown
from mrdsl.spec.spec import Spec

ASSUMPTIONS = (
    "Each task takes the time that the spec promises with, `avg` or `max`, on one slot.",
    "Machines are paid from their request, a boot before their first task, to their release.",
)
MOST_BARS = 400
"""Runs, and rentals, in a chart."""
TIGHTEST = 20
"""Runs in the chart of slack."""


def report(spec: Spec, result: Result) -> Shown:
    """Report the rented machines with their times, and slots over time."""
    plan = result.plan
    assert isinstance(plan, TimetablePlan)
    begin = min((each.begin for each in plan.rentals), default=0.0)
    end = max((each.end for each in plan.rentals), default=0.0)
    admitted = sum(run.admitted for run in plan.runs)
    number = len(plan.runs)
    runs = f"{number_of(admitted, 'run')}" if admitted == number else f"{admitted} of {number_of(number, 'run')}"
    used = [each for each in plan.uses if each.machines or len(plan.uses) == 1]
    vms = " and ".join(f"{number_of(each.machines, 'VM')} of {each.vm}" for each in used) or "no VMs"
    decision = (
        f"Rent {vms} at once at most, from {_time(plan, begin)} to {_time(plan, end)}: "
        f"{runs} in time, for {plan.value:.4g} {spec.currency}. "
        f"Tasks use {100.0 * plan.utilization:.3g} % of the rented slot time."
    )
    boots = {vm.name: vm.boot for vm in spec.facts.vms}
    charts = (slots_chart(spec, plan), runs_chart(plan), machines_chart(plan, boots), slack_chart(plan))
    return Shown(decision, charts, ASSUMPTIONS)


def slots_chart(spec: Spec, plan: TimetablePlan) -> LineChart:
    """Return slots that are rented and slots at work over time."""
    market = market_of_plan(spec.facts, plan)
    tasks, slots = plan.tasks, {each.vm: each.slots for each in plan.uses}
    workers = [each for each in plan.rentals if not each.master]
    series = [_steps("rented", [(each.begin, each.end, slots[each.kind] * each.count) for each in workers])]
    if tasks is not None:
        types = types_of_runs(plan, [machine.name for machine in market.machines])
        ticks = [[[stage.ticks / TICK for stage in job.stages] for job in night.jobs] for night in market.nights]
        busy = [
            (start, start + ticks[types[run]][market.runs[run].job][stage], count)
            for run, stage, start, count in zip(
                tasks.run.tolist(), tasks.stage.tolist(), tasks.start.tolist(), tasks.count.tolist(), strict=True
            )
        ]
        series.append(_steps("at work", busy))
    label = "time" if plan.clock else "time [s]"
    return LineChart("Slots over time", label, "slots", tuple(series), y_zero=True, steps=True, clock=plan.clock)


def today(spec: Spec, plan: TimetablePlan) -> Use:
    """Return the use of the rented machines, to compare with the observed cluster: from the request of the runs that
    they begin with, startup included. Masters do not count, since logs do not name theirs.
    """
    first = min(plan.tasks.start.tolist(), default=0.0) if plan.tasks is not None else 0.0
    lines = [replace(line, x=[time - first for time in line.x]) for line in slots_chart(spec, plan).series]
    machines = {machine.name: machine for machine in market_of_plan(spec.facts, plan).machines}
    rented = [
        (begin, each.end, each.count, machines[each.kind], each.reserved)
        for each, begin in zip(plan.rentals, _requests(plan), strict=True)
        if not each.master
    ]
    cost = sum(
        (vm.reserved_price if reserved else vm.price) * count * vm.billed(ticks_of(end - begin)) / TICK
        for begin, end, count, vm, reserved in rented
    )
    return Use(
        max((count or 0.0 for count in _steps("", [each[:3] for each in rented]).y), default=0.0),
        sum((end - begin) * count for begin, end, count, *_ in rented),
        cost + plan.risk,
        plan.utilization,
        sum(not run.admitted for run in plan.runs) / len(plan.runs) if plan.runs else None,
        *lines,
    )


def _requests(plan: TimetablePlan) -> list[float]:
    """Return the begin of each rental, or of a run whose first tasks are on it, if that is earlier."""
    begins = np.array([each.begin for each in plan.rentals])
    if plan.tasks is not None and len(plan.tasks.run) and plan.tasks.machine.min() >= 0:
        tasks, first = plan.tasks, np.full(len(plan.runs), np.inf)
        np.minimum.at(first, tasks.run, tasks.start)
        opening = tasks.start <= first[tasks.run]
        starts = np.array([np.inf if run.start is None else run.start for run in plan.runs])
        np.minimum.at(begins, tasks.machine[opening], starts[tasks.run[opening]])
    requests: list[float] = begins.tolist()
    return requests


def runs_chart(plan: TimetablePlan) -> GanttChart:
    """Return the admitted runs over time, a lane for each class."""
    ran = [(run, run.start, run.end) for run in plan.runs if run.start is not None and run.end is not None]
    ran.sort(key=lambda each: (each[1], each[2]))
    bars = tuple(Bar(run.job, f"{run.run}", start, end, run.job) for run, start, end in ran[:MOST_BARS])
    return GanttChart(_titled("Runs over time", len(ran)), bars, plan.clock)


def machines_chart(plan: TimetablePlan, boots: Mapping[str, float]) -> GanttChart:
    """Return alike machines over time: from their request for the boot time of their type [s], until their release."""
    lanes: dict[str, list[float]] = {}
    bars = []
    for each in sorted(plan.rentals, key=lambda rental: (rental.begin, rental.end))[:MOST_BARS]:
        kind = f"{each.vm} (master)" if each.master else each.kind
        lane = f"{kind} {_free_lane(lanes.setdefault(kind, []), each.begin, each.end) + 1}"
        ready = min(each.begin + boots[each.vm], each.end)
        if ready > each.begin:
            bars.append(Bar(lane, f"{each.count}", each.begin, ready, "boot"))
        bars.append(Bar(lane, f"{each.count}", ready, each.end, "on"))
    return GanttChart(_titled("Machines on and off", len(plan.rentals)), tuple(bars), plan.clock)


def slack_chart(plan: TimetablePlan) -> IntervalChart:
    """Return the runs with the least slack: their planned time and, after a simulation, simulated ones."""
    seen = plan.of_runs or (None,) * len(plan.runs)
    ran = [(run, each) for run, each in zip(plan.runs, seen, strict=True) if run.end is not None]
    ran.sort(key=lambda pair: pair[0].deadline - (pair[0].end or 0.0))
    rows = []
    for run, each in ran[:TIGHTEST]:
        times: dict[str, float | None] = {"plan": (run.end or 0.0) - run.release}
        if each is not None:
            times |= {"mean": each.mean, "p95": each.p95}
        rows.append(Interval(f"{run.job} {run.run}", times, run.deadline - run.release))
    return IntervalChart("Runs with the least slack", "time after the release [s]", tuple(rows))


def _free_lane(ends: list[float], start: float, end: float) -> int:
    """Return the first lane that is free at ``start``, taken until ``end``; ``ends`` has the end of each lane."""
    lane = next((lane for lane, last in enumerate(ends) if last <= start), len(ends))
    ends[lane : lane + 1] = [end]
    return lane


def _titled(title: str, count: int) -> str:
    return title if count <= MOST_BARS else f"{title}: the first {MOST_BARS} of {count:,}"


def _steps(name: str, spans: list[tuple[float, float, int]]) -> Series:
    times = np.array([begin for begin, _, _ in spans] + [end for _, end, _ in spans])
    changes = np.array([count for *_, count in spans] + [-count for *_, count in spans])
    order = np.argsort(times, kind="stable")
    points, first = np.unique(times[order], return_index=True)
    levels = np.add.reduceat(changes[order], first).cumsum()
    changed = np.diff(levels, prepend=0) != 0
    return Series(name, points[changed].tolist(), levels[changed].tolist())


def _time(plan: TimetablePlan, seconds: float) -> str:
    shown = plan.time(seconds)
    return shown if isinstance(shown, str) else show(shown, "time")
