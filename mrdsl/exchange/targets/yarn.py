"""YARN: the queues of both schedulers, and the containers that machines offer and jobs ask for.

Two layers, as in section 2 of Cano et al.: all of YARN's capacity goes to ``root.mapreduce``, whose queues are the
classes. Sharing is work-conserving: other queues, and a single user too, may take an idle queue's slots.

If a class gives its ``container``, tasks have these sizes, and a VM's ``cores`` and ``memory`` are what tasks may use
of it, without the system's part. If a class gives its slots alone, a VM is divided: one core and one GiB of it are the
system's, and the rest is divided by the slots.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import ceil, floor, gcd, log10

from mrdsl.core.rounding import ceiling
from mrdsl.exchange.markup import settings
from mrdsl.exchange.schedulers import (
    ROOT,
    FairQueue,
    Queue,
    capacity_scheduler,
    capacity_settings,
    fair_scheduler,
    percentages,
)
from mrdsl.exchange.targets.deployment import (
    Deployment,
    Exported,
    Share,
    TargetError,
    Tasks,
    Wishes,
    Workload,
    file_words,
    queue_names,
)

MIB = 2**20
SYSTEM_CORES = 1
SYSTEM_MEMORY = 1024 * MIB
"""Memory of the operating system and of Hadoop's daemons on each VM."""
STEP = 128
"""Step of the memory of containers on a VM [MiB]."""


@dataclass(frozen=True)
class Size:
    """The size of one task: cores, possibly a part of one, and MiB."""

    cores: float
    memory: int

    @property
    def vcores(self) -> int:
        """Cores as whole numbers, as YARN and Spark count them: at least one."""
        return max(1, int(ceiling(self.cores)))

    def joined(self, other: Size) -> Size:
        """Return the larger of both, in each of its parts."""
        return Size(max(self.cores, other.cores), max(self.memory, other.memory))


def size_of(deployment: Deployment, load: Workload, kind: str) -> Size:
    """Return the size of a task of a kind: the smallest of those on the types of the class.

    Raises TargetError if the spec does not give it.
    """
    sizes = [_on_type(deployment, load, share, one) for share in load.shares for one in share.tasks if one.kind == kind]
    return Size(min(size.cores for size in sizes), min(size.memory for size in sizes))


def sizes_of(deployment: Deployment, load: Workload) -> dict[str, Size]:
    """Return the size of a task of each kind of the class. Raises TargetError if the spec does not give it."""
    return {kind: size_of(deployment, load, kind) for kind in kinds_of(load)}


def kinds_of(load: Workload) -> tuple[str, ...]:
    """Return the kinds of tasks that the class has slots for."""
    return tuple(dict.fromkeys(one.kind for share in load.shares for one in share.tasks))


MASTER_MEMORY = 1536
"""MiB of the application master of a MapReduce job by default: hadoop.apache.org, mapred-default.xml."""


def masters_of(load: Workload) -> Size:
    """Return the container of the driver or application master of each job."""
    if load.driver is not None:
        return Size(load.driver.cores, int(load.driver.memory / MIB))
    memory = SYSTEM_MEMORY // MIB if "task" in kinds_of(load) else MASTER_MEMORY
    return Size(SYSTEM_CORES, memory)


def container_of(load: Workload, kind: str, size: Size) -> tuple[Size, int]:
    """Return the size of the containers of a kind, and how many of them all jobs of the class have."""
    if load.executor is None:
        return size, at_once(load, kind)
    executor = Size(load.executor.cores, int(load.executor.memory / MIB))
    return executor, -(-at_once(load, kind) // load.executor.tasks)


def at_once(load: Workload, kind: str) -> int:
    """Return the number of concurrent tasks of a kind in all jobs of the class."""
    return sum(one.at_once for share in load.shares for one in share.tasks if one.kind == kind)


def per_job(load: Workload, kind: str) -> tuple[int, int]:
    """Return the least and the most tasks of a kind that one job runs at once: all jobs together run as many as
    planned.
    """
    held = [(one.at_once, share.jobs) for share in load.shares for one in share.tasks if one.kind == kind]
    return min(slots // jobs for slots, jobs in held), max(-(-slots // jobs) for slots, jobs in held)


def _on_type(deployment: Deployment, load: Workload, share: Share, one: Tasks) -> Size:
    vm = deployment.type_of(share.vm)
    cores, memory = one.cores, one.memory
    if cores is None and vm.cores is not None:
        cores = max(vm.cores - SYSTEM_CORES, vm.cores / 2) / one.per_vm
        cores = floor(cores) if cores >= 1 else floor(100 * cores) / 100
    if memory is None and vm.memory is not None:
        memory = STEP * MIB * floor(max(vm.memory - SYSTEM_MEMORY, 0.0) / one.per_vm / MIB / STEP)
    missing = [word for word, value in (("cores", cores), ("memory", memory)) if value is None]
    if missing:
        raise TargetError(
            f"the {' and '.join(missing)} of a {_words(one)} of class {load.name} on {vm.name} are unknown",
            f"write `vm {vm.name} {{ cores = 4, memory = 16 GiB, .. }} (the part for tasks), or in the class "
            f"`container {{ {one.kind} {{ cores = 1, memory = 2 GiB }} }}` instead of slots; "
            "for other specs add --cores 4 --memory '16 GiB'",
        )
    assert cores is not None
    assert memory is not None
    if cores <= 0 or memory < MIB:
        raise TargetError(
            f"a {vm.name} has no room for {one.per_vm} times a {_words(one)} of class {load.name} and the system",
            "give the vm more cores or memory, or the class fewer slots",
        )
    return Size(cores, floor(memory / MIB))


def _words(one: Tasks) -> str:
    return "task" if one.kind == "task" else f"{one.kind} task"


def sized(deployment: Deployment, loads: Iterable[Workload]) -> bool:
    """Return True if the spec gives the size of every task."""
    if not deployment.types:
        return False
    try:
        for load in loads:
            sizes_of(deployment, load)
    except TargetError:
        return False
    return True


LAYER = "mapreduce"
MEMORY = "yarn.nodemanager.resource.memory-mb"
VCORES = "yarn.nodemanager.resource.cpu-vcores"
UNSIZED = "cores and memory of a task - the spec does not contain them, so queues have only shares"
MASTER = "the master of each application - YARN gives it a container in addition to the planned tasks"
UNIT = "yarn.scheduler.minimum-allocation-mb"
LEAST_UNIT = 32
"""Least step of the memory of containers [MiB], as on EMR."""


def yarn(deployment: Deployment, _: Wishes) -> Exported:
    """Return ``capacity-scheduler.xml``, ``fair-scheduler.xml``, ``yarn-site-TYPE.xml`` and ``mapred-CLASS.xml``.

    Raises ValueError if there is no class.
    """
    loads = deployment.workloads
    if not loads:
        raise ValueError("there is no class, and so no queue")
    names = queue_names([load.name for load in loads])
    known = sized(deployment, loads)
    notes = [*deployment.notes, *_of_masters(loads), *([] if known else [UNSIZED])]
    comments = (*deployment.origin.lines(), *(f"not exported: {note}" for note in notes))
    sizes = [sizes_of(deployment, load) if known else {} for load in loads]
    files = {
        "capacity-scheduler.xml": capacity_scheduler(_tree(deployment, names, sizes), comments),
        "fair-scheduler.xml": fair_scheduler((_layer(loads, names, sizes),), comments),
    }
    if not deployment.part:
        for word, name, load, size in zip(file_words(names), names, loads, sizes, strict=True):
            if "task" not in kinds_of(load):
                files[f"mapred-{word}.xml"] = settings(_job(name, load, size), comments)
    if known and not deployment.part:
        machines = machine_settings(deployment, loads, sizes)
        for word, site in zip(file_words(machines), machines.values(), strict=True):
            files[f"yarn-site-{word}.xml"] = settings(site, comments)
    return Exported(files, tuple(notes))


@dataclass(frozen=True)
class ClusterSettings:
    """YARN settings of a cluster: the queues, the settings of all machines, and the resources of one of each type.

    If types differ, all machines offer their hardware, which is at least what they need to offer.
    """

    queues: Mapping[str, str]
    everywhere: Mapping[str, str]
    machines: Mapping[str, Mapping[str, str]]
    notes: tuple[str, ...] = ()


def cluster_settings(deployment: Deployment) -> ClusterSettings:
    """Return the settings for a service that runs YARN; empty without classes."""
    loads = deployment.workloads
    if not loads:
        return ClusterSettings({}, {}, {})
    names = queue_names([load.name for load in loads])
    queues = capacity_settings(_tree(deployment, names))
    if not sized(deployment, loads):
        return ClusterSettings(queues, {}, {}, (*_of_masters(loads), UNSIZED))
    machines = machine_settings(deployment, loads, [sizes_of(deployment, load) for load in loads])
    first, *others = machines.values()
    alike = all(site == first for site in others)
    return ClusterSettings(
        queues,
        first if alike else {UNIT: first[UNIT], **_detected(deployment, machines)},
        machines,
        tuple(_of_masters(loads)),
    )


def _detected(deployment: Deployment, machines: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Return one setting for machines of several types: each offers its hardware, reduced by resources that no task
    needs.
    """
    rest = [
        memory / MIB - int(site[MEMORY])
        for vm, site in machines.items()
        if (memory := deployment.type_of(vm).memory) is not None
    ]
    return {
        "yarn.nodemanager.resource.detect-hardware-capabilities": "true",
        "yarn.nodemanager.resource.count-logical-processors-as-cores": "true",
        MEMORY: "-1",
        VCORES: "-1",
        "yarn.nodemanager.resource.system-reserved-memory-mb": str(max(0, int(min(rest, default=0)))),
    }


def _of_masters(loads: Sequence[Workload]) -> Iterator[str]:
    if any(load.driver is None for load in loads):
        yield MASTER


def queues_of(deployment: Deployment, loads: Sequence[Workload]) -> list[str]:
    """Return the queues of some classes, by the names that they have among all."""
    every = deployment.workloads
    named = dict(zip((load.name for load in every), queue_names([load.name for load in every]), strict=True))
    return [named[load.name] for load in loads]


def _tree(deployment: Deployment, names: Sequence[str], sizes: Sequence[Mapping[str, Size]] = ()) -> Queue:
    loads = deployment.workloads
    digits = max(3, ceil(log10(len(names))) + 1)
    shares = percentages([load.weight for load in loads], digits)
    queues = tuple(
        Queue(
            name,
            share,
            user_limit=ceil(100 / share) if share else None,
            running=load.jobs or None,
            masters=_share_of_masters(load, size) if size else None,
            note=f"{load.name}: {_slots(load)} slots at once",
        )
        for name, load, share, size in zip(names, loads, shares, sizes or [{}] * len(loads), strict=True)
    )
    return Queue(ROOT, children=(Queue(LAYER, children=queues),), note=_held(deployment))


def _share_of_masters(load: Workload, sizes: Mapping[str, Size]) -> Decimal:
    """Return the part of a class's containers that its drivers are, in steps of 5 %, at least the usual 10 %."""
    master, (cores, memory) = masters_of(load), _demand(load, sizes)
    cores, memory = (max(each, 1) for each in (cores, memory))
    part = max(load.jobs * master.vcores / cores, load.jobs * master.memory / memory)
    return min(Decimal(1), Decimal(max(2, ceil(20 * part))) / 20)


def _held(deployment: Deployment) -> str:
    part = f"{deployment.part}: " if deployment.part else ""
    machines = ", ".join(f"{group.count} {group.vm}" for group in deployment.groups)
    return f"{part}{machines}"


def _slots(load: Workload) -> str:
    return " and ".join(f"{at_once(load, kind)} {kind}" for kind in kinds_of(load)) or "no"


def _layer(loads: Sequence[Workload], names: Sequence[str], sizes: Sequence[Mapping[str, Size]]) -> FairQueue:
    return FairQueue(
        LAYER,
        children=tuple(
            FairQueue(
                name,
                load.weight,
                _demand(load, size)[1] if size else None,
                _demand(load, size)[0] if size else None,
                load.jobs,
            )
            for name, load, size in zip(names, loads, sizes, strict=True)
        ),
    )


def _demand(load: Workload, sizes: Mapping[str, Size]) -> tuple[int, int]:
    """Return the cores and the memory [MiB] of the planned containers of a class, its drivers included."""
    held = [container_of(load, kind, each) for kind, each in sizes.items()]
    if load.driver is not None:
        held.append((masters_of(load), load.jobs))
    return sum(size.vcores * count for size, count in held), sum(size.memory * count for size, count in held)


def _job(queue: str, load: Workload, sizes: Mapping[str, Size]) -> dict[str, str]:
    """Return the settings of one job of the class: as many concurrent tasks as the plan's largest job has."""
    found = {"mapreduce.job.queuename": f"{ROOT}.{LAYER}.{queue}"}
    for kind in kinds_of(load):
        found[f"mapreduce.job.running.{kind}.limit"] = str(per_job(load, kind)[1])
        if kind in sizes:
            found[f"mapreduce.{kind}.memory.mb"] = str(sizes[kind].memory)
            found[f"mapreduce.{kind}.cpu.vcores"] = str(sizes[kind].vcores)
    reduces = [one.of_job for share in load.shares for one in share.tasks if one.kind == "reduce" and one.of_job]
    if reduces:
        found["mapreduce.job.reduces"] = str(reduces[0])
    elif kinds_of(load) == ("map",):
        found["mapreduce.job.reduces"] = "0"
    return found


def machine_settings(
    deployment: Deployment, loads: Sequence[Workload], sizes: Sequence[Mapping[str, Size]]
) -> dict[str, dict[str, str]]:
    """Return the resources of each type: room for the slots of the plan, for the class that needs most.

    A type whose machines the plan fills with containers offers all that it has for them, so that drivers find room.
    """
    taken: dict[str, list[Size]] = {}
    for vm, need in _needs(loads, sizes):
        taken.setdefault(vm, []).append(need)
    given = all(map(sizes_given, loads))
    for vm, needs in taken.items():
        if given and (there := deployment.type_of(vm).for_containers) is not None:
            needs.append(Size(floor(there[0]), floor(there[1] / MIB)))
    asked = [
        container_of(load, kind, each)[0]
        for load, size in zip(loads, sizes, strict=True)
        for kind, each in size.items()
    ]
    unit = max(LEAST_UNIT, gcd(*(each.memory for each in (*asked, *map(masters_of, loads)))))
    held = {group.vm for group in deployment.groups}
    return {
        vm: {
            MEMORY: str(max(need.memory for need in needs)),
            VCORES: str(max(need.vcores for need in needs)),
            UNIT: str(unit),
        }
        for vm, needs in taken.items()
        if vm in held
    }


def sizes_given(load: Workload) -> bool:
    """Return True if the spec gives the cores and the memory of all tasks of a class."""
    every = (one for share in load.shares for one in share.tasks)
    return all(one.cores is not None and one.memory is not None for one in every)


def _needs(loads: Sequence[Workload], sizes: Sequence[Mapping[str, Size]]) -> Iterator[tuple[str, Size]]:
    for load, size in zip(loads, sizes, strict=True):
        for share in load.shares:
            for one in share.tasks:
                each, _ = container_of(load, one.kind, size[one.kind])
                count = one.per_vm if load.executor is None else one.per_vm // load.executor.tasks
                yield share.vm, Size(count * each.vcores, count * each.memory)
