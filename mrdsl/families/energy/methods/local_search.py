"""``mrdsl-energy``: the counted LP, its rounding, repair and local search over the machines that each job takes.

The search is over numbers of VMs per *kind*: type and role (:mod:`mrdsl.families.energy.methods.roles`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from mrdsl.contracts.pipeline import Draft
from mrdsl.core.diagnostics import Diagnostic, warning
from mrdsl.core.result import Termination
from mrdsl.core.tolerances import FEASIBILITY, ROUNDING
from mrdsl.families.energy.assignment import plan_of
from mrdsl.families.energy.cluster import Floats, Ints, JobData, jobs_of, machines_of
from mrdsl.families.energy.methods.lp_bound import Relaxed, relaxations
from mrdsl.families.energy.methods.machine_moves import Move, State, pairs, parted, roles, singles, swaps, triples
from mrdsl.families.energy.methods.roles import by_kind, by_type, in_roles, job_in_roles, share_by_type
from mrdsl.families.energy.methods.steps import only_energy
from mrdsl.families.energy.sets import SetSearch
from mrdsl.families.energy.verify import measure
from mrdsl.solving.programs import UnsolvedError


@dataclass(frozen=True)
class Effort:
    """When the search stops at the latest: ``time.monotonic()``, and the sets of machines looked at."""

    until: float = inf
    sets: int = 10_000


@dataclass(frozen=True)
class Search:
    """What the steps hand on: the stock, a search per job, the relaxations, starts (best first), the best state."""

    available: Ints
    data: tuple[JobData, ...]
    jobs: tuple[SetSearch, ...]
    relaxed: tuple[Relaxed, ...] = ()
    starts: tuple[State, ...] = ()
    best: State | None = None
    effort: Effort = Effort()

    def spent(self) -> bool:
        """Whether time or effort is used up."""
        sets = sum(len(job.known) for job in self.jobs)
        return sets > self.effort.sets or time.monotonic() > self.effort.until


Moves = Callable[[Ints, State], Iterator[Move]]


def relax(draft: Draft, parts: int = 10) -> Draft:
    """The counted LP: a bound on the energy, and how many VMs of each type it would take. Infeasible: no plan exists.

    Then the same with the uptime fixed at 1, 2, ... of ``parts`` equal shares of the longest there can be.
    """
    only_energy(draft.spec)
    machines, jobs = machines_of(draft.spec.facts), jobs_of(draft.spec.facts)
    kinds = in_roles(machines)
    search = Search(machines.available, jobs, tuple(SetSearch(kinds, job_in_roles(job)) for job in jobs))
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
    """Whole numbers of VMs near those of the relaxations, rounded up, to the nearest and down; and all there are.

    Makes the starts of the local search, best first; those without a plan come by what they lack.
    """
    search: Search = draft.state
    states = [
        _rounded(search, relaxed, rounding) for relaxed in search.relaxed for rounding in (np.ceil, np.round, np.floor)
    ]
    states.append(_everything(search))
    if all(score(state)[0] > 0 for state in states):
        states += [new for state in states[:3] + states[-1:] for new in _parted(search, state)]
    starts: dict[bytes, State] = {}
    for state in sorted(states, key=score):
        starts.setdefault(b"".join(placement.vms.tobytes() for placement in state), state)
    return replace(draft, state=replace(search, starts=tuple(starts.values())))


def _rounded(search: Search, relaxed: Relaxed, rounding: Callable[[Floats], Floats]) -> State:
    left, state = search.available.copy(), []
    for own, vms in zip(search.jobs, relaxed.vms, strict=True):
        taken = np.minimum(rounding(np.maximum(vms - FEASIBILITY, 0.0)).astype(np.int64), left)
        left = left - taken
        state.append(own.place(by_kind(taken)))
    return tuple(state)


def _parted(search: Search, state: State) -> Iterator[State]:
    """A state's VMs as mappers and reducers, for one job after another where the shuffle takes time."""
    for j, (own, placement) in enumerate(zip(search.jobs, state, strict=True)):
        if own.shuffles:
            for vms in parted(search.data[j], by_type(placement.vms)):
                yield (*state[:j], own.place(vms), *state[j + 1 :])


def _everything(search: Search) -> State:
    """All VMs, shared evenly by the jobs."""
    left, state = search.available.copy(), []
    for position, own in enumerate(search.jobs):
        taken = left // (len(search.jobs) - position)
        left = left - taken
        state.append(own.place(by_kind(taken)))
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
    search: Search = draft.state
    until = draft.started + draft.limits.time if draft.limits.time is not None and draft.started else inf
    search = replace(search, effort=Effort(until, most))
    narrow: list[Moves] = [singles, swaps]
    broad = [
        *narrow,
        *([roles, pairs] if any(own.shuffles for own in search.jobs) else []),
        *([triples] if wide > 1 else []),
    ]
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
    """Steepest descent; a later kind of move is tried only where the earlier ones do not help."""
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
    """The best state that one of the moves leads to, if it is better."""
    best, best_score = None, score(state)
    free = search.available - sum((by_type(placement.vms) for placement in state), np.zeros_like(search.available))
    for move in moves:
        change = by_type(sum((delta for _, delta in move), np.zeros_like(state[0].vms)))
        if np.any(change > free) or any(np.any(state[j].vms + delta < 0) for j, delta in move):
            continue
        new = list(state)
        for j, delta in move:
            new[j] = search.jobs[j].place(state[j].vms + delta)
        scores = score(tuple(new))
        if scores < best_score and _clearly(scores, best_score):
            best, best_score = tuple(new), scores
        if search.spent():
            break
    return best


def _clearly(new: tuple[float, float], old: tuple[float, float]) -> bool:
    """Better by more than rounding."""
    return new[0] < old[0] * (1 - ROUNDING) or new[1] < old[1] * (1 - ROUNDING)


def conclude(draft: Draft) -> Draft:
    """The plan of the best state, if all jobs have one."""
    search: Search = draft.state
    state = search.best
    if state is None or score(state)[0] > 0:
        return draft
    plan = plan_of(
        draft.spec,
        [
            share_by_type(own.share(placement), len(search.available))
            for own, placement in zip(search.jobs, state, strict=True)
        ],
    )
    return replace(draft, plan=plan, value=measure(draft.spec, plan))
