"""A capacity plan run: its jobs, task by task, on the slots that it gives their class."""

from __future__ import annotations

from dataclasses import replace

from mrdsl.core.diagnostics import Diagnostic, warning
from mrdsl.core.whole_numbers import ceiling, floor
from mrdsl.families.capacity.facts import CapacityFacts, JobClass
from mrdsl.families.capacity.plan import CapacityPlan
from mrdsl.formulas.mapreduce import Profile
from mrdsl.formulas.profiles import profile_of
from mrdsl.simulation.cluster import Pool
from mrdsl.simulation.observed import Observed, observed_of
from mrdsl.simulation.profiled import profiled_work
from mrdsl.simulation.queues import FewestRunning, Queue
from mrdsl.simulation.users import Submitters, observe
from mrdsl.spec.spec import Spec

JOBS_PER_USER = 20
WARM_UP = 0.1


def simulate_plan(
    spec: Spec, plan: CapacityPlan, runs: int, seed: int, jobs: int | None
) -> tuple[CapacityPlan, tuple[Diagnostic, ...]]:
    """The plan with what ``runs`` independent runs showed of every class that admits jobs and has a profile.

    As many users as jobs are admitted each submit job after job, without a pause. A class has its whole slots to
    itself, which its jobs share alike: no slot is lent to another class.
    """
    facts: CapacityFacts = spec.facts
    profile = profile_of(facts.classes)
    observed: dict[str, Observed] = {}
    diagnostics: list[Diagnostic] = []
    for kind, node in enumerate(facts.classes):
        if plan.admitted[kind] < 1.0:
            continue
        if node.map is None:
            diagnostics.append(_unknown(node))
            continue
        times = [_run_once(plan, profile, kind, node, (seed, run), jobs or JOBS_PER_USER) for run in range(runs)]
        seen = observed_of([run[int(floor(WARM_UP * len(run))) :] for run in times], node.deadline)
        if seen is not None:
            observed[node.name] = seen
    return replace(plan, observed=observed), tuple(diagnostics)


def _run_once(
    plan: CapacityPlan, profile: Profile, kind: int, node: JobClass, run: tuple[int, int], jobs: int
) -> list[float]:
    users = int(plan.admitted[kind])
    work = profiled_work(profile, kind, node, run)
    slots = [int(ceiling(plan.map_slots[kind])), int(ceiling(plan.reduce_slots[kind]))]
    pools = [Pool(max(1, count), [Queue(FewestRunning())]) for count in slots]
    seen, simulation = observe(pools, [Submitters(work, lambda: 0.0, users)], [users * jobs])
    simulation.run()
    return seen[0]


def _unknown(node: JobClass) -> Diagnostic:
    if node.stages:
        return warning(
            "not-simulated",
            f"class {node.name} consists of stages, which are not simulated: it is left out",
            node.stages[0].span or node.span,
            "nothing to do: its plan stands",
        )
    return warning(
        "not-simulated",
        f"class {node.name} is given by coefficients, which do not say what tasks its jobs have: it is not simulated",
        node.span,
        "write its profile (map, shuffle, reduce) to see it run",
    )
