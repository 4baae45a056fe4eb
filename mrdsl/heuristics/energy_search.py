"""``mrdsl-energy``: the counted LP, its rounding, repair and local search over the machines that each job takes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from mrdsl.heuristics.energy_bound import Relaxed, relaxation
from mrdsl.heuristics.energy_sets import Placement, SetSearch
from mrdsl.heuristics.pipeline import Draft
from mrdsl.outcome import Termination
from mrdsl.problems.energy.assignment import plan_of
from mrdsl.problems.energy.cluster import Ints, jobs_of, machines_of
from mrdsl.problems.energy.verify import measure

State = tuple[Placement, ...]
"""One placement per job."""


@dataclass(frozen=True)
class Search:
    """What the steps hand on: the stock, a search per job, the relaxation, and the best state so far."""

    available: Ints
    jobs: tuple[SetSearch, ...]
    relaxed: Relaxed | None = None
    best: State | None = None


def relax(draft: Draft) -> Draft:
    """The counted LP: a bound on the energy, and how many VMs of each type it would take. Infeasible: no plan exists."""
    machines, jobs = machines_of(draft.spec.facts), jobs_of(draft.spec.facts)
    found = relaxation(machines, jobs)
    search = Search(machines.available, tuple(SetSearch(machines, job) for job in jobs), found)
    if found is None:
        return replace(draft, work=search, termination=Termination.INFEASIBLE)
    return replace(draft, work=search, bound=found.energy)


def round_machines(draft: Draft) -> Draft:
    """Whole numbers of VMs near those of the relaxation: rounded up, to the nearest, down; and all there are.

    The state with the best score is kept; with a lack of time on some machines where none is feasible (repair follows).
    """
    search: Search = draft.work
    assert search.relaxed is not None
    best: State | None = None
    for rounding in (np.ceil, np.round, np.floor, None):
        left = search.available.copy()
        state = []
        for own, vms in zip(search.jobs, search.relaxed.vms, strict=True):
            wanted = left if rounding is None else rounding(np.maximum(vms - 1e-6, 0.0)).astype(np.int64)
            taken = np.minimum(wanted, left // (len(search.jobs) - len(state)) if rounding is None else left)
            left = left - taken
            state.append(own.place(taken))
        if best is None or score(tuple(state)) < score(best):
            best = tuple(state)
    return replace(draft, work=replace(search, best=best))


def score(state: State) -> tuple[float, float]:
    """Smaller is better: first every job has a plan, then the energy."""
    lacking = sum(placement.lacking for placement in state)
    return (lacking, sum(placement.energy for placement in state) if lacking == 0 else 0.0)


def improve_machines(draft: Draft, wide: int = 2) -> Draft:
    """Local search: takes, returns and swaps VMs while that helps, first towards a plan (repair), then to less energy.

    Where no such change helps, ``wide`` says how many VMs of a type may be given up at once for as many of another, and
    jobs exchange VMs. Stops at ``limits.time``.
    """
    search: Search = draft.work
    state = search.best
    assert state is not None
    until = draft.started + draft.limits.time if draft.limits.time is not None and draft.started else None
    improved = True
    while improved:
        improved = False
        for moves in (_single, _swaps, lambda s, x: _pairs(s, x, wide)):
            found = _best_of(search, state, moves(search, state), until)
            if found is not None:
                state, improved = found, True
                break
        if until is not None and time.monotonic() > until:
            draft = replace(draft, termination=Termination.TIME_LIMIT)
            break
    return replace(draft, work=replace(search, best=state))


Move = tuple[tuple[int, Ints], ...]
"""Changes of the numbers of VMs, job by job."""


def _best_of(search: Search, state: State, moves: Iterator[Move], until: float | None) -> State | None:
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
        if until is not None and time.monotonic() > until:
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


def _pairs(search: Search, state: State, wide: int) -> Iterator[Move]:
    """One VM for two others, two for one, in every combination of types."""
    if wide < 2 or len(state) > 1:
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
