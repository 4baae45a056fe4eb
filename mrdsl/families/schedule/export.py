"""A run of a policy as a cluster for YARN's load simulator: its jobs as they arrive, on its machines at their most."""

from __future__ import annotations

from collections.abc import Sequence

from mrdsl.exchange.registry import SLS, Target
from mrdsl.exchange.targets.deployment import FIRM, Deployment, Group, MachineType, Share, TargetError, Tasks, Workload
from mrdsl.families.schedule.facts import ScheduleFacts
from mrdsl.families.schedule.plan import SchedulePlan
from mrdsl.families.schedule.trace import jobs
from mrdsl.simulation.rental import Entry, Job
from mrdsl.spec.spec import Spec


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
