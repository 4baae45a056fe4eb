"""Completion-time estimates as constraints of a Pyomo model: ``A h / s_M + B h / s_R + C <= D``.

Source: Malekimajd et al. 2015, *Optimal Map Reduce Job Capacity Allocation in Cloud Systems*, equations (4) and (6).
``A``, ``B`` and ``C`` come from any estimate of :mod:`mrdsl.formulas.mapreduce` (guaranteed or not), or from the
smooth wave form; ``jobs`` and slots are numbers, variables or expressions.

Correction to the paper: it calls the constraints (6) non-convex. As functions they are, but the set they describe is
convex: ``A h^2 / s_M + B h^2 / s_R <= (D - C) h``, sums of quadratics over linear terms; P0-cone of the capacity
family writes it so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Work:
    """One class's coefficients of (4), in seconds; ``reduce_work`` is 0 for map-only classes."""

    map_work: float
    reduce_work: float
    constant: float


def completion(work: Work, jobs: Any, map_slots: Any, reduce_slots: Any) -> Any:
    """The completion time as an expression: (4). Phases without work leave no term, so that no slot divides by 0."""
    time = work.constant
    if work.map_work > 0.0:
        time = time + work.map_work * jobs / map_slots
    if work.reduce_work > 0.0:
        time = time + work.reduce_work * jobs / reduce_slots
    return time


def ratio(work: Work, jobs: Any, map_slots: Any, reduce_slots: Any, deadline: Any) -> Any:
    """The deadline as the paper prints it: (6). Slots must be bounded away from 0."""
    return completion(work, jobs, map_slots, reduce_slots) <= deadline
