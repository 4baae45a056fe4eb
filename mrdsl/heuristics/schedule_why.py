"""Why a schedule's jobs are late, and what its money went into: told from the run's own log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from mrdsl.heuristics.schedule_observe import run_once
from mrdsl.outcome import Result, Table
from mrdsl.problems.schedule.plan import HOUR, SchedulePlan
from mrdsl.problems.schedule.stream import jobs as jobs_of
from mrdsl.simulation.log import Entry
from mrdsl.spec.spec import Spec

SHOWN = 5
NEVER, EVICTED, WAITED, FRACTIONS, ON_PURPOSE = (
    "due before one wave of its tasks can end", "an eviction took tasks of it", "it waited before it was served",
    "its slots are too few for whole waves: (3.15) takes waves as fractions", "late on purpose, where it saves most")


def why(spec: Spec, result: Result) -> tuple[Table | str, ...]:
    """Causes of lateness, the jobs that VMs were rented for, and what ``frugal`` would do with as many late jobs."""
    plan = result.plan
    if not isinstance(plan, SchedulePlan) or plan.log is None:
        return ("The offline optimum knows every job and price beforehand: it has no decisions to explain.",)
    entries = plan.log()
    told: list[Table | str] = []
    if plan.jobs.tardy:
        told.append(Table("Why jobs are late", ("cause", "jobs", "late by, mean [s]"), _causes(spec, entries)))
    else:
        told.append("No job is late.")
    told.append(Table("Jobs that most VMs were rented for", ("job", "VMs", "for", "map tasks", "reduce tasks",
                                                            "due after [s]"), _renters(spec, entries)))
    if spec.facts.policy.algorithm != "frugal":
        told.append(_instead(spec, plan))
    return tuple(told)


def _causes(spec: Spec, entries: Sequence[Entry]) -> list[tuple[str, int, float]]:
    facts = spec.facts
    arrived = {entry.facts["job"]: entry.time for entry in entries if entry.what == "arrive"}
    first: dict[str, float] = {}
    ends: dict[str, float] = {}
    gone = {entry.facts["cohort"]: entry.time for entry in entries if entry.what == "evict"}
    evicted = set()
    for entry in entries:
        if entry.what == "place":
            first.setdefault(entry.facts["job"], entry.time)
            if gone.get(entry.facts["cohort"], entry.facts["end"]) < entry.facts["end"]:
                evicted.add(entry.facts["job"])
        elif entry.what == "finish" and entry.facts["tardy"]:
            ends[entry.facts["job"]] = entry.time
    late: dict[str, list[float]] = {}
    boot = facts.vms[0].boot
    for job in jobs_of(facts, spec.seed or 0):
        if job.name not in ends:
            continue
        if job.submit + sum(job.durations) + boot > job.punctual_until:
            cause = NEVER
        elif job.name in evicted:
            cause = EVICTED
        elif first[job.name] > arrived[job.name]:
            cause = WAITED
        else:
            cause = ON_PURPOSE if facts.policy.algorithm == "frugal" else FRACTIONS
        late.setdefault(cause, []).append(ends[job.name] - job.due)
    return [(cause, len(by), sum(by) / len(by)) for cause, by in sorted(late.items(), key=lambda each: -len(each[1]))]


def _renters(spec: Spec, entries: Sequence[Entry]) -> list[tuple[Any, ...]]:
    """The job whose tasks are placed first on rented VMs is the one that they were rented for."""
    open_: dict[int, Mapping[str, Any]] = {}
    rented: Counter[str] = Counter()
    phases: dict[str, str] = {}
    jobs = {entry.facts["job"]: (entry.time, entry.facts) for entry in entries if entry.what == "arrive"}
    for entry in entries:
        if entry.what == "rent":
            open_[entry.facts["cohort"]] = entry.facts
        elif entry.what == "place" and entry.facts["cohort"] in open_:
            count = open_.pop(entry.facts["cohort"])["vms"]
            rented[entry.facts["job"]] += count
            phases.setdefault(entry.facts["job"], entry.facts["phase"])
    rows = []
    for name, count in rented.most_common(SHOWN):
        arrived, facts = jobs[name]
        rows.append((name, count, phases[name], facts["map_tasks"], facts["reduce_tasks"], facts["due"] - arrived))
    return rows


def _instead(spec: Spec, plan: SchedulePlan) -> str:
    policy = replace(spec.facts.policy, algorithm="frugal", tardy_share=plan.jobs.tardy_share)
    other = run_once(replace(spec, facts=replace(spec.facts, policy=policy)), spec.seed or 0)
    period = policy.late_within or spec.facts.vms[0].billing
    return (f"algorithm = frugal with tardy_share = {100 * plan.jobs.tardy_share:.3g}% would cost "
            f"{other.cost.total:.4g} {spec.currency} instead of {plan.cost.total:.4g}, with {other.jobs.tardy} late "
            f"jobs instead of {plan.jobs.tardy}; those may be late by up to {period / HOUR:g} h a phase (late_within).")
