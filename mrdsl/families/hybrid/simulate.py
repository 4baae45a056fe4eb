"""Every policy over many seeds, on the same arrivals, with confidence intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from mrdsl.contracts.pipeline import Draft
from mrdsl.core.diagnostics import MrdslError, has_errors
from mrdsl.core.result import MONEY, Plan, Result, SolutionStatus, Table, Termination
from mrdsl.core.watching import counted
from mrdsl.families.hybrid.plan import HybridPlan
from mrdsl.families.hybrid.verify import verify
from mrdsl.families.hybrid.workload import arrivals_of
from mrdsl.simulation.verdicts import Interval, interval_of
from mrdsl.solving import registry
from mrdsl.solving.pipelines import run_pipeline
from mrdsl.spec.spec import Spec

POLICIES = ("controller", "calendar", "threshold", "always-outsource")


COST = f"cost {MONEY}"


@dataclass(frozen=True)
class SimulatedHybrid(Plan):
    """For every policy: average cost per slot, the least acceptance of a queue, the worst delay in slots."""

    runs: int
    policies: Mapping[str, Mapping[str, Interval]] = field(default_factory=dict)

    def tables(self) -> tuple[Table, ...]:
        rows = [
            (policy, COST if quantity == "cost" else quantity, each.mean, each.half_width)
            for policy, observed in self.policies.items()
            for quantity, each in observed.items()
        ]
        return (Table(f"Over {self.runs} runs", ("policy", "quantity", "mean", "± (95%)"), rows),)


def simulate(spec: Spec, runs: int, seed: int | None, jobs: int | None) -> Result:
    """Simulate all policies over the seeds ``seed``, ``seed + 1``, ...; each run ends after ``jobs`` tasks.

    The value is the controller's mean cost. Raises MrdslError if the controller cannot guarantee a delay.
    """
    specs = [_shortened(replace(spec, seed=(seed or 0) + i), jobs) for i in range(runs)]
    policies = {
        policy: _observed([_run(each, policy) for each in specs]) for policy in counted("simulating policies", POLICIES)
    }
    plan = SimulatedHybrid(runs, policies)
    return Result(Termination.COMPLETED, SolutionStatus.FEASIBLE, plan, policies["controller"]["cost"].mean)


def _shortened(spec: Spec, jobs: int | None) -> Spec:
    if jobs is None:
        return spec
    come = np.cumsum(arrivals_of(spec.facts, spec.seed or 0).sum(axis=1))
    slots = min(int(np.searchsorted(come, jobs)) + 1, spec.facts.horizon)
    return replace(spec, facts=replace(spec.facts, horizon=slots))


def _run(spec: Spec, policy: str) -> HybridPlan:
    result = run_pipeline(registry.find(policy), "hybrid", {}, Draft(spec, seed=spec.seed or 0))
    plan = result.plan
    broken = tuple(verify(spec, plan, False)) if isinstance(plan, HybridPlan) else ()
    if not isinstance(plan, HybridPlan) or has_errors(broken):
        raise MrdslError((*result.diagnostics, *broken))
    return plan


def _observed(plans: Sequence[HybridPlan]) -> dict[str, Interval]:
    quantities = {
        "cost": [plan.cost.average for plan in plans],
        "least acceptance": [min(run.acceptance for run in plan.queues.values()) for plan in plans],
        "worst delay": [float(max(run.worst_delay for run in plan.queues.values())) for plan in plans],
    }
    return {name: interval_of(values) for name, values in quantities.items()}


def plans() -> tuple[type[Plan], ...]:
    """Return the classes of the family's plans."""
    return (HybridPlan, SimulatedHybrid)
