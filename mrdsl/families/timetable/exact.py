"""Small nights exactly: a program over whole time steps that is solved to its optimum, or yields a bound.

Some cheapest plan begins and ends everything at whole multiples of the greatest common divisor of all times: with its
order of tasks on slots and the paid time of each rental kept, the other constraints are differences of two times that
are such multiples, and so are the times of a cheapest corner. Earlier starts never make a constant cluster dearer, so a
cheapest plan on it starts everything as early as its order allows, and a latest start need not be such a multiple.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import gcd, inf

import numpy as np

from mrdsl.core.watching import look
from mrdsl.families.timetable.bounds import time_option
from mrdsl.families.timetable.limits import Limit
from mrdsl.families.timetable.night import TICK, Machine, Night, Run
from mrdsl.families.timetable.rented import Lease, Rented, masters_of, packed, rented_on
from mrdsl.families.timetable.reserved import split, with_reserved
from mrdsl.families.timetable.slots import Placed
from mrdsl.families.timetable.types import Market

COLUMNS = 12_000
"""Variables of a program at most."""
ENTRIES = 400_000
"""Numbers in a program at most: HiGHS presolves a million for minutes, whatever its time limit."""
NODES = 20_000
"""Branches of a search at most."""
ENTRIES_WITH_MASTERS, NODES_WITH_MASTERS = 40_000, 500
"""The same if there are masters: their rows make a branch slower."""


@dataclass(frozen=True)
class Kind:
    """Rentals of one kind: from ``begin``, with a machine booted, to ``end`` in steps, and what one costs.

    ``vm`` is the index of the VM type.
    """

    begin: int
    end: int
    cost: float
    vm: int = 0


@dataclass(frozen=True)
class Exact:
    """An optimum, or only a bound, of the cost; ``found`` is None if the search was cut short without a plan."""

    found: Rented | None
    bound: float
    proven: bool


@dataclass
class _Rows:
    """Rows of a program under construction."""

    row: list[int] = field(default_factory=list)
    column: list[int] = field(default_factory=list)
    value: list[float] = field(default_factory=list)
    low: list[float] = field(default_factory=list)
    high: list[float] = field(default_factory=list)

    def add(self, terms: Iterable[tuple[int, float]], low: float, high: float) -> None:
        look()
        for column, value in terms:
            self.row.append(len(self.low))
            self.column.append(column)
            self.value.append(value)
        self.low.append(low)
        self.high.append(high)


def step_of(night: Night, rent: str = "elastic") -> int:
    """Return the greatest common divisor of all times [ticks], of a constant cluster without those of latest starts."""
    machine = night.machine
    times = [machine.boot]
    for run in night.runs:
        times += [run.ready, run.due, run.release]
        if rent != "constant":
            times.append(run.start_by or 0)
    jobs = [night.jobs[job] for job in sorted({run.job for run in night.runs})]
    for job in jobs:
        times += [stage.ticks for stage in job.stages]
    step = gcd(*times)
    if step % machine.period:
        step = gcd(step, machine.period)
    shortest = min(stage.ticks for job in jobs for stage in job.stages)
    if machine.minimum > machine.boot + shortest:
        step = gcd(step, machine.minimum)
    return step


def _step_of(market: Market, rent: str) -> int:
    """Return the greatest common divisor of all times [ticks], also of the billing of masters."""
    parts = [night for _, night in map(market.part, range(len(market.nights)))]
    nights = [night for night in parts if night.runs] or market.nights[:1]
    step = gcd(*(step_of(night, rent) for night in nights))
    shortest = min(night.machine.boot + night.jobs[run.job].path() for night in nights for run in night.runs)
    for each in market.machines[0].masters:
        step = gcd(step, each.period) if step % each.period else step
        step = gcd(step, each.minimum) if each.minimum > shortest else step
    return step


def solve_exactly(market: Market, rent: str, seconds: float | None, bounded: Market | None = None) -> Exact | None:
    """Return the optimum of a small night, None if it is too large.

    Args:
        market: The night on each VM type.
        rent: `constant` or `elastic`.
        seconds: Time limit [s].
        bounded: The same market with costs for bounds, if runs may be on spot VMs.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array

    program = _program(market if bounded is None else bounded, rent)
    masters = bool(market.machines[0].masters)
    entries, nodes = (ENTRIES_WITH_MASTERS, NODES_WITH_MASTERS) if masters else (ENTRIES, NODES)
    if program is None or len(program.rows.value) > entries:
        return None
    rows = program.rows
    matrix = csr_array((rows.value, (rows.row, rows.column)), shape=(len(rows.low), len(program.cost)))
    found = milp(
        np.array(program.cost),
        constraints=LinearConstraint(matrix, np.array(rows.low), np.array(rows.high)),
        integrality=np.array(program.whole, dtype=np.int64),
        bounds=Bounds(0.0, np.array(program.most)),
        options={"mip_rel_gap": 0.0, "node_limit": nodes, **time_option(seconds)},
    )
    scale = program.unit
    if found.status == 2:
        return Exact(None, inf, True)
    dual = 0.0 if found.mip_dual_bound is None else float(found.mip_dual_bound) * scale
    bound = (dual + program.fixed) * (1.0 - 1e-9)
    if found.x is None:
        return Exact(None, bound, False)
    plan = program.decoded(market, rent, np.rint(found.x).astype(np.int64).tolist())
    if any(
        each is None and market.penalties[run.job] is None for run, each in zip(market.runs, plan.placed, strict=True)
    ):
        return Exact(None, bound, False)
    if found.status == 0 and not any(night.extra or night.has_parts for night in (bounded or market).nights):
        bound = max(bound, plan.value * (1.0 - 1e-9))
    return Exact(plan, bound, found.status == 0)


@dataclass
class _Program:
    """The variables: rentals of each kind, tasks by start and kind, stages that have ended, and runs left out."""

    step: int
    unit: float
    kinds: dict[int, Kind] = field(default_factory=dict)
    cost: list[float] = field(default_factory=list)
    most: list[float] = field(default_factory=list)
    whole: list[bool] = field(default_factory=list)
    rows: _Rows = field(default_factory=_Rows)
    reserved: dict[int, int] = field(default_factory=dict)
    masters: tuple[Sequence[int], ...] = ()
    fixed: float = 0.0
    chosen: list[tuple[int, int]] = field(default_factory=list)
    tasks: dict[tuple[int, int, int], list[tuple[int, int, int]]] = field(default_factory=dict)

    def variable(self, cost: float, most: float) -> int:
        self.cost.append(cost)
        self.most.append(most)
        self.whole.append(True)
        return len(self.cost) - 1

    def decoded(self, market: Market, rent: str, values: list[int]) -> Rented:
        """Return the plan of a solution: rentals are shortened to what their tasks take."""
        spans: dict[int, tuple[int, int]] = {}
        taken: list[tuple[int, int, int, int, int]] = []
        waves: list[list[tuple[int, int, int]]] = [[] for _ in market.runs]
        ends = [0] * len(market.runs)
        of_type: list[list[int]] = [[] for _ in market.nights]
        for (number, stage, vm), places in self.tasks.items():
            each = market.nights[vm].jobs[market.runs[number].job].stages[stage]
            ticks, parts = each.ticks, each.parts
            for column, kind, step in places:
                if values[column]:
                    start = step * self.step
                    first, last = spans.get(kind, (start, start + ticks))
                    spans[kind] = min(first, start), max(last, start + ticks)
                    taken.append((number, stage, kind, start, values[column] * parts))
                    waves[number].append((stage, start, values[column] * parts))
                    ends[number] = max(ends[number], start + ticks)
                    of_type[vm].append(number)
        reserved = {kind: values[self.reserved[kind]] if kind in self.reserved else 0 for kind in self.kinds}
        place = {kind: index for index, kind in enumerate(sorted(spans))}
        placed = [
            Placed(mine, min(start for _, start, _ in mine), end) if mine else None
            for mine, end in zip(waves, ends, strict=True)
        ]
        leases = []
        for kind in sorted(spans):
            vm = self.kinds[kind].vm
            begin, end = spans[kind]
            if rent == "constant":
                begin = min(market.runs[run].release for run in of_type[vm])
                end = max(ends[run] for run in of_type[vm])
            count = values[kind] + reserved[kind]
            leases.append(Lease(begin - market.nights[vm].machine.boot, end, count, vm=vm))
        pieces = [(each, stage, place[kind], start, count) for each, stage, kind, start, count in taken]
        masters = masters_of(market, leases)
        found = rented_on(market, rent, [*leases, *masters], pieces, placed)
        single = packed(market, found)
        if single is not found or not any(reserved.values()):
            return with_reserved(market, single) if any(reserved.values()) else single
        return split(market, found, [*(reserved[kind] for kind in sorted(spans)), *(0 for _ in masters)])


def _program(market: Market, rent: str) -> _Program | None:
    """Return the program of a night; None if it is too large."""
    step = _step_of(market, rent)
    first = min(run.release for run in market.runs) // step
    last = max(run.due for run in market.runs) // step
    if last - first > 400:
        return None
    program = _Program(step, max(machine.price for machine in market.machines) * step / TICK or 1.0)
    out = {
        index: program.variable((market.penalties[run.job] or 0.0) / program.unit, 1.0)
        for index, run in enumerate(market.runs)
        if market.penalties[run.job] is not None
    }
    left_out: list[dict[int, int]] = [{} for _ in market.runs]
    for index, run in enumerate(market.runs):
        types = [vm for vm in market.types_of(run.job) if market.fits(vm, index)]
        if len(types) == 1:
            left_out[index] = {types[0]: out[index]} if index in out else {}
            continue
        left_out[index] = {vm: program.variable(0.0, 1.0) for vm in types}
        elsewhere = [(column, 1.0) for column in left_out[index].values()]
        rejected = [(out[index], -1.0)] if index in out else []
        program.rows.add([*elsewhere, *rejected], len(types) - 1.0, len(types) - 1.0)
    for index, run in enumerate(market.runs):
        for vm, night in enumerate(market.nights):
            if night.extra and market.allowed[vm][run.job] and market.fits(vm, index):
                program.fixed += night.extra[run.job]
                if vm in left_out[index]:
                    program.cost[left_out[index][vm]] -= night.extra[run.job] / program.unit
    _add_one_type(program, market, left_out)
    for vm in range(len(market.nights)):
        if not _add_type(program, market, vm, rent, left_out, (first, last)):
            return None
    if market.machines[0].masters:
        _add_masters(program, market, rent, (first, last))
    for limit in market.limits:
        if _is_shared(market, limit):
            _add_limit(program, market, limit, left_out, (first, last))
    return None if len(program.cost) > COLUMNS else program


def _is_shared(market: Market, limit: Limit) -> bool:
    """Return True if VMs of several types, or second attempts, count; the most of one type alone is in its machine."""
    mine = (limit.each[vm] or limit.each[of] for vm, of in enumerate(market.vms_on_demand))
    return sum(map(bool, mine)) > 1


def _is_sharing(market: Market, vm: int) -> bool:
    """Return True if VMs of a type share a limit with others."""
    return any(each.each[vm] and _is_shared(market, each) for each in market.limits)


def _add_limit(
    program: _Program, market: Market, limit: Limit, left_out: list[dict[int, int]], window: tuple[int, int]
) -> None:
    """Add a limit on VMs of several types at once, with room for second attempts of runs on spot VMs."""
    step, unit = program.step, float(max(limit.most, 1))
    boots = [machine.boot // step for machine in market.machines]
    rooms = [
        (left_out[run].get(vm), *market.room(vm, run)[:2], limit.taken(of, market.room(vm, run)[2]))
        for vm, of in enumerate(market.vms_on_demand)
        for run in (market.part(vm)[0] if vm != of and limit.each[of] else ())
    ]
    held = [
        (column, kind, limit.taken(kind.vm, 1))
        for place, kind in program.kinds.items()
        for column in (place, program.reserved.get(place))
        if column is not None and limit.each[kind.vm]
    ]
    of_masters = limit.taken_by_masters(market.machines[0]) / unit
    for at in range(window[0] - max(boots), window[1]):
        terms = [(column, taken / unit) for column, kind, taken in held if kind.begin - boots[kind.vm] <= at < kind.end]
        if program.masters and of_masters:
            begun, lasts, used = (each[at - window[0] + max(boots)] for each in program.masters)
            terms += [(begun, of_masters), (lasts, of_masters), (used, -of_masters)]
        most = limit.most / unit
        for out, begin, end, taken in rooms:
            if begin <= at * step < end:
                most -= taken / unit
                terms += [] if out is None else [(out, -taken / unit)]
        program.rows.add(terms, -inf, most)


def _add_masters(program: _Program, market: Market, rent: str, window: tuple[int, int]) -> None:
    """Add the masters of all types: rented once, from the first request of any machine to the last end.

    Of each step, variables are whether a machine was requested by then, whether one ends later, and whether there is
    one at all. The masters are there in the steps with the first two, which is their sum minus the third.
    """
    step, machines = program.step, market.machines
    boots = [machine.boot // step for machine in machines]
    first, length = window[0] - max(boots), window[1] - window[0] + max(boots)
    begun, lasts = ([program.variable(0.0, 1.0) for _ in range(length)] for _ in range(2))
    used = lasts[0] = begun[-1]
    program.masters = begun, lasts, [used] * length
    for at in range(length - 1):
        program.rows.add([(begun[at], 1.0), (begun[at + 1], -1.0)], -inf, 0.0)
        program.rows.add([(lasts[at + 1], 1.0), (lasts[at], -1.0)], -inf, 0.0)
    for at in range(1, length - 1):
        program.rows.add([(begun[at], 1.0), (lasts[at], 1.0), (used, -1.0)], 0.0, inf)
    there = [*((column, 1.0) for column in (*begun, *lasts)), (used, -float(length))]
    for masters in machines[0].masters:
        paid = program.variable(masters.count * masters.price * step / TICK / program.unit, inf)
        program.whole[paid] = False
        program.rows.add([(used, masters.minimum / step), (paid, -1.0)], -inf, 0.0)
        if masters.period <= step:
            program.rows.add([*there, (paid, -1.0)], -inf, 0.0)
        else:
            periods = program.variable(0.0, inf)
            program.rows.add([(periods, masters.period / step), (paid, -1.0)], -inf, 0.0)
            program.rows.add([*there, (periods, -masters.period / step)], -inf, 0.0)

    def require(terms: Sequence[tuple[int, float]], most: float, begin: int | None, end: int) -> None:
        if begin is not None:
            program.rows.add([*terms, (begun[begin - first], -most)], -inf, 0.0)
        program.rows.add([*terms, (lasts[end - 1 - first], -most)], -inf, 0.0)

    for column, place in program.chosen:
        kind = program.kinds[place]
        require([(column, 1.0)], 1.0, kind.begin - boots[kind.vm], kind.begin - boots[kind.vm] + 1)
    for (run, stage, vm), places in program.tasks.items():
        starts: dict[int, list[tuple[int, float]]] = {}
        for column, _, at in places:
            starts.setdefault(at, []).append((column, 1.0))
        each = market.nights[vm].jobs[market.runs[run].job].stages[stage]
        for at, terms in starts.items():
            begin = None if rent == "constant" else at - boots[vm]
            require(terms, float(each.tasks // each.parts), begin, at + each.ticks // step)


def _add_one_type(program: _Program, market: Market, left_out: list[dict[int, int]]) -> None:
    """Add rows that keep all runs of some jobs on one type."""
    for job in market.one:
        chosen = {name: program.variable(0.0, 1.0) for name in dict.fromkeys(market.vms_of(job))}
        program.rows.add([(column, 1.0) for column in chosen.values()], 1.0, 1.0)
        for index, run in enumerate(market.runs):
            for vm, column in left_out[index].items() if run.job == job else ():
                program.rows.add([(column, 1.0), (chosen[market.machines[vm].vm], 1.0)], 1.0, inf)


def _add_type(
    program: _Program, market: Market, vm: int, rent: str, left_out: list[dict[int, int]], window: tuple[int, int]
) -> bool:
    """Add the rentals and the tasks on a VM type; return False if the program is too large."""
    step, (first, last) = program.step, window
    numbers, night = market.part(vm)
    if not night.runs:
        return True
    machine, is_constant = night.machine, rent == "constant"
    kinds = list(
        _constant_kinds(market, vm, step, last)
        if is_constant
        else _elastic_kinds(machine, step, first, last, _is_limited(machine))
    )
    starts = sum((run.due - run.ready) // step * len(night.jobs[run.job].stages) for run in night.runs)
    if len(kinds) * starts > 40 * COLUMNS:
        return False
    tasks = sum(stage.tasks for run in night.runs for stage in night.jobs[run.job].stages)
    most = float(tasks if machine.available is None else machine.available)
    places: list[int] = []
    for kind in kinds:
        cost = kind.cost * machine.price * step / TICK
        places.append(program.variable(cost / program.unit, most))
        program.kinds[places[-1]] = Kind(kind.begin, kind.end, cost, vm)
        if machine.reserved:
            cost = kind.cost * machine.reserved_price * step / TICK
            program.reserved[places[-1]] = program.variable(cost / program.unit, float(machine.reserved))
    capacity: dict[tuple[int, int], list[tuple[int, float]]] = {}
    for index in numbers:
        _add_run(
            program, night, vm, rent, index, market.nights[vm].runs[index], left_out[index].get(vm), places, capacity
        )
        if len(program.cost) > COLUMNS:
            return False
    for (place, _), terms in capacity.items():
        there = [(each, -float(machine.slots)) for each in (place, program.reserved.get(place)) if each is not None]
        program.rows.add([*terms, *there], -inf, 0.0)
    if is_constant:
        chosen = [program.variable(0.0, 1.0) for _ in kinds]
        program.rows.add([(each, 1.0) for each in chosen], -inf, 1.0)
        program.chosen += zip(chosen, places, strict=True)
        for place, each in zip(places, chosen, strict=True):
            program.rows.add([(place, 1.0), (each, -most)], -inf, 0.0)
            if place in program.reserved:
                program.rows.add([(program.reserved[place], 1.0), (each, -float(machine.reserved))], -inf, 0.0)
                program.rows.add([(place, 1.0), (program.reserved[place], 1.0)], -inf, most)
    elif _is_limited(machine):
        boot = machine.boot // step
        for at in range(first - boot, last):
            mine = [place for place, kind in zip(places, kinds, strict=True) if kind.begin - boot <= at < kind.end]
            reserved = [(program.reserved[place], 1.0) for place in mine if place in program.reserved]
            program.rows.add(reserved, -inf, float(machine.reserved))
            program.rows.add([*((place, 1.0) for place in mine), *reserved], -inf, most)
    return True


def _is_limited(machine: Machine) -> bool:
    """Return True if machines at once are limited, all or those of a lower price."""
    return machine.available is not None or machine.reserved > 0


def _add_run(
    program: _Program,
    night: Night,
    vm: int,
    rent: str,
    index: int,
    run: Run,
    out: int | None,
    kinds: Sequence[int],
    capacity: dict[tuple[int, int], list[tuple[int, float]]],
) -> None:
    """Add the tasks of a run on a VM type: all or none, each on one of its rentals, and after the stages before."""
    step, job = program.step, night.jobs[run.job]
    heads, tails = job.ends(max(each.tasks for each in job.stages)), job.tails(max(each.tasks for each in job.stages))
    by_start: list[dict[int, list[tuple[int, float]]]] = []
    for number, stage in enumerate(job.stages):
        length, tasks = stage.ticks // step, float(stage.tasks // stage.parts)
        first = (run.ready + heads[number]) // step - length
        latest = (run.due - tails[number]) // step - length
        starts: dict[int, list[tuple[int, float]]] = {}
        places = program.tasks[index, number, vm] = []
        for kind in kinds:
            each = program.kinds[kind]
            if rent == "constant" and each.begin * step > run.release:
                continue
            for at in range(max(first, each.begin), min(latest, each.end - length) + 1):
                column = program.variable(0.0, tasks)
                places.append((column, kind, at))
                starts.setdefault(at, []).append((column, 1.0))
                for busy in range(at, at + length):
                    capacity.setdefault((kind, busy), []).append((column, float(stage.parts)))
        by_start.append(starts)
        every = [term for terms in starts.values() for term in terms]
        left_out = [] if out is None else [(out, tasks)]
        program.rows.add([*every, *left_out], tasks, tasks)
    parents = {before for stage in job.stages for before in stage.after}
    ended: dict[tuple[int, int], int] = {}
    for number in sorted(parents):
        stage = job.stages[number]
        length = stage.ticks // step
        for at in range((run.ready + heads[number]) // step, (run.due - tails[number]) // step + 1):
            column = ended[number, at] = program.variable(0.0, 1.0)
            over = [term for start, terms in by_start[number].items() if start + length <= at for term in terms]
            tasks = float(stage.tasks // stage.parts)
            program.rows.add([(column, tasks), *((one, -value) for one, value in over)], -inf, 0.0)
    for number, stage in enumerate(job.stages):
        for before in stage.after:
            begun: list[tuple[int, float]] = []
            for at in sorted(by_start[number]):
                begun += by_start[number][at]
                until = ended.get((before, min(at, (run.due - tails[before]) // step)))
                assert until is not None
                program.rows.add([*begun, (until, -float(stage.tasks // stage.parts))], -inf, 0.0)
    if run.start_by is not None:
        early = [
            term
            for number, stage in enumerate(job.stages)
            if not stage.after
            for start, terms in by_start[number].items()
            if start * step <= run.start_by
            for term in terms
        ]
        program.rows.add([*early, *([] if out is None else [(out, 1.0)])], 1.0, inf)


def _elastic_kinds(machine: Machine, step: int, first: int, last: int, every: bool) -> Iterator[Kind]:
    """Yield rentals that cannot be longer for the same cost, or ``every`` rental if machines at once are limited."""
    for begin in range(first, last):
        paid = 0.0
        for end in range(last, begin, -1):
            cost = machine.billed((end - begin) * step + machine.boot) / step
            longer = machine.billed((end - begin + 1) * step + machine.boot) / step
            if end == last and begin > first and longer == cost and not every:
                paid = cost  # one that begins a step earlier costs the same
                continue
            if cost != paid or every:
                yield Kind(begin, end, cost)
            paid = cost


def _constant_kinds(market: Market, vm: int, step: int, last: int) -> Iterator[Kind]:
    """Yield clusters from each release to each end that cannot be later for the same cost; to every end if VMs of
    several types share a limit.
    """
    _, night = market.part(vm)
    machine = night.machine
    types = range(len(market.nights))
    every = _is_sharing(market, vm)
    mandatory = [
        run.release
        for index, run in enumerate(market.runs)
        if market.penalties[run.job] is None and [each for each in types if market.fits(each, index)] == [vm]
    ]
    for release in sorted({run.release for run in night.runs}):
        if mandatory and release > min(mandatory):
            break
        paid = 0.0
        for end in range(last, release // step, -1):
            cost = machine.billed(end * step - release + machine.boot) / step
            if cost != paid or every:
                yield Kind(release // step, end, cost)
            paid = cost
