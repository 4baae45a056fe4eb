"""The work of each class that spot VMs lose, and the part of the slots whose work is not lost.

A *lane* is a VM type in one reliability: firm, or spot, which the provider may reclaim.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mrdsl.formulas import mapreduce, workloads
from mrdsl.formulas.pairs import Floats, Pairs, Typed, on_rows
from mrdsl.formulas.profiles import profile_of
from mrdsl.spec.blocks import Simulation, any_stages, stages_of
from mrdsl.spec.columns import column
from mrdsl.spec.rented import described_on


@dataclass(frozen=True)
class Lane:
    """The VMs of type number ``vm``, firm or spot; ``interruptions`` of one VM per second."""

    vm: int
    spot: bool = False
    interruptions: float = 0.0


class InLanes:
    """Arrays over ``lanes``."""

    lanes: tuple[Lane, ...]

    @cached_property
    def vm_of_lane(self) -> NDArray[np.int64]:
        """The number of each lane's VM type."""
        return np.array([lane.vm for lane in self.lanes], dtype=np.int64)

    @cached_property
    def spot(self) -> NDArray[np.bool_]:
        """Flags of the spot lanes."""
        return np.array([lane.spot for lane in self.lanes], dtype=bool)


class Spotted(Typed, Protocol):
    """Facts with VM types, classes and the settings of a simulation."""

    @property
    def simulation(self) -> Simulation | None:
        """The settings of a simulation."""


def spot_shares(classes: Sequence[Any]) -> Floats:
    """Return the part of the VM time of each class that may be on spot VMs: all of it unless it is limited."""
    return np.nan_to_num(column(classes, "spot", missing=1.0), nan=1.0)


def slots_in_lanes(
    facts: Spotted, lanes: Sequence[Lane], pairs: Pairs, whole: bool
) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
    """Compute the slots of one job in each lane, those for lost work included.

    Args:
        facts: The facts of the spec.
        lanes: VM types, firm or spot.
        pairs: Every class on every VM type.
        whole: If slots are whole.

    Returns:
        Map and reduce slots, infinite if a class cannot run in a lane, and the parts of both whose work is not lost;
        all of the shape (lanes, classes).
    """
    vms = np.array([lane.vm for lane in lanes], dtype=np.int64)
    spot = np.array([lane.spot for lane in lanes], dtype=bool)
    firm = pairs.slots_per_job(whole)
    slots = firm[0][vms], firm[1][vms]
    kept = kept_work(facts, lanes, pairs, slots)
    if spot.any():
        slots = pairs.slots_with_losses(vms, kept, whole)
    never = spot[:, None] & (spot_shares(facts.classes)[None, :] <= 0.0)
    return (np.where(never, np.inf, slots[0]), np.where(never, np.inf, slots[1])), kept


def kept_work(
    facts: Spotted, lanes: Sequence[Lane], pairs: Pairs, slots: tuple[Floats, Floats]
) -> tuple[Floats, Floats]:
    """Return the parts of the map and of the reduce slots whose work is not lost, (lanes, classes); 1 on firm VMs.

    ``slots`` are those of one job by lane without losses. The parts are 0 if losses exceed the range of the formula.
    """
    kept = tuple(np.ones((len(lanes), len(facts.classes))) for _ in range(2))
    if not any(lane.spot for lane in lanes):
        return kept[0], kept[1]
    ages, on_machine = _ages(facts), _on_machine(facts)
    for number, lane in enumerate(lanes):
        if not lane.spot:
            continue
        times = _times(pairs, lane.vm, (slots[0][number], slots[1][number]))
        known = tuple(
            np.where(np.isnan(age[lane.vm]), time / 2.0, age[lane.vm]) for age, time in zip(ages, times, strict=True)
        )
        gone = workloads.lost(lane.interruptions, (known[0], known[1]), times, on_machine)
        for part, lost in zip(kept, gone, strict=True):
            part[number] = np.where(lost <= workloads.MOST_LOST, 1.0 - lost, 0.0)
    return kept[0], kept[1]


def _times(pairs: Pairs, vm: int, slots: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    """Compute the map and reduce times of one job on its slots [s]; the constant time is part of the last phase."""
    one = np.ones_like(slots[0])
    constant = np.maximum(pairs.work.constant[vm], 0.0)
    maps = np.where(np.isfinite(slots[0]), mapreduce.phase(pairs.work.map_work[vm], one, slots[0]), 0.0)
    reduces = np.where(np.isfinite(slots[1]), mapreduce.phase(pairs.work.reduce_work[vm], one, slots[1]), 0.0)
    reducing = pairs.work.reduce_work[vm] > 0.0
    return maps + np.where(reducing, 0.0, constant), reduces + np.where(reducing, constant, 0.0)


def _ages(facts: Spotted) -> tuple[Floats, Floats]:
    """Return the age of running map and reduce tasks [s], (types, classes); NaN if the tasks are not known."""
    shape = len(facts.vms), len(facts.classes)
    speed = np.ones(shape)
    rows = on_rows(facts)
    for vm, index, row in rows:
        speed[vm, index] = row.speed
    found = _ages_at(facts.classes, speed)
    own = [(vm, index, described_on(facts.classes[index], row)) for vm, index, row in rows if row.described]
    for vm, index, node in own:
        for all_ages, age in zip(found, _ages_at((node,), speed[vm : vm + 1, index : index + 1]), strict=True):
            all_ages[vm, index] = age[0, 0]
    return found


def _ages_at(classes: object, speed: Floats) -> tuple[Floats, Floats]:
    profile = mapreduce.faster(profile_of(classes), speed)  # type: ignore[arg-type]
    maps = workloads.age(profile.map_avg, profile.map_max)
    shuffle = np.nan_to_num(profile.shuffle_avg), np.nan_to_num(profile.shuffle_max)
    reduces = workloads.age_of_two(
        (np.broadcast_to(shuffle[0], speed.shape), profile.reduce_avg),
        (np.broadcast_to(shuffle[1], speed.shape), profile.reduce_max),
    )
    reduces = np.where(profile.map_only, 0.0, reduces)
    for index, stages in enumerate(stages_of(classes) if any_stages(classes) else ()):  # type: ignore[arg-type]
        if stages:
            work = np.array([stage.width * stage.avg for stage in stages])
            ages = workloads.age(np.array([s.avg for s in stages]), np.array([s.max for s in stages]))
            maps[:, index] = float(work @ ages / work.sum()) / speed[:, index]
    unknown = np.isnan(profile.map_tasks)
    return np.where(unknown, np.nan, maps), np.where(unknown, np.nan, reduces)


def _on_machine(facts: Spotted) -> NDArray[np.bool_]:
    """Return the classes whose ended tasks leave output on the machine for others to fetch."""
    service = facts.simulation is not None and facts.simulation.shuffle_service == "yes"
    return np.array([not service and _hands_on(node) for node in facts.classes], dtype=bool)


def _hands_on(node: Any) -> bool:
    if node.stages:
        return any(stage.after for stage in node.stages)
    if node.coefficients is not None:
        return bool(node.coefficients.B > 0.0)
    return node.reduce is not None and node.reduce.tasks > 0
