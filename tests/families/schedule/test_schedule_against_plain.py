"""The counted simulation against a plain one, an object per VM and slot, on random worlds."""

from __future__ import annotations

import numpy as np
import pytest

from mrdsl.families.schedule.methods.policy import policy_of
from mrdsl.simulation.fleet import Job, Log, MachineType
from mrdsl.simulation.sampling import DrawnPrice, stream
from mrdsl.simulation.scheduling import Simulation
from mrdsl.spec.schema import Distribution
from tests.families.schedule.audit_of_runs import audit
from tests.families.schedule.plain_scheduler import Plain
from tests.families.schedule.schedule_specs import spec

LONG = 1e6
PRICES = Distribution("choice", ((0.01, 0.03, 0.2),))


def world(seed: int) -> list[Job]:
    """Jobs of whole seconds: some at one instant, some map-only, some of one task, gaps after all have ended."""
    random = np.random.RandomState(seed)
    jobs, at = [], 0.0
    for i in range(random.randint(1, 14)):
        at += float(random.choice([0, 0, 1, 20, 60, 500]))
        maps, time = int(random.choice([1, 2, 7, 25])), float(random.randint(1, 40))
        reduces = int(random.choice([0, 0, 1, 5]))
        reduce = float(random.randint(1, 25)) if reduces else 0.0
        due = at + float(round((time + reduce) * random.uniform(1.0, 3.0)))
        jobs.append(Job(f"j{i}", at, due, maps, time, reduces, 0.0, reduce))
    return jobs


@pytest.mark.parametrize("idle", ["all", "sized"])
@pytest.mark.parametrize("policy", ["ndasa", "ep_edf", "ev_edf"])
@pytest.mark.parametrize("instances", ["on_demand", "spot", "hybrid"])
def test_same_ends_vms_evictions_and_cost(policy: str, instances: str, idle: str) -> None:
    for seed in range(40):
        jobs, slots, boot = world(seed), (1 + seed % 3, 1 + seed % 2), float((0, 0, 15)[seed % 3])

        def prices(seed: int = seed) -> DrawnPrice | None:
            return DrawnPrice(PRICES, 30.0, stream(seed, "p")) if instances != "on_demand" else None

        plain = Plain(policy, instances, idle, slots, 0.07, boot, prices())
        plain.simulate(jobs)
        log = Log()
        chosen = policy_of(spec(algorithm=policy, instances=instances, idle=idle).facts)
        seen = Simulation(MachineType(*slots, 0.07, LONG, boot), prices(), jobs, chosen, log).run()
        ends = {entry.facts["job"]: entry.time for entry in log.entries if entry.what == "finish"}
        assert ends == plain.ends, seed
        assert (seen.rented, seen.evictions) == (plain.rented, plain.evictions), seed
        assert seen.bill.on_demand + seen.bill.spot == pytest.approx(plain.cost_periods * LONG, abs=1e-3), seed
        assert seen.tardy == sum(plain.ends[job.name] > job.due + 1e-9 for job in jobs), seed


@pytest.mark.parametrize("algorithm", ["ndasa", "mdasa", "ep_edf", "ev_edf", "frugal"])
@pytest.mark.parametrize("instances", ["on_demand", "hybrid"])
def test_a_reduce_phase_that_takes_no_time(algorithm: str, instances: str) -> None:
    """Every job ends with its last map task; b's tasks run behind or beside a's."""
    jobs = [Job("a", 0.0, 40.0, 5, 10.0, 4, 0.0, 0.0), Job("b", 5.0, 60.0, 3, 10.0, 2, 0.0, 0.0)]
    prices = DrawnPrice(PRICES, 12.0, stream(1, "p")) if instances == "hybrid" else None
    log = Log()
    chosen = policy_of(spec(algorithm=algorithm, instances=instances).facts)
    machine = MachineType(1, 1, 0.07, 30.0)
    seen = Simulation(machine, prices, jobs, chosen, log).run()
    assert audit(log.entries, machine, jobs, seen.bill.on_demand + seen.bill.spot) == []
    assert seen.jobs == 2
