"""The fewest VMs of one job, found by trying slots one after another, for verification alone."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.tolerances import ROUNDING
from mrdsl.core.whole_numbers import ceiling

Floats = NDArray[np.float64]
Two = tuple[float, float]

NEAR = 2000
"""So many pairs of slots on each side of the middle are tried."""


def fewest_vms(work: Two, left: float, most: Two, hosted: Two, whole: bool) -> Iterator[Two]:
    """Find the pairs of slots that do ``A / map + B / reduce <= left`` on the fewest VMs, one by one.

    Args:
        work: A and B of one job, in slot-seconds.
        left: What the deadline leaves to both phases [s].
        most: The tasks of each kind; at least one slot of a kind that has tasks.
        hosted: Slots of each kind that one VM hosts.
        whole: True if slots are whole.

    Yields:
        Map and reduce slots; of several pairs on equally few VMs each.
    """
    if not left > 0.0:
        return
    tried = []
    balanced = sum(np.sqrt(part / host) for part, host in zip(work, hosted, strict=True)) / left
    for kind in (0, 1):  # one kind is counted, the other one follows
        least = 1.0 if most[kind] > 0.0 else 0.0
        around = np.clip(np.sqrt(work[kind] * hosted[kind]) * balanced, least, most[kind])
        if whole:
            counted = np.unique(np.clip(np.floor(around) + np.arange(-NEAR, NEAR + 1.0), least, most[kind]))
        else:
            counted = np.clip(around * np.linspace(0.5, 1.5, NEAR + 1), least, most[kind])
        pairs = _completed(counted, work, left, most, kind, whole)
        tried.append(pairs[:, np.isfinite(pairs).all(axis=0)])
    pairs = np.concatenate(tried, axis=1)
    vms = pairs[0] / hosted[0] + pairs[1] / hosted[1]
    for number in np.flatnonzero(vms <= vms.min(initial=np.inf) * (1.0 + ROUNDING)).tolist():
        yield float(pairs[0, number]), float(pairs[1, number])


def _completed(counted: Floats, work: Two, left: float, most: Two, kind: int, whole: bool) -> Floats:
    """Give the slots of the other kind that keep the rest of the time; infinite if none do."""
    own, other = work[kind], work[1 - kind]
    with np.errstate(divide="ignore", invalid="ignore"):
        time = left - (own / counted if own > 0.0 else np.zeros_like(counted))
        late = np.where(time >= -ROUNDING * left, 0.0, np.inf)
        needed = np.where(time > 0.0, other / time, np.inf) if other > 0.0 else late
    needed = ceiling(needed) if whole else needed
    least = 1.0 if most[1 - kind] > 0.0 else 0.0
    limit = most[1 - kind] * (1.0 + ROUNDING)
    slots = np.where(needed <= limit, np.minimum(np.maximum(needed, least), most[1 - kind]), np.inf)
    return np.array([counted, slots] if kind == 0 else [slots, counted])
