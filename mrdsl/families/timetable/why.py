"""Explanation of a timetable's machines: what forces their number, what would save one, and the slack of the runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from mrdsl.core.diagnostics import number_of
from mrdsl.core.result import Result, Table
from mrdsl.core.rounding import SAME_SUM
from mrdsl.core.units import show
from mrdsl.core.watching import is_late, until_late
from mrdsl.families.timetable.bounds import Bottleneck, bottleneck, fewest_machines, fits
from mrdsl.families.timetable.methods.rent import searched
from mrdsl.families.timetable.night import SEARCHED, TICK, Night
from mrdsl.families.timetable.plan import TimetablePlan, types_of_runs
from mrdsl.families.timetable.rented import most_at_once
from mrdsl.families.timetable.types import Market, market_of_plan
from mrdsl.spec.spec import Spec

TIGHTEST = 10
CLASSES = 5
"""Classes whose deadlines are changed at most."""
LONGER = 4
"""A longer window is longer by its part of this number."""
MOST_RUNS = 500
"""Runs of a night that is planned again for each change."""
TRIES = 12
"""Deadlines of a class that are tried."""


def why(spec: Spec, result: Result) -> tuple[Table | str, ...]:
    """Build the tables that `mrdsl why` prints for a timetable."""
    plan = result.plan
    if not isinstance(plan, TimetablePlan):
        return ()
    market, parts = market_of_plan(spec.facts, plan), market_of_plan(spec.facts, plan, in_parts=True)
    told: list[Table | str] = []
    types = types_of_runs(plan, [machine.name for machine in market.machines])
    for vm in range(len(market.nights)):
        admitted = [run for run, each in types.items() if each == vm]
        if admitted:
            told += until_late(_machines(parts.part(vm, admitted)[1], plan))
    told += _changes(spec, market)
    ran = [run for run in plan.runs if run.end is not None]
    ran.sort(key=lambda run: run.deadline - (run.end or 0.0))
    rows = [
        (run.job, run.run, plan.time(run.release), plan.time(run.end or 0.0), run.deadline - (run.end or 0.0))
        for run in ran[:TIGHTEST]
    ]
    told.append(Table("Runs with the least slack", ("class", "run", "release", "end", "slack [s]"), rows))
    return tuple(told)


def _changes(spec: Spec, market: Market) -> Iterator[Table]:
    """Yield what shorter boots and longer windows save, by planning again; nothing for long or simulated nights."""
    if len(market.runs) > MOST_RUNS or any(node.guarantee in SEARCHED for node in spec.facts.classes):
        return
    base = searched(spec, market)
    if base is None or is_late():
        return
    rows = []
    for what, change, other in _changed(market):
        found = searched(spec, other)
        if is_late():
            break
        if found is not None:
            saved = max(0.0, base.value - found.value)
            machines = max(0, most_at_once(base.leases) - most_at_once(found.leases))
            rows.append((what, change, saved if saved > SAME_SUM * base.value else 0.0, machines))
    if rows:
        yield Table(
            "What changes save, by the same search", ("what", "change", f"saves [{spec.currency}]", "VMs saved"), rows
        )


def _changed(market: Market) -> Iterator[tuple[str, str, Market]]:
    """Yield single changes: what is changed, how, and the market after it."""
    for index, night in enumerate(market.nights):
        if night.machine.boot and not night.machine.spot:
            half = night.machine.boot // 2
            shorter = replace(night, machine=replace(night.machine, boot=half))
            nights = (*market.nights[:index], shorter, *market.nights[index + 1 :])
            yield f"boot of {night.machine.name}", f"{show(half / TICK, 'time')}, half", replace(market, nights=nights)
    for job in range(min(CLASSES, len(market.jobs))):
        nights = tuple(
            replace(
                night,
                runs=tuple(
                    replace(run, due=run.due + (run.due - run.release) // LONGER) if run.job == job else run
                    for run in night.runs
                ),
            )
            for night in market.nights
        )
        yield f"deadline of {market.jobs[job].name}", f"{100 // LONGER} % longer", replace(market, nights=nights)


def _machines(night: Night, plan: TimetablePlan) -> Iterator[Table | str]:
    """Yield what forces the number of machines, and deadlines without which one less might do."""
    fewest = fewest_machines(night)
    name = night.machine.name
    which = "the admitted runs" if len(plan.uses) == 1 else f"the {len(night.runs):,} runs on {name}"
    vms = number_of(fewest, "VM")
    yield f"No timetable of {which} meets every deadline on fewer than {vms} of {name} at once."
    slots = (fewest - 1) * night.machine.slots
    found = bottleneck(night, slots) if slots else None
    if found is None:
        return
    runs = [night.runs[index] for index in found.runs]
    first = f"run {runs[0].number + 1} of {night.jobs[runs[0].job].name}"
    begin, end = _time(plan, found.begin), _time(plan, found.end)
    others = f"{first} alone" if len(runs) == 1 else f"{first} and {number_of(len(runs) - 1, 'more run', ',')}"
    yield f"From {begin} to {end}, {others} {'has' if len(runs) == 1 else 'have'} more work than fits on {fewest - 1}."
    rows = [] if night.machine.spot else list(until_late(_savings(night, found, slots)))
    if rows:
        yield Table(
            "Longer deadlines of one class that may save a VM",
            ("class", "tightest [s]", "at least [s]"),
            rows,
        )


def _savings(night: Night, found: Bottleneck, slots: int) -> Iterator[tuple[str, float, float]]:
    """Yield, for each class in the bottleneck, the shortest deadline at which fewer slots may do."""
    for job in sorted({night.runs[index].job for index in found.runs})[:CLASSES]:
        tightest = min(run.due - run.release for run in night.runs if run.job == job)

        def longer(by: int, job: int = job) -> Night:
            return replace(
                night, runs=tuple(replace(run, due=run.due + by) if run.job == job else run for run in night.runs)
            )

        low, high = 0, max(run.due for run in night.runs) - min(run.ready for run in night.runs)
        if not fits(longer(high), slots):
            continue
        for _ in range(TRIES):
            middle = (low + high) // 2
            low, high = (low, middle) if fits(longer(middle), slots) else (middle, high)
        yield night.jobs[job].name, tightest / TICK, (tightest + low) / TICK


def _time(plan: TimetablePlan, ticks: int) -> str:
    shown = plan.time(ticks / TICK)
    return shown if isinstance(shown, str) else show(shown, "time")
