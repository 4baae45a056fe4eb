"""A capacity plan as machines with their tasks."""

from __future__ import annotations

from collections.abc import Iterator

from mrdsl.exchange.registry import TARGETS, Target
from mrdsl.exchange.targets.deployment import (
    FIRM,
    SPOT,
    Container,
    Deployment,
    Group,
    Share,
    TargetError,
    Workload,
)
from mrdsl.exchange.targets.on_types import executor_of, machine_types, tasks_on
from mrdsl.families.capacity import market
from mrdsl.families.capacity.facts import CapacityFacts, JobClass
from mrdsl.families.capacity.plan import CapacityPlan
from mrdsl.formulas.containers import tasks_of_slots
from mrdsl.formulas.pairs import slots_on_types
from mrdsl.spec.blocks import longest_idle, partitions_of
from mrdsl.spec.spec import Spec

NAMED = 5
"""Most classes that a note names."""
Shared = tuple[int, int, str, float, float, float]
"""The number of the class and of the type, firm or spot, jobs, map slots and reduce slots."""


def deployments(spec: Spec, plan: CapacityPlan) -> tuple[Deployment, ...]:
    """Return the one cluster of a plan.

    Raises TargetError if the plan has fractions of VMs, or no VM.
    """
    if not plan.whole:
        raise TargetError(
            "the plan has fractions of VMs and jobs, which cannot be rented or run", "solve it without --relax"
        )
    facts: CapacityFacts = spec.facts
    groups = tuple(_groups(facts, plan))
    if not groups:
        masters_alone = bool(plan.mixture.masters.any())
        what = "the plan runs no job: all its VMs are masters" if masters_alone else "the plan rents no VM"
        raise TargetError(what, "it admits no job: run `mrdsl why` for the price at which it would")
    masters = dict(zip(plan.mixture.types, map(int, plan.mixture.masters), strict=True))
    return (
        Deployment(
            types=machine_types(facts.vms),
            groups=groups,
            workloads=_workloads(facts, plan),
            masters={name: count for name, count in masters.items() if count},
            currency=spec.currency,
            notes=tuple(_notes(facts, plan)),
        ),
    )


def _groups(facts: CapacityFacts, plan: CapacityPlan) -> Iterator[Group]:
    """Yield the machines that run tasks: firm ones of each type, masters left out, then those on spot."""
    for number, vm in enumerate(facts.vms):
        spot = plan.mixture.total(market.SPOT, vm.name)
        firm = plan.mixture.total(vm=vm.name) - spot - plan.mixture.masters[number]
        yield from _some(vm.name, FIRM, firm, vm.on_demand.price)
        yield from _some(vm.name, SPOT, spot, None if vm.spot is None else vm.spot.price)


def _some(vm: str, lane: str, count: float, price: float | None) -> Iterator[Group]:
    if count > 0:
        yield Group(vm, lane, round(count), price)


def _workloads(facts: CapacityFacts, plan: CapacityPlan) -> tuple[Workload, ...]:
    """Return the classes that have jobs.

    The weight of a class is the part of all VMs that its slots take, since tasks differ in size.
    """
    per_vm, of_slot = slots_on_types(facts), tasks_of_slots(facts.classes)
    every = float(plan.vms.sum())
    shares: dict[int, list[Share]] = {}
    for of_class, of_vm, lane, jobs, maps, reduces in _shares(plan):
        node = facts.classes[of_class]
        hosted = int(per_vm[0][of_vm, of_class] * of_slot[of_class]), int(per_vm[1][of_vm, of_class])
        tasks = tuple(tasks_on(node, facts.vms[of_vm].name, (maps, reduces), hosted))
        shares.setdefault(of_class, []).append(Share(facts.vms[of_vm].name, lane, round(jobs), tasks))
    return tuple(
        Workload(
            plan.names[index],
            float(plan.vms[index]) / every,
            tuple(found),
            partitions_of(facts.classes[index].stages, facts.classes[index].reduce),
            executor=executor_of(facts.classes[index]),
            driver=_driver(facts.classes[index]),
            idle=longest_idle(facts.classes[index].startup, facts.classes[index].stages),
        )
        for index, found in sorted(shares.items())
    )


def _driver(node: JobClass) -> Container | None:
    there = node.driver if node.stages else None
    if there is None or there.memory is None:
        return None
    return Container(there.cores or 1.0, there.memory, there.overhead)


def _shares(plan: CapacityPlan) -> Iterator[Shared]:
    mix = plan.mixture
    for place, index in enumerate(mix.of_class.tolist()):
        lane = SPOT if mix.spot[place] else FIRM
        jobs, maps, reduces = (float(each[place]) for each in (mix.jobs, mix.map_slots, mix.reduce_slots))
        yield index, int(mix.of_vm[place]), lane, jobs, maps, reduces


def _notes(facts: CapacityFacts, plan: CapacityPlan) -> Iterator[str]:
    for vm in facts.vms:
        held = plan.mixture.total(market.RESERVED, vm.name)
        if held:
            yield f"{held:g} of the {vm.name} are under contract - contracts are of the account and not of a cluster"
    if facts.whole == "machines":
        yield "that classes share no machine - queues place tasks of all classes on all machines"
    for group in facts.never_together:
        named = ", ".join(group.classes[:NAMED]) + (" and others" if len(group.classes) > NAMED else "")
        yield f"that {named} never run together - the weights of their queues add up to more than their part of the VMs"
    turned = {name: count for name, count in zip(plan.names, plan.rejected.tolist(), strict=True) if count}
    if turned:
        told = ", ".join(f"{count:g} of {name}" for name, count in list(turned.items())[:NAMED])
        told += f" and of {len(turned) - NAMED:,} classes more" if len(turned) > NAMED else ""
        yield f"jobs that the plan turns away are kept out by whoever submits them: {told}"


def targets() -> tuple[Target, ...]:
    """Return the export targets."""
    return TARGETS
