"""MDASA on demand as one writes it with simpy: an object per VM and slot, a process per slot's work, an event per task.

Same rules as ``mrdsl.families.schedule.methods.policy.Malleable``; a task is a timeout, a VM's billing a process.
Run by ``benchmarks/schedule_speed.py``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from math import ceil, floor
from typing import Any

import simpy


class Slot:
    def __init__(self, vm: Vm, phase: int) -> None:
        self.vm, self.phase, self.free_at = vm, phase, 0.0


class Vm:
    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.slots = [Slot(self, phase) for phase, count in enumerate(cluster.slots) for _ in range(count)]
        cluster.env.process(self.billing())

    def billing(self) -> Iterator[Any]:
        cluster = self.cluster
        while True:
            cluster.periods += 1
            yield cluster.env.timeout(cluster.period)
            if all(slot.free_at <= cluster.env.now for slot in self.slots):
                cluster.release(self)
                return


class Cluster:
    def __init__(self, env: simpy.Environment, slots: tuple[int, int], period: float, idle: str = "all") -> None:
        self.env, self.slots, self.period, self.every_idle = env, slots, period, idle == "all"
        self.vms: dict[int, Vm] = {}
        self.periods = self.late = self.tasks = self.jobs = self.rented = 0

    def rent(self, count: int) -> list[Vm]:
        vms = [Vm(self) for _ in range(count)]
        self.vms.update((id(vm), vm) for vm in vms)
        self.rented += count
        return vms

    def release(self, vm: Vm) -> None:
        del self.vms[id(vm)]

    def phase(self, tasks: int, duration: float, wanted: int, due: float, phase: int) -> Iterator[Any]:
        now = self.env.now
        wanted = min(wanted, tasks)
        most = tasks if self.every_idle else wanted
        idle: list[Slot] = []
        for vm in self.vms.values():
            for slot in vm.slots:
                if slot.phase == phase and slot.free_at <= now and len(idle) < most:
                    idle.append(slot)
            if len(idle) == most:
                break
        done, left = [], tasks
        missing = wanted - len(idle)
        if missing > 0:
            most = floor(tasks * missing / wanted)
            placed = 0
            for vm in self.vms.values():
                for slot in vm.slots:
                    if placed < most and slot.phase == phase and slot.free_at > now:
                        each = min(floor((due - slot.free_at) / duration + 1e-9), most - placed)
                        if each > 0:
                            done.append(self.env.process(self.work(slot, each, duration)))
                            placed += each
            left -= placed
            missing = ceil(missing - placed * wanted / tasks - 1e-9)
            if missing > 0 and left:
                new = self.rent(-(-missing // self.slots[phase]))
                idle += [slot for vm in new for slot in vm.slots if slot.phase == phase][:missing]
        queue = deque(idle)
        while queue and left:
            slot = queue.popleft()
            each = -(-left // (len(queue) + 1))
            done.append(self.env.process(self.work(slot, each, duration)))
            left -= each
        yield self.env.all_of(done)

    def work(self, slot: Slot, count: int, duration: float) -> Iterator[Any]:
        start = max(slot.free_at, self.env.now)
        slot.free_at = start + count * duration
        return self.run_tasks(start - self.env.now, count, duration)

    def run_tasks(self, wait: float, count: int, duration: float) -> Iterator[Any]:
        if wait > 0:
            yield self.env.timeout(wait)
        for _ in range(count):
            yield self.env.timeout(duration)
            self.tasks += 1


def job(cluster: Cluster, one: Any, slots: tuple[int, int]) -> Iterator[Any]:
    map_due = one.due - -(-one.reduce_tasks // slots[1]) * one.durations[1] if one.reduce_tasks else one.due
    yield from cluster.phase(one.map_tasks, one.map_time, slots[0], map_due, 0)
    if one.reduce_tasks:
        yield from cluster.phase(one.reduce_tasks, one.durations[1], slots[1], one.due, 1)
    cluster.jobs += 1
    cluster.late += cluster.env.now > one.punctual_until


def arrivals(cluster: Cluster, jobs: list[Any], sizing: str) -> Iterator[Any]:
    from mrdsl.families.schedule.methods.policy import slots_for

    for one in jobs:
        yield cluster.env.timeout(max(one.submit - cluster.env.now, 0.0))
        cluster.env.process(job(cluster, one, slots_for(one.profile, one.due - one.submit, sizing)))


def simulate(
    jobs: list[Any], slots: tuple[int, int], period: float, price: float, sizing: str, idle: str = "all"
) -> dict[str, float]:
    env = simpy.Environment()
    cluster = Cluster(env, slots, period, idle)
    env.process(arrivals(cluster, jobs, sizing))
    env.run()
    return {
        "jobs": cluster.jobs,
        "late": cluster.late,
        "cost": cluster.periods * period * price,
        "tasks": cluster.tasks,
        "rented": cluster.rented,
    }
