"""Input data of the energy family: machines, the network, and jobs with their tasks' times and energies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from mrdsl.spec.blocks import MapReduceSlots, OnDemand
from mrdsl.spec.schema import BUDGET_HINT, Node, Source, block, blocks, path, quantity
from mrdsl.spec.simulated import Spread, spread_block
from mrdsl.spec.typing import OptionalQuantity, Quantity, Whole

__all__ = [
    "EnergyFacts",
    "Job",
    "MapReduceSlots",
    "MapTasks",
    "Network",
    "OnDemand",
    "OnVm",
    "ReduceTasks",
    "Source",
    "Spread",
    "TaskProfile",
    "Vm",
]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Vm(Node):
    """A VM type. Its slots run map tasks in the map phase, and reduce tasks later."""

    EXAMPLE: ClassVar[str] = "{ slots { map = 2, reduce = 1 }, on_demand { price = 0.192 USD/h }, available = 10 }"

    slots: MapReduceSlots = block(MapReduceSlots, "tasks that one VM of this type runs side by side", required=True)
    on_demand: OnDemand = block(OnDemand, "what one VM of this type costs", required=True)
    available: Whole = quantity("vms", "how many VMs of this type can be had", at_least=0, whole=True)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Network(Node):
    """The network between storage and VMs, and between VMs."""

    EXAMPLE: ClassVar[str] = "{ speed = 1 Gbit/s, io_power = 20 W }"

    speed: Quantity = quantity("data_rate", "speed of one VM's port", above=0.0, symbol="NS")
    io_power: Quantity = quantity(
        "power", "power of one VM above idle, while it places or shuffles data", at_least=0.0, symbol="IOP"
    )


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class MapTasks(Node):
    """The map tasks of one job, all alike: each reads one block."""

    EXAMPLE: ClassVar[str] = "{ tasks = 64 }"

    tasks: Whole = quantity("tasks", "number of map tasks", at_least=1, whole=True, symbol="M")
    block: Quantity = quantity(
        "data",
        "input that one map task reads; 0 where the data is already in place",
        default=0.0,
        at_least=0.0,
        symbol="IBS",
    )


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class ReduceTasks(Node):
    """The reduce tasks of one job, all alike; with 0 there is no shuffle either."""

    tasks: Whole = quantity("tasks", "number of reduce tasks", default=0, at_least=0, whole=True, symbol="R")


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class TaskProfile(Node):
    """Time and energy of one task on one slot of a VM."""

    time: Quantity = quantity("time", "duration of one task", above=0.0, symbol="T_ij")
    energy: Quantity = quantity(
        "energy", "energy of one task above the slot's idle energy", at_least=0.0, symbol="E_ij"
    )


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class OnVm(Node):
    """A job's tasks on one VM type; the block's name is the VM type's. A kind left out cannot run there."""

    EXAMPLE: ClassVar[str] = "{ map { time = 30 s, energy = 900 J } }"

    map: TaskProfile | None = block(TaskProfile, "one map task on this VM type")
    reduce: TaskProfile | None = block(TaskProfile, "one reduce task on this VM type")


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Job(Node):
    """A MapReduce job with separate VMs: data placement, map, shuffle and reduce phase, one after another."""

    EXAMPLE: ClassVar[str] = "{ map { tasks = 64 }, on NAME { map { time = 30 s, energy = 900 J } } }"

    map: MapTasks = block(MapTasks, "the map tasks", required=True)
    reduce: ReduceTasks | None = block(ReduceTasks, "the reduce tasks; none where left out")
    intermediate: Quantity = quantity(
        "share", "bytes out of the map phase per byte in", default=1.0, at_least=0.0, symbol="MtoR"
    )
    deadline: OptionalQuantity = quantity(
        "time", "when the job must have ended; none where left out", default=None, above=0.0, symbol="D"
    )
    budget: OptionalQuantity = quantity(
        "money", "what the job's VMs may cost; no limit where left out", default=None, above=0.0, symbol="MC"
    )
    task_times: Source | None = path(
        "a table of the times and energies of single tasks: kind, task, vm, time, energy", default=None
    )
    on: Sequence[OnVm] = blocks(OnVm, "on", "the job's tasks on one VM type", plural="profiles", required=True)

    @property
    def reduce_tasks(self) -> int:
        """Number of reduce tasks, 0 without a ``reduce`` block."""
        return self.reduce.tasks if self.reduce is not None else 0


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class EnergyFacts(Node):
    """The whole of an energy spec."""

    ELSEWHERE: ClassVar[Mapping[str, str]] = BUDGET_HINT

    vms: Sequence[Vm] = blocks(Vm, "vm", "a VM type", required=True)
    network: Network = block(Network, "the network", required=True)
    jobs: Sequence[Job] = blocks(Job, "job", "a job", required=True)
    simulation: Spread | None = spread_block()
