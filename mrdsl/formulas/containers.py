"""Parts of a VM that tasks, executors and drivers take, by class.

An executor runs several tasks of stages. In models and methods, a slot of such a class is one executor: the map work of
a job and its most slots are divided by the tasks of an executor, and a plan multiplies its slots by them. The last
executor of a job may have more slots than there are tasks left.

The driver of a job of stages is in the place of its one reduce slot, which has no work.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.rounding import ceiling
from mrdsl.formulas.estimates import SlotLimits
from mrdsl.formulas.mapreduce import Coefficients
from mrdsl.formulas.platforms import system_part
from mrdsl.spec.blocks import any_stages, stages_of
from mrdsl.spec.columns import column, words

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
RESOURCES = ("cores", "memory")


def staged(classes: Sequence[Any]) -> Flags:
    """Return the classes that consist of stages."""
    if not any_stages(classes):
        return np.zeros(len(classes), dtype=bool)
    return np.array([bool(stages) for stages in stages_of(classes)], dtype=bool)


def left_to_containers(vms: Sequence[Any], resource: str) -> Floats:
    """Return the cores or the memory [B] of each VM type without those of its system; NaN if not given."""
    there = column(vms, resource)
    platforms = words(vms, "system.platform")
    system = np.nan_to_num(column(vms, f"system.{resource}"))
    for place in np.flatnonzero(platforms != "").tolist():
        system[place] = system_part(str(platforms[place]), vms[place].name, resource, float(there[place]))
    return np.asarray(there - system)


def taken(classes: Sequence[Any], kind: str, resource: str) -> Floats:
    """Return the cores or memory [B] of the map or reduce slots of each class; NaN if not given."""
    of_all = column(classes, f"container.{resource}")
    of_kind = _or_of_all(column(classes, f"container.{kind}.{resource}"), of_all)
    there = staged(classes)
    if not there.any():
        return of_kind
    executors = column(classes, f"container.executor.{resource}")
    of_task = _or_of_all(column(classes, f"container.task.{resource}"), of_all)
    found = np.where(there, np.fmin(executors, of_task), of_kind)
    if kind == "reduce":
        found = np.where(with_drivers(classes), column(classes, f"driver.{resource}"), found)
    return found


def _or_of_all(of_kind: Floats, of_all: Floats) -> Floats:
    """Return the resource of tasks of a kind, or of all tasks if the kind has none of its own."""
    return np.where(np.isnan(of_kind), of_all, of_kind)


def tasks_of_executors(classes: Sequence[Any]) -> Floats:
    """Return the tasks of one executor of each class; 0 without executors."""
    tasks = column(classes, "container.executor.tasks")
    return np.where(staged(classes) & ~np.isnan(tasks), tasks, 0.0)


def tasks_of_slots(classes: Sequence[Any]) -> Floats:
    """Return the tasks of one slot of each class: those of an executor, otherwise 1."""
    return np.maximum(tasks_of_executors(classes), 1.0)


def with_drivers(classes: Sequence[Any]) -> Flags:
    """Return the classes whose jobs have a driver."""
    found = [~np.isnan(column(classes, f"driver.{resource}")) for resource in RESOURCES]
    return np.asarray(staged(classes) & (found[0] | found[1]))


def in_executors(work: Coefficients, tasks: Floats) -> Coefficients:
    """Return A, B and C for slots that are executors."""
    return work.with_parts(tasks, np.ones_like(tasks))


def limits_in_executors(limits: SlotLimits, tasks: Floats, drivers: Flags) -> SlotLimits:
    """Return the range of executors of one job, the last of them in part, and its one driver."""
    most = limits.map_most / tasks
    return SlotLimits(
        np.minimum(ceiling(limits.map_least / tasks), most),
        most,
        np.where(drivers, 1.0, limits.reduce_least),
        np.where(drivers, 1.0, limits.reduce_most),
    )
