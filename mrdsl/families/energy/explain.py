"""Report, explanation and settings of an energy plan, and why there is none.

For `mrdsl export` a plan is machines: each job has its own, so each is a cluster.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

from mrdsl.contracts.family import GIVE, RENT, Operated, Setting
from mrdsl.core.charts import BarChart, Chart, Interval, IntervalChart
from mrdsl.core.diagnostics import Diagnostic, Related, impossible
from mrdsl.core.result import Limits, Result, SolutionStatus, Table
from mrdsl.core.rounding import FEASIBILITY, PROVEN, ceiling
from mrdsl.core.units import HOUR, show
from mrdsl.core.watching import shared_time
from mrdsl.exchange.registry import DATAPROC, EMR, Target
from mrdsl.exchange.targets.deployment import FIRM, Deployment, Group, MachineType, TargetError
from mrdsl.families.energy.facts import EnergyFacts, Job, TaskProfile
from mrdsl.families.energy.plan import EnergyPlan
from mrdsl.families.energy.verify import measure
from mrdsl.reporting.report import Shown
from mrdsl.spec.spec import Goal, Spec


def report(spec: Spec, result: Result) -> Shown:
    """Report the machines, the parts of the energy, uptimes with deadlines, and costs with budgets."""
    plan = result.plan
    assert isinstance(plan, EnergyPlan)
    return Shown(_decision(spec, plan), tuple(_charts(spec, plan)), _ASSUMPTIONS)


_ASSUMPTIONS = (
    "Energy is what tasks, data placement and shuffle take above idle machines.",
    "A job's VMs are paid and up from the start of its data's placement to the end of its last reduce task.",
    "Tasks of one slot run one after the other, each as long as its VM type says.",
)


def _decision(spec: Spec, plan: EnergyPlan) -> str:
    kinds: dict[str, int] = {}
    for use in plan.vms:
        kinds[use.type] = kinds.get(use.type, 0) + 1
    taken = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
    jobs = f"{len(plan.jobs)} jobs" if len(plan.jobs) > 1 else "the job"
    energy = show(round(plan.energy.total, 1), "energy")
    return (
        f"Take {taken}: {jobs} end after {show(round(plan.uptime, 1), 'time')}, "
        f"for {energy} and {show(plan.cost, 'money', spec.currency)}."
    ).replace("the job end", "the job ends")


def _charts(spec: Spec, plan: EnergyPlan) -> list[Chart]:
    jobs = tuple(plan.jobs)
    uses = [plan.jobs[name] for name in jobs]
    parts = {
        "tasks": [use.energy.tasks for use in uses],
        "placement": [use.energy.placement for use in uses],
        "shuffle": [use.energy.shuffle for use in uses],
    }
    up = tuple(Interval(name, {"uptime": use.uptime}, use.deadline) for name, use in plan.jobs.items())
    cost = tuple(Interval(name, {"cost": use.cost}, use.budget) for name, use in plan.jobs.items())
    return [
        BarChart("Where the energy goes", jobs, parts, y_label="energy [J]", stacked=True, horizontal=True),
        IntervalChart("Uptimes beside deadlines", "time [s]", up),
        IntervalChart("Costs beside budgets", f"cost [{spec.currency}]", cost, "budget"),
    ]


def operated(_: Spec, plan: EnergyPlan) -> Operated:
    """Return the settings of a plan."""
    return Operated(tuple(_settings(plan)))


def _settings(plan: EnergyPlan) -> Iterator[Setting]:
    for (kind, job), count in Counter((use.type, use.job) for use in plan.vms).items():
        yield Setting(RENT, f"{kind} for {job}", count)
    for use in plan.vms:
        yield Setting(GIVE, f"{use.label} of {use.job}", use.map_tasks, "map tasks")
        yield Setting(GIVE, f"{use.label} of {use.job}", use.reduce_tasks, "reduce tasks")


Solve = Callable[..., Any]
SECONDS = 20.0


@dataclass(frozen=True)
class Extreme:
    """The proven best value of an objective, and its plan."""

    value: float
    plan: EnergyPlan


def alone(spec: Spec, job: Job, *, deadline: bool, budget: bool, goal: str) -> Spec:
    """Return the spec of one job with the whole stock, the selected constraints and another objective."""
    job = replace(job, deadline=job.deadline if deadline else None, budget=job.budget if budget else None)
    facts = replace(spec.facts, jobs=(job,))
    return replace(spec, facts=facts, goal=Goal("minimize", goal), constraints=())


def extreme(spec: Spec, solve: Solve) -> Extreme | None:
    """Return the proven optimum of a spec; None if the solver does not prove one in time."""
    from mrdsl.families.energy.models import counted, per_task

    if shared_time() == 0.0:
        return None
    form = counted if all(job.task_times is None for job in spec.facts.jobs) else per_task
    model = form.build(spec)
    answer = solve(model, Limits(time=SECONDS, gap=PROVEN))
    if answer.solution is not SolutionStatus.OPTIMAL:
        return None
    plan = form.decode(spec, model)
    return Extreme(measure(spec, plan), plan)


def exclusions(spec: Spec, solve: Solve) -> Iterator[Diagnostic]:
    """Yield the jobs whose deadline, budget, or both no plan can meet, even with the whole stock.

    ``solve(model, limits)`` gives an :class:`~mrdsl.core.answer.Answer`. The result is empty if each job alone has a
    plan: then the jobs need more VMs than the stock has, or ``subject to`` requires too much.
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
            f"the fastest possible uptime of job {job.name} is {fastest.value:.6g} s, even alone on the fastest "
            f"machines; its deadline is {job.deadline:.6g} s",
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
    """Return the amount rounded up to four digits."""
    from math import floor, log10

    digit = 10.0 ** (floor(log10(amount)) - 3)
    return ceiling(amount / digit) * digit


def money(amount: float, spec: Spec) -> str:
    """Return an amount as a spec states it: small ones in cent."""
    return f"{amount:.4g} {spec.currency}" if amount >= 1 else f"{100 * amount:.4g} cent"


def why(spec: Spec, result: Result) -> tuple[Table | str, ...]:
    """Return the feasible range of every job's constraints; with a plan also their cost and the machines compared."""
    facts: EnergyFacts = spec.facts
    out: list[Table | str] = [_range(spec)]
    if isinstance(result.plan, EnergyPlan):
        out.append(_price_of_promises(spec, result.plan))
        out.extend(_machines(facts, job, result.plan) for job in facts.jobs)
        out.extend(_sentence(job, result.plan) for job in facts.jobs)
    return tuple(out)


def _solve(model: Any, limits: Limits) -> Any:
    from mrdsl.solving.checked_answer import solve_model

    return solve_model(model, "highs", limits)


def _best(spec: Spec, job: Job, goal: str, deadline: bool, budget: bool) -> float | None:
    plan = extreme(alone(spec, job, deadline=deadline, budget=budget, goal=goal), _solve)
    return None if plan is None else plan.value


def _range(spec: Spec) -> Table:
    rows = [
        (
            job.name,
            job.deadline,
            _best(spec, job, "uptime", False, False),
            _best(spec, job, "uptime", False, True),
            job.budget,
            _best(spec, job, "cost", False, False),
            _best(spec, job, "cost", True, False),
        )
        for job in spec.facts.jobs
    ]
    unit = spec.currency
    return Table(
        "How far each constraint can be moved, with the whole stock for the job (none: no such plan)",
        (
            "job",
            "deadline [s]",
            "fastest [s]",
            "fastest in budget [s]",
            f"budget [{unit}]",
            f"cheapest [{unit}]",
            f"cheapest in time [{unit}]",
        ),
        rows,
    )


def _price_of_promises(spec: Spec, plan: EnergyPlan) -> Table:
    rows = []
    for job in spec.facts.jobs:
        energy = plan.jobs[job.name].energy.total
        without = [
            _best(spec, job, "energy", deadline, budget)
            for deadline, budget in ((False, True), (True, False), (False, False))
        ]
        rows.append((job.name, energy, *(None if value is None else energy - value for value in without)))
    return Table(
        "Energy cost of each constraint (with several jobs, also of the other jobs)",
        ("job", "energy [J]", "deadline costs [J]", "budget costs [J]", "both cost [J]"),
        rows,
    )


def _machines(facts: EnergyFacts, job: Job, plan: EnergyPlan) -> Table:
    """Compare VM types by the energy of a map task, with the cost of a task's slot time."""
    profiles = {profile.name: profile for profile in job.on}
    taken: dict[str, int] = {}
    for use in plan.vms:
        if use.job == job.name:
            taken[use.type] = taken.get(use.type, 0) + 1
    rows = []
    for vm in facts.vms:
        profile = profiles.get(vm.name)
        map_task, reduce_task = (profile.map, profile.reduce) if profile is not None else (None, None)
        price = vm.on_demand.price
        rows.append(
            (
                vm.name,
                f"{taken.get(vm.name, 0)} of {vm.available}",
                *_task(map_task, price / vm.slots.map),
                *_task(reduce_task, price / vm.slots.reduce),
            )
        )
    rows.sort(key=lambda row: (row[2] is None, row[2] if row[2] is not None else 0.0))
    return Table(
        f"Machines for {job.name}, those that need least energy first",
        (
            "VM type",
            "taken",
            "map task [J]",
            "map task, price of its slot",
            "reduce task [J]",
            "reduce task, price of its slot",
        ),
        rows,
    )


def _task(task: TaskProfile | None, slot_price: float) -> tuple[float | None, float | None]:
    return (None, None) if task is None else (task.energy, task.time * slot_price)


def _sentence(job: Job, plan: EnergyPlan) -> str:
    use = plan.jobs[job.name]
    parts = []
    if job.deadline is not None:
        parts.append(f"{use.uptime / job.deadline:.1%} of the deadline")
    if job.budget is not None:
        parts.append(f"{use.cost / job.budget:.1%} of the budget")
    return f"{job.name} uses " + (" and ".join(parts) if parts else "what it likes: it has no deadline and no budget")


def deployments(spec: Spec, plan: EnergyPlan) -> tuple[Deployment, ...]:
    """Return a cluster per job. Raises TargetError if the plan has parts of machines."""
    if plan.relaxed:
        raise TargetError("the plan has fractions of machines, which cannot be rented", "solve it without --relax")
    facts: EnergyFacts = spec.facts
    types = tuple(MachineType(vm.name, price=vm.on_demand.price) for vm in facts.vms)
    return tuple(
        Deployment(
            types,
            tuple(Group(vm.name, FIRM, count) for vm in facts.vms if (count := _held(plan, name, vm.name))),
            (),
            currency=spec.currency,
            part=name if len(plan.jobs) > 1 else "",
            notes=(
                f"which task of {name} runs where - a scheduler of YARN places tasks as they come",
                f"when to give the machines back - {name} ends after {job.uptime / HOUR:.4g} h",
            ),
        )
        for name, job in plan.jobs.items()
    )


def _held(plan: EnergyPlan, job: str, vm: str) -> int:
    return sum(use.job == job and use.type == vm for use in plan.vms)


def targets() -> tuple[Target, ...]:
    """Return the export targets of plans."""
    return EMR, DATAPROC
