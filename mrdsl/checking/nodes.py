"""Cores and memory that the system of a machine leaves to containers, computed a second time for verification alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mrdsl.spec.platforms import (
    DATAPROC,
    DATAPROC_SHARE,
    EMR,
    EMR_EXCEPTIONS,
    EMR_PARTS,
    EMR_SMALL,
    EMR_WHOLE,
    KUBERNETES_CORES,
    KUBERNETES_EVICTION,
    KUBERNETES_MEMORY,
)

MIB = 1024.0**2


def left_to_containers(vms: Sequence[Any]) -> NDArray[np.float64]:
    """Compute the cores and the memory [B] of each VM type for containers, shape (2, types); NaN if not given."""
    rows = [_left(vm.name, vm.cores, vm.memory, vm.system) for vm in vms]
    return np.array(rows, dtype=np.float64).reshape(-1, 2).T


def _left(name: str, cores: float | None, memory: float | None, system: Any) -> tuple[float, float]:
    there = [np.nan if each is None else float(each) for each in (cores, memory)]
    if system is None:
        return there[0], there[1]
    if system.platform is None:
        return there[0] - (system.cores or 0.0), there[1] - (system.memory or 0.0)
    mib = there[1] / MIB
    if np.isnan(mib):
        return there[0], np.nan
    if system.platform == EMR:
        used = mib if name.split(".")[0] in EMR_WHOLE else mib * EMR_PARTS[0] / EMR_PARTS[1]
        kept = min(used / 4.0, EMR_SMALL / 4.0)
        yarn = float(EMR_EXCEPTIONS.get(name, int(used - kept)))
        return there[0], MIB * min(yarn, mib)
    if system.platform == DATAPROC:
        return there[0], DATAPROC_SHARE * there[1]
    core_bounds = np.cumsum([0.0, *(size for size, _ in KUBERNETES_CORES)])
    memory_bounds = np.cumsum([0.0, *(size for size, _ in KUBERNETES_MEMORY)])
    core_parts, memory_parts = ([part for _, part in steps] for steps in (KUBERNETES_CORES, KUBERNETES_MEMORY))
    reserved = float(np.diff(np.minimum(core_bounds, there[0])) @ core_parts)
    system_mib = float(np.diff(np.minimum(memory_bounds, mib)) @ memory_parts) + KUBERNETES_EVICTION
    return there[0] - reserved, max(0.0, there[1] - MIB * system_mib)
