"""From slots to containers: what one task takes, and what is left to the system.

A class that says its ``container`` has these sizes, and a VM's ``cores`` and ``memory`` are then what tasks may use of
it: what the system takes is left out by whoever writes them. Where a class says its slots alone, a VM is divided: one
core and one GiB of it are the system's, and the rest is divided by the slots.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import floor

from mrdsl.core.whole_numbers import ceiling
from mrdsl.exchange.targets.deployment import Deployment, Share, TargetError, Tasks, Workload

MIB = 2**20
SYSTEM_CORES = 1
SYSTEM_MEMORY = 1024 * MIB
"""What the operating system and Hadoop's daemons have of each VM that is divided here."""
STEP = 128
"""Memory of a divided VM is a multiple of so many MiB."""


@dataclass(frozen=True)
class Size:
    """What one task takes: cores, which may be a part of one, and MiB."""

    cores: float
    memory: int

    @property
    def vcores(self) -> int:
        """Cores as whole numbers, as YARN and Spark count them: at least one."""
        return max(1, int(ceiling(self.cores)))

    def joined(self, other: Size) -> Size:
        """The larger of both, in each of its parts."""
        return Size(max(self.cores, other.cores), max(self.memory, other.memory))


def size_of(deployment: Deployment, load: Workload, kind: str) -> Size:
    """What one task of a kind takes on every type that the class runs on: where types differ, the least.

    Raises TargetError where the spec does not say it.
    """
    sizes = [_on_type(deployment, load, share, one) for share in load.shares for one in share.tasks if one.kind == kind]
    return Size(min(size.cores for size in sizes), min(size.memory for size in sizes))


def sizes_of(deployment: Deployment, load: Workload) -> dict[str, Size]:
    """What one task of each kind of the class takes. Raises TargetError where the spec does not say it."""
    return {kind: size_of(deployment, load, kind) for kind in kinds_of(load)}


def kinds_of(load: Workload) -> tuple[str, ...]:
    """The kinds of tasks that the class has slots for."""
    return tuple(dict.fromkeys(one.kind for share in load.shares for one in share.tasks))


def at_once(load: Workload, kind: str) -> int:
    """How many tasks of a kind all jobs of the class run at the same time."""
    return sum(one.at_once for share in load.shares for one in share.tasks if one.kind == kind)


def per_job(load: Workload, kind: str) -> tuple[int, int]:
    """The least and the most tasks of a kind that one job runs at once: all jobs together run as many as planned."""
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
            f"nothing says what {' and '.join(missing)} a {_words(one)} of class {load.name} takes on {vm.name}",
            f"write `vm {vm.name} {{ cores = 4, memory = 16 GiB, .. }}`, what tasks may use of one, or in the class "
            f"`container {{ {one.kind} {{ cores = 1, memory = 2 GiB }} }}` in place of slots; a spec that has no place "
            "for them takes --cores 4 --memory '16 GiB'",
        )
    assert cores is not None
    assert memory is not None
    if cores <= 0 or memory < MIB:
        raise TargetError(
            f"a {vm.name} has no room for {one.per_vm} times a {_words(one)} of class {load.name} beside the system",
            "give the vm more cores or memory, or the class fewer slots",
        )
    return Size(cores, floor(memory / MIB))


def _words(one: Tasks) -> str:
    return "task" if one.kind == "task" else f"{one.kind} task"


def sized(deployment: Deployment, loads: Iterable[Workload]) -> bool:
    """Whether the spec says what every task takes."""
    if not deployment.types:
        return False
    try:
        for load in loads:
            sizes_of(deployment, load)
    except TargetError:
        return False
    return True
