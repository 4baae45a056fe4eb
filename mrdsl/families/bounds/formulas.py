"""Plans by formula: completion times on given slots, least slots for given deadlines.

Warnings of a plan report deadlines that are met on average alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from mrdsl.contracts.pipeline import Draft
from mrdsl.contracts.plan_warnings import IMPOSSIBLE, UNPRICED, firm, soft_deadline_warnings
from mrdsl.core.diagnostics import Diagnostic
from mrdsl.core.result import Termination
from mrdsl.families.bounds.checks import find_impossible, minimizes_slots
from mrdsl.families.bounds.estimates import (
    Estimates,
    completions,
    estimates_of,
    guaranteed,
    slots_of_one_job,
    slots_that_run,
    upper_is_bound,
)
from mrdsl.families.bounds.facts import BoundsFacts
from mrdsl.families.bounds.plan import BoundsPlan, two_jobs_of
from mrdsl.families.bounds.verify import verify as broken
from mrdsl.formulas import wave_estimates
from mrdsl.formulas.estimates import fixed_reduce as fixed_reduce_slots
from mrdsl.formulas.estimates import kept, limits_of_tasks, stage_counts
from mrdsl.formulas.estimates import least_slots as fewest_slots
from mrdsl.formulas.mapreduce import Coefficients, Floats, Profile
from mrdsl.formulas.whole_slots import least_sums, settled, whole_slots
from mrdsl.spec.blocks import dags_of
from mrdsl.spec.columns import column, names_of, words
from mrdsl.spec.estimates import default_guarantee
from mrdsl.spec.spec import Spec


def plan_of(spec: Spec) -> BoundsPlan:
    """Return the plan by the formulas; slots are infinite if no number of slots meets a deadline."""
    facts: BoundsFacts = spec.facts
    estimates = estimates_of(facts)
    slots = least_slots(facts, estimates) if minimizes_slots(spec) else slots_of_one_job(facts)
    return plan_on(spec, estimates, *slots)


def plan_on(spec: Spec, estimates: Estimates, map_slots: Floats, reduce_slots: Floats) -> BoundsPlan:
    """Return the plan in which every job of a class has the given slots."""
    classes, sized = spec.facts.classes, minimizes_slots(spec)
    there = slots_that_run(spec.facts, sized, map_slots, reduce_slots)
    return BoundsPlan(
        names=names_of(classes),
        jobs=column(classes, "jobs"),
        map_slots=map_slots,
        reduce_slots=reduce_slots,
        completion=completions(estimates, column(classes, "jobs"), map_slots, reduce_slots),
        deadline=column(classes, "deadline"),
        sizes=sized,
        stages=stage_counts(classes),
        dags=dags_of(classes),
        upper_is_bound=upper_is_bound(spec.facts, estimates.profile, map_slots, reduce_slots, there),
        two_jobs=None if sized else two_jobs_of(spec.facts, estimates.profile, map_slots),
    )


def least_slots(facts: BoundsFacts, estimates: Estimates) -> tuple[Floats, Floats]:
    """Return the slots of one job of every class that meet its deadline by the guaranteed estimate and ``sizing``."""
    size = fixed_reduce_slots if facts.sizing == "fixed_reduce" else fewest_slots
    profile = estimates.profile
    deadline = column(facts.classes, "deadline")
    work = guaranteed(facts, estimates)
    smooth = size(work, deadline, profile.map_tasks, profile.reduce_tasks)
    if profile.stages is not None:
        smooth = np.fmax(smooth[0], profile.stages.least), smooth[1]
    if work.own is not None:
        smooth = _exact(facts, profile, work, deadline, smooth)
    in_waves = words(facts.classes, "guarantee", "average") == "waves"
    if not in_waves.any():
        return smooth
    whole = wave_estimates.least_slots(profile, estimates.times, deadline, facts.sizing == "fixed_reduce")
    return np.where(in_waves, whole[0], smooth[0]), np.where(in_waves, whole[1], smooth[1])


def _exact(
    facts: BoundsFacts, profile: Profile, work: Coefficients, deadline: Floats, smooth: tuple[Floats, Floats]
) -> tuple[Floats, Floats]:
    """Return the least slots by exact times: whole ones for means."""
    assert work.own is not None
    limits = limits_of_tasks(profile.map_tasks, profile.reduce_tasks)
    if profile.stages is not None:
        limits = replace(limits, map_least=np.fmax(limits.map_least, profile.stages.least))
    exact, mean = work.own.exact, work.own.names == "mean"
    if facts.sizing == "fixed_reduce":
        limits = replace(limits, reduce_least=limits.reduce_most)
    one = np.ones_like(deadline)
    real = least_sums(work, deadline, limits, smooth)
    found = [np.where(exact, each, other) for each, other in zip(real, smooth, strict=True)]
    if mean.any():
        possible = kept(work, deadline, limits)
        start = np.where(possible, limits.map_most, np.inf), np.where(possible, limits.reduce_most, np.inf)
        whole = whole_slots(settled(work, deadline, limits), deadline, (one, one), limits, start)
        found = [np.where(mean, each, other) for each, other in zip(whole, found, strict=True)]
    return found[0], found[1]


def formulas(draft: Draft) -> Draft:
    """Completion times, or least slots, in closed form; the least slots solve a convex problem, and are proven so.

    Completion times are estimates with no objective: value and bound stay None.
    """
    hopeless = tuple(find_impossible(draft.spec))
    if hopeless:
        return replace(draft, termination=Termination.INFEASIBLE, diagnostics=draft.diagnostics + hopeless)
    plan = plan_of(draft.spec)
    if not plan.sizes:
        return replace(draft, plan=plan, termination=Termination.COMPLETED)
    return replace(draft, plan=plan, value=plan.slots, bound=plan.slots, termination=Termination.OPTIMAL)


MOST_PRICED = 2000
"""Most classes for which the slots of a bound are computed; of more, only the deadlines are reported."""


def verify(spec: Spec, plan: BoundsPlan, relax: bool) -> Iterator[Diagnostic]:
    """Yield the errors of a plan that verification finds; for a correct plan, its warnings."""
    found = tuple(broken(spec, plan, relax))
    yield from found or warnings_of(spec, plan)


def warnings_of(spec: Spec, plan: BoundsPlan) -> Iterator[Diagnostic]:
    """Warn of classes without ``guarantee`` whose upper estimate misses the deadline that slots were sized for."""
    if plan.sizes:
        by = default_guarantee(spec.facts, True)
        yield from soft_deadline_warnings(spec, plan.completion["upper"], partial(_price, spec, plan), by)


def _price(spec: Spec, plan: BoundsPlan, soft: NDArray[np.bool_]) -> str:
    """Compare, in words, the slots that meet the upper estimates of some classes with those of the plan."""
    if spec.constraints or len(soft) > MOST_PRICED:
        return UNPRICED
    firmer = firm(spec, soft)
    if list(find_impossible(firmer)):
        return IMPOSSIBLE
    return f"would take {plan_of(firmer).slots:.2f} slots instead of {plan.slots:.2f}"
