"""Many runs of a schedule's policy with confidence intervals, and one run with its log of decisions and its plots."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from mrdsl.contracts.pipeline import Draft, run_steps
from mrdsl.core.diagnostics import MrdslError, error, one_error
from mrdsl.core.result import MONEY, Limits, Plan, Result, SolutionStatus, Table, Termination
from mrdsl.core.watching import counted
from mrdsl.families.schedule.methods.policy import decisions, run_policy, simulation
from mrdsl.families.schedule.plan import Cost, Jobs, SchedulePlan, Tardiness, VmHours, plan_of
from mrdsl.families.schedule.trace import jobs as jobs_of
from mrdsl.simulation.verdicts import Interval, interval_of
from mrdsl.solving import registry
from mrdsl.solving.pipelines import options_given, run_pipeline
from mrdsl.spec.spec import Spec

FAMILY, OWN_POLICY = "schedule", "policy"


@dataclass(frozen=True)
class SimulatedSchedule(SchedulePlan):
    """The mean of several runs; ``observed`` gives the intervals."""

    tardiness: Tardiness = field(default=Tardiness())
    utilization: float = field(default=0.0)
    runs: int = field(default=0)
    observed: Mapping[str, Interval] = field(default_factory=dict)

    def tables(self) -> tuple[Table, ...]:
        """Return the mean run, and how far the runs lie apart."""
        rows = [
            (f"cost {MONEY}" if name == "cost" else name, each.mean, each.half_width)
            for name, each in self.observed.items()
        ]
        return (*super().tables(), Table(f"Over {self.runs} runs", ("quantity", "mean", "± (95%)"), rows))


def run_once(spec: Spec, seed: int, jobs: int | None = None) -> SchedulePlan:
    """Return one run of the spec's policy from a seed, with the first ``jobs`` jobs or all of them."""
    run = simulation(spec.facts, seed, jobs=islice(jobs_of(spec.facts, seed), jobs))
    return plan_of(run.run(), sum(run.machine.slots), partial(decisions, spec.facts, seed, jobs))


def simulate(spec: Spec, runs: int, seed: int | None, jobs: int | None) -> Result:
    """Simulate the policy over the seeds ``seed``, ``seed + 1``, ... with new deadlines, prices and arrivals.

    The method of `solve with` decides, with its options and within its limits, which apply to each run. Raises
    MrdslError if a run of it has no log.
    """
    first = seed or 0
    once = run_of_method(spec, jobs) or partial(run_once, spec, jobs=jobs)
    plan = mean_of([once(first + i) for i in counted("simulating", range(runs))])
    return Result(Termination.COMPLETED, SolutionStatus.FEASIBLE, plan, plan.cost.total)


def run_of_method(spec: Spec, jobs: int | None = None) -> Callable[[int], SchedulePlan] | None:
    """Return a run, by its seed, of the heuristic in ``solve with``; None without one, or for a model.

    Raises MrdslError if the method does not have an option, and if only the first jobs are requested: only the spec's
    policy supports that.
    """
    method = spec.method
    if method is None or (method.name == "auto" and method.options.get("formulation")):
        return None
    declared = registry.find(OWN_POLICY if method.name == "auto" else method.name, method.span)
    limits, given = options_given(declared, FAMILY, method, Limits())
    if FAMILY not in declared.pipelines:
        return None
    own = declared.name == OWN_POLICY
    if jobs is not None and not own:
        message = f"`solve with {method.name}` runs all jobs of the spec"
        raise one_error("wrong-option", message, method.span, "leave out `jobs`, or `solve with`")

    def once(seed: int) -> SchedulePlan:
        draft = Draft(spec, seed=seed, limits=limits, started=time.monotonic())
        result = (
            run_steps([(run_policy, {"jobs": jobs})], draft) if own else run_pipeline(declared, FAMILY, given, draft)
        )
        if not isinstance(result.plan, SchedulePlan):
            message = f"solver `{declared.name}` returned no plan that can be simulated"
            raise MrdslError(
                [
                    *result.diagnostics,
                    error("no-simulation", message, method.span, "to simulate a policy, remove `solve with`"),
                ]
            )
        return result.plan

    return once


def mean_of(plans: Sequence[SchedulePlan]) -> SimulatedSchedule:
    """Return the mean plan of several runs, with intervals."""
    quantities = {
        "tardy_share": [plan.jobs.tardy_share for plan in plans],
        "cost": [plan.cost.total for plan in plans],
        "vm_hours": [plan.vm_hours.on_demand + plan.vm_hours.spot for plan in plans],
        "evictions": [float(plan.evictions) for plan in plans],
        "utilization": [plan.utilization for plan in plans],
        "tardiness": [plan.tardiness.mean for plan in plans],
    }

    def mean(path: str) -> float:
        values = []
        for plan in plans:
            value: Any = plan
            for part in path.split("."):
                value = getattr(value, part)
            values.append(float(value))
        return float(np.mean(values))

    return SimulatedSchedule(
        jobs=Jobs(round(mean("jobs.count")), round(mean("jobs.tardy")), mean("jobs.tardy_share")),
        cost=Cost(mean("cost.on_demand"), mean("cost.spot"), mean("cost.total")),
        vm_hours=VmHours(mean("vm_hours.on_demand"), mean("vm_hours.spot"), mean("vm_hours.broken")),
        evictions=round(mean("evictions")),
        tardiness=Tardiness(
            mean("tardiness.mean"),
            mean("tardiness.p50"),
            mean("tardiness.p95"),
            max(plan.tardiness.max for plan in plans),
        ),
        utilization=mean("utilization"),
        lost_tasks=round(mean("lost_tasks")),
        rented=round(mean("rented")),
        finished=mean("finished"),
        log=plans[0].log,
        runs=len(plans),
        observed={name: interval_of(values) for name, values in quantities.items()},
    )


def plans() -> tuple[type[Plan], ...]:
    """Return the classes of the family's plans."""
    return (SchedulePlan, SimulatedSchedule)
