"""Report, explanation and settings of a policy's run.

For YARN's load simulator a run is a cluster: its jobs as they arrive, on its machines at their most.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

from mrdsl.contracts.family import Operated, settings_of
from mrdsl.core.charts import Chart, Interval, IntervalChart, parts_chart
from mrdsl.core.diagnostics import number_of
from mrdsl.core.result import Result, Table
from mrdsl.core.units import HOUR, show
from mrdsl.exchange.registry import SLS, Target
from mrdsl.exchange.targets.deployment import FIRM, Deployment, Group, MachineType, Share, TargetError, Tasks, Workload
from mrdsl.families.schedule.facts import Policy, ScheduleFacts
from mrdsl.families.schedule.plan import SchedulePlan
from mrdsl.families.schedule.simulate import run_once
from mrdsl.families.schedule.trace import jobs
from mrdsl.families.schedule.trace import jobs as jobs_of
from mrdsl.reporting.report import Shown
from mrdsl.simulation.fleet import Entry, Job
from mrdsl.spec.spec import Spec


def report(spec: Spec, result: Result) -> Shown:
    """Report the cost of the policy and its late jobs; money by kind of VM, lateness."""
    plan = result.plan
    assert isinstance(plan, SchedulePlan)
    late = (
        f"{plan.jobs.tardy:,} ({100 * plan.jobs.tardy_share:.3g} %) end late" if plan.jobs.tardy else "none ends late"
    )
    kinds = spec.facts.policy.instances.replace("_", " ")
    decision = (
        f"{spec.facts.policy.algorithm} on {kinds} VMs runs {number_of(plan.jobs.count, 'job', ',')} for "
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


OWN = "which VMs are rented when, the policy decides as jobs come; `mrdsl compare` shows what that came to"


def operated(spec: Spec, _: SchedulePlan) -> Operated:
    """Return the policy's options."""
    return Operated(settings_of(spec.facts.policy, "policy"), OWN)


SHOWN = 5
NEVER = "due before one wave of its tasks can end"
BOOT = "due before a new VM has booted and run one wave of its tasks"
EVICTED = "an eviction took tasks of it"
WAITED = "it waited before it was served"
FRACTIONS = "its slots are too few for whole waves: (3.15) takes waves as fractions"
UNUSED = "slots stood idle that it was not given: `idle = sized`"
AGAIN = "VMs for its reduce tasks booted again"
BEHIND = "its tasks ran behind those of others"
ON_PURPOSE = "late on purpose, where it saves most"


def why(spec: Spec, result: Result) -> tuple[Table | str, ...]:
    """Return causes of lateness, the jobs that VMs were rented for, and what ``frugal`` would do with as many late
    jobs.
    """
    plan = result.plan
    if plan is None:
        return ()
    if not isinstance(plan, SchedulePlan) or plan.log is None:
        return ("The offline optimum knows every job and price beforehand: it has no decisions to explain.",)
    entries = plan.log()
    told: list[Table | str] = []
    if plan.jobs.tardy:
        told.append(Table("Causes of late jobs", ("cause", "jobs", "late by, mean [s]"), _causes(spec, entries)))
    else:
        told.append("No job is late.")
    told.append(
        Table(
            "Jobs that most VMs were rented for",
            ("job", "VMs", "for", "map tasks", "reduce tasks", "due after [s]"),
            _renters(entries),
        )
    )
    if spec.facts.policy.algorithm != "frugal":
        told.append(_instead(spec, plan))
    return tuple(told)


def _causes(spec: Spec, entries: Sequence[Entry]) -> list[tuple[str, int, float]]:
    policy, boot = spec.facts.policy, spec.facts.vms[0].boot
    stories = _stories(entries)
    late: dict[str, list[float]] = {}
    for job in jobs_of(spec.facts, spec.seed or 0):
        story = stories[job.name]
        if story.tardy:
            by = story.end - job.due
            late.setdefault(_cause(job, story, boot, policy), []).append(by)
    return [(cause, len(by), sum(by) / len(by)) for cause, by in sorted(late.items(), key=lambda each: -len(each[1]))]


@dataclass
class _Story:
    """History of a job: possible and actual start of each phase, its sizing and the idle slots then, its end."""

    begun: dict[str, float]
    served: dict[str, tuple[int, int]] = field(default_factory=dict)
    placed: dict[str, float] = field(default_factory=dict)
    booting: bool = False
    evicted: bool = False
    end: float = 0.0
    tardy: bool = False

    @property
    def waited(self) -> float:
        """Seconds between a phase's begin and its first placement, over both phases."""
        return sum(self.placed[phase] - begun for phase, begun in self.begun.items())


def _stories(entries: Sequence[Entry]) -> dict[str, _Story]:
    gone = {entry.facts["cohort"]: entry.time for entry in entries if entry.what == "evict"}
    stories: dict[str, _Story] = {}
    for entry in entries:
        facts = entry.facts
        match entry.what:
            case "arrive":
                stories[facts["job"]] = _Story({"map": entry.time})
            case "serve":
                stories[facts["job"]].served.setdefault(facts["phase"], (facts["slots"], facts["idle"]))
            case "place":
                story = stories[facts["job"]]
                taken = gone.get(facts["cohort"], inf)
                story.placed.setdefault(facts["phase"], entry.time)
                story.evicted |= taken < facts["end"]
                story.booting |= facts["phase"] == "reduce" and facts["start"] > entry.time
                if facts["phase"] == "map":
                    story.begun["reduce"] = max(story.begun.get("reduce", 0.0), min(facts["end"], taken))
            case "finish":
                stories[facts["job"]].end, stories[facts["job"]].tardy = entry.time, facts["tardy"]
    for story in stories.values():
        if "reduce" not in story.placed:
            story.begun.pop("reduce", None)
    return stories


def _cause(job: Job, story: _Story, boot: float, policy: Policy) -> str:
    """Return the first reason without which the job would have been on time; (3.15) only if whole waves show it."""
    least = sum(job.durations)
    if job.submit + least > job.punctual_until:
        return NEVER
    if job.submit + boot + least > job.punctual_until:
        return BOOT
    if story.evicted:
        return EVICTED
    if policy.algorithm == "frugal":
        return ON_PURPOSE
    if story.waited > 0.0 and story.end - story.waited <= job.punctual_until:
        return WAITED
    if policy.idle == "sized" and _ends(job, story, boot, every_idle=True) <= job.punctual_until:
        return UNUSED
    if _ends(job, story, boot, every_idle=False) > job.punctual_until:
        return FRACTIONS
    return AGAIN if story.booting else BEHIND


def _ends(job: Job, story: _Story, boot: float, every_idle: bool) -> float:
    """Return the end of whole waves on the slots of its sizing, or on the idle slots if those are more."""
    end = story.placed["map"]
    for phase, tasks, duration in zip(("map", "reduce"), job.tasks, job.durations, strict=True):
        if tasks:
            sized, idle = story.served[phase]
            slots = max(sized, min(idle, tasks)) if every_idle else sized
            end += -(-tasks // slots) * duration + (boot if phase == "map" and slots > idle else 0.0)
    return end


def _renters(entries: Sequence[Entry]) -> list[tuple[Any, ...]]:
    """Return the job whose tasks are placed first on rented VMs is the one that they were rented for."""
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
    period = policy.late_within or spec.facts.vms[0].paid_by.period
    return (
        f"algorithm = frugal with tardy_share = {100 * plan.jobs.tardy_share:.3g}% would cost "
        f"{other.cost.total:.4g} {spec.currency} instead of {plan.cost.total:.4g}, with {other.jobs.tardy} late "
        f"jobs instead of {plan.jobs.tardy}; those may be late by up to {period / HOUR:g} h a phase (late_within)."
    )


def deployments(spec: Spec, plan: SchedulePlan) -> tuple[Deployment, ...]:
    """Return the one cluster of a run. Raises TargetError if the run is unknown, as in a saved plan."""
    facts: ScheduleFacts = spec.facts
    if plan.log is None:
        raise TargetError(
            "a saved plan does not have the run, and so not how many machines there were", "give the spec"
        )
    vm = facts.vms[0]
    most = most_machines(plan.log())
    slots = vm.slots.map + vm.slots.reduce
    loads = tuple(_workload(job, vm.name, slots) for job in jobs(facts, spec.seed or 0))
    return (
        Deployment(
            (MachineType(vm.name, price=vm.on_demand.price),),
            (Group(vm.name, FIRM, most),) if most else (),
            loads,
            currency=spec.currency,
            notes=(
                f"machines that come and go - there are {most} all the time as the policy had at most",
                "deadlines - the simulator knows none",
                f"kinds of slots - any task takes any of the {slots} of a machine",
            ),
        ),
    )


def _workload(job: Job, vm: str, slots: int) -> Workload:
    tasks = [Tasks("map", job.map_tasks, job.map_tasks, slots, seconds=job.map_time)]
    if job.reduce_tasks:
        seconds = job.shuffle_time + job.reduce_time
        tasks.append(Tasks("reduce", job.reduce_tasks, job.reduce_tasks, slots, seconds=seconds))
    return Workload(job.name, 1.0, (Share(vm, FIRM, 1, tuple(tasks)),), starts=(job.submit,))


def most_machines(log: Sequence[Entry]) -> int:
    """Return the greatest number of machines at one time."""
    there = most = 0
    for entry in log:
        if entry.what == "rent":
            there += entry.facts["vms"]
        elif entry.what in ("release", "evict"):
            there -= entry.facts["vms"]
        most = max(most, there)
    return most


def targets() -> tuple[Target, ...]:
    """Return the export targets of plans."""
    return (SLS,)
