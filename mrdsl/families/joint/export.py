"""A joint plan as shares of the cluster, period by period."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mrdsl.core.rounding import ceiling
from mrdsl.exchange.registry import KUBERNETES, SLS, SPARK, YARN, Target
from mrdsl.exchange.targets.deployment import FIRM, SPOT, Deployment, Group, MachineType, Share, Tasks, Workload
from mrdsl.exchange.targets.on_types import machine_types, tasks_on
from mrdsl.families.joint.facts import JobClass, JointFacts
from mrdsl.families.joint.plan import JointPlan, LanePlan
from mrdsl.formulas.pairs import slots_on_types
from mrdsl.spec.blocks import longest_idle, partitions_of
from mrdsl.spec.spec import Spec

VM = "vm"
"""Name of the machines of the cluster, which are of one unnamed type."""


def deployments(spec: Spec, plan: JointPlan) -> tuple[Deployment, ...]:
    """Return one cluster per period: the classes with their weights (47).

    Raises ValueError if the spec has no class.
    """
    if not len(plan.class_names):
        raise ValueError("there is no class, and so no queue")
    periods = range(len(plan.vms))
    width = len(str(periods[-1]))
    return tuple(_period(spec.facts, plan, t, f"{t:0{width}}" if len(periods) > 1 else "") for t in periods)


def _period(facts: JointFacts, plan: JointPlan, t: int, part: str) -> Deployment:
    if plan.by_type is not None:
        return _period_of_types(facts, plan, plan.by_type, t, part)
    loads = tuple(_workload(facts.classes[i], plan, t, i) for i in range(len(plan.class_names)))
    held = int(ceiling(float(plan.classes.vms[t].sum())))
    groups = (Group(VM, FIRM, held),) if held else ()
    return Deployment((MachineType(VM),), groups, loads, part=part, notes=tuple(_notes(plan, t)))


def _period_of_types(facts: JointFacts, plan: JointPlan, lanes: LanePlan, t: int, part: str) -> Deployment:
    """Return the cluster of the classes in a period, on several VM types."""
    vms, shares = {vm.name: vm for vm in facts.vms}, dict[int, list[Share]]()
    groups = []
    per_vm, names = slots_on_types(facts), list(vms)
    for lane, (name, way) in enumerate(zip(lanes.vm, lanes.way, strict=True)):
        held = int(ceiling(float(lanes.class_vms[t, lane].sum())))
        vm, where = vms[name], SPOT if way == "spot" else FIRM
        if held:
            groups.append(Group(name, where, held, vm.spot.price if where == SPOT and vm.spot else vm.on_demand.price))
        for index in np.flatnonzero(lanes.at_once[t, lane] > 0.0).tolist():
            slots = float(lanes.map_slots[t, lane, index]), float(lanes.reduce_slots[t, lane, index])
            hosted = int(per_vm[0][names.index(name), index]), int(per_vm[1][names.index(name), index])
            jobs = int(ceiling(float(lanes.at_once[t, lane, index])))
            tasks = tuple(tasks_on(facts.classes[index], name, slots, hosted))
            shares.setdefault(index, []).append(Share(name, where, jobs, tasks))
    loads = tuple(
        Workload(
            plan.class_names[index],
            float(plan.classes.weight[t, index]),
            tuple(shares.get(index, ())),
            partitions_of(node.stages, node.reduce),
            idle=longest_idle(node.startup, node.stages),
        )
        for index, node in enumerate(facts.classes)
    )
    return Deployment(machine_types(facts.vms), tuple(groups), loads, part=part, notes=tuple(_notes(plan, t)))


def _workload(node: JobClass, plan: JointPlan, t: int, index: int) -> Workload:
    got = plan.classes
    jobs = int(ceiling(float(got.at_once[t, index])))
    slots = (float(got.map_slots[t, index]), float(got.reduce_slots[t, index]))
    share = Share(VM, FIRM, jobs, tuple(_tasks(node, slots)))
    return Workload(
        plan.class_names[index],
        float(got.weight[t, index]),
        (share,) if jobs else (),
        partitions_of(node.stages, node.reduce),
        idle=longest_idle(node.startup, node.stages),
    )


def _tasks(node: JobClass, slots: tuple[float, float]) -> Iterator[Tasks]:
    assert node.slots is not None
    if node.stages:
        most = max(stage.tasks for stage in node.stages)
        yield Tasks("task", most, int(ceiling(slots[0])), node.slots.task or 1)
        return
    for kind, phase, held in zip(("map", "reduce"), (node.map, node.reduce), slots, strict=True):
        if held > 0:
            per_vm = getattr(node.slots, kind) or 1
            seconds = None if phase is None else phase.avg
            if kind == "reduce" and seconds is not None and node.shuffle is not None:
                seconds += node.shuffle.avg
            tasks = 0 if phase is None else phase.tasks
            yield Tasks(kind, tasks, int(ceiling(held)), per_vm, seconds=seconds)


def _notes(plan: JointPlan, t: int) -> Iterator[str]:
    for name, vms in zip(plan.service_names, plan.services.vms[t].tolist(), strict=True):
        yield f"{vms:g} VMs of the service {name}: only classes have jobs"


def targets() -> tuple[Target, ...]:
    """Return the export targets of plans."""
    return YARN, SPARK, KUBERNETES, SLS
