"""Cores and memory of a machine that its platform's system takes, see :mod:`mrdsl.spec.platforms`."""

from __future__ import annotations

from collections.abc import Iterable

from mrdsl.spec import platforms as published
from mrdsl.spec.platforms import DATAPROC, DATAPROC_SHARE, EMR, KUBERNETES

MIB = 2**20


def system_part(platform: str, name: str, resource: str, there: float) -> float:
    """Return the ``cores`` or the ``memory`` [B] of a machine of a type that are not for containers."""
    return system_memory(platform, name, there) if resource == "memory" else system_cores(platform, there)


def system_memory(platform: str, name: str, memory: float) -> float:
    """Return the memory [B] of a machine of a type that is not for containers, of ``memory`` [B]."""
    if platform == EMR:
        return max(0.0, memory - MIB * emr_memory(name, memory / MIB))
    if platform == DATAPROC:
        return (1.0 - DATAPROC_SHARE) * memory
    reserved = _reserved(published.KUBERNETES_MEMORY, memory / MIB) + published.KUBERNETES_EVICTION
    return min(memory, MIB * reserved)


def system_cores(platform: str, cores: float) -> float:
    """Return the cores of a machine that are not for containers: none where YARN runs."""
    return _reserved(published.KUBERNETES_CORES, cores) if platform == KUBERNETES else 0.0


def emr_memory(name: str, memory: float) -> float:
    """Return the memory that YARN has on an EMR node [MiB], of a type's name and its memory [MiB]."""
    if name in published.EMR_EXCEPTIONS:
        return float(published.EMR_EXCEPTIONS[name])
    if name.partition(".")[0] not in published.EMR_WHOLE:
        memory *= published.EMR_PARTS[0] / published.EMR_PARTS[1]
    small = published.EMR_SMALL
    return float(int(memory * 0.75 if memory <= small else memory - small / 4))


def emr_hardware(memory: float) -> float:
    """Return the least memory [MiB] of a machine of an unknown type on which YARN has ``memory`` [MiB] on EMR."""
    part = published.EMR_PARTS[1] / published.EMR_PARTS[0]
    small = published.EMR_SMALL
    whole = memory / 0.75 if memory <= 0.75 * small else memory + small / 4
    return float(-int(-whole * part // 1))


def dataproc_hardware(memory: int) -> int:
    """Return the least memory [MiB] of a machine of which YARN has so much on Dataproc."""
    whole = round(memory / DATAPROC_SHARE)
    return whole if DATAPROC_SHARE * whole >= memory else whole + 1


def kubernetes_hardware(cores: int, memory: int) -> tuple[int, int]:
    """Return whole cores and memory [MiB] of the least machine that leaves so much to pods."""
    whole = cores
    while whole - system_cores(KUBERNETES, float(whole)) < cores:
        whole += 1
    low, high = memory, 2 * memory + 2 * published.KUBERNETES_MEMORY[0][0]
    while low < high:
        middle = (low + high) // 2
        if middle - system_memory(KUBERNETES, "", MIB * middle) / MIB < memory:
            low = middle + 1
        else:
            high = middle
    return whole, low


def _reserved(steps: Iterable[tuple[float, float]], there: float) -> float:
    found = 0.0
    for size, part in steps:
        found += part * min(size, there)
        there = max(0.0, there - size)
    return found
