"""Simulated runs of a schedule spec: the heuristic ``policy`` and the base of experiments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice

from mrdsl.contracts.pipeline import Draft
from mrdsl.core.diagnostics import warning
from mrdsl.core.result import Termination
from mrdsl.core.watching import is_stopped
from mrdsl.families.schedule import facts as said
from mrdsl.families.schedule.methods.frugal import Frugal
from mrdsl.families.schedule.methods.policies import EpochEdf, EventEdf, Malleable, Naive
from mrdsl.families.schedule.methods.sizing import InstanceTypes
from mrdsl.families.schedule.plan import plan_of
from mrdsl.families.schedule.trace import jobs as jobs_of
from mrdsl.families.schedule.trace import machine_type, price_process
from mrdsl.simulation.rental import Entry, Job, Log
from mrdsl.simulation.scheduling import Observer, Policy, Simulation


def policy_of(facts: said.ScheduleFacts) -> Policy:
    """Return the policy that the spec names."""
    chosen = facts.policy
    instances = InstanceTypes(chosen.instances, chosen.reliability)
    match chosen.algorithm:
        case "ndasa":
            return Naive(instances, chosen.sizing, chosen.idle, chosen.request)
        case "mdasa":
            return Malleable(instances, chosen.sizing, chosen.idle, chosen.request)
        case "ep_edf":
            return EpochEdf(instances, chosen.sizing, chosen.idle, chosen.request, chosen.epoch)
        case "ev_edf":
            return EventEdf(instances, chosen.sizing, chosen.idle, chosen.request, chosen.low_utilization)
        case "frugal":
            within = chosen.late_within or facts.vms[0].paid_by.period
            return Frugal(chosen.instances, chosen.tardy_share, within, chosen.reliability)
    raise ValueError(f"no policy {chosen.algorithm!r}")


Make = Callable[[said.ScheduleFacts], Policy]
"""Function that makes a new policy for each run."""
DECIDES = ("ready", "lost", "decide", "clock")
"""Methods of every policy: those of :class:`mrdsl.simulation.scheduling.Policy`."""


def simulation(
    facts: said.ScheduleFacts,
    seed: int,
    observer: Observer | None = None,
    jobs: Iterable[Job] | None = None,
    make: Make = policy_of,
) -> Simulation:
    """Return a run that is ready to start: prices, policy and, unless given, jobs of the spec, from ``seed``."""
    vm = facts.vms[0]
    prices = price_process(vm, seed) if facts.policy.instances != "on_demand" else None
    arrivals = jobs_of(facts, seed) if jobs is None else jobs
    return Simulation(machine_type(vm), prices, arrivals, make(facts), observer)


def decisions(facts: said.ScheduleFacts, seed: int, jobs: int | None = None, make: Make = policy_of) -> Sequence[Entry]:
    """Return the log of a run with the first ``jobs`` jobs, or all of them: the run is made again."""
    log = Log()
    simulation(facts, seed, log, islice(jobs_of(facts, seed), jobs), make).run()
    return log.entries


def run_policy(draft: Draft, jobs: int | None = None) -> Draft:
    """Simulate the spec's policy once, from the draft's seed, with the first ``jobs`` jobs or all of them.

    Stops at the time limit, then without a plan.
    """
    return _run(draft, policy_of, jobs)


def run_own(draft: Draft, make: Make) -> Draft:
    """Run a user-defined policy as :func:`run_policy` does; ``make`` creates it anew for each run.

    Raises TypeError for an object without all methods of a policy.
    """
    made = make(draft.spec.facts)
    missing = [name for name in DECIDES if not callable(getattr(made, name, None))]
    if missing:
        raise TypeError(f"{type(made).__name__} is not a policy: it has no `{'`, `'.join(missing)}`")
    return _run(draft, make)


def _run(draft: Draft, make: Make, jobs: int | None = None) -> Draft:
    facts = draft.spec.facts
    run = simulation(facts, draft.seed, jobs=islice(jobs_of(facts, draft.seed), jobs), make=make)
    seen = run.run(_deadline(draft))
    if not seen.complete:
        told = warning(
            "stopped-early",
            f"the time limit was reached after {seen.jobs} jobs; a part of a run is not a plan",
            hint="give more time, or fewer jobs with `end` in `arrivals`",
        )
        return replace(draft, termination=Termination.TIME_LIMIT, diagnostics=(*draft.diagnostics, told))
    plan = plan_of(seen, sum(run.machine.slots), partial(decisions, facts, draft.seed, jobs, make))
    return replace(draft, plan=plan, value=plan.cost.total)


def _deadline(draft: Draft) -> Callable[[], bool]:
    def is_over() -> bool:
        if is_stopped():
            raise KeyboardInterrupt
        return draft.is_late()

    return is_over
