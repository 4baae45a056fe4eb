"""Whether whole slots fit the VMs of a plan: a VM hosts so many map slots, or so many reduce slots, of one class.

Theorem 4.1 gives slots as fractions, whose VMs add up to what a plan rents. A cluster has whole slots.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.diagnostics import Diagnostic, warning
from mrdsl.core.source import Span
from mrdsl.core.whole_numbers import begun

Floats = NDArray[np.float64]
ROUNDING = 1e-9


def hosting_vms(map_slots: Floats, reduce_slots: Floats, map_per_vm: Floats, reduce_per_vm: Floats) -> Floats:
    """The VMs that whole slots take: those of each kind rounded up, then their VMs."""
    return begun(begun(map_slots) / map_per_vm) + begun(begun(reduce_slots) / reduce_per_vm)


def told_of_hosting(names: Sequence[str], needed: Floats, held: Floats, span: Span | None) -> tuple[Diagnostic, ...]:
    """A warning where whole slots need more VMs than a plan holds: in how many cells, and the worst of them.

    ``needed`` and ``held`` have the shape (..., classes).
    """
    short = needed - held
    over = np.argwhere(short > ROUNDING * np.maximum(1.0, held))
    if not len(over):
        return ()
    worst = max(over.tolist(), key=lambda cell: short[tuple(cell)])
    name = names[worst[-1]]
    cells = "classes" if short.ndim == 1 else "classes and periods"
    where = "" if short.ndim == 1 else f" in period {worst[0]}"
    return (
        warning(
            "slots-beyond-vms",
            f"whole slots do not fit the plan's VMs in {len(over)} of {short.size} {cells}: those of class {name} take "
            f"{needed[tuple(worst)]:g} VMs{where}, and it has {held[tuple(worst)]:g}",
            span,
            "the plan counts slots in fractions: give such classes a VM or two more than it says",
        ),
    )
