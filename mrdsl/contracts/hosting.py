"""Whether whole slots fit the VMs of a plan: a VM hosts so many map slots, or so many reduce slots, of one class.

Theorem 4.1 gives slots as fractions, whose VMs add up to what a plan rents. A cluster has whole slots.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.diagnostics import Diagnostic, Span, warning
from mrdsl.core.rounding import ROUNDING, begun, ceiling

Floats = NDArray[np.float64]


def hosting_vms(map_slots: Floats, reduce_slots: Floats, map_per_vm: Floats, reduce_per_vm: Floats) -> Floats:
    """Return the VMs that whole slots take: those of each kind rounded up, then their VMs."""
    return begun(begun(map_slots) / map_per_vm) + begun(begun(reduce_slots) / reduce_per_vm)


def told_of_hosting(names: Sequence[str], needed: Floats, held: Floats, span: Span | None) -> tuple[Diagnostic, ...]:
    """Return a warning where whole slots need more VMs than a plan holds for each class: in how many cells, and the
    worst.

    ``needed`` and ``held`` have the shape (..., classes).
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


def told_of_sharing(
    needed: float, held: float, most: float | None, span: Span | None, instead: str
) -> tuple[Diagnostic, ...]:
    """Return the same where all classes share the plan's VMs, and ``vms`` may be bounded in ``subject to``.

    ``most``: the VMs for the whole slots of all expected jobs, which any plan with the least slots per job fits; on
    fewer, more VMs may admit more jobs. None where a plan takes more slots than it needs. ``instead``: how whole slots
    are planned.
    """
    if needed <= held + ROUNDING * max(1.0, held):
        return ()
    enough, always = _whole(needed), None if most is None else _whole(most)
    hint = f"{enough} VMs are enough for these jobs; extra VMs may admit more jobs or add slots"
    if always == enough:
        hint = f"rent {enough} VMs for them: `subject to {{ vms >= {enough} }}`"
    elif always is not None:
        hint = (
            f"{enough} VMs are enough for these jobs, but may admit more; for all: `subject to {{ vms >= {always} }}`"
        )
    return (_warning("of all classes", needed, held, span, f"{hint}; or {instead}"),)


def _whole(vms: float) -> str:
    return f"{float(ceiling(vms)):.0f}"


def _warning(where: str, needed: float, held: float, span: Span | None, hint: str) -> Diagnostic:
    message = f"the whole slots {where} need {needed:.10g} VMs, but the plan has {held:.10g}"
    return warning("slots-beyond-vms", message, span, hint)
