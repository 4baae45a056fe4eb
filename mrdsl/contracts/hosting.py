"""Checks that whole slots fit the VMs of a plan, with a number of map slots or reduce slots of one class on each VM.

Theorem 4.1 gives slots as fractions, whose VMs add up to the rented ones. A cluster has whole slots.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.diagnostics import Diagnostic, Span, number_of, warning
from mrdsl.core.rounding import ROUNDING, begun, ceiling

Floats = NDArray[np.float64]


def hosting_vms(map_slots: Floats, reduce_slots: Floats, map_per_vm: Floats, reduce_per_vm: Floats) -> Floats:
    """Compute the VMs that whole slots need: the slots of each kind rounded up, then their VMs.

    Args:
        map_slots: Map slots, shape (..., classes).
        reduce_slots: Reduce slots, shape (..., classes).
        map_per_vm: Map slots of one VM, shape (classes,).
        reduce_per_vm: Reduce slots of one VM, shape (classes,).

    Returns:
        VMs, shape (..., classes).
    """
    return begun(begun(map_slots) / map_per_vm) + begun(begun(reduce_slots) / reduce_per_vm)


def hosting_warnings(names: Sequence[str], needed: Floats, held: Floats, span: Span | None) -> tuple[Diagnostic, ...]:
    """Warn if whole slots of a class need more VMs than a plan has for it.

    Args:
        names: Names of the classes.
        needed: VMs for whole slots, shape (..., classes).
        held: VMs of the plan, shape (..., classes).
        span: Location of the warning.

    Returns:
        One warning with the number of cases and the worst one, or nothing.
    """
    short = needed - held
    over = np.argwhere(short > ROUNDING * np.maximum(1.0, held))
    if not len(over):
        return ()
    worst = max(over.tolist(), key=lambda cell: short[tuple(cell)])
    where = f"of class {names[worst[-1]]}" + ("" if short.ndim == 1 else f" in period {worst[0]}")
    cells = "classes" if short.ndim == 1 else "classes and periods"
    return (
        _warning(
            f"{where}, the worst of {len(over)} out of {short.size} {cells},",
            float(needed[tuple(worst)]),
            float(held[tuple(worst)]),
            span,
            "the plan counts slots in fractions: add the missing VMs to these classes",
        ),
    )


def sharing_warnings(
    needed: float, held: float, most: float | None, span: Span | None, instead: str
) -> tuple[Diagnostic, ...]:
    """Warn if whole slots of all classes need more VMs than a plan has.

    Args:
        needed: VMs for whole slots.
        held: VMs of the plan.
        most: VMs for the whole slots of all expected jobs; None if the plan has more slots than it needs.
        span: Location of the warning.
        instead: Hint for planning with whole slots.

    Returns:
        One warning, or nothing.
    """
    if needed <= held + ROUNDING * max(1.0, held):
        return ()
    enough, always = _whole(needed), None if most is None else _whole(most)
    vms = number_of(enough, "VM", ".0f")
    hint = f"these jobs need no more than {vms}; extra VMs may admit more jobs or add slots"
    if always == enough:
        hint = f"rent {vms} for them: `subject to {{ vms >= {enough:.0f} }}`"
    elif always is not None:
        hint = (
            f"these jobs need no more than {vms}, which may admit more; for all: `subject to {{ vms >= {always:.0f} }}`"
        )
    return (_warning("of all classes", needed, held, span, f"{hint}; or {instead}"),)


def _whole(vms: float) -> float:
    return float(ceiling(vms))


def _warning(where: str, needed: float, held: float, span: Span | None, hint: str) -> Diagnostic:
    message = f"the whole slots {where} need {number_of(needed, 'VM', '.10g')}, but the plan has {held:.10g}"
    return warning("slots-beyond-vms", message, span, hint)
