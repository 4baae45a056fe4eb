"""Machines for the tasks of a timetable: each is rented for as long as the tasks on it take."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mrdsl.families.timetable.night import Machine, Night
from mrdsl.families.timetable.rented import Lease, Piece, Rented, is_mixed, masters_of, rented_on
from mrdsl.families.timetable.slots import Placed
from mrdsl.families.timetable.types import alone as market_alone

Wave = tuple[int, int, int, int, int]
"""Tasks that start together: the start, the ticks that each takes, the run, the stage, how many."""


class _Pool:
    """Alike machines while tasks are assigned: their request, the end of their last task, and of the latest ones.

    They are paid ``until`` a time, used or not.
    """

    __slots__ = ("begin", "busy", "count", "end", "pieces", "until")

    def __init__(self, begin: int, count: int, until: int = 0) -> None:
        self.begin, self.count, self.end, self.until = begin, count, begin, until
        self.busy: list[tuple[int, int]] = []
        self.pieces: list[tuple[int, int, int, int]] = []

    def split(self, count: int) -> _Pool:
        """Return ``count`` of the machines, with the same past for each."""
        part = _Pool(self.begin, count, self.until)
        part.end, part.busy, part.pieces = self.end, list(self.busy), list(self.pieces)
        self.count -= count
        return part


def elastic_of(night: Night, placed: Sequence[Placed | None]) -> Rented:
    """Return runs on machines that are each rented for as long as their tasks take.

    In the order of their starts, tasks go to the machine that costs least more for them: one that stays anyway, one
    that is released later, or a new one. Machines with the same tasks are one pool.
    """
    waves = (
        (start, night.jobs[night.runs[run].job].stages[stage].ticks, run, stage, count)
        for run, each in enumerate(placed)
        if each is not None
        for stage, start, count in each.waves
    )
    return _rented(night, _assigned(night, waves, []), placed)


@dataclass(frozen=True)
class Opened:
    """Alike machines that hold tasks from ``begin`` to ``end``, and the tasks on them."""

    begin: int
    end: int
    count: int
    waves: Sequence[Wave]


def opened_of(night: Night, machines: Iterable[Opened], placed: Sequence[Placed | None]) -> Rented:
    """Return runs on these machines, each rented from its first task to its last, and on if that saves another one."""
    pools: list[_Pool] = []
    for each in machines:
        pools += _assigned(night, each.waves, [_Pool(each.begin - night.machine.boot, each.count, each.end)])
    return _rented(night, _joined(night.machine, [pool for pool in pools if pool.pieces]), placed)


def _assigned(night: Night, waves: Iterable[Wave], there: list[_Pool]) -> list[_Pool]:
    """Assign tasks to machines that are there, or to new ones; return all machines."""
    machine = night.machine
    slots = machine.slots
    known: dict[int, int] = {}

    def billed(ticks: int) -> int:
        found = known.get(ticks)
        if found is None:
            found = known[ticks] = machine.billed(ticks)
        return found

    done: list[_Pool] = []
    idle = machine.boot + max(machine.billed(machine.boot), machine.period)
    for start, ticks, run, stage, tasks in sorted(waves, key=lambda wave: (wave[0], -wave[1], *wave[2:])):
        end = start + ticks
        alone = billed(machine.boot + ticks)
        parts = night.jobs[night.runs[run].job].stages[stage].parts
        kept: list[_Pool] = []
        choices = []
        for pool in there:
            if start - max(pool.end, pool.until) > idle:
                done.append(pool)
                continue
            kept.append(pool)
            if pool.busy and pool.busy[0][0] <= start:
                pool.busy = [each for each in pool.busy if each[0] > start]
            free = slots - sum(count for _, count in pool.busy)
            free -= free % parts
            if free:
                paid = billed(pool.end - pool.begin)
                more = billed(end - pool.begin) - paid if end > pool.end and end > pool.until else 0
                taken = free if free < tasks else tasks
                if more * min(slots, tasks) <= alone * taken:
                    choices.append((more / taken, -pool.end, len(kept), free, pool))
        there = kept
        for _, _, _, free, pool in sorted(choices):
            if not tasks:
                break
            tasks -= _take(there, pool, free, tasks, (run, stage, start, end))
        if tasks:
            fresh = _Pool(start - machine.boot, -(-tasks // slots))
            there.append(fresh)
            _take(there, fresh, slots, tasks, (run, stage, start, end))
    every = [*done, *there]
    for pool in every:
        if pool.pieces:
            pool.begin = pool.pieces[0][2] - machine.boot
    return sorted(every, key=lambda pool: (pool.begin, pool.end))


def _joined(machine: Machine, pools: Iterable[_Pool]) -> list[_Pool]:
    """Return machines with some that stay in place of ones that begin later, where that costs less."""
    found: list[_Pool] = []
    there: list[_Pool] = []
    idle = machine.boot + max(machine.billed(machine.boot), machine.period)
    for pool in sorted(pools, key=lambda pool: (pool.begin, pool.end)):
        first = pool.begin + machine.boot
        there = [each for each in there if first - each.end <= idle]
        alone = machine.billed(pool.end - pool.begin)
        choices = []
        for place, each in enumerate(there):
            if each.end <= first:
                more = machine.billed(pool.end - each.begin) - machine.billed(each.end - each.begin)
                if more < alone:
                    choices.append((more, -each.end, place, each))
        for *_, each in sorted(choices):
            part = each
            if each.count > pool.count:
                part = each.split(pool.count)
                found.append(part)
                there.append(part)
            part.pieces += pool.pieces
            part.end = pool.end
            pool.count -= part.count
            if not pool.count:
                break
        if pool.count:
            found.append(pool)
            there.append(pool)
    return sorted(found, key=lambda pool: (pool.begin, pool.end))


def _rented(night: Night, pools: Iterable[_Pool], placed: Sequence[Placed | None]) -> Rented:
    """Return a timetable on these machines; those with the same times are one rental."""
    market, found = market_alone(night), list[Lease]()
    alike: dict[tuple[int, int], list[_Pool]] = {}
    pieces: list[Piece] = []
    for pool in pools:
        alike.setdefault((pool.begin, pool.end), []).append(pool)
    for (begin, end), mine in alike.items():
        tasks = [(r, s, len(found), at, each * pool.count) for pool in mine for r, s, at, each in pool.pieces]
        if is_mixed(market, 0, tasks):
            for pool in mine:
                for _ in range(pool.count):
                    pieces += [(r, s, len(found), at, each) for r, s, at, each in pool.pieces]
                    found.append(Lease(begin, end, 1))
        else:
            pieces += tasks
            found.append(Lease(begin, end, sum(pool.count for pool in mine)))
    return rented_on(market, "elastic", [*found, *masters_of(market, found)], pieces, placed)


def _take(there: list[_Pool], pool: _Pool, free: int, tasks: int, wave: tuple[int, int, int, int]) -> int:
    """Assign tasks to a pool with ``free`` slots on each machine, and split it where they differ; return how many."""
    run, stage, start, end = wave
    full = min(tasks // free, pool.count)
    rest = tasks - full * free if full < pool.count else 0
    taken = 0
    for machines, each in ((full, free), (1 if rest else 0, rest)):
        if not machines:
            continue
        part = pool
        if machines < pool.count:
            part = pool.split(machines)
            there.append(part)
        part.busy.append((end, each))
        part.busy.sort()
        part.end = max(part.end, end)
        part.pieces.append((run, stage, start, each))
        taken += machines * each
    return taken
