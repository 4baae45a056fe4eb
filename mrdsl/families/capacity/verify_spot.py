"""The part of a share's work that spot VMs lose, worked out for verification from the facts and the plan's slots.

A VM goes at the rate r. The task in a busy slot is lost with what it has run, and map output that lies on the VM with
what made it: ``r (T_M / 2 + T_R)`` of the map work, T_M and T_R the phases of the job's slots as if nothing were lost.
Those are the slots that the plan gives, or the pair on the fewest VMs that keeps the deadline where nothing is lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mrdsl.checking.dags import seconds_run
from mrdsl.checking.fewest import fewest_vms
from mrdsl.families.capacity.facts import CapacityFacts, JobClass
from mrdsl.families.capacity.verify_types import Rows

Floats = NDArray[np.float64]
Pair = tuple[float, float]

MOST = 0.5
"""Where more of the work is lost, the expectation to the first order says nothing."""


@dataclass(frozen=True)
class Losses:
    """What each row loses per second of its phases: rates, ages of running tasks [s], NaN where tasks are unknown.

    ``kept_there``: map output stays on the VM until the reduce tasks have fetched it.
    """

    rate: Floats
    map_age: Floats
    reduce_age: Floats
    kept_there: NDArray[np.bool_]

    def lost(self, maps: Floats, reduces: Floats) -> tuple[Floats, Floats]:
        """Compute the parts of map and reduce work that are lost where the phases take so long [s]."""
        ages = [
            np.where(np.isnan(age), time / 2.0, age) for age, time in ((self.map_age, maps), (self.reduce_age, reduces))
        ]
        output = np.where(self.kept_there, maps / 2.0 + reduces, 0.0)
        found = self.rate * (ages[0] + output), self.rate * ages[1]
        return np.minimum(found[0], 1.0), np.minimum(found[1], 1.0)


def losses_of(rows: Rows, spot: NDArray[np.bool_]) -> Losses:
    """Read what the facts say of losses; firm rows lose nothing."""
    facts, jobs = rows.facts, rows.jobs
    rates = np.array([0.0 if vm.spot is None else vm.spot.interruptions for vm in facts.vms])
    age = np.vectorize(seconds_run, otypes=[float])
    maps = age(np.nan_to_num(jobs["map.avg"] / jobs.speed), np.nan_to_num(jobs["map.max"] / jobs.speed))
    maps = np.where(np.isnan(jobs["map.tasks"]), np.nan, maps)
    shuffle, reduce = (
        [np.nan_to_num(jobs[f"{block}.{item}"]) / by for item in ("avg", "max")]
        for block, by in (("shuffle", 1.0), ("reduce", jobs.speed))
    )
    both = shuffle[0] + reduce[0]
    variance = _variance(*shuffle) + _variance(*reduce)
    reduces = np.where(both > 0.0, (both**2 + variance) / np.where(both > 0.0, 2.0 * both, 1.0), 0.0)
    reduces = np.where(np.nan_to_num(jobs["reduce.tasks"]) > 0.0, reduces, 0.0)
    if jobs.stages:
        staged = ~np.isnan(jobs.of_stages("age"))
        maps, reduces = np.where(staged, jobs.of_stages("age") / jobs.speed, maps), np.where(staged, 0.0, reduces)
    unknown = ~np.isnan(jobs["coefficients.A"])
    return Losses(
        np.where(spot, rates[rows.of_vm], 0.0),
        np.where(unknown, np.nan, maps),
        np.where(unknown, np.nan, reduces),
        _kept_there(facts, rows, spot),
    )


def phases(rows: Rows, map_slots: Floats, reduce_slots: Floats) -> tuple[Floats, Floats]:
    """Compute how long one job maps and reduces on its slots [s]; what no slots shorten ends the last phase."""
    work = rows.promised
    with np.errstate(divide="ignore", invalid="ignore"):
        maps = np.where(work.maps > 0.0, work.maps / map_slots, 0.0)
        reduces = np.where(work.reduces > 0.0, work.reduces / reduce_slots, 0.0)
    rest = np.maximum(work.rest, 0.0)
    last = work.reduces > 0.0
    return maps + np.where(last, 0.0, rest), reduces + np.where(last, rest, 0.0)


def pairs_on_fewest_vms(rows: Rows, place: int, limit: float, whole: bool) -> Iterator[Pair]:
    """Find the pairs of slots of one job that keep ``limit`` on the fewest VMs where nothing is lost, one by one."""
    work = rows.promised
    maps, reduces = (
        (float(a[place]), float(tasks[place]), max(float(hosted[place]), 1.0))
        for a, tasks, hosted in zip((work.maps, work.reduces), rows.tasks, rows.per_vm, strict=True)
    )
    both, most, hosted = zip(maps, reduces, strict=True)
    return fewest_vms(both, limit - float(work.rest[place]), most, hosted, whole)


def _variance(avg: Floats, longest: Floats) -> Floats:
    beyond = np.maximum(longest - avg, 0.0)
    return np.minimum(beyond * beyond / 3.0, avg * beyond)


def _kept_there(facts: CapacityFacts, rows: Rows, spot: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which rows leave map output on the VM that made it, for other tasks to fetch."""
    found = np.zeros(len(spot), dtype=bool)
    if facts.simulation is not None and facts.simulation.shuffle_service == "yes":
        return found
    for index in np.unique(rows.of_class[spot]).tolist():
        found[rows.of_class == index] = _hands_on(facts.classes[index])
    return found


def _hands_on(node: JobClass) -> bool:
    if node.stages:
        return any(len(stage.after) > 0 for stage in node.stages)
    if node.coefficients is not None:
        return node.coefficients.B > 0.0
    return node.reduce is not None and node.reduce.tasks > 0
