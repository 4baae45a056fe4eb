"""Machine types and tasks of an export, from the VM types and classes of a spec."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from mrdsl.core.rounding import ceiling
from mrdsl.exchange.targets.deployment import Container, MachineType, Tasks
from mrdsl.formulas.containers import RESOURCES, left_to_containers
from mrdsl.formulas.pairs import run_on
from mrdsl.spec.blocks import Resources


def machine_types(vms: Sequence[Any]) -> tuple[MachineType, ...]:
    """Return the machine types of VM types."""
    left = [left_to_containers(vms, resource) for resource in RESOURCES]
    return tuple(
        MachineType(
            vm.name,
            vm.cores,
            vm.memory,
            vm.on_demand.price,
            None
            if vm.system is None or vm.cores is None or vm.memory is None
            else (vm.cores - float(left[0][place]), vm.memory - float(left[1][place])),
            None if vm.spot is None else vm.spot.price,
            None if vm.disk is None else vm.disk.size,
            vm.disk is not None and vm.disk.price > 0.0,
        )
        for place, vm in enumerate(vms)
    )


def tasks_on(node: Any, vm: str, slots: tuple[float, float], per_vm: tuple[int, int]) -> Iterator[Tasks]:
    """Yield the tasks of the class on the type, by kind, with a whole number of slots."""
    there, speed = run_on(node, vm)
    if there.stages:
        counts = [(stage.tasks, stage.avg) for stage in there.stages]
        work = sum(tasks * seconds for tasks, seconds in counts)
        most = max(tasks for tasks, _ in counts)
        every = sum(tasks for tasks, _ in counts)
        yield _kind(node, "task", most, slots[0], per_vm[0], work / every / speed)
        return
    for kind, phase, held, hosted in zip(("map", "reduce"), (there.map, there.reduce), slots, per_vm, strict=True):
        if held > 0:
            seconds = None if phase is None else phase.avg / speed
            if kind == "reduce" and seconds is not None and there.shuffle is not None:
                seconds += there.shuffle.avg
            yield _kind(node, kind, 0 if phase is None else phase.tasks, held, hosted, seconds)


def _kind(node: Any, kind: str, of_job: int, slots: float, per_vm: int, seconds: float | None) -> Tasks:
    container = None if node.container is None else node.container.of(kind)
    taken = container or Resources(span=None)
    cores, memory = taken.cores, taken.memory
    executor = None if node.container is None or kind != "task" else node.container.executor
    if executor is not None:
        cores, memory = (None if each is None else each / executor.tasks for each in (executor.cores, executor.memory))
    return Tasks(kind, of_job, int(ceiling(slots)), per_vm, cores, memory, seconds)


def executor_of(node: Any) -> Container | None:
    """Return the executor of a class, None if the spec lacks its cores or memory."""
    there = None if node.container is None or not node.stages else node.container.executor
    if there is None or there.cores is None or there.memory is None:
        return None
    return Container(there.cores, there.memory, there.overhead, there.off_heap or 0.0, there.tasks)
