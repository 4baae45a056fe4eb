"""An audit of a run: its log is replayed machine by machine and checked against the rules of every run.

The simulation counts equal items; the audit tracks single VMs and slots. It uses only the log of the simulation, so
that errors in the counts show.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf

from mrdsl.core.rounding import begun, floor
from mrdsl.families.schedule.plan import SchedulePlan
from mrdsl.families.schedule.trace import jobs as jobs_of
from mrdsl.families.schedule.trace import machine_type
from mrdsl.simulation.fleet import Entry, Job, MachineType
from mrdsl.spec.spec import Spec

TOLERANCE = 1e-7
PHASES = ("map", "reduce")

#: A stretch of work: start, end, and finished tasks or slots taken.
Stretch = tuple[float, float, int]


@dataclass
class _Cohort:
    started: float
    vms: int
    spot: bool
    released: list[tuple[float, int]] = field(default_factory=list)
    evicted: float = inf
    payments: list[tuple[float, int, int, float]] = field(default_factory=list)
    work: dict[str, list[Stretch]] = field(default_factory=lambda: {"map": [], "reduce": []})


def audit(entries: Iterable[Entry], machine: MachineType, jobs: Iterable[Job], cost: float) -> list[str]:
    """Return the errors of a run, in words; empty if it obeys every rule.

    The rules: every job of the stream arrives once and ends once, with each of its tasks done exactly once. Reduce
    tasks begin after the end of the last map task. A cohort runs no more tasks than it has slots, none before a VM's
    start or after its end. Every VM is paid from its start to its end in whole periods (a period that the market ends
    early is refunded at its own price if it is free). The payments sum to ``cost``.
    """
    cohorts: dict[int, _Cohort] = {}
    log = list(entries)
    broken: list[str] = []
    for entry in log:
        _note(entry, cohorts)
    broken += _audit_jobs(log, cohorts, list(jobs))
    for number, cohort in cohorts.items():
        broken += [f"cohort {number}: {what}" for what in _audit_cohort(cohort, machine, log[-1].time)]
    paid = sum(
        vms * periods * machine.billing * price
        for cohort in cohorts.values()
        for _, vms, periods, price in cohort.payments
    )
    if abs(paid - cost) > TOLERANCE * max(1.0, abs(cost)):
        broken.append(f"payments come to {paid}, the bill says {cost}")
    return broken


def _note(entry: Entry, cohorts: dict[int, _Cohort]) -> None:
    facts = entry.facts
    match entry.what:
        case "rent":
            cohorts[facts["cohort"]] = _Cohort(entry.time, facts["vms"], facts["kind"] == "spot")
        case "place":
            cohorts[facts["cohort"]].work[facts["phase"]].append((facts["start"], facts["end"], facts["slots"]))
        case "release":
            cohorts[facts["cohort"]].released.append((entry.time, facts["vms"]))
        case "evict":
            cohorts[facts["cohort"]].evicted = entry.time
        case "pay":
            payment = (entry.time, facts["vms"], facts["periods"], facts["price"])
            cohorts[facts["cohort"]].payments.append(payment)
        case "refund":
            refund = (entry.time, facts["vms"], -facts["periods"], facts["price"])
            cohorts[facts["cohort"]].payments.append(refund)


def _audit_jobs(log: list[Entry], cohorts: dict[int, _Cohort], jobs: list[Job]) -> list[str]:
    broken = []
    arrived = [entry.facts["job"] for entry in log if entry.what == "arrive"]
    ended = {entry.facts["job"]: entry for entry in log if entry.what == "finish"}
    if arrived != [job.name for job in jobs]:
        broken.append("the jobs that arrived are not those of the stream")
    if len(ended) != len(jobs) or sum(entry.what == "finish" for entry in log) != len(jobs):
        broken.append("not every job ended exactly once")
    done: dict[tuple[str, str], list[Stretch]] = {}
    for entry in log:
        if entry.what == "place":
            facts = entry.facts
            each = (facts["end"] - facts["start"]) / facts["tasks_each"]
            end = min(facts["end"], cohorts[facts["cohort"]].evicted)
            finished = facts["tasks_each"] if end == facts["end"] else max(int(floor((end - facts["start"]) / each)), 0)
            done.setdefault((facts["job"], facts["phase"]), []).append((facts["start"], end, finished * facts["slots"]))
    for job in jobs:
        broken += _audit_job(job, done, ended.get(job.name))
    return broken


def _audit_job(job: Job, done: Mapping[tuple[str, str], list[Stretch]], end: Entry | None) -> list[str]:
    broken = []
    last = job.submit
    for phase, tasks in zip(PHASES, job.tasks, strict=True):
        work = done.get((job.name, phase), [])
        if sum(count for _, _, count in work) != tasks:
            broken.append(f"{job.name}: {sum(count for _, _, count in work)} {phase} tasks done, it has {tasks}")
        if any(start < last - TOLERANCE for start, _, _ in work):
            broken.append(f"{job.name}: a {phase} task starts before it may")
        last = max([last, *(until for _, until, _ in work)])
    if end is not None and abs(end.time - last) > TOLERANCE:
        broken.append(f"{job.name} ends at {end.time}, its last task at {last}")
    if end is not None and end.facts["tardy"] != (end.time > job.punctual_until):
        broken.append(f"{job.name} is called late or in time wrongly")
    return broken


def _audit_cohort(cohort: _Cohort, machine: MachineType, over: float) -> list[str]:
    broken = []
    for phase, slots in zip(PHASES, machine.slots, strict=True):
        changes: list[tuple[float, int, int]] = []
        for start, end, lanes in cohort.work[phase]:
            if start < cohort.evicted:
                changes += [(start, 1, lanes), (min(end, cohort.evicted), 0, -lanes)]
            if start < cohort.started + machine.boot - TOLERANCE:
                broken.append("a task starts before its VM")
        running = 0
        for time, _, change in sorted(changes):
            running += change
            there = cohort.vms - sum(vms for gone, vms in cohort.released if gone < time - TOLERANCE)
            if running > there * slots:
                broken.append(f"{running} {phase} tasks on {there} VMs of {slots} slots at {time}")
    return broken + _audit_payments(cohort, machine, over)


def _audit_payments(cohort: _Cohort, machine: MachineType, over: float) -> list[str]:
    """Paid VM periods against the periods started until each VM's release, eviction, or the end of the run."""
    ends = [(time, vms) for time, vms in cohort.released]
    left = cohort.vms - sum(vms for _, vms in ends)
    free = machine.broken_free and cohort.evicted <= over
    if not free:
        ends.append((min(cohort.evicted, over), left))
    due = sum(vms * int(begun((end - cohort.started) / machine.billing)) for end, vms in ends if vms)
    if free:
        due += left * int(floor((cohort.evicted - cohort.started) / machine.billing))
    broken = []
    for (_, _, _, paid_price), (_, _, periods, price) in pairwise(cohort.payments):
        if periods < 0 and price != paid_price:
            broken.append(f"{price} given back, {paid_price} was paid")
    paid = sum(vms * periods for _, vms, periods, _ in cohort.payments)
    return broken if due == paid else [*broken, f"{paid} VM periods paid, {due} were used"]


def audited(spec: Spec, plan: SchedulePlan) -> list[str]:
    """Audit the log of a plan's run, VM by VM and slot by slot."""
    assert plan.log is not None
    jobs = jobs_of(spec.facts, spec.seed or 0)
    return audit(plan.log(), machine_type(spec.facts.vms[0]), jobs, plan.cost.total)
