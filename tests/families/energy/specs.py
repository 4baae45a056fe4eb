"""Energy specs built in Python, and the best of all their plans by enumeration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from math import ceil, inf
from random import Random

from hypothesis import strategies as st

import mrdsl
from mrdsl.checking.comparisons import broken
from mrdsl.core.resources import resource
from mrdsl.families.energy.facts import EnergyFacts, Job, MapTasks, Network, OnVm, ReduceTasks, TaskProfile, Vm
from mrdsl.spec import Goal, Spec
from mrdsl.spec.blocks import MapReduceSlots, OnDemand
from mrdsl.spec.expression import evaluate

SCALES = ("small", "medium", "large")
NAMES = ("adjlist", "classif", "hismov", "invind", "raninvind", "selfjoin", "seqcou", "worcou")
HOUR = 3600.0
GIGABIT = 1e9 / 8


def workload(name: str, scale: str) -> Spec:
    """One of the paper's workloads, from ``models``."""
    return mrdsl.load(resource("models") / "energy" / f"{name}-{scale}.mrspec")


def vm(name: str, slots: int, price: float, available: int) -> Vm:
    """A VM type with as many reduce as map slots; price in USD per hour."""
    return Vm(
        name=name,
        slots=MapReduceSlots(map=slots, reduce=slots),
        on_demand=OnDemand(price=price / HOUR),
        available=available,
    )


def on(name: str, map_time: float, map_energy: float, reduce_time: float = 0.0, reduce_energy: float = 0.0) -> OnVm:
    """Times in s and energies in J of one task; no reduce tasks where the reduce time is 0."""
    return OnVm(
        name=name,
        map=TaskProfile(time=map_time, energy=map_energy),
        reduce=TaskProfile(time=reduce_time, energy=reduce_energy) if reduce_time else None,
    )


def spec_of(
    vms: tuple[Vm, ...], *jobs: Job, speed: float = GIGABIT, io_power: float = 20.0, goal: str = "energy"
) -> Spec:
    """A whole spec."""
    facts = EnergyFacts(vms=vms, network=Network(speed=speed, io_power=io_power), jobs=jobs)
    return Spec(problem="energy", facts=facts, goal=Goal("minimize", goal))


def reference(
    deadline: float | None = 240.0,
    budget: float | None = 0.0108,
    maps: int = 17,
    reduces: int = 2,
    goal: str = "energy",
) -> Spec:
    """``models/energy/reference.mrspec``, with other promises or task counts if wanted."""
    job = Job(
        name="wordcount",
        map=MapTasks(tasks=maps, block=256e6),
        reduce=ReduceTasks(tasks=reduces),
        intermediate=0.5,
        deadline=deadline,
        budget=budget,
        on=(
            on("n1-standard-1", 48, 720, 40, 620),
            on("n1-highcpu-2", 45, 590, 37, 510),
            on("n1-highcpu-4", 42, 545, 35, 480),
            on("g1-small", 81, 800, 70, 700),
        ),
    )
    vms = (
        vm("n1-standard-1", 1, 0.038, 2),
        vm("n1-highcpu-2", 2, 0.058, 1),
        vm("n1-highcpu-4", 4, 0.116, 1),
        vm("g1-small", 1, 0.021, 1),
    )
    return spec_of(vms, job, goal=goal)


def splits(tasks: int, vms: int) -> list[tuple[int, ...]]:
    """Every way of sharing tasks among VMs."""
    if vms == 1:
        return [(tasks,)]
    return [(first, *rest) for first in range(tasks + 1) for rest in splits(tasks - first, vms - 1)]


def enumerate_best(spec: Spec) -> float:
    """The least goal value of a spec with one job over all assignments of tasks to single VMs, inf if there is none.

    ``subject to`` counts: ``machines`` are those that run a task, and nobody waits. VMs of a type are in order of their
    tasks.
    """
    job, network = spec.facts.jobs[0], spec.facts.network
    profiles = {p.name: p for p in job.on}
    vms = [v for v in spec.facts.vms for _ in range(v.available)]
    reduces = job.reduce_tasks
    block, out = job.map.block, job.map.block * job.intermediate if reduces else 0.0
    read = job.map.tasks * out / reduces if reduces else 0.0
    alike = [place for place in range(1, len(vms)) if vms[place] is vms[place - 1]]
    best = inf
    for maps, reds in product(splits(job.map.tasks, len(vms)), splits(reduces, len(vms))):
        if any((maps[at], reds[at]) > (maps[at - 1], reds[at - 1]) for at in alike):
            continue
        rows = [(v, profiles[v.name], m, r) for v, m, r in zip(vms, maps, reds, strict=True) if m or r]
        if any((m and p.map is None) or (r and p.reduce is None) for _, p, m, r in rows):
            continue
        uptime = (
            max(m * block for _, _, m, _ in rows) / network.speed
            + max(ceil(m / v.slots.map) * p.map.time if m else 0.0 for v, p, m, _ in rows)
            + max(m * out + r * read for _, _, m, r in rows) / network.speed
            + max(ceil(r / v.slots.reduce) * p.reduce.time if r else 0.0 for v, p, _, r in rows)
        )
        cost = uptime * sum(v.on_demand.price for v, _, _, _ in rows)
        if uptime > (job.deadline or inf) * (1 + 1e-9) or cost > (job.budget or inf) * (1 + 1e-9):
            continue
        tasks = sum((m * p.map.energy if m else 0.0) + (r * p.reduce.energy if r else 0.0) for _, p, m, r in rows)
        moved = sum(m * (block + out) + r * read for _, _, m, r in rows) / network.speed
        values = {
            "energy": tasks + moved * network.io_power,
            "cost": cost,
            "uptime": uptime,
            "machines": float(len(rows)),
        }
        if any(broken(spec, lambda name, _, values=values: values[name])):
            continue
        best = min(best, goal_value(spec.goal, values))
    return best


def goal_value(goal: Goal | None, values: Mapping[str, float]) -> float:
    """What is minimized; what is to be maximized counts negative."""
    if goal is None or goal.expression is None:
        return values[goal.quantity if goal else "energy"]
    value = float(evaluate(goal.expression, lambda name, _: values[name]))
    return -value if goal.sense == "maximize" else value


@st.composite
def small_specs(draw: st.DrawFn) -> Spec:
    whole = st.integers
    vms = tuple(
        vm(f"v{k}", draw(whole(1, 3)), draw(whole(2, 20)) / 100, draw(whole(1, 2))) for k in range(draw(whole(1, 2)))
    )
    reduces = draw(whole(0, 3))
    job = Job(
        name="j",
        map=MapTasks(tasks=draw(whole(1, 5)), block=draw(st.sampled_from([0.0, 1e9, 8e9]))),
        reduce=ReduceTasks(tasks=reduces),
        intermediate=draw(st.sampled_from([0.0, 0.5, 2.0])),
        deadline=draw(st.sampled_from([None, 100.0, 160.0, 300.0])),
        budget=draw(st.sampled_from([None, 0.003, 0.006, 0.01])),
        on=tuple(
            on(v.name, draw(whole(10, 50)), draw(whole(10, 99)), draw(whole(10, 50)), draw(whole(10, 99))) for v in vms
        ),
    )
    return spec_of(vms, job, goal=draw(st.sampled_from(["energy", "energy", "cost", "uptime"])))


def tight_spec(random: Random) -> Spec:
    """A small spec whose deadline or budget, or both, are met exactly or nearly so; shuffles may take long."""
    kinds = random.choice((1, 2, 3))
    vms = tuple(
        vm(f"v{k}", random.randint(1, 3), random.randint(2, 20) / 100, random.choice((1, 2, 3)) if kinds < 3 else 1)
        for k in range(kinds)
    )
    job = Job(
        name="j",
        map=MapTasks(tasks=random.randint(1, 4), block=random.choice((0.0, 1e9, 4e9, 8e9))),
        reduce=ReduceTasks(tasks=random.randint(0, 3)),
        intermediate=random.choice((0.0, 0.5, 1.0, 2.0, 4.0)),
        on=tuple(
            on(v.name, random.randint(10, 50), random.randint(10, 99), random.randint(10, 50), random.randint(10, 99))
            for v in vms
        ),
    )
    for promise, goal in random.sample((("deadline", "uptime"), ("budget", "cost")), random.choice((1, 2))):
        least = enumerate_best(spec_of(vms, job, goal=goal))
        job = replace(job, **{promise: least * random.choice((1.0, 1.001, 1.03, 1.1, 1.2))})
    return spec_of(vms, job)
