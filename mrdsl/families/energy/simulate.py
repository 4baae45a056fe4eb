"""An energy plan run: each job's tasks on the slots that the plan gives them, with drawn times."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mrdsl.core.diagnostics import Diagnostic, one_error
from mrdsl.families.energy.cluster import Floats, Ints, jobs_of, machines_of
from mrdsl.families.energy.facts import EnergyFacts, Job
from mrdsl.families.energy.plan import Bill, EnergyPlan, VmUse
from mrdsl.simulation.drawn import Drawing, Factors, drawing
from mrdsl.simulation.observed import Observed
from mrdsl.simulation.settings import Settings
from mrdsl.simulation.verdicts import IT_TAKES, Words, verdict_warnings
from mrdsl.spec.spec import Spec


@dataclass(frozen=True)
class Ran:
    """One phase of a job in one run: its length [s], the slot time at work [s], and the energy of its tasks [J]."""

    length: float
    busy: float
    energy: float


def simulate_plan(spec: Spec, plan: EnergyPlan, settings: Settings) -> tuple[EnergyPlan, tuple[Diagnostic, ...]]:
    """Simulate a plan in independent runs: uptime, energy, and cost of the VMs of each job.

    A slot runs its tasks one after another; a phase ends with its last slot, on whatever VM. Placement and shuffle take
    the times of the plan. A task that takes longer takes more energy in proportion. Deadlines and budgets are
    constraints. Without a spread every run is the plan. Raises MrdslError for a relaxed plan, and for options without a
    meaning here.
    """
    facts: EnergyFacts = spec.facts
    if plan.relaxed:
        message = "a relaxed plan has fractions of tasks, which cannot be simulated"
        raise one_error("no-simulation", message, spec.span, "remove `--relax`")
    runs = drawing(
        spec,
        settings,
        sum(job.map.tasks + job.reduce_tasks for job in facts.jobs),
        slowstart="the phases of a job follow one another on all its VMs",
        lose="the plan ties every task to a slot, and does not say who does those of a VM that is gone",
        once="every job runs once in every run",
    )
    slots = {vm.name: vm.slots.map + vm.slots.reduce for vm in facts.vms}
    own: dict[str, list[VmUse]] = {job.name: [] for job in facts.jobs}
    for use in plan.vms:
        own[use.job].append(use)
    observed, bills = {}, {}
    for job in facts.jobs:
        many = sum(slots[use.type] for use in own[job.name])
        observed[job.name], bills[job.name] = _seen(facts, job, plan, own[job.name], runs, many)
    ran = replace(plan, observed=observed, bills=bills, simulated=runs.simulated)
    return ran, runs.told(_told(spec, ran))


def _seen(
    facts: EnergyFacts, job: Job, plan: EnergyPlan, own: Sequence[VmUse], runs: Drawing, slots: int
) -> tuple[Observed, Bill]:
    said = plan.jobs[job.name]
    fixed = said.energy.placement + said.energy.shuffle
    phases = [_Phase.of(facts, job, own, kind) for kind in ("map", "reduce")]
    ran = [[phase.run(runs.factors, run) for phase in phases] for run in range(runs.settings.runs)]
    uptimes = np.array(
        [said.phases.placement + maps.length + said.phases.shuffle + reduces.length for maps, reduces in ran]
    )
    busy = sum(phase.busy for run in ran for phase in run)
    costs = uptimes * (said.cost / said.uptime if said.uptime else 0.0)
    energies = [fixed + maps.energy + reduces.energy for maps, reduces in ran]
    promise = runs.promise(job.budget)
    verdict = None if promise is None else promise.judged([[float(cost)] for cost in costs])
    bill = Bill(float(np.mean(energies)), float(costs.mean()), float(np.percentile(costs, 95)), verdict)
    total = float(uptimes.sum()) * slots
    return runs.once(uptimes, job.deadline, busy / total if total else 0.0), bill


@dataclass(frozen=True)
class _Phase:
    """One phase of a job in the plan: the tasks of each slot, and the time [s] and energy [J] of one task.

    ``ends`` is the index, among all tasks of the phase, at which those of a slot end; ``place`` selects its random
    factors.
    """

    place: tuple[str, str]
    whole: Ints
    ends: Ints
    times: Floats
    energies: Floats
    single: tuple[Floats, Floats] | None = None

    @classmethod
    def of(cls, facts: EnergyFacts, job: Job, own: Sequence[VmUse], kind: str) -> _Phase:
        """Return the ``kind``, map or reduce, of a job on its VMs."""
        if job.task_times is not None:
            return cls._of_single(facts, job, own, kind)
        profiles = {profile.name: getattr(profile, kind) for profile in job.on}
        whole = np.array([round(getattr(slot, f"{kind}_tasks")) for use in own for slot in use.slots], dtype=np.int64)
        on = [profiles[use.type] for use in own for _ in use.slots]
        return cls((job.name, kind), whole, np.cumsum(whole), _of(on, "time"), _of(on, "energy"))

    @classmethod
    def _of_single(cls, facts: EnergyFacts, job: Job, own: Sequence[VmUse], kind: str) -> _Phase:
        """Return the same of tasks that differ: ``single`` has the time and the energy of each, slot after slot."""
        machines, each = machines_of(facts), jobs_of(facts)[list(facts.jobs).index(job)].each()
        slots = [
            (machines.names.index(use.type), slot.maps if kind == "map" else slot.reduces)
            for use in own
            for slot in use.slots
        ]
        both = (each.map_time, each.map_energy) if kind == "map" else (each.reduce_time, each.reduce_energy)
        values = [np.array([of[task - 1, k] for k, tasks in slots for task in tasks], dtype=np.float64) for of in both]
        whole = np.array([len(tasks) for _, tasks in slots], dtype=np.int64)
        ones = np.ones(len(slots))
        return cls((job.name, kind), whole, np.cumsum(whole), ones, ones, (values[0], values[1]))

    def run(self, factors: Factors, run: int) -> Ran:
        """Return one run: each slot runs its tasks one after another."""
        tasks = int(self.ends[-1]) if len(self.ends) else 0
        if self.single is not None:
            of_tasks = factors.of(run, tasks, *self.place)
            ended = np.concatenate([[0.0], np.cumsum(of_tasks * self.single[0])])
            busy = ended[self.ends] - ended[self.ends - self.whole]
            return Ran(float(busy.max(initial=0.0)), float(busy.sum()), float(of_tasks @ self.single[1]))
        drawn = np.concatenate([[0.0], np.cumsum(factors.of(run, tasks, *self.place))])
        sums = drawn[self.ends] - drawn[self.ends - self.whole]
        busy = sums * self.times
        return Ran(float(busy.max(initial=0.0)), float(busy.sum()), float((sums * self.energies).sum()))


def _of(on: Sequence[object], item: str) -> Floats:
    return np.array([0.0 if profile is None else float(getattr(profile, item)) for profile in on])


def _told(spec: Spec, plan: EnergyPlan) -> Iterator[Diagnostic]:
    costs = Words("its VMs cost", "of the runs are paid by the budget", "run", "money", spec.currency)
    for job in spec.facts.jobs:
        yield from verdict_warnings(
            plan.observed[job.name].verdict, f"job {job.name}", job.span_of("deadline"), IT_TAKES
        )
        yield from verdict_warnings(plan.bills[job.name].verdict, f"job {job.name}", job.span_of("budget"), costs)
