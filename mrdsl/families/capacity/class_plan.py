"""What a capacity plan says of single classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Slots:
    """Map and reduce slots as whole numbers."""

    map: int
    reduce: int


@dataclass(frozen=True)
class TaskSlots:
    """Slots for tasks of stages as a whole number."""

    task: int


@dataclass(frozen=True)
class Completion:
    """The completion time of each job of a class by every estimate, in seconds; None where it is not known."""

    lower: float | None
    average: float | None
    upper: float | None


@dataclass(frozen=True)
class ClassPlan:
    """What a plan says of one class.

    ``admitted`` and ``rejected`` count jobs; ``map_slots`` and ``reduce_slots`` are those of the whole class by Theorem
    4.1, unrounded, and ``whole_slots`` the same rounded up; ``vms`` what they take of the cluster. ``penalty`` is what
    the rejected jobs cost together. ``upper_is_bound``: whether jobs keep the premises of the upper estimate, see
    :func:`mrdsl.formulas.estimates.upper_is_bound`; None where it is not known.
    """

    admitted: float
    rejected: float
    map_slots: float
    reduce_slots: float
    whole_slots: Slots
    vms: float
    completion: Completion
    deadline: float
    penalty: float
    upper_is_bound: bool | None


@dataclass(frozen=True)
class StagedClassPlan:
    """What a plan says of a class of stages: as :class:`ClassPlan`, with slots of one kind."""

    admitted: float
    rejected: float
    task_slots: float
    whole_slots: TaskSlots
    vms: float
    completion: Completion
    deadline: float
    penalty: float
    upper_is_bound: bool | None


def of_stages(found: ClassPlan) -> StagedClassPlan:
    """The same of a class of stages, whose slots are those of their tasks."""
    return StagedClassPlan(
        found.admitted,
        found.rejected,
        found.map_slots,
        TaskSlots(found.whole_slots.map),
        found.vms,
        found.completion,
        found.deadline,
        found.penalty,
        found.upper_is_bound,
    )


def class_plan(
    admitted: float,
    rejected: float,
    map_slots: float,
    reduce_slots: float,
    whole_map: int,
    whole_reduce: int,
    vms: float,
    lower: float,
    average: float,
    upper: float,
    deadline: float,
    penalty: float,
    is_bound: bool | None,
) -> ClassPlan:
    """A row of a plan's columns as what it says of one class."""
    known = [None if time != time else time for time in (lower, average, upper)]
    return ClassPlan(
        admitted,
        rejected,
        map_slots,
        reduce_slots,
        Slots(whole_map, whole_reduce),
        vms,
        Completion(*known),
        deadline,
        penalty,
        is_bound,
    )


def class_document(
    admitted: float,
    rejected: float,
    map_slots: float,
    reduce_slots: float,
    whole_map: int,
    whole_reduce: int,
    vms: float,
    lower: float,
    average: float,
    upper: float,
    deadline: float,
    penalty: float,
    is_bound: bool | None,
) -> dict[str, Any]:
    """A :class:`ClassPlan` as JSON knows it, written out: plans of 100,000 classes go through here."""
    lower, average, upper = (None if time != time else time for time in (lower, average, upper))  # type: ignore
    return {
        "admitted": admitted,
        "rejected": rejected,
        "map_slots": map_slots,
        "reduce_slots": reduce_slots,
        "whole_slots": {"map": whole_map, "reduce": whole_reduce},
        "vms": vms,
        "completion": {"lower": lower, "average": average, "upper": upper},
        "deadline": deadline,
        "penalty": penalty,
        "upper_is_bound": is_bound,
    }
