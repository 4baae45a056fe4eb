"""Local search on elastic timetables: some runs are taken out, and inserted again where they cost least.

This is the large neighbourhood search of Shaw (1998). A run is inserted at a start, on a VM type, and with a number of
machines beside each other; its tasks go to machines that cost least more, rented ones or new ones.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from math import inf
from random import Random

from mrdsl.core.watching import is_late
from mrdsl.families.timetable.night import TICK, Job, Run
from mrdsl.families.timetable.rented import Lease, Piece, Rented, masters_of, rented_on, within_limits
from mrdsl.families.timetable.reserved import with_reserved
from mrdsl.families.timetable.slots import Placed
from mrdsl.families.timetable.types import Market

RUNS, MACHINES = 500, 4000
"""Runs, and machines of all runs, up to which a timetable is searched."""
TRIES = 150_000
"""Tasks of stages that are tried on machines, in all insertions."""
ROUNDS = 4_000
"""Times that runs are taken out at most."""
OUT = 6
"""Runs that are taken out together at most."""
SPAN = 0.02
"""Price of machine time for the search beside what is billed, as a part of it: machines shrink before that pays."""
WHOLE = 0.3
"""Share of rounds in which all runs of a machine are taken out, up to three times as many."""
STARTS, WIDTHS = 10, 3
"""Starts, and numbers of machines, at which a run is tried."""
WORSE = 0.01
"""Part by which a timetable may be worse than the best in the beginning."""
Tasks = tuple["_Vm", int, int, int]
"""Tasks that start together on a machine: the machine, the stage, the start, how many."""
_Runs = list[tuple[int | None, list[Tasks]]]
_Spans = list[tuple["_Vm", int, int]]


class _Vm:
    """One machine: its type, from when to when it is rented, and tasks as (start, end, tasks, run, stage).

    Tasks are in the order of their starts, and none takes more than ``longest``, so that those at a time are found fast
    on a machine with many.
    """

    __slots__ = ("begin", "end", "longest", "tasks", "type")

    def __init__(self, vm: int, begin: int, end: int) -> None:
        self.type, self.begin, self.end = vm, begin, end
        self.longest = 0
        self.tasks: list[tuple[int, int, int, int, int]] = []

    def add(self, start: int, end: int, count: int, run: int, stage: int) -> None:
        """Add tasks that start together."""
        insort(self.tasks, (start, end, count, run, stage))
        self.longest = max(self.longest, end - start)

    def between(self, start: int, end: int) -> list[tuple[int, int, int, int, int]]:
        """Return the tasks at a time between start and end, and maybe some that end before."""
        return self.tasks[bisect_left(self.tasks, (start - self.longest,)) : bisect_left(self.tasks, (end,))]

    def free(self, slots: int, start: int, end: int) -> int:
        """Return the slots that are free from start to end."""
        there = [(s, e, count) for s, e, count, _, _ in self.between(start, end) if e > start]
        if not there:
            return slots
        taken = sum(count for _, _, count in there)
        if len(there) == 1:
            return slots - taken
        most = 0
        for at in {start, *(s for s, _, _ in there if s > start)}:
            most = max(most, sum(count for s, e, count in there if s <= at < e))
        return slots - most


class _Search:
    """The machines and runs of a timetable while it is searched."""

    def __init__(self, market: Market, found: Rented) -> None:
        self.market = market
        self.machines = market.machines
        self.random = Random(1)
        self.tries = 0
        self.vms: dict[_Vm, None] = {}
        self.of_run: list[dict[_Vm, None]] = [{} for _ in market.runs]
        self.types: list[int | None] = [None] * len(market.runs)
        self._load(found)
        self.near: dict[int, list[int]] = {}
        self.widths: dict[tuple[int, int, int], list[int]] = {}
        self.paths: dict[tuple[int, int, int], int] = {}

    def _load(self, found: Rented) -> None:
        """Divide the machines of each rental, and the tasks on them."""
        groups = [
            [_Vm(each.vm, each.begin, each.end) for _ in range(0 if each.master else each.count)]
            for each in found.leases
        ]
        nights = self.market.nights
        for run, stage, at, start, count in sorted(found.pieces, key=lambda piece: (piece[3], piece)):
            vm = found.leases[at].vm
            job = nights[vm].jobs[self.market.runs[run].job]
            end = start + job.stages[stage].ticks
            left, slots = count, self.machines[vm].slots
            for each in groups[at]:
                here = min(left, each.free(slots, start, end))
                if here:
                    each.add(start, end, here, run, stage)
                    self.of_run[run][each] = None
                    self.vms[each] = None
                    left -= here
                if not left:
                    break
            assert not left
            self.types[run] = vm
        for each in self.vms:
            self._span(each)

    def _span(self, vm: _Vm) -> None:
        vm.begin = vm.tasks[0][0] - self.machines[vm.type].boot
        last = vm.tasks[-1][0]
        vm.end = max(task[1] for task in vm.between(last, last + 1))

    def _price(self, vm: _Vm) -> float:
        machine = self.machines[vm.type]
        return machine.price * (machine.billed(vm.end - vm.begin) + SPAN * (vm.end - vm.begin))

    def value(self) -> float:
        """Return the cost of all machines and of the runs left out [currency times ticks]."""
        left_out = sum(
            (self.market.penalties[run.job] or 0.0) * TICK
            for run, vm in zip(self.market.runs, self.types, strict=True)
            if vm is None
        )
        return left_out + sum(map(self._price, self.vms)) + self._price_of_masters()

    def _price_of_masters(self) -> float:
        if not self.vms or not self.machines[0].masters:
            return 0.0
        span = max(each.end for each in self.vms) - min(each.begin for each in self.vms)
        return self.machines[0].cost_of_masters(span) * TICK

    # Runs

    def _take_out(self, run: int) -> None:
        for vm in self.of_run[run]:
            vm.tasks = [task for task in vm.tasks if task[3] != run]
            if vm.tasks:
                self._span(vm)
            else:
                del self.vms[vm]
        self.of_run[run] = {}
        self.types[run] = None

    def _put_in(self, run: int, vm: int, waves: Sequence[Tasks]) -> None:
        """Put tasks on machines, as (machine, stage, start, tasks)."""
        job = self.market.nights[vm].jobs[self.market.runs[run].job]
        for each, stage, start, count in waves:
            each.add(start, start + job.stages[stage].ticks, count, run, stage)
            self.of_run[run][each] = None
            self.vms[each] = None
        for each in self.of_run[run]:
            self._span(each)
        self.types[run] = vm

    def _tasks_of(self, run: int) -> list[Tasks]:
        return [
            (vm, stage, start, count)
            for vm in self.of_run[run]
            for start, _, count, owner, stage in vm.tasks
            if owner == run
        ]

    def _insert(self, run: int, types: Sequence[int]) -> float:
        """Insert a run where it costs least, or leave it out; return the cost, infinite if it has no place."""
        penalty = self.market.penalties[self.market.runs[run].job]
        best = inf if penalty is None else penalty * TICK
        chosen: tuple[int, list[Tasks]] | None = None
        for vm in types:
            if not self.market.fits(vm, run):
                continue
            job = self.market.nights[vm].jobs[self.market.runs[run].job]
            window = self.market.nights[vm].runs[run]
            machine = self.machines[vm]
            idle = machine.boot + max(machine.minimum, machine.period)
            near = [
                each
                for each in self.vms
                if each.type == vm and each.begin - idle <= window.due and each.end + idle >= window.ready
            ]
            for width in self._widths(vm, window, job):
                for start in self._starts(vm, window, self._path(vm, window.job, width), near):
                    cost, waves = self._tried(vm, job, start, width, near, best)
                    if cost < best:
                        best, chosen = cost, (vm, waves)
        if chosen is not None:
            self._put_in(run, *chosen)
        return best

    def _path(self, vm: int, job: int, width: int) -> int:
        key = vm, job, width
        if key not in self.paths:
            self.paths[key] = self.market.nights[vm].jobs[job].path(width * self.machines[vm].slots)
        return self.paths[key]

    def _widths(self, vm: int, window: Run, job: Job) -> list[int]:
        """Return numbers of machines beside each other: the fewest, some more, and as many as there are tasks for."""
        room = window.due - window.ready
        key = vm, window.job, room
        if key not in self.widths:
            most = -(-max(stage.tasks for stage in job.stages) // self.machines[vm].slots)
            low, high = 0, most
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (low, middle) if self._path(vm, window.job, middle) <= room else (middle, high)
            self.widths[key] = list(dict.fromkeys([*range(high, min(high + WIDTHS - 1, most + 1)), most]))
        return self.widths[key]

    def _starts(self, vm: int, window: Run, path: int, near: Sequence[_Vm]) -> list[int]:
        """Return starts at which the run joins machines that are there, the first one and the last one."""
        low, high = window.ready, window.due - path
        if window.start_by is not None:
            high = min(high, window.start_by)
        if high < low:
            return []
        boot = self.machines[vm].boot
        found: dict[int, None] = {}
        for each in near:
            for at in (each.begin + boot, each.end, each.end - path, each.begin + boot - path):
                if low < at < high:
                    found[at] = None
            for start, end, *_ in each.between(low, high):
                for at in (start, end):
                    if low < at < high:
                        found[at] = None
        some = list(found)
        if len(some) > STARTS - 2:
            some = self.random.sample(some, STARTS - 2)
        return list(dict.fromkeys([low, high, *some]))

    def _tried(
        self, vm: int, job: Job, start: int, width: int, near: Sequence[_Vm], best: float
    ) -> tuple[float, list[Tasks]]:
        """Return what a run costs more from a start on, and its tasks; infinite if that is not below ``best``."""
        trial = _Trial(self, vm, near)
        ends = [0] * len(job.stages)
        for index in job.order:
            stage = job.stages[index]
            at = max((ends[before] for before in stage.after), default=start)
            left = stage.tasks
            for rounds in range(-(-stage.tasks // (width * trial.slots)), 0, -1):
                left -= trial.put(index, at, at + stage.ticks, -(-left // rounds), left)
                at += stage.ticks
                if trial.cost >= best:
                    return inf, []
                if not left:
                    break
            ends[index] = at
        return trial.cost, trial.waves

    # Search

    def found(self) -> Rented:
        """Return the cheapest timetable of all in which runs are taken out and put in again."""
        count = len(self.market.runs)
        best = self.value()
        kept = self._snapshot()
        for _ in range(ROUNDS):
            if self.tries > TRIES or is_late():
                break
            out = self._chosen(count)
            before = [(run, self.types[run], self._tasks_of(run)) for run in out]
            for run in out:
                self._take_out(run)
            order = sorted(before, key=lambda each: self.market.runs[each[0]].due)
            if self.random.random() < 0.5:
                self.random.shuffle(order)
            fine = all(self._insert(run, self._types(run, vm)) < inf for run, vm, _ in order)
            value = self.value() if fine else inf
            room = WORSE * (1.0 - self.tries / TRIES)
            if value <= best * (1.0 + room) and self._within_limits():
                if value < best * (1.0 - 1e-9):
                    best, kept = value, self._snapshot()
            else:
                for run in out:
                    self._take_out(run)
                for run, vm, tasks in before:
                    if vm is not None:
                        self._put_in(run, vm, tasks)
        return self._rented(*kept)

    def _types(self, run: int, before: int | None) -> list[int]:
        """Return the types on which a run is tried: all that it may be on, or the one of all runs of its class."""
        job = self.market.runs[run].job
        if job not in self.market.one:
            return self.market.types_of(job)
        return [] if before is None else [before]

    def _within_limits(self) -> bool:
        if not self.market.limits:
            return True
        leases = [Lease(each.begin, each.end, 1, vm=each.type) for each in self.vms]
        types = {run: vm for run, vm in enumerate(self.types) if vm is not None}
        return within_limits(self.market, [*leases, *masters_of(self.market, leases)], types)

    def _chosen(self, count: int) -> list[int]:
        """Return runs that are near each other: on the machines of one, or with windows next to its."""
        first = self.random.randrange(count)
        most = self.random.randint(1, OUT)
        vms = list(self.of_run[first])
        if vms and self.random.random() < WHOLE:
            return list(dict.fromkeys(task[3] for task in self.random.choice(vms).tasks))[: 3 * OUT]
        shared = [task[3] for vm in vms for task in vm.tasks]
        self.random.shuffle(shared)
        if first not in self.near:
            middle, runs = self.market.runs[first], self.market.runs
            self.near[first] = sorted(
                range(count),
                key=lambda run: abs(runs[run].release - middle.release) + abs(runs[run].due - middle.due),
            )[: 3 * OUT]
        near = self.random.sample(self.near[first], len(self.near[first]))
        return list(dict.fromkeys([first, *shared[: most // 2 + 1], *near]))[:most]

    def _snapshot(self) -> tuple[_Runs, _Spans]:
        runs = [(vm, self._tasks_of(run)) for run, vm in enumerate(self.types)]
        return runs, [(each, each.begin, each.end) for each in self.vms]

    def _rented(self, runs: _Runs, spans: _Spans) -> Rented:
        """Return a timetable; alike machines are one rental."""
        market = self.market
        places: dict[tuple[int, int, int], int] = {}
        counts: dict[int, int] = {}
        of_vm: dict[_Vm, int] = {}
        for each, begin, end in sorted(spans, key=lambda span: (span[1], span[2], span[0].type)):
            at = of_vm[each] = places.setdefault((each.type, begin, end), len(places))
            counts[at] = counts.get(at, 0) + 1
        taken: dict[tuple[int, int, int, int], int] = {}
        placed: list[Placed | None] = []
        for run, (vm, tasks) in enumerate(runs):
            if vm is None:
                placed.append(None)
                continue
            stages = market.nights[vm].jobs[market.runs[run].job].stages
            for each, stage, start, count in tasks:
                key = run, stage, of_vm[each], start
                taken[key] = taken.get(key, 0) + count
            waves = sorted((stage, start, count) for _, stage, start, count in tasks)
            ends = [start + stages[stage].ticks for stage, start, _ in waves]
            placed.append(Placed(waves, min(start for _, start, _ in waves), max(ends)))
        leases = [Lease(begin, end, counts[at], vm=vm) for (vm, begin, end), at in places.items()]
        leases += masters_of(market, leases)
        pieces: list[Piece] = [
            (run, stage, at, start, count) for (run, stage, at, start), count in sorted(taken.items())
        ]
        return with_reserved(market, rented_on(market, "elastic", leases, pieces, placed))


class _Trial:
    """Tasks of a run on machines of a type, before they are put there: what they cost more, and where they are."""

    def __init__(self, search: _Search, vm: int, near: Sequence[_Vm]) -> None:
        self.search, self.vm, self.machine = search, vm, search.machines[vm]
        self.slots = self.machine.slots
        self.spans = {each: (each.begin, each.end) for each in near}
        self.own: dict[_Vm, list[tuple[int, int, int]]] = {}
        self.waves: list[Tasks] = []
        self.cost = 0.0

    def put(self, stage: int, at: int, until: int, needed: int, wanted: int) -> int:
        """Put ``needed`` tasks on machines, and up to ``wanted`` if they cost nothing more; return how many."""
        boot = self.machine.boot
        choices = []
        self.search.tries += len(self.spans)
        for place, (each, (first, last)) in enumerate(self.spans.items()):
            free = self._free(each, at, until)
            if free:
                more = self._paid(min(first, at - boot), max(last, until)) - self._paid(first, last)
                choices.append((more / min(free, wanted), place, free, more, each))
        alone = self._paid(at - boot, until)
        taken = 0
        for _, _, free, more, each in sorted(choices):
            most = wanted if more == 0.0 else needed
            here = min(free, most - taken)
            if here <= 0:
                break
            if more / here > alone / min(self.slots, needed - taken if more else here):
                break
            self._note(each, stage, at, until, here)
            self.cost += more
            taken += here
        while taken < needed:
            here = min(self.slots, needed - taken)
            fresh = _Vm(self.vm, at - boot, until)
            self.spans[fresh] = at - boot, until
            self._note(fresh, stage, at, until, here)
            self.cost += alone
            taken += here
        return taken

    def _paid(self, begin: int, end: int) -> float:
        return self.machine.price * (self.machine.billed(end - begin) + SPAN * (end - begin))

    def _free(self, each: _Vm, at: int, until: int) -> int:
        own = self.own.get(each)
        if own is None or not any(begin < until and end > at for begin, end, _ in own):
            return each.free(self.slots, at, until)
        both = _Vm(self.vm, 0, 0)
        both.tasks, both.longest = each.between(at, until), each.longest
        for begin, end, count in own:
            both.add(begin, end, count, -1, -1)
        return both.free(self.slots, at, until)

    def _note(self, each: _Vm, stage: int, at: int, until: int, count: int) -> None:
        self.waves.append((each, stage, at, count))
        self.own.setdefault(each, []).append((at, until, count))
        first, last = self.spans[each]
        self.spans[each] = min(first, at - self.machine.boot), max(last, until)


def improved(market: Market, found: Rented) -> Rented:
    """Return a cheaper elastic timetable than one that is known, or that one; nights of many runs are not searched."""
    if len(market.runs) > RUNS or sum(each.count for each in found.leases) > MACHINES:
        return found
    other = _Search(market, found).found()
    return other if other.value < found.value else found
