"""Checks of an energy spec beyond the schema, and constraints that no plan can meet."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from mrdsl.core.diagnostics import Diagnostic, error, number_of, warning
from mrdsl.families.energy.facts import EnergyFacts, Job
from mrdsl.spec.spec import Spec

VM_EXAMPLE = "add `vm m1 { slots { map = 1, reduce = 1 }, on_demand { price = 0.04 USD/h }, available = 6 }`"
JOB_EXAMPLE = (
    "add `job sort { map { tasks = 10 }, reduce { tasks = 2 }, deadline = 1 h, "
    "on m1 { map { time = 300 s, energy = 5000 J }, reduce { time = 500 s, energy = 8000 J } } }`"
)


def check(spec: Spec) -> Iterator[Diagnostic]:
    """Yield names that are not there, tasks that no VM can run, VM types that no job has times for."""
    facts: EnergyFacts = spec.facts
    if not facts.vms:
        yield error("missing-block", "an energy problem needs at least one `vm` block", spec.span, VM_EXAMPLE)
    if not facts.jobs:
        yield error("missing-block", "an energy problem needs at least one `job` block", spec.span, JOB_EXAMPLE)
    unknown = [mistake for job in facts.jobs for mistake in _names(facts, job)]
    yield from unknown
    for job in facts.jobs:
        wrong = _table(facts, job)
        yield from wrong
        yield from () if wrong else _runnable(facts, job)
    if not unknown and all(job.task_times is None for job in facts.jobs):
        yield from _unused(facts)


def _table(facts: EnergyFacts, job: Job) -> tuple[Diagnostic, ...]:
    """Return the errors in the table of a job's single tasks."""
    if job.task_times is None:
        return ()
    from mrdsl.exchange.demand import read_task_times

    counts = {"map": job.map.tasks, "reduce": job.reduce_tasks}
    return read_task_times(job.task_times, counts, [vm.name for vm in facts.vms])[1]


def _names(facts: EnergyFacts, job: Job) -> Iterator[Diagnostic]:
    known = [vm.name for vm in facts.vms]
    for profile in job.on:
        if profile.name not in known:
            near = get_close_matches(profile.name, known, n=1)
            yield error(
                "unknown-name",
                f'job {job.name} has times on "{profile.name}", but there is no such vm',
                profile.span,
                f"did you mean `{near[0]}`?" if near else "vms: " + ", ".join(f"`{name}`" for name in known),
            )


def _runnable(facts: EnergyFacts, job: Job) -> Iterator[Diagnostic]:
    there = {vm.name for vm in facts.vms if vm.available > 0}
    if job.task_times is not None:
        yield from _single_runnable(facts, job, there)
        return
    rows = [("map", job.map.tasks, job.map.span, [p.name for p in job.on if p.map is not None])]
    if job.reduce is not None and job.reduce.tasks:
        rows.append(("reduce", job.reduce.tasks, job.reduce.span, [p.name for p in job.on if p.reduce is not None]))
    for kind, tasks, span, able in rows:
        if not there.intersection(able):
            yield error(
                "no-machine",
                f"no available vm can run the {number_of(tasks, f'{kind} task')} of job {job.name}",
                span or job.span,
                f'give {kind} {{ time, energy }} in an `on "VM"` block of {job.name}, for a vm with available above 0',
            )


def _single_runnable(facts: EnergyFacts, job: Job, there: set[str]) -> Iterator[Diagnostic]:
    from mrdsl.families.energy.verify import single_tasks

    able = {(kind, task) for kind, task, vm in single_tasks(facts, job) if vm in there}
    for kind, tasks in (("map", job.map.tasks), ("reduce", job.reduce_tasks)):
        lost = [task for task in range(1, tasks + 1) if (kind, task) not in able]
        if lost:
            yield error(
                "no-machine",
                f"no available vm can run {kind} task {lost[0]} of job {job.name}",
                job.span_of("task_times"),
                f'add a row of it to the table, or {kind} {{ time, energy }} to an `on "VM"` block',
            )


def _unused(facts: EnergyFacts) -> Iterator[Diagnostic]:
    timed = {profile.name for job in facts.jobs for profile in job.on if profile.map or profile.reduce}
    for vm in facts.vms:
        if vm.name not in timed:
            yield warning(
                "unused",
                f'no job has times on vm "{vm.name}": it is never used',
                vm.span,
                f'add `on "{vm.name}" {{ map {{ time, energy }}, reduce {{ time, energy }} }}` to a job, or remove it',
            )
