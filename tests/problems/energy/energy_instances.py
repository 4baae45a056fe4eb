"""Energy specs built in Python."""

from __future__ import annotations

from mrdsl.problems.energy.facts import EnergyFacts, Job, MapTasks, Network, OnVm, ReduceTasks, TaskProfile, Vm
from mrdsl.spec import Goal, Spec
from mrdsl.spec.blocks import OnDemand, Slots

HOUR = 3600.0
GIGABIT = 1e9 / 8


def vm(name: str, slots: int, price: float, available: int) -> Vm:
    """A VM type with as many reduce as map slots; price in USD per hour."""
    return Vm(name=name, slots=Slots(map=slots, reduce=slots), on_demand=OnDemand(price=price / HOUR),
              available=available)


def on(name: str, map_time: float, map_energy: float, reduce_time: float = 0.0, reduce_energy: float = 0.0) -> OnVm:
    """Times in s and energies in J of one task; no reduce tasks where the reduce time is 0."""
    return OnVm(
        name=name,
        map=TaskProfile(time=map_time, energy=map_energy),
        reduce=TaskProfile(time=reduce_time, energy=reduce_energy) if reduce_time else None,
    )


def spec_of(vms: tuple[Vm, ...], *jobs: Job, speed: float = GIGABIT, io_power: float = 20.0,
            goal: str = "energy") -> Spec:
    """A whole spec."""
    facts = EnergyFacts(vms=vms, network=Network(speed=speed, io_power=io_power), jobs=jobs)
    return Spec(problem="energy", facts=facts, goal=Goal("minimize", goal))


def reference(deadline: float | None = 240.0, budget: float | None = 0.0108, maps: int = 17, reduces: int = 2,
              goal: str = "energy") -> Spec:
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
    vms = (vm("n1-standard-1", 1, 0.038, 2), vm("n1-highcpu-2", 2, 0.058, 1), vm("n1-highcpu-4", 4, 0.116, 1),
           vm("g1-small", 1, 0.021, 1))
    return spec_of(vms, job, goal=goal)
