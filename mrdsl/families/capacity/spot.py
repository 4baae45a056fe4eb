"""What of a class's slots on spot VMs does lost work anew: see :mod:`mrdsl.formulas.interruptions`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mrdsl.families.capacity.facts import CapacityFacts, JobClass
from mrdsl.families.capacity.market import Market
from mrdsl.families.capacity.pairs import Pairs, described_on, on_rows
from mrdsl.formulas import interruptions, mapreduce
from mrdsl.formulas.profiles import profile_of
from mrdsl.spec.stages import any_stages, stages_of

Floats = NDArray[np.float64]


def kept_work(
    facts: CapacityFacts, market: Market, pairs: Pairs, slots: tuple[Floats, Floats]
) -> tuple[Floats, Floats]:
    """The parts of the map and of the reduce slots that do work which is not lost, (lanes, classes); 1 on firm VMs.

    ``slots`` are those of one job by lane, as if nothing were lost. 0 where more is lost than the formula is good for.
    """
    kept = tuple(np.ones((len(market.lanes), len(facts.classes))) for _ in range(2))
    if not market.spot.any():
        return kept[0], kept[1]
    ages, on_machine = _ages(facts), _on_machine(facts)
    for number, lane in enumerate(market.lanes):
        if not lane.spot:
            continue
        times = _times(pairs, lane.vm, (slots[0][number], slots[1][number]))
        known = tuple(
            np.where(np.isnan(age[lane.vm]), time / 2.0, age[lane.vm]) for age, time in zip(ages, times, strict=True)
        )
        gone = interruptions.lost(lane.interruptions, (known[0], known[1]), times, on_machine)
        for part, lost in zip(kept, gone, strict=True):
            part[number] = np.where(lost <= interruptions.MOST_LOST, 1.0 - lost, 0.0)
    return kept[0], kept[1]


def _times(pairs: Pairs, vm: int, slots: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    """How long one job maps and reduces on its slots; what no slots shorten counts as part of the last phase."""
    one = np.ones_like(slots[0])
    constant = np.maximum(pairs.work.constant[vm], 0.0)
    maps = np.where(np.isfinite(slots[0]), mapreduce.phase(pairs.work.map_work[vm], one, slots[0]), 0.0)
    reduces = np.where(np.isfinite(slots[1]), mapreduce.phase(pairs.work.reduce_work[vm], one, slots[1]), 0.0)
    reducing = pairs.work.reduce_work[vm] > 0.0
    return maps + np.where(reducing, 0.0, constant), reduces + np.where(reducing, constant, 0.0)


def _ages(facts: CapacityFacts) -> tuple[Floats, Floats]:
    """The age of running map and reduce tasks, (types, classes); NaN where the tasks are not known."""
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
    maps = interruptions.age(profile.map_avg, profile.map_max)
    shuffle = np.nan_to_num(profile.shuffle_avg), np.nan_to_num(profile.shuffle_max)
    reduces = interruptions.age_of_two(
        (np.broadcast_to(shuffle[0], speed.shape), profile.reduce_avg),
        (np.broadcast_to(shuffle[1], speed.shape), profile.reduce_max),
    )
    reduces = np.where(profile.map_only, 0.0, reduces)
    for index, stages in enumerate(stages_of(classes) if any_stages(classes) else ()):  # type: ignore[arg-type]
        if stages:
            work = np.array([stage.tasks * stage.avg for stage in stages])
            ages = interruptions.age(np.array([s.avg for s in stages]), np.array([s.max for s in stages]))
            maps[:, index] = float(work @ ages / work.sum()) / speed[:, index]
    unknown = np.isnan(profile.map_tasks)
    return np.where(unknown, np.nan, maps), np.where(unknown, np.nan, reduces)


def _on_machine(facts: CapacityFacts) -> NDArray[np.bool_]:
    """The classes whose ended tasks leave output on the machine for others to fetch."""
    service = facts.simulation is not None and facts.simulation.shuffle_service == "yes"
    return np.array([not service and _hands_on(node) for node in facts.classes], dtype=bool)


def _hands_on(node: JobClass) -> bool:
    if node.stages:
        return any(stage.after for stage in node.stages)
    if node.coefficients is not None:
        return node.coefficients.B > 0.0
    return node.reduce is not None and node.reduce.tasks > 0
