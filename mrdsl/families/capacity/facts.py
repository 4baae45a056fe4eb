"""The blocks of a capacity spec: one VM type, job classes, and the period that prices are summed over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mrdsl.core.units import HOUR
from mrdsl.spec.blocks import (
    GUARANTEES,
    Coefficients,
    MapPhase,
    OnDemand,
    ReducePhase,
    Reserved,
    ShufflePhase,
    Slots,
)
from mrdsl.spec.schema import Node, Range, Source, block, blocks, choice, quantity, value_range
from mrdsl.spec.simulated import (
    Recorded,
    Simulation,
    arrivals_item,
    burst_item,
    distribution_item,
    recorded_block,
    simulation_block,
    submissions_item,
    think_item,
)
from mrdsl.spec.stages import Stage, stage_blocks


@dataclass(frozen=True, kw_only=True)
class VmType(Node):
    """A VM type that can be rented."""

    on_demand: OnDemand = block(OnDemand, "renting by the hour, as many as wanted", required=True)
    reserved: Reserved | None = block(Reserved, "VMs under a long contract, a limited number")


@dataclass(frozen=True, kw_only=True)
class JobClass(Node):
    """Jobs with one profile, one deadline and one penalty."""

    map: MapPhase | None = block(MapPhase, "the map phase of one job")
    shuffle: ShufflePhase | None = block(ShufflePhase, "the shuffle of one job; not for map-only classes")
    reduce: ReducePhase | None = block(ReducePhase, "the reduce phase of one job; left out for map-only classes")
    stages: Sequence[Stage] = stage_blocks()
    coefficients: Coefficients | None = block(Coefficients, "A, B and C in place of a profile")
    slots: Slots = block(
        Slots, "what one VM hosts: either so many map or so many reduce tasks, or tasks of stages", required=True
    )
    jobs: Range = value_range(
        "jobs",
        "at least the low end is admitted, the high end is expected; whole jobs",
        at_least=0.0,
        symbol="H_low .. H_up",
    )
    deadline: float = quantity("time", "by when each job of the class is done", above=0.0, symbol="D")
    penalty: float = quantity("money", "for each expected job that is turned away", at_least=0.0, symbol="p")
    guarantee: str | None = choice(GUARANTEES, "which estimate meets the deadline; default average", default=None)
    distribution: str = distribution_item()
    think: float = think_item()
    arrivals: float | None = arrivals_item()
    burst: int = burst_item()
    submissions: Source | None = submissions_item()
    recorded: Recorded | None = recorded_block()


@dataclass(frozen=True, kw_only=True)
class CapacityFacts(Node):
    """The facts of a capacity spec."""

    vms: Sequence[VmType] = blocks(VmType, "vm", "the VM type; one for now", required=True)
    classes: Sequence[JobClass] = blocks(JobClass, "class", "the job classes", plural="classes", required=True)
    simulation: Simulation | None = simulation_block()
    period: float = quantity("time", "how long the VMs are paid for in the objective", default=HOUR, above=0.0)
