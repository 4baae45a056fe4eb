"""Completion-time estimates as constraints of a Pyomo model: ``A h / s_M + B h / s_R + C <= D``.

Source: Malekimajd et al. 2015, *Optimal Map Reduce Job Capacity Allocation in Cloud Systems*, equations (4) and (6).
``A``, ``B`` and ``C`` come from any estimate of :mod:`mrdsl.formulas.mapreduce` (guaranteed or not), or from the
smooth wave form, one element per class; ``jobs`` and slots are numbers, variables or expressions.

Correction to the paper: it calls the constraints (6) non-convex. As functions they are, but the set they describe is
convex: ``A h^2 / s_M + B h^2 / s_R <= (D - C) h``, sums of quadratics over linear terms; P0-cone of the capacity
family writes it so.
"""

from __future__ import annotations

from typing import Any

from mrdsl.formulas.mapreduce import Coefficients


def completion(work: Coefficients, which: int, jobs: Any, map_slots: Any, reduce_slots: Any) -> Any:
    """The completion time of one class as an expression: (4).

    Phases without work leave no term, so that no slot divides by 0.
    """
    map_work, reduce_work = float(work.map_work[which]), float(work.reduce_work[which])
    time = float(work.constant[which])
    if map_work > 0.0:
        time = time + map_work * jobs / map_slots
    if reduce_work > 0.0:
        time = time + reduce_work * jobs / reduce_slots
    return time


def ratio(work: Coefficients, which: int, jobs: Any, map_slots: Any, reduce_slots: Any, deadline: Any) -> Any:
    """The deadline as the paper prints it: (6). Slots must be bounded away from 0."""
    return completion(work, which, jobs, map_slots, reduce_slots) <= deadline
