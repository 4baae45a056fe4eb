"""Reserved VMs of a timetable: which rentals are on them, and which tasks run there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from heapq import heappop, heappush

import numpy as np

from mrdsl.families.timetable.night import Night
from mrdsl.families.timetable.rented import Lease, Rented, masters_of, packed, pieces_of, rented, rented_on
from mrdsl.families.timetable.slots import Placed
from mrdsl.families.timetable.types import Market, alone


def constant_of(night: Night, count: int, placed: Sequence[Placed | None]) -> Rented:
    """Return runs on ``count`` machines that are rented from before the first release to the last end."""
    ran = [(run.release, each) for run, each in zip(night.runs, placed, strict=True) if each is not None]
    if not ran:
        return rented(night, "constant", (), (), placed)
    begin, end = min(release for release, _ in ran) - night.machine.boot, max(each.end for _, each in ran)
    market, leases = alone(night), [Lease(begin, end, count)]
    found = rented_on(market, "constant", [*leases, *masters_of(market, leases)], pieces_of(placed), placed)
    found = packed(market, found)
    return with_reserved(market, found) if night.machine.reserved else found


def with_reserved(market: Market, found: Rented) -> Rented:
    """Return a timetable with the machines on reserved VMs that save most; unchanged if some are already."""
    if not any(machine.reserved for machine in market.machines) or any(each.reserved for each in found.leases):
        return found
    counts = [0] * len(found.leases)
    for vm, machine in enumerate(market.machines):
        if machine.reserved:
            for index, count in _cheapest(market, found.leases, vm):
                counts[index] = count
    return split(market, found, counts)


def _cheapest(market: Market, leases: Sequence[Lease], vm: int) -> list[tuple[int, int]]:
    """Return how many machines of each rental of a type are reserved: those that are paid longest, of all at once.

    The rows of the program are intervals of rentals in order, so its corners are whole.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    machine = market.machines[vm]
    mine = [index for index, each in enumerate(leases) if each.vm == vm and not each.master]
    begins = np.array([leases[index].begin for index in mine], dtype=np.int64)
    ends = np.array([leases[index].end for index in mine], dtype=np.int64)
    most = np.array([leases[index].count for index in mine], dtype=np.float64)
    if not mine:
        return []
    points = np.unique(begins)
    there = (begins[None, :] <= points[:, None]) & (ends[None, :] > points[:, None])
    saved = np.array(
        [float(machine.billed(end - begin)) for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)]
    )
    solved = linprog(
        -saved / max(float(saved.max()), 1.0),
        A_ub=csr_array(there.astype(np.float64)),
        b_ub=np.full(len(points), float(machine.reserved)),
        bounds=np.stack([np.zeros(len(mine)), most], axis=1),
        method="highs-ds",
    )
    counts = np.floor(np.asarray(solved.x) + 1e-6).astype(np.int64) if solved.status == 0 else np.zeros(len(mine), int)
    return list(zip(mine, counts.tolist(), strict=True))


def split(market: Market, found: Rented, reserved: Sequence[int]) -> Rented:
    """Return a timetable with so many machines of each rental reserved, the others on demand; none without a task."""
    leases: list[Lease] = []
    pieces: list[tuple[int, int, int, int, int]] = []
    of_lease: dict[int, list[tuple[int, int, int, int]]] = {}
    for run, stage, at, start, tasks in found.pieces:
        of_lease.setdefault(at, []).append((start, run, stage, tasks))
    for index, (lease, count) in enumerate(zip(found.leases, reserved, strict=True)):
        parts = [(count, True), (lease.count - count, False)]
        if lease.master:
            leases.append(lease)
            continue
        slots = market.machines[lease.vm].slots
        free = [machines * slots for machines, _ in parts]
        taken: list[list[tuple[int, int, int, int]]] = [[], []]
        ends: list[tuple[int, int, int]] = []
        for start, run, stage, tasks in sorted(of_lease.get(index, ())):
            while ends and ends[0][0] <= start:
                _, part, back = heappop(ends)
                free[part] += back
            left = tasks
            planned = market.nights[lease.vm].jobs[market.runs[run].job].stages[stage]
            end = start + planned.ticks
            for part in range(2):
                here = min(left, free[part] - free[part] % planned.parts)
                if here:
                    free[part] -= here
                    left -= here
                    heappush(ends, (end, part, here))
                    taken[part].append((run, stage, start, here))
        for (machines, is_reserved), mine in zip(parts, taken, strict=True):
            if machines and mine:
                pieces += [(run, stage, len(leases), start, here) for run, stage, start, here in mine]
                leases.append(replace(lease, count=machines, reserved=is_reserved))
    return rented_on(market, found.rent, leases, pieces, found.placed)
