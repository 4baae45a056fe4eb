"""An energy plan run: each job's tasks on the slots that the plan gives them, with drawn times."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mrdsl.core.diagnostics import Diagnostic, MrdslError, error
from mrdsl.families.energy.cluster import Floats
from mrdsl.families.energy.facts import EnergyFacts, Job
from mrdsl.families.energy.plan import Bill, EnergyPlan, VmUse
from mrdsl.simulation.drawn import (
    Factors,
    factors_of,
    once_a_run,
    require_meaning,
    rules_of,
    simulated,
    told_of_spread,
)
from mrdsl.simulation.observed import Observed
from mrdsl.simulation.promises import Promised, Words, told_of
from mrdsl.simulation.settings import Settings
from mrdsl.spec.spec import Spec
from mrdsl.spec.spread import Spread

MEANINGLESS = {
    "slowstart": "the phases of a job follow one another on all its VMs",
    "lose": "the plan ties every task to a slot, and does not say who does those of a VM that is gone",
    "burst": "every job runs once in every run",
    "jobs": "every job runs once in every run",
}
TAKES = Words("it takes", "of the runs end in time", "run")


@dataclass(frozen=True)
class Phase:
    """One phase of a job in a run: its length [s], the slot time at work [s], and the energy of its tasks [J]."""

    length: float
    busy: float
    energy: float


def simulate_plan(spec: Spec, plan: EnergyPlan, settings: Settings) -> tuple[EnergyPlan, tuple[Diagnostic, ...]]:
    """The plan with what independent runs showed of each job: uptime, energy, and what its VMs cost.

    A slot runs its tasks one after another; a phase ends with its last slot, on whatever VM. Placement and shuffle take
    what the plan says. A task that takes longer takes more energy in proportion. Deadlines and budgets are promises.
    Without a spread every run is the plan. Raises MrdslError for a relaxed plan, and for options that mean nothing
    here.
    """
    facts: EnergyFacts = spec.facts
    if plan.relaxed:
        message = "a relaxed plan has parts of tasks, which nobody can run"
        raise MrdslError([error("no-simulation", message, spec.span, "leave out --relax")])
    tasks = sum(job.map.tasks + job.reduce_tasks for job in facts.jobs)
    require_meaning(spec, settings, tasks, MEANINGLESS)
    rules = rules_of(spec, settings)
    factors, slots = factors_of(rules, settings), {vm.name: vm.slots.map + vm.slots.reduce for vm in facts.vms}
    observed, bills = {}, {}
    for job in facts.jobs:
        own = [use for use in plan.vms if use.job == job.name]
        runs = [_run(job, own, factors, run) for run in range(settings.runs)]
        many = sum(slots[use.type] for use in own)
        observed[job.name], bills[job.name] = _seen(job, plan, runs, rules, many)
    ran = replace(plan, observed=observed, bills=bills, simulated=simulated(settings))
    return ran, (*_told(spec, ran), *told_of_spread(spec, rules, settings))


def _seen(
    job: Job, plan: EnergyPlan, runs: Sequence[tuple[Phase, Phase]], rules: Spread, slots: int
) -> tuple[Observed, Bill]:
    said = plan.jobs[job.name]
    fixed = said.energy.placement + said.energy.shuffle
    uptimes = np.array(
        [said.phases.placement + maps.length + said.phases.shuffle + reduces.length for maps, reduces in runs]
    )
    busy = sum(phase.busy for run in runs for phase in run)
    costs = uptimes * (said.cost / said.uptime if said.uptime else 0.0)
    energies = [fixed + maps.energy + reduces.energy for maps, reduces in runs]
    promised = None if job.budget is None else Promised(job.budget, rules.kept)
    verdict = None if promised is None else promised.judged([[float(cost)] for cost in costs])
    bill = Bill(float(np.mean(energies)), float(costs.mean()), float(np.percentile(costs, 95)), verdict)
    total = float(uptimes.sum()) * slots
    return once_a_run(uptimes, job.deadline, rules, busy / total if total else 0.0), bill


def _run(job: Job, own: Sequence[VmUse], factors: Factors, run: int) -> tuple[Phase, Phase]:
    """The map and the reduce phase of a job in one run."""
    profiles = {profile.name: profile for profile in job.on}
    phases = []
    for kind in ("map", "reduce"):
        counts = [getattr(slot, f"{kind}_tasks") for use in own for slot in use.slots]
        on = [getattr(profiles[use.type], kind) for use in own for _ in use.slots]
        phases.append(_phase(counts, on, factors, run, (job.name, kind)))
    return phases[0], phases[1]


def _phase(counts: Sequence[float], on: Sequence[object], factors: Factors, run: int, place: tuple[str, str]) -> Phase:
    """A phase whose slots run so many tasks each, of the profiles ``on`` which it runs."""
    whole = np.array([round(count) for count in counts], dtype=np.int64)
    ends = np.cumsum(whole)
    drawn = np.concatenate([[0.0], np.cumsum(factors.of(run, int(whole.sum()), *place))])
    sums = drawn[ends] - drawn[ends - whole]
    times, energies = (_of(on, item) for item in ("time", "energy"))
    busy = sums * times
    return Phase(float(busy.max(initial=0.0)), float(busy.sum()), float((sums * energies).sum()))


def _of(on: Sequence[object], item: str) -> Floats:
    return np.array([0.0 if profile is None else float(getattr(profile, item)) for profile in on])


def _told(spec: Spec, plan: EnergyPlan) -> Iterator[Diagnostic]:
    costs = Words("its VMs cost", "of the runs are paid by the budget", "run", "money", spec.currency)
    for job in spec.facts.jobs:
        yield from told_of(plan.observed[job.name].verdict, f"job {job.name}", job.span_of("deadline"), TAKES)
        yield from told_of(plan.bills[job.name].verdict, f"job {job.name}", job.span_of("budget"), costs)
