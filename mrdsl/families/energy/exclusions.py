"""What deadline and budget cost, and which of them no plan can keep: by solving again with a promise left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

from mrdsl.core.diagnostics import Diagnostic, Related, impossible
from mrdsl.core.result import Limits, SolutionStatus
from mrdsl.core.tolerances import FEASIBILITY, PROVEN
from mrdsl.core.whole_numbers import ceiling
from mrdsl.families.energy.facts import Job
from mrdsl.families.energy.models import counted
from mrdsl.families.energy.plan import EnergyPlan
from mrdsl.families.energy.verify import measure
from mrdsl.spec.spec import Goal, Spec

Solve = Callable[..., Any]
SECONDS = 20.0


@dataclass(frozen=True)
class Extreme:
    """The best value of a goal, proven; and the plan that has it."""

    value: float
    plan: EnergyPlan


def alone(spec: Spec, job: Job, *, deadline: bool, budget: bool, goal: str) -> Spec:
    """The spec of one job with the whole stock to itself, with the promises that are kept and another goal."""
    job = replace(job, deadline=job.deadline if deadline else None, budget=job.budget if budget else None)
    facts = replace(spec.facts, jobs=(job,))
    return replace(spec, facts=facts, goal=Goal("minimize", goal), constraints=())


def extreme(spec: Spec, solve: Solve) -> Extreme | None:
    """The proven optimum of a spec, None where none was proven in time."""
    model = counted.build(spec)
    answer = solve(model, Limits(time=SECONDS, gap=PROVEN))
    if answer.solution is not SolutionStatus.OPTIMAL:
        return None
    plan = counted.decode(spec, model)
    return Extreme(measure(spec, plan), plan)


def exclusions(spec: Spec, solve: Solve) -> Iterator[Diagnostic]:
    """The jobs whose deadline, budget, or both together no plan can keep even with the whole stock to themselves.

    ``solve(model, limits)`` gives an :class:`~mrdsl.core.answer.Answer`. Nothing where each job could be planned by
    itself: then the jobs want more VMs than there are, or ``subject to`` asks for too much.
    """
    for job in spec.facts.jobs:
        excluded = tuple(_too_early(spec, job, solve)) + tuple(_too_cheap(spec, job, solve))
        yield from excluded or _each_other(spec, job, solve)


def _too_early(spec: Spec, job: Job, solve: Solve) -> Iterator[Diagnostic]:
    if job.deadline is None:
        return
    fastest = extreme(alone(spec, job, deadline=False, budget=False, goal="uptime"), solve)
    if fastest is not None and fastest.value > job.deadline * (1 + FEASIBILITY):
        yield impossible(
            "impossible-deadline",
            f"the fastest possible uptime of job {job.name} is {fastest.value:.6g} s, on any of the machines there "
            f"are; its deadline is {job.deadline:.6g} s",
            job.span_of("deadline"),
            f"write deadline = {ceil(fastest.value)} s or more, or give it more or faster machines",
        )


def _too_cheap(spec: Spec, job: Job, solve: Solve) -> Iterator[Diagnostic]:
    if job.budget is None:
        return
    cheapest = extreme(alone(spec, job, deadline=False, budget=False, goal="cost"), solve)
    if cheapest is not None and cheapest.value > job.budget * (1 + FEASIBILITY):
        yield impossible(
            "impossible-budget",
            f"the cheapest plan of job {job.name} costs {money(cheapest.value, spec)}; its budget is "
            f"{money(job.budget, spec)}",
            job.span_of("budget"),
            f"write budget = {money(_above(cheapest.value), spec)} or more",
        )


def _each_other(spec: Spec, job: Job, solve: Solve) -> Iterator[Diagnostic]:
    if job.budget is None or job.deadline is None:
        return
    if extreme(alone(spec, job, deadline=True, budget=True, goal="energy"), solve) is not None:
        return
    cheapest = extreme(alone(spec, job, deadline=True, budget=False, goal="cost"), solve)
    fastest = extreme(alone(spec, job, deadline=False, budget=True, goal="uptime"), solve)
    if cheapest is None or fastest is None or cheapest.value <= job.budget:
        return
    yield impossible(
        "impossible-budget",
        f"within the deadline of job {job.name} the cheapest plan costs {money(cheapest.value, spec)}; its budget is "
        f"{money(job.budget, spec)}",
        job.span_of("budget"),
        f"write budget = {money(_above(cheapest.value), spec)} or more, or deadline = {ceil(fastest.value)} s or more: "
        "one of the two is enough",
        Related("the deadline that the budget is too small for", job.span_of("deadline")),
    )


def _above(amount: float) -> float:
    """The amount rounded up to four digits."""
    from math import floor, log10

    digit = 10.0 ** (floor(log10(amount)) - 3)
    return ceiling(amount / digit) * digit


def money(amount: float, spec: Spec) -> str:
    """An amount as a spec states it: small ones in cent."""
    return f"{amount:.4g} {spec.currency}" if amount >= 1 else f"{100 * amount:.4g} cent"
