"""Plans by formula: completion times on given slots, least slots for given deadlines.

`minimize slots` is also a Pyomo model: a check of the closed form, and the method for other constraints.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from pyomo.environ import ConcreteModel, Constraint, Expression, Objective, Set, Var, value

from mrdsl.contracts.pipeline import Draft
from mrdsl.core.diagnostics import MrdslError, error, one_error
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
from mrdsl.formulas import wave_estimates
from mrdsl.formulas.estimates import fixed_reduce as fixed_reduce_slots
from mrdsl.formulas.estimates import kept, limits_of_tasks, stage_counts
from mrdsl.formulas.estimates import least_slots as fewest_slots
from mrdsl.formulas.exact_slots import least_sums, settled
from mrdsl.formulas.mapreduce import Coefficients, Floats, Profile, completion_expression, deadline_constraint
from mrdsl.formulas.whole_slots import whole_slots
from mrdsl.spec.blocks import dags_of
from mrdsl.spec.columns import column, names_of, words
from mrdsl.spec.estimates import default_guarantee
from mrdsl.spec.spec import Spec

LEAST = 1.0
"""No job does with fewer slots than this where it has tasks: the estimates mean nothing below."""


def build(spec: Spec, relax: bool) -> ConcreteModel:
    """Return slots of one job per class, between the work that must be done by the deadline and the tasks there are."""
    if not minimizes_slots(spec):
        raise one_error(
            "unknown-formulation",
            "an estimate makes no choice, so it has no model",
            spec.goal.span if spec.goal else spec.span,
            "take --solver formulas, or ask minimize slots",
        )
    facts: BoundsFacts = spec.facts
    _refuse_whole_slots(facts)
    estimates = estimates_of(facts)
    work = guaranteed(facts, estimates)
    deadline, jobs = column(facts.classes, "deadline"), column(facts.classes, "jobs")
    tasks = (estimates.profile.map_tasks, estimates.profile.reduce_tasks)
    model = ConcreteModel(name=spec.title or "slots")
    model.classes = Set(initialize=range(len(deadline)), ordered=True)
    model.map_slots = Var(model.classes, bounds=lambda _, i: (LEAST, float(tasks[0][i])))
    model.reduce_slots = Var(model.classes, bounds=lambda _, i: _reduce_bounds(facts, float(tasks[1][i])))
    model.completion = Expression(
        model.classes, rule=lambda m, i: completion_expression(work, i, 1, m.map_slots[i], m.reduce_slots[i])
    )
    model.deadline = Constraint(
        model.classes,
        rule=lambda m, i: deadline_constraint(work, i, 1, m.map_slots[i], m.reduce_slots[i], float(deadline[i])),
    )
    model.slots = Objective(
        expr=sum(float(jobs[i]) * (model.map_slots[i] + model.reduce_slots[i]) for i in model.classes)
    )
    names = names_of(facts.classes)
    model.plan_quantities = {("slots", ""): model.slots.expr} | {
        ("completion", names[i]): model.completion[i] for i in model.classes
    }
    return model


def decode(spec: Spec, model: ConcreteModel, relax: bool) -> BoundsPlan:
    """Return the plan of the slots that a solver left in the model."""
    slots = [np.array([value(part[i]) for i in model.classes]) for part in (model.map_slots, model.reduce_slots)]
    return plan_on(spec, estimates_of(spec.facts), *slots)


def _refuse_whole_slots(facts: BoundsFacts) -> None:
    counted = {"waves": "count the waves", "mean": "use the mean time on whole slots"}
    instead = {"waves": "another guarantee or fractional_waves, which may miss the deadline", "mean": "average"}
    refusals = [
        error(
            "needs-formulation",
            f"the model `slots` is convex: it cannot {counted[word]} of class {node.name}",
            node.span_of("guarantee") or node.span,
            f"pass `--solver formulas` if the spec has no `subject to`, or write guarantee = {instead[word]}",
        )
        for node in facts.classes
        if (word := node.guarantee or default_guarantee(facts, True)) in counted
    ]
    if refusals:
        raise MrdslError(refusals)


def _reduce_bounds(facts: BoundsFacts, tasks: float) -> tuple[float, float]:
    if tasks == 0.0:
        return 0.0, 0.0
    return (tasks, tasks) if facts.sizing == "fixed_reduce" else (LEAST, tasks)


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
