"""``mrdsl-energy``: the counted LP, its rounding, repair and local search over the machines that each job takes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from mrdsl.heuristics.energy import only_energy
from mrdsl.heuristics.energy_bound import Relaxed, relaxation
from mrdsl.heuristics.pipeline import Draft
from mrdsl.outcome import Termination
from mrdsl.problems.energy.assignment import plan_of
from mrdsl.problems.energy.cluster import Floats, Ints, jobs_of, machines_of
from mrdsl.problems.energy.sets import Placement, SetSearch
from mrdsl.problems.energy.verify import measure

State = tuple[Placement, ...]
"""One placement per job."""

Move = tuple[tuple[int, Ints], ...]
"""Changes of the numbers of VMs, job by job."""


@dataclass(frozen=True)
class Effort:
    """When the search stops at the latest: ``time.monotonic()``, and the sets of machines looked at."""

    until: float = inf
    sets: int = 10_000


@dataclass(frozen=True)
class Search:
    """What the steps hand on: the stock, a search per job, the relaxations, starts (best first), the best state."""

    available: Ints
    jobs: tuple[SetSearch, ...]
    relaxed: tuple[Relaxed, ...] = ()
    starts: tuple[State, ...] = ()
    best: State | None = None
    effort: Effort = Effort()

    def spent(self) -> bool:
        """Whether time or effort is used up."""
        sets = sum(len(job.known) for job in self.jobs)
        return sets > self.effort.sets or time.monotonic() > self.effort.until


Moves = Callable[[Search, State], Iterator[Move]]


def relax(draft: Draft, parts: int = 10) -> Draft:
    """The counted LP: a bound on the energy, and how many VMs of each type it would take. Infeasible: no plan exists.

    Then the same with the uptime fixed at 1, 2, ... of ``parts`` equal shares of the longest there can be.
    """
    only_energy(draft.spec)
    machines, jobs = machines_of(draft.spec.facts), jobs_of(draft.spec.facts)
    found = relaxation(machines, jobs)
    search = Search(machines.available, tuple(SetSearch(machines, job) for job in jobs))
    if found is None:
        return replace(draft, work=search, termination=Termination.INFEASIBLE)
    fixed = (relaxation(machines, jobs, part / parts) for part in range(parts, 0, -1))
    relaxed = (found, *(one for one in fixed if one is not None))
    return replace(draft, work=replace(search, relaxed=relaxed), bound=found.energy)


def round_machines(draft: Draft) -> Draft:
    """Whole numbers of VMs near those of the relaxations, rounded up, to the nearest and down; and all there are.

    Makes the starts of the local search, best first; those without a plan come by what they lack.
    """
    search: Search = draft.work
    states = [
        _rounded(search, relaxed, rounding)
        for relaxed in search.relaxed for rounding in (np.ceil, np.round, np.floor)
    ]
    states.append(_everything(search))
    found: dict[bytes, State] = {}
    for state in sorted(states, key=score):
        found.setdefault(b"".join(placement.vms.tobytes() for placement in state), state)
    return replace(draft, work=replace(search, starts=tuple(found.values())))


def _rounded(search: Search, relaxed: Relaxed, rounding: Callable[[Floats], Floats]) -> State:
    left, state = search.available.copy(), []
    for own, vms in zip(search.jobs, relaxed.vms, strict=True):
        taken = np.minimum(rounding(np.maximum(vms - 1e-6, 0.0)).astype(np.int64), left)
        left = left - taken
        state.append(own.place(taken))
    return tuple(state)


def _everything(search: Search) -> State:
    """All VMs, shared evenly by the jobs."""
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
    """Local search from the best ``starts``: takes, returns and swaps VMs while that helps, first towards a plan
    (repair), then to less energy; jobs exchange VMs too.

    Where no start has a plan, from twice as many. From the best end point also changes of three VMs at once
    (``wide = 2``). Stops at ``limits.time``, and after
    ``most`` sets of machines have been looked at.
    """
    search: Search = draft.work
    until = draft.started + draft.limits.time if draft.limits.time is not None and draft.started else inf
    search = replace(search, effort=Effort(until, most))
    narrow, broad = (_single, _swaps), (_single, _swaps, *((_triples,) if wide > 1 else ()))
    if score(search.starts[0])[0] > 0:
        starts = 2 * starts
    ends = [_descend(search, state, narrow) for state in search.starts[:starts]]
    best = _descend(search, min(ends, key=score), broad)
    for state in search.starts[starts:] if score(best)[0] > 0 else ():
        best = min(best, _descend(search, state, broad), key=score)
    late = time.monotonic() > until
    return replace(draft, work=replace(search, best=best),
                   termination=Termination.TIME_LIMIT if late else draft.termination)


def _descend(search: Search, state: State, kinds: Sequence[Moves]) -> State:
    """Steepest descent; a later kind of move is tried only where the earlier ones do not help."""
    while True:
        for moves in kinds:
            found = _best_of(search, state, moves(search, state))
            if found is not None:
                state = found
                break
        else:
            return state
        if search.spent():
            return state


def _best_of(search: Search, state: State, moves: Iterator[Move]) -> State | None:
    """The best state that one of the moves leads to, if it is better."""
    best, best_score = None, score(state)
    free = search.available - sum((placement.vms for placement in state), np.zeros_like(search.available))
    for move in moves:
        change = sum((delta for _, delta in move), np.zeros_like(free))
        if np.any(change > free) or any(np.any(state[j].vms + delta < 0) for j, delta in move):
            continue
        new = list(state)
        for j, delta in move:
            new[j] = search.jobs[j].place(state[j].vms + delta)
        found = score(tuple(new))
        if found < best_score and _clearly(found, best_score):
            best, best_score = tuple(new), found
        if search.spent():
            break
    return best


def _clearly(new: tuple[float, float], old: tuple[float, float]) -> bool:
    """Better by more than rounding."""
    return new[0] < old[0] * (1 - 1e-9) or new[1] < old[1] * (1 - 1e-9)


def _unit(kinds: int, kind: int, count: int = 1) -> Ints:
    delta = np.zeros(kinds, dtype=np.int64)
    delta[kind] = count
    return delta


def _single(search: Search, state: State) -> Iterator[Move]:
    """One VM more or less, in large stocks also several."""
    kinds = len(search.available)
    for j in range(len(state)):
        for kind in range(kinds):
            for step in _steps(int(search.available[kind])):
                yield ((j, _unit(kinds, kind, -step)),)
                yield ((j, _unit(kinds, kind, step)),)


def _steps(available: int) -> list[int]:
    return [step for step in (1, 4, 16, 64) if step == 1 or step * 2 <= available]


def _swaps(search: Search, state: State) -> Iterator[Move]:
    """One VM for one of another type; between jobs, one VM handed over."""
    kinds = len(search.available)
    for j in range(len(state)):
        for less in range(kinds):
            if state[j].vms[less] == 0:
                continue
            for more in range(kinds):
                if more != less:
                    yield ((j, _unit(kinds, less, -1) + _unit(kinds, more)),)
            for other in range(len(state)):
                if other != j:
                    yield ((j, _unit(kinds, less, -1)), (other, _unit(kinds, less)))


def _triples(search: Search, state: State) -> Iterator[Move]:
    """One VM for two others, two for one, in every combination of types; for a job by itself."""
    if len(state) > 1:
        return
    kinds = len(search.available)
    for one in range(kinds):
        for first in range(kinds):
            for second in range(first, kinds):
                if one not in (first, second):
                    two = _unit(kinds, first) + _unit(kinds, second)
                    yield ((0, two - _unit(kinds, one)),)
                    yield ((0, _unit(kinds, one) - two),)


def conclude(draft: Draft) -> Draft:
    """The plan of the best state, if all jobs have one."""
    search: Search = draft.work
    state = search.best
    if state is None or score(state)[0] > 0:
        return draft
    plan = plan_of(draft.spec, [own.share(placement) for own, placement in zip(search.jobs, state, strict=True)])
    return replace(draft, plan=plan, value=measure(draft.spec, plan))
