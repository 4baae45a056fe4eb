"""Small nights exactly: a program over whole time steps that is solved to its optimum, or yields a bound.

Some cheapest plan begins and ends everything at whole multiples of the greatest common divisor of all times: with its
order of tasks on slots and the paid time of each rental kept, the other constraints are differences of two times that
are such multiples, and so are the times of a cheapest corner.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import gcd, inf

import numpy as np

from mrdsl.families.timetable.night import TICK, Machine, Night, Run
from mrdsl.families.timetable.rented import Lease, Rented, rented
from mrdsl.families.timetable.slots import Placed

COLUMNS = 12_000
"""Variables of a program at most."""
NODES = 20_000
"""Branches of a search at most."""


@dataclass(frozen=True)
class Kind:
    """Rentals of one kind: from ``begin``, with a machine booted, to ``end`` in steps, and what one costs [steps]."""

    begin: int
    end: int
    cost: float


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
        for column, value in terms:
            self.row.append(len(self.low))
            self.column.append(column)
            self.value.append(value)
        self.low.append(low)
        self.high.append(high)


def step_of(night: Night) -> int:
    """Return the greatest common divisor of all times [ticks]."""
    machine = night.machine
    times = [machine.boot]
    for run in night.runs:
        times += [run.ready, run.due, run.release, run.start_by or 0]
    for job in night.jobs:
        times += [stage.ticks for stage in job.stages]
    step = gcd(*times)
    if step % machine.period:
        step = gcd(step, machine.period)
    shortest = min(stage.ticks for job in night.jobs for stage in job.stages)
    if machine.minimum > machine.boot + shortest:
        step = gcd(step, machine.minimum)
    return step


def solve_exactly(night: Night, rent: str, seconds: float | None) -> Exact | None:
    """Return the optimum of a small night, None if it is too large or has masters.

    Args:
        night: The night.
        rent: `constant` or `elastic`.
        seconds: Time limit [s].
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array

    program = _program(night, rent)
    if program is None:
        return None
    rows = program.rows
    matrix = csr_array((rows.value, (rows.row, rows.column)), shape=(len(rows.low), len(program.cost)))
    options: dict[str, float] = {"mip_rel_gap": 0.0, "node_limit": NODES}
    if seconds is not None:
        options["time_limit"] = seconds
    found = milp(
        np.array(program.cost),
        constraints=LinearConstraint(matrix, np.array(rows.low), np.array(rows.high)),
        integrality=np.ones(len(program.cost)),
        bounds=Bounds(0.0, np.array(program.most)),
        options=options,
    )
    scale = _unit(night, program.step)
    if found.status == 2:
        return Exact(None, inf, True)
    bound = 0.0 if found.mip_dual_bound is None else float(found.mip_dual_bound) * scale * (1.0 - 1e-9)
    if found.x is None:
        return Exact(None, bound, False)
    plan = program.decoded(night, rent, np.rint(found.x).astype(np.int64).tolist())
    if found.status == 0:
        bound = max(bound, plan.value * (1.0 - 1e-9))
    return Exact(plan, bound, found.status == 0)


@dataclass
class _Program:
    """The variables: rentals of each kind, tasks by start and kind, stages that have ended, and runs left out."""

    step: int
    kinds: list[Kind] = field(default_factory=list)
    cost: list[float] = field(default_factory=list)
    most: list[float] = field(default_factory=list)
    rows: _Rows = field(default_factory=_Rows)
    tasks: dict[tuple[int, int], list[tuple[int, int, int]]] = field(default_factory=dict)

    def variable(self, cost: float, most: float) -> int:
        self.cost.append(cost)
        self.most.append(most)
        return len(self.cost) - 1

    def decoded(self, night: Night, rent: str, values: list[int]) -> Rented:
        """Return the plan of a solution: rentals are shortened to what their tasks take."""
        boot = night.machine.boot
        spans: dict[int, tuple[int, int]] = {}
        taken: list[tuple[int, int, int, int, int]] = []
        for (number, stage), places in self.tasks.items():
            ticks = night.jobs[night.runs[number].job].stages[stage].ticks
            for column, kind, step in places:
                if values[column]:
                    start = step * self.step
                    first, last = spans.get(kind, (start, start + ticks))
                    spans[kind] = min(first, start), max(last, start + ticks)
                    taken.append((number, stage, kind, start, values[column]))
        place = {kind: index for index, kind in enumerate(sorted(spans))}
        placed: list[Placed | None] = []
        for index, run in enumerate(night.runs):
            waves = [(stage, start, count) for each, stage, _, start, count in taken if each == index]
            stages = night.jobs[run.job].stages
            ends = [start + stages[stage].ticks for stage, start, _ in waves]
            placed.append(Placed(waves, min(start for _, start, _ in waves), max(ends)) if waves else None)
        first_release = min((run.release for run, each in zip(night.runs, placed, strict=True) if each), default=0)
        last = max((each.end for each in placed if each), default=0)
        leases = []
        for kind in sorted(spans):
            begin, end = (first_release, last) if rent == "constant" else spans[kind]
            leases.append(Lease(begin - boot, end, values[kind]))
        pieces = [(each, stage, place[kind], start, count) for each, stage, kind, start, count in taken]
        return rented(night, rent, leases, pieces, placed)


def _unit(night: Night, step: int) -> float:
    """Return the price of one machine for a step, 1 if it costs nothing: the unit of the program's objective."""
    return night.machine.price * step / TICK or 1.0


def _program(night: Night, rent: str) -> _Program | None:
    """Return the program of a night; None if it is too large."""
    step, machine = step_of(night), night.machine
    first, last = min(run.release for run in night.runs) // step, max(run.due for run in night.runs) // step
    if machine.masters or (last - first) > 400:
        return None
    program = _Program(step)
    is_constant = rent == "constant"
    kinds = list(_constant_kinds(night, step, last) if is_constant else _elastic_kinds(machine, step, first, last))
    starts = sum((run.due - run.ready) // step * len(night.jobs[run.job].stages) for run in night.runs)
    if len(kinds) * starts > 40 * COLUMNS:
        return None
    tasks = sum(stage.tasks for run in night.runs for stage in night.jobs[run.job].stages)
    for kind in kinds:
        cost = kind.cost * machine.price * step / TICK / _unit(night, step)
        program.variable(cost, float(tasks if machine.available is None else machine.available))
        program.kinds.append(kind)
    out = {
        index: program.variable((night.penalties[run.job] or 0.0) / _unit(night, step), 1.0)
        for index, run in enumerate(night.runs)
        if night.penalties[run.job] is not None
    }
    capacity: dict[tuple[int, int], list[tuple[int, float]]] = {}
    for index, run in enumerate(night.runs):
        _add_run(program, night, rent, index, run, out.get(index), capacity)
        if len(program.cost) > COLUMNS:
            return None
    for (place, _), terms in capacity.items():
        program.rows.add([*terms, (place, -float(machine.slots))], -inf, 0.0)
    if is_constant:
        chosen = [program.variable(0.0, 1.0) for _ in kinds]
        program.rows.add([(each, 1.0) for each in chosen], -inf, 1.0)
        for index, each in enumerate(chosen):
            program.rows.add([(index, 1.0), (each, -program.most[index])], -inf, 0.0)
    elif machine.available is not None:
        boot = machine.boot // step
        for at in range(first - boot, last):
            there = [(index, 1.0) for index, kind in enumerate(kinds) if kind.begin - boot <= at < kind.end]
            program.rows.add(there, -inf, float(machine.available))
    return program


def _add_run(
    program: _Program,
    night: Night,
    rent: str,
    index: int,
    run: Run,
    out: int | None,
    capacity: dict[tuple[int, int], list[tuple[int, float]]],
) -> None:
    """Add the tasks of a run: all of them or none, each on one rental, and after the stages before."""
    step, job = program.step, night.jobs[run.job]
    heads, tails = job.ends(max(each.tasks for each in job.stages)), job.tails(max(each.tasks for each in job.stages))
    by_start: list[dict[int, list[tuple[int, float]]]] = []
    for number, stage in enumerate(job.stages):
        length = stage.ticks // step
        first = (run.ready + heads[number]) // step - length
        latest = (run.due - tails[number]) // step - length
        starts: dict[int, list[tuple[int, float]]] = {}
        places = program.tasks[(index, number)] = []
        for kind, each in enumerate(program.kinds):
            if rent == "constant" and each.begin * step > run.release:
                continue
            for at in range(max(first, each.begin), min(latest, each.end - length) + 1):
                column = program.variable(0.0, float(stage.tasks))
                places.append((column, kind, at))
                starts.setdefault(at, []).append((column, 1.0))
                for busy in range(at, at + length):
                    capacity.setdefault((kind, busy), []).append((column, 1.0))
        by_start.append(starts)
        every = [term for terms in starts.values() for term in terms]
        left_out = [] if out is None else [(out, float(stage.tasks))]
        program.rows.add([*every, *left_out], float(stage.tasks), float(stage.tasks))
    parents = {before for stage in job.stages for before in stage.after}
    ended: dict[tuple[int, int], int] = {}
    for number in sorted(parents):
        stage = job.stages[number]
        length = stage.ticks // step
        for at in range((run.ready + heads[number]) // step, (run.due - tails[number]) // step + 1):
            column = ended[number, at] = program.variable(0.0, 1.0)
            over = [term for start, terms in by_start[number].items() if start + length <= at for term in terms]
            program.rows.add([(column, float(stage.tasks)), *((one, -value) for one, value in over)], -inf, 0.0)
    for number, stage in enumerate(job.stages):
        for before in stage.after:
            begun: list[tuple[int, float]] = []
            for at in sorted(by_start[number]):
                begun += by_start[number][at]
                until = ended.get((before, min(at, (run.due - tails[before]) // step)))
                assert until is not None
                program.rows.add([*begun, (until, -float(stage.tasks))], -inf, 0.0)
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


def _elastic_kinds(machine: Machine, step: int, first: int, last: int) -> Iterator[Kind]:
    """Yield rentals that cannot be longer for the same cost; with a limit on machines at once, of every length."""
    for begin in range(first, last):
        paid = 0.0
        for end in range(last, begin, -1):
            cost = machine.billed((end - begin) * step + machine.boot) / step
            longer = machine.billed((end - begin + 1) * step + machine.boot) / step
            if end == last and begin > first and longer == cost and machine.available is None:
                paid = cost  # one that begins a step earlier costs the same
                continue
            if cost != paid or machine.available is not None:
                yield Kind(begin, end, cost)
            paid = cost


def _constant_kinds(night: Night, step: int, last: int) -> Iterator[Kind]:
    """Yield clusters from each release to each end that cannot be later for the same cost."""
    machine = night.machine
    mandatory = [run.release for run in night.runs if night.penalties[run.job] is None]
    for release in sorted({run.release for run in night.runs}):
        if mandatory and release > min(mandatory):
            break
        paid = 0.0
        for end in range(last, release // step, -1):
            cost = machine.billed(end * step - release + machine.boot) / step
            if cost != paid:
                yield Kind(release // step, end, cost)
            paid = cost
