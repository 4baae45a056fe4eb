"""How ``mrdsl-energy`` changes the machines of a state: take, return and swap VMs, hand them over, change roles.

Every function gives moves, each the changes of some jobs' numbers of VMs per kind (type and role); whether there are so
many VMs is for the caller to see.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mrdsl.families.energy.cluster import Ints, JobData
from mrdsl.families.energy.methods.roles import BOTH, MAPS, REDUCES
from mrdsl.families.energy.sets import Placement

State = tuple[Placement, ...]
"""One placement per job."""

Move = tuple[tuple[int, Ints], ...]
"""Changes of the numbers of VMs per kind, job by job."""


def _change(state: State, *steps: tuple[int, int]) -> Ints:
    """A change of the numbers by ``(kind, count)``."""
    delta = np.zeros_like(state[0].vms)
    for kind, count in steps:
        delta[kind] += count
    return delta


def _present(state: State, j: int) -> list[int]:
    return [int(kind) for kind in np.flatnonzero(state[j].vms)]


def singles(available: Ints, state: State) -> Iterator[Move]:
    """One VM more or less, in large stocks also several."""
    for j in range(len(state)):
        for kind in range(len(available)):
            for step in _steps(int(available[kind])):
                yield ((j, _change(state, (kind, -step))),)
                yield ((j, _change(state, (kind, step))),)
        for kind in _present(state, j):
            if kind >= len(available):
                yield ((j, _change(state, (kind, -1))),)


def _steps(available: int) -> list[int]:
    return [step for step in (1, 4, 16, 64) if step == 1 or step * 2 <= available]


def swaps(available: Ints, state: State) -> Iterator[Move]:
    """One VM for one of another type; between jobs, one VM handed over."""
    for j in range(len(state)):
        for less in _present(state, j):
            for more in range(len(available)):
                if more != less:
                    yield ((j, _change(state, (less, -1), (more, 1))),)
            for other in range(len(state)):
                if other != j:
                    yield ((j, _change(state, (less, -1))), (other, _change(state, (less, 1))))


def triples(available: Ints, state: State) -> Iterator[Move]:
    """One VM for two others, two for one, in every combination of types; for a job by itself."""
    if len(state) > 1:
        return
    kinds = len(available)
    for one in range(kinds):
        for first in range(kinds):
            for second in range(first, kinds):
                if one not in (first, second):
                    yield ((0, _change(state, (first, 1), (second, 1), (one, -1))),)
                    yield ((0, _change(state, (first, -1), (second, -1), (one, 1))),)


def roles(available: Ints, state: State) -> Iterator[Move]:
    """One VM in another role, or one taken or swapped in for map or for reduce tasks alone."""
    types = len(available)
    for j in range(len(state)):
        for role in (MAPS, REDUCES):
            for kind in range(types):
                yield ((j, _change(state, (role * types + kind, 1))),)
        for less in _present(state, j):
            for role in (BOTH, MAPS, REDUCES):
                for kind in range(types):
                    if (role or kind == less % types) and role * types + kind != less:
                        yield ((j, _change(state, (less, -1), (role * types + kind, 1))),)


def pairs(available: Ints, state: State) -> Iterator[Move]:
    """Two VMs at once, one to map and one to reduce alone."""
    types = len(available)
    for j in range(len(state)):
        here = _present(state, j)
        for first in here:
            for second in here:
                yield (
                    (
                        j,
                        _change(
                            state,
                            (first, -1),
                            (second, -1),
                            (MAPS * types + first % types, 1),
                            (REDUCES * types + second % types, 1),
                        ),
                    ),
                )


def parted(job: JobData, vms: Ints, most: int = 12) -> Iterator[Ints]:
    """VMs per type as mappers and reducers alone: those that reduce best, in comparison, reduce; several numbers."""
    able = np.isfinite(job.map_time) & np.isfinite(job.reduce_time)
    ratio = np.where(able, job.reduce_time / np.where(able, job.map_time, 1.0), np.where(job.map_time < np.inf, 1e9, 0))
    order = np.argsort(ratio, kind="stable")
    every = np.repeat(order, vms[order])
    counts = np.unique(np.linspace(1, max(len(every) - 1, 1), most).round().astype(np.int64))
    for count in counts.tolist() if len(every) > 1 else ():
        reducers = np.bincount(every[:count], minlength=len(vms))
        yield np.concatenate([np.zeros_like(vms), vms - reducers, reducers]).astype(np.int64)
