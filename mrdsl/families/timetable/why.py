"""Explanation of a timetable's machines: the bounds on their number, and the slack of the runs."""

from __future__ import annotations

from mrdsl.core.result import Result, Table
from mrdsl.families.timetable.bounds import fewest_machines
from mrdsl.families.timetable.night import night_of
from mrdsl.families.timetable.plan import TimetablePlan
from mrdsl.spec.spec import Spec

TIGHTEST = 10


def why(spec: Spec, result: Result) -> tuple[Table | str, ...]:
    """Build the tables that `mrdsl why` prints for a timetable."""
    if result.plan is None:
        return ()
    night = night_of(spec.facts)
    fewest = fewest_machines(night)
    told: list[Table | str] = [
        f"No timetable meets every deadline on fewer than {fewest} VMs of {night.machine.name} at once."
    ]
    plan = result.plan
    if isinstance(plan, TimetablePlan):
        ran = [run for run in plan.runs if run.end is not None]
        ran.sort(key=lambda run: run.deadline - (run.end or 0.0))
        rows = [
            (run.job, run.run, plan.time(run.release), plan.time(run.end or 0.0), run.deadline - (run.end or 0.0))
            for run in ran[:TIGHTEST]
        ]
        told.append(Table("Runs with the least slack", ("class", "run", "release", "end", "slack [s]"), rows))
    return tuple(told)
