"""Steps of the energy pipelines that put the counted model to HiGHS: MSPAN, and what a search did not find."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mrdsl.contracts.pipeline import Draft
from mrdsl.core.answer import Answer
from mrdsl.core.diagnostics import MrdslError, note, warning
from mrdsl.core.result import Limits, SolutionStatus, Termination
from mrdsl.core.tolerances import PROVEN, ROUNDING
from mrdsl.families.energy.cluster import jobs_of, machines_of
from mrdsl.families.energy.methods.attempts import Attempt, Dealt, DealtJob
from mrdsl.families.energy.methods.spans import shortest_start
from mrdsl.families.energy.methods.steps import only_energy
from mrdsl.families.energy.models import counted
from mrdsl.families.energy.plan import EnergyPlan
from mrdsl.families.energy.verify import measure
from mrdsl.spec.spec import Goal, Spec


def exact_where_none(draft: Draft, seconds: float = 60.0) -> Draft:
    """Where the search found no plan: the exact counted form, within what is left of the time, else ``seconds``.

    It finds a plan, or proves that there is none, or neither in time; a note says that it was asked.
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
        "--solver highs asks it at once",
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
    """MSPAN: the least uptime within the budget, whatever deadline and energy; one exact solve of the counted model.

    Beside it goes what :mod:`mrdsl.families.energy.methods.spans` knows: a plan near the optimum, which bounds the
    model's horizon, and a bound of its own. Where the two do not meet in time, the shortest plan known is kept and a
    warning says how far below it the least makespan may lie.
    """
    only_energy(draft.spec)
    machines, jobs = machines_of(draft.spec.facts), jobs_of(draft.spec.facts)
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
    """The counted model's plan and HiGHS's answer, within what is left of the draft's time, else ``seconds``."""
    from mrdsl.solving.checked_answer import solve_model

    left = draft.seconds_left() or seconds
    model = counted.build(spec)
    try:
        answer = solve_model(model, "highs", Limits(time=left, gap=PROVEN, threads=draft.limits.threads))
    except MrdslError as cause:
        return None, Answer(Termination.ERROR, SolutionStatus.NONE, message=str(cause))
    return (counted.decode(spec, model) if answer.solution is not SolutionStatus.NONE else None), answer
