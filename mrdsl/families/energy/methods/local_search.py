"""``mrdsl-energy``: the counted LP, its rounding, repair and local search over the machines of each job.

The counted LP is over VM types instead of single VMs: a bound, and a first guess at the machines. Its value is that of
the relaxed counted model. That model is convex and treats the VMs of a type alike. So the mean of any solution over the
orders of a type's VMs is a solution of the same value in which they are all equal.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from mrdsl.contracts.pipeline import Draft
from mrdsl.core.diagnostics import Diagnostic, warning
from mrdsl.core.linear_program import LinearProgram, ProgramRows
from mrdsl.core.result import Limits, Termination
from mrdsl.core.rounding import FEASIBILITY, ROUNDING
from mrdsl.families.energy.assignment import plan_of
from mrdsl.families.energy.cluster import (
    Floats,
    Ints,
    JobData,
    JobLimits,
    Machines,
    jobs_of,
    limits_of,
    machines_of,
    only_alike,
)
from mrdsl.families.energy.methods.moves import Move, State, singles, swaps, triples
from mrdsl.families.energy.methods.steps import only_energy
from mrdsl.families.energy.sets import SetSearch
from mrdsl.families.energy.verify import measure
from mrdsl.solving.programs import Optimum, UnsolvedError, optima


@dataclass(frozen=True)
class Relaxed:
    """Relaxed optimum: a bound ``energy``, and ``vms[j][k]``, the fractional number of VMs of a type for a job."""

    energy: float
    vms: tuple[Floats, ...]


def relaxations(
    machines: Machines, jobs: tuple[JobData, ...], shares: Sequence[float | None], seconds: float | None = None
) -> list[Relaxed | UnsolvedError | None]:
    """Return the relaxed optimum for every share; None if it is proven that even the relaxation has no plan.

    UnsolvedError if the solver proves neither, within ``seconds`` for all or at all.

    With a share every job's uptime is that share of the longest uptime within its constraints. Then (9)'s product of
    uptime and VMs does not blur the VMs taken, but the value is not a bound.
    """
    built = [_program(machines, jobs, share) for share in shares]
    solutions = optima([one.program for one in built], Limits(time=seconds, threads=1))
    return [
        _relaxed(machines, jobs, one, solution) if isinstance(solution, Optimum) else solution
        for one, solution in zip(built, solutions, strict=True)
    ]


@dataclass(frozen=True)
class _Program:
    """The program, and per job its columns: VMs paid, by type, and the uptime."""

    program: LinearProgram
    paid: tuple[dict[int, int], ...]
    uptimes: tuple[int, ...]


def _program(machines: Machines, jobs: tuple[JobData, ...], share: float | None) -> _Program:
    program = ProgramRows()
    taken, ups = [], []
    for job in jobs:
        most = limits_of(machines, job)
        on, paid, uptime = _add_job(program, machines, job, most if share is None else _fixed(most, share))
        if share is not None:
            program.lower[uptime] = program.upper[uptime]
        taken.append((on, paid))
        ups.append(uptime)
    for kind in range(len(machines)):
        own = {on[kind]: 1.0 for on, _ in taken if kind in on}
        if len(own) > 1:
            program.at_most(own, float(machines.available[kind]))
    return _Program(program.program(), tuple(paid for _, paid in taken), tuple(ups))


def _relaxed(machines: Machines, jobs: tuple[JobData, ...], one: _Program, solution: Optimum) -> Relaxed:
    vms = []
    for paid, uptime in zip(one.paid, one.uptimes, strict=True):
        counts = np.zeros(len(machines))
        for kind, column in paid.items():
            counts[kind] = solution.values[column] / max(solution.values[uptime], ROUNDING)
        vms.append(np.minimum(counts, machines.available))
    constant = sum(job.placement_energy + job.shuffle_energy for job in jobs)
    return Relaxed(solution.value + constant, tuple(vms))


def _fixed(limits: JobLimits, share: float) -> JobLimits:
    horizon = limits.horizon * share
    return replace(limits, horizon=horizon, uptime=np.minimum(limits.uptime, horizon))


def _add_job(
    program: ProgramRows, machines: Machines, job: JobData, limits: JobLimits
) -> tuple[dict[int, int], dict[int, int], int]:
    """Return one job's columns and rows; the columns of VMs taken and of seconds paid per type, and that of the
    uptime.
    """
    finite = [value if np.isfinite(value) else 0.0 for value in limits.shortest]
    phases = [program.column(lower=min(value, limits.horizon)) for value in finite]
    uptime = program.column(upper=limits.horizon)
    program.exactly({uptime: 1.0, **dict.fromkeys(phases, -1.0)}, 0.0)
    on, paid, maps, reduces = {}, {}, {}, {}
    for kind in np.flatnonzero(limits.usable).tolist():
        count = float(min(machines.available[kind], job.map_tasks + job.reduce_tasks))
        on[kind] = program.column(upper=count)
        paid[kind] = program.column(upper=count * float(limits.uptime[kind]))
        work: dict[int, float] = {}
        load: dict[int, float] = {}
        if limits.maps[kind]:
            column = maps[kind] = program.column(float(job.map_energy[kind]), count * float(limits.maps[kind]))
            program.at_most({column: 1.0, on[kind]: -float(limits.maps[kind])}, 0.0)
            program.above(phases[0], {column: job.place / count})
            time, slots = float(job.map_time[kind]), int(machines.map_slots[kind])
            program.above(phases[1], {column: time / (slots * count)})
            load[column] = job.send / count
            work[column] = job.place + job.send + time / slots
        if limits.reduces[kind]:
            column = reduces[kind] = program.column(float(job.reduce_energy[kind]), count * float(limits.reduces[kind]))
            program.at_most({column: 1.0, on[kind]: -float(limits.reduces[kind])}, 0.0)
            time, slots = float(job.reduce_time[kind]), int(machines.reduce_slots[kind])
            program.above(phases[3], {column: time / (slots * count)})
            load[column] = job.fetch / count
            work[column] = job.fetch + time / slots
        program.above(phases[2], load)
        program.above(paid[kind], work)
        program.above(paid[kind], {uptime: count, on[kind]: limits.horizon}, -limits.horizon * count)
        program.at_most({paid[kind]: 1.0, uptime: -count}, 0.0)
        program.at_most({paid[kind]: 1.0, on[kind]: -float(limits.uptime[kind])}, 0.0)
    program.exactly(dict.fromkeys(maps.values(), 1.0), float(job.map_tasks))
    program.exactly(dict.fromkeys(reduces.values(), 1.0), float(job.reduce_tasks))
    if np.isfinite(job.budget):
        program.at_most({column: float(machines.price[kind]) / job.budget for kind, column in paid.items()}, 1.0)
    return on, paid, uptime


MANY = 15
"""VM types up to which the search has its whole effort."""


@dataclass(frozen=True)
class Effort:
    """Limits of the search: the end by ``time.monotonic()``, and the sets of machines evaluated."""

    until: float = inf
    sets: int = 10_000


@dataclass(frozen=True)
class Search:
    """State that the steps share: the stock, a search per job, relaxations, starts (best first), the best state."""

    available: Ints
    jobs: tuple[SetSearch, ...]
    relaxed: tuple[Relaxed, ...] = ()
    starts: tuple[State, ...] = ()
    best: State | None = None
    effort: Effort = Effort()

    def spent(self) -> bool:
        """Return True if time or effort is used up."""
        sets = sum(len(job.known) for job in self.jobs)
        return sets > self.effort.sets or time.monotonic() > self.effort.until


Moves = Callable[[Ints, State], Iterator[Move]]


def relax(draft: Draft, parts: int = 10) -> Draft:
    """Return the counted LP: a bound on the energy, and how many VMs of each type it would take. Infeasible: no plan
    exists.

    Then the same with the uptime fixed at 1, 2, ... of ``parts`` equal shares of the longest there can be.
    """
    only_energy(draft.spec)
    machines, jobs = machines_of(draft.spec.facts), jobs_of(draft.spec.facts)
    only_alike(jobs, draft.spec.facts, "this method")
    search = Search(machines.available, tuple(SetSearch(machines, job) for job in jobs))
    shares = [None, *(part / parts for part in range(parts, 0, -1))]
    first, *others = relaxations(machines, jobs, shares, draft.seconds_left())
    if first is None:
        return replace(draft, state=search, termination=Termination.INFEASIBLE)
    if isinstance(first, UnsolvedError):
        draft = replace(draft, diagnostics=(*draft.diagnostics, _no_bound(draft, first)))
    else:
        draft = replace(draft, bound=first.energy)
    relaxed = tuple(one for one in (first, *others) if isinstance(one, Relaxed))
    return replace(draft, state=replace(search, relaxed=relaxed))


def _no_bound(draft: Draft, cause: UnsolvedError) -> Diagnostic:
    message = f"the relaxation was not solved ({cause}): the plan comes without a bound"
    return warning("solver-failed", message, draft.spec.span, "give it more time with --time-limit")


def round_machines(draft: Draft) -> Draft:
    """Round the numbers of VMs of the relaxations up, to the nearest and down, and add the whole stock.

    The results are the starts of the local search, best first; those without a plan are ordered by their shortfall.
    """
    search: Search = draft.state
    states = [
        _rounded(search, relaxed, rounding) for relaxed in search.relaxed for rounding in (np.ceil, np.round, np.floor)
    ]
    states.append(_everything(search))
    starts: dict[bytes, State] = {}
    for state in sorted(states, key=score):
        starts.setdefault(b"".join(placement.vms.tobytes() for placement in state), state)
    return replace(draft, state=replace(search, starts=tuple(starts.values())))


def _rounded(search: Search, relaxed: Relaxed, rounding: Callable[[Floats], Floats]) -> State:
    left, state = search.available.copy(), []
    for own, vms in zip(search.jobs, relaxed.vms, strict=True):
        taken = np.minimum(rounding(np.maximum(vms - FEASIBILITY, 0.0)).astype(np.int64), left)
        left = left - taken
        state.append(own.place(taken))
    return tuple(state)


def _everything(search: Search) -> State:
    """Return all VMs, shared evenly by the jobs."""
    left, state = search.available.copy(), []
    for position, own in enumerate(search.jobs):
        taken = left // (len(search.jobs) - position)
        left = left - taken
        state.append(own.place(taken))
    return tuple(state)


def score(state: State) -> tuple[float, float]:
    """Smaller is better: first every job has a plan, then the energy."""
    lacking = sum(placement.lacking for placement in state)
    return (lacking, sum(placement.energy for placement in state) if lacking == 0 else 0.0)


def improve_machines(draft: Draft, starts: int = 4, wide: int = 2, most: int = 10_000) -> Draft:
    """Search locally from the best ``starts``: take, return and swap VMs while that helps; jobs exchange VMs too.

    The search first looks for a plan (repair), then for less energy. If no start has a plan, it uses twice as many
    starts. With ``wide = 2``, it also changes three VMs together at the best end point. It stops at ``limits.time``,
    and after ``most`` sets of machines; of more than :data:`MANY` VM types after fewer, because the moves, and the time
    for each, grow with the types.
    """
    search: Search = draft.state
    until = draft.started + draft.limits.time if draft.limits.time is not None and draft.started else inf
    fewer = max(1.0, len(search.available) / MANY) ** 2
    search = replace(search, effort=Effort(until, round(most / fewer)))
    narrow: list[Moves] = [singles, swaps]
    broad = [*narrow, *([triples] if wide > 1 else [])]
    if score(search.starts[0])[0] > 0:
        starts = 2 * starts
    ends = [_descend(search, state, narrow) for state in search.starts[:starts]]
    best = _descend(search, min(ends, key=score), broad)
    for state in search.starts[starts:] if score(best)[0] > 0 else ():
        best = min(best, _descend(search, state, broad), key=score)
    late = time.monotonic() > until
    return replace(
        draft, state=replace(search, best=best), termination=Termination.TIME_LIMIT if late else draft.termination
    )


def _descend(search: Search, state: State, kinds: Sequence[Moves]) -> State:
    """Descend steepest; try a later kind of move only if the earlier ones do not help."""
    while True:
        for moves in kinds:
            better = _best_of(search, state, moves(search.available, state))
            if better is not None:
                state = better
                break
        else:
            return state
        if search.spent():
            return state


def _best_of(search: Search, state: State, moves: Iterator[Move]) -> State | None:
    """Return the best state that one of the moves leads to, if it is better."""
    best, best_score = None, score(state)
    free = search.available - sum((placement.vms for placement in state), np.zeros_like(search.available))
    for move in moves:
        if search.spent():
            break
        change = sum((delta for _, delta in move), np.zeros_like(state[0].vms))
        if np.any(change > free) or any(np.any(state[j].vms + delta < 0) for j, delta in move):
            continue
        new = list(state)
        for j, delta in move:
            new[j] = search.jobs[j].place(state[j].vms + delta)
        scores = score(tuple(new))
        if scores < best_score and _clearly(scores, best_score):
            best, best_score = tuple(new), scores
    return best


def _clearly(new: tuple[float, float], old: tuple[float, float]) -> bool:
    """Better by more than rounding."""
    return new[0] < old[0] * (1 - ROUNDING) or new[1] < old[1] * (1 - ROUNDING)


def conclude(draft: Draft) -> Draft:
    """Return the plan of the best state, if all jobs have one."""
    search: Search = draft.state
    state = search.best
    if state is None or score(state)[0] > 0:
        return draft
    plan = plan_of(draft.spec, [own.share(placement) for own, placement in zip(search.jobs, state, strict=True)])
    return replace(draft, plan=plan, value=measure(draft.spec, plan))
