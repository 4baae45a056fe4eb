"""Plans from VMs and their tasks, for methods that are not part of mrdsl."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from mrdsl.core.decisions import complete, plan_builder, wrong
from mrdsl.core.diagnostics import Diagnostic, MrdslError, described, did_you_mean, error
from mrdsl.families.energy.assignment import Placed, Share, Slots, plan_of, share_of
from mrdsl.families.energy.cluster import JobData, Machines, jobs_of, machines_of
from mrdsl.families.energy.plan import EnergyPlan
from mrdsl.spec.spec import Spec

TasksOf = int | Sequence[Sequence[int]]
"""How many tasks a VM runs; or the numbers of the tasks on each slot, from 1, of a job whose tasks differ."""


@plan_builder("energy")
def plan_with(spec: Spec, vms: Mapping[str, Sequence[tuple[str, TasksOf, TasksOf]]]) -> EnergyPlan:
    """Return the plan in which each job takes these VMs.

    Args:
        spec: The spec.
        vms: The VMs of each job by its name: for each VM its type, its map tasks and its reduce tasks, such as
            ``("m5", 4, 1)``. A job with ``task_times`` has the numbers of the tasks on each slot instead, such as
            ``("m5", [[1, 3], [2]], [[1], []])``.

    Returns:
        The plan. mrdsl checks it against the spec when a method returns it.

    Raises:
        MrdslError: `unknown-name`, `missing-item` or `wrong-value`.
    """
    machines, jobs = machines_of(spec.facts), jobs_of(spec.facts)
    complete(vms, [job.name for job in jobs], "job", "VMs")
    rows = [vms[job.name] for job in jobs]
    for job, row in zip(jobs, rows, strict=True):
        if not isinstance(row, Sequence) or isinstance(row, str):
            raise MrdslError([wrong(f"the VMs of job `{job.name}` must be a list, got {described(row)}")])
    mistakes = [
        each for job, row in zip(jobs, rows, strict=True) for vm in row for each in _mistakes(machines, job, vm)
    ]
    if mistakes:
        raise MrdslError(mistakes)
    return plan_of(spec, [_share(machines, job, row) for job, row in zip(jobs, rows, strict=True)])


def _share(machines: Machines, job: JobData, row: Sequence[tuple[str, TasksOf, TasksOf]]) -> Share:
    types = np.array([machines.names.index(name) for name, _, _ in row], dtype=np.int64)
    if job.single is not None:
        return share_of(types, tuple(Placed(_slots(maps), _slots(reduces)) for _, maps, reduces in row))
    maps, reduces = (np.array([vm[kind] for vm in row], dtype=np.int64) for kind in (1, 2))
    return Share(types, maps, reduces)


def _slots(tasks: TasksOf) -> Slots:
    assert not isinstance(tasks, int)
    return tuple(tuple(task - 1 for task in slot) for slot in tasks)


def _mistakes(machines: Machines, job: JobData, vm: tuple[str, TasksOf, TasksOf]) -> Iterator[Diagnostic]:
    if not isinstance(vm, tuple | list) or len(vm) != 3:
        yield wrong(f"a VM of job `{job.name}` must have 3 entries, got {described(vm)}", 'write ("TYPE", MAP, REDUCE)')
        return
    name, *sides = vm
    if not isinstance(name, str) or name not in machines.names:
        yield error("unknown-name", f"there is no vm `{name}`", None, did_you_mean(str(name), machines.names))
        return
    kind, where = machines.names.index(name), f"of job `{job.name}` on `{name}`"
    there = (
        ("map", job.map_tasks, job.map_time, machines.map_slots),
        ("reduce", job.reduce_tasks, job.reduce_time, machines.reduce_slots),
    )
    for tasks, (phase, most, time, slots) in zip(sides, there, strict=True):
        if job.single is not None:
            if isinstance(tasks, int) or len(tasks) > slots[kind]:
                yield wrong(f"{phase} tasks {where} must be lists of numbers, at most {slots[kind]}, one for each slot")
            elif any(not 1 <= task <= most for slot in tasks for task in slot):
                yield wrong(f"numbers of {phase} tasks {where} must be between 1 and {most}")
        elif not isinstance(tasks, int | np.integer) or not 0 <= tasks <= most:
            yield wrong(f"{phase} tasks {where} must be a whole number between 0 and {most}, got {tasks}")
        elif tasks and not np.isfinite(time[kind]):
            yield wrong(f"{phase} tasks {where} cannot run: the job has no `on {name}` with a {phase} time")
