"""Steps of the heuristics that solve the counted model with HiGHS: MSPAN, and a fallback without a plan.

`shortest_start` finds a plan near the least makespan within one job's budget, and a proven bound. A plan takes a set of
VMs, a number of each type, and pays all of them until it ends. For a set the map phase takes at least the shortest
length whose whole waves hold all tasks, and so does the reduce phase. Placement takes at least ``place`` per task of an
even share. The shuffle takes at least the moved data over all ports. Sets whose bound exceeds the budget are out; the
least bound of the others bounds the makespan. Plans are built for an even choice of those sets. The best are improved
by one VM more, less or exchanged.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import inf, prod

import numpy as np

from mrdsl.contracts.pipeline import Draft
from mrdsl.core.answer import Answer
from mrdsl.core.diagnostics import MrdslError, note, warning
from mrdsl.core.result import Limits, SolutionStatus, Termination
from mrdsl.core.rounding import PROVEN, ROUNDING
from mrdsl.families.energy.assignment import Attempt, Dealt, DealtJob, Share, phases_of
from mrdsl.families.energy.cluster import Floats, Ints, JobData, Machines, jobs_of, machines_of, only_alike
from mrdsl.families.energy.methods.steps import only_energy
from mrdsl.families.energy.models import counted
from mrdsl.families.energy.plan import EnergyPlan
from mrdsl.families.energy.sets import SetSearch
from mrdsl.families.energy.verify import measure
from mrdsl.spec.spec import Goal, Spec

MOST_SETS = 300_000
FIRST_PLANS = 1_000
ENDS = 6


@dataclass(frozen=True)
class Start:
    """Shortest plan found (None without one), its uptime [s], and a bound on every plan's uptime [s]."""

    share: Share | None
    uptime: float
    bound: float


def shortest_start(machines: Machines, job: JobData, until: float = inf) -> Start | None:
    """Return the shortest plan found on the sets of VMs, and their bound; None if there are too many sets.

    ``until`` is a time of the monotonic clock [s]: after it, the search builds no more plans once it has one.
    """
    if prod(int(available) + 1 for available in machines.available) > MOST_SETS:
        return None
    search = SetSearch(machines, job)
    sets = np.indices(tuple((machines.available + 1).tolist())).reshape(len(machines), -1).T[1:]
    bounds = _bounds(search, sets)
    price = sets @ machines.price
    kept = np.flatnonzero(np.isfinite(bounds) & (bounds * price <= job.budget * (1 + ROUNDING)))
    kept = kept[np.argsort(bounds[kept], kind="stable")]
    first = kept[np.unique(np.linspace(0, max(len(kept) - 1, 0), FIRST_PLANS).astype(np.int64))] if len(kept) else kept
    plans = _Plans(search, {}, until)
    starts = sorted((sets[position] for position in first.tolist()), key=plans.uptime)[:ENDS]
    best = min((_descended(plans, vms) for vms in starts), key=plans.uptime, default=None)
    bound = float(bounds[kept[0]]) if len(kept) else inf
    if best is None or best.tobytes() not in plans.known or not np.isfinite(plans.uptime(best)):
        return Start(None, inf, bound)
    return Start(plans.known[best.tobytes()][1], plans.uptime(best), bound)


@dataclass(frozen=True)
class _Plans:
    """The plans made so far, by set, with the uptimes of those that the budget pays; infinite for the others."""

    search: SetSearch
    known: dict[bytes, tuple[float, Share | None]]
    until: float = inf

    def uptime(self, vms: Ints) -> float:
        key = vms.tobytes()
        if key not in self.known:
            if time.monotonic() > self.until and any(share is not None for _, share in self.known.values()):
                return inf
            self.known[key] = self._made(vms)
        return self.known[key][0]

    def _made(self, vms: Ints) -> tuple[float, Share | None]:
        shortest = self.search.shortest(vms) if vms.any() else None
        if shortest is None:
            return inf, None
        machines, job = self.search.machines, self.search.job
        share = self.search.share(shortest)
        uptime = phases_of(machines, job, share).total
        price = float(machines.price[share.types].sum())
        return (uptime, share) if price * uptime <= job.budget * (1 + ROUNDING) else (inf, None)


def _descended(plans: _Plans, vms: Ints) -> Ints:
    """Return the end of steepest descent from a set, by one VM more, less or exchanged."""
    while True:
        best = min(_neighbours(plans.search.machines, vms), key=plans.uptime, default=vms)
        if not plans.uptime(best) < plans.uptime(vms):
            return vms
        vms = best


def _neighbours(machines: Machines, vms: Ints) -> Iterator[Ints]:
    units = np.eye(len(vms), dtype=np.int64)
    steps = [*units, *-units, *(a - b for i, a in enumerate(units) for j, b in enumerate(units) if i != j)]
    for step in steps:
        new = vms + step
        if np.all(new >= 0) and np.all(new <= machines.available):
            yield new


def _bounds(search: SetSearch, sets: Ints) -> Floats:
    """For every set a bound on the uptime of a plan that takes no other VMs; infinite where it cannot run the tasks."""
    job = search.job
    can_map, can_reduce = np.isfinite(job.map_time), np.isfinite(job.reduce_time)
    ends, reduce_ends = search.phase_bounds(sets)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.ceil(job.map_tasks / (sets @ can_map))
        moved = (job.send * job.map_tasks + job.fetch * job.reduce_tasks) / (sets @ (can_map | can_reduce))
    return np.asarray(
        np.where(np.isfinite(ends) & np.isfinite(reduce_ends), job.place * share + ends + moved + reduce_ends, inf)
    )


def exact_where_none(draft: Draft, seconds: float = 60.0) -> Draft:
    """Solve the exact counted model if the search found no plan, in the remaining time, otherwise ``seconds``.

    It finds a plan, or proves that there is none, or neither in time. A note reports its use.
    """
    if draft.plan is not None or draft.termination is Termination.INFEASIBLE:
        return draft
    plan, answer = _solved(draft, draft.spec, seconds)
    ends = {Termination.OPTIMAL: "has one, proven the best", Termination.INFEASIBLE: "proves that there is none"}
    said = note(
        "exact-form",
        "the search found no plan; the exact counted form "
        + ends.get(answer.termination, "has one" if plan is not None else "found none in time either"),
        draft.spec.span,
        "to use the exact form directly, pass `--solver highs`",
    )
    proven = answer.termination if answer.termination in ends else draft.termination
    if plan is None:
        return replace(draft, termination=proven, diagnostics=(*draft.diagnostics, said))
    bounds = [bound for bound in (draft.bound, answer.bound) if bound is not None]
    return replace(
        draft,
        plan=plan,
        value=measure(draft.spec, plan),
        bound=max(bounds, default=None),
        termination=proven,
        diagnostics=(*draft.diagnostics, said),
    )


def least_makespan(draft: Draft, seconds: float = 60.0) -> Draft:
    """Find the least uptime within the budget, for any deadline and energy (MSPAN): one exact counted model.

    :func:`shortest_start` adds a plan near the optimum, which bounds the model's horizon, and a second bound. If plan
    and bound do not meet in time, the shortest known plan is the result, and a warning reports how far below it the
    least makespan may be.
    """
    only_energy(draft.spec)
    machines, jobs = machines_of(draft.spec.facts), jobs_of(draft.spec.facts)
    only_alike(jobs, draft.spec.facts, "this method")
    free = tuple(replace(job, deadline=None) for job in draft.spec.facts.jobs)
    spec = replace(
        draft.spec, facts=replace(draft.spec.facts, jobs=free), goal=Goal("minimize", "uptime"), constraints=()
    )
    until = np.inf if draft.limits.time is None else draft.started + draft.limits.time
    start = shortest_start(machines, replace(jobs[0], deadline=np.inf), until) if len(jobs) == 1 else None
    if start is not None and start.share is not None and start.uptime <= start.bound * (1 + ROUNDING):
        share = start.share
        return replace(draft, state=Dealt(machines, (_kept(jobs[0], share.types, share.maps, share.reduces),)))
    limited = spec
    if start is not None and start.share is not None:
        limited = replace(
            spec, facts=replace(spec.facts, jobs=(replace(free[0], deadline=start.uptime * (1 + ROUNDING)),))
        )
    plan, answer = _solved(draft, limited, seconds)
    works = _works(draft.spec, plan) if plan is not None else None
    if works is None and start is not None and start.share is not None:
        works = (_kept(jobs[0], start.share.types, start.share.maps, start.share.reduces),)
    if works is None:
        works = tuple(DealtJob(job, np.zeros(0, dtype=np.int64)) for job in jobs)
        return replace(draft, state=Dealt(machines, works))
    diagnostics = draft.diagnostics
    reached = plan.uptime if plan is not None else start.uptime if start is not None else np.inf
    known = max(answer.bound or 0.0, start.bound if start is not None else 0.0)
    if answer.termination is not Termination.OPTIMAL and known < reached * (1 - PROVEN):
        diagnostics = (
            *diagnostics,
            warning(
                "stopped-early",
                f"the least makespan is not proven: this plan takes {reached:.6g} s, none takes less than "
                f"{known:.6g} s",
                draft.spec.span,
                "give it more with --time-limit",
            ),
        )
    if answer.termination is Termination.TIME_LIMIT and draft.is_late():
        draft = replace(draft, termination=Termination.TIME_LIMIT)
    return replace(draft, state=Dealt(machines, works), diagnostics=diagnostics)


def _works(spec: Spec, plan: EnergyPlan) -> tuple[DealtJob, ...]:
    machines, jobs = machines_of(spec.facts), jobs_of(spec.facts)
    works = []
    for job in jobs:
        own = [use for use in plan.vms if use.job == job.name]
        works.append(
            _kept(
                job,
                np.array([machines.names.index(use.type) for use in own], dtype=np.int64),
                np.array([use.map_tasks for use in own]),
                np.array([use.reduce_tasks for use in own]),
            )
        )
    return tuple(works)


def _kept(job: object, types: object, maps: object, reduces: object) -> DealtJob:
    return DealtJob(job, types, kept=Attempt(maps=maps, reduces=reduces))  # type: ignore[arg-type]


def _solved(draft: Draft, spec: Spec, seconds: float) -> tuple[EnergyPlan | None, Answer]:
    """Return the counted model's plan and HiGHS's answer, in the rest of the draft's time, otherwise ``seconds``."""
    from mrdsl.solving.checked_answer import solve_model

    left = draft.seconds_left() or seconds
    model = counted.build(spec)
    try:
        answer = solve_model(model, "highs", Limits(time=left, gap=PROVEN, threads=draft.limits.threads))
    except MrdslError as cause:
        return None, Answer(Termination.ERROR, SolutionStatus.NONE, message=str(cause))
    return (counted.decode(spec, model) if answer.solution is not SolutionStatus.NONE else None), answer
