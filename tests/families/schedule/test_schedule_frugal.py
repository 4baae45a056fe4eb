"""The policy of our own: whole waves against enumeration, its promise, and its place beside MDASA."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mrdsl.contracts.pipeline import Draft
from mrdsl.families.schedule.methods.frugal import Frugal, fewest_vms
from mrdsl.families.schedule.methods.policy import run_policy
from mrdsl.families.schedule.plan import SchedulePlan
from mrdsl.simulation.fleet import Job, Log, MachineType
from mrdsl.simulation.scheduling import JobRun, Simulation
from mrdsl.spec.spec import Spec
from tests.families.schedule.schedule_specs import spec, vm, with_policy


def run(one: Spec) -> SchedulePlan:
    plan = run_policy(Draft(one, seed=one.seed or 0)).plan
    assert isinstance(plan, SchedulePlan)
    return plan


@settings(derandomize=True, max_examples=150)
@given(
    st.integers(1, 40),
    st.integers(1, 9),
    st.integers(0, 30),
    st.integers(1, 9),
    st.integers(1, 60),
    st.integers(1, 3),
    st.integers(1, 3),
)
def test_fewest_vms_by_enumeration(
    maps: int, map_time: int, reduces: int, reduce_time: int, time: int, map_slots: int, reduce_slots: int
) -> None:
    """The least VM count for which some whole number of waves of each phase ends in time."""
    job = Job("j", 0.0, float(time), maps, float(map_time), reduces, 0.0, float(reduce_time) if reduces else 0.0)
    found = fewest_vms(JobRun(job, 0), float(time), (map_slots, reduce_slots))
    enough = [
        vms
        for vms in range(1, max(maps, reduces) + 1)
        if -(-maps // (vms * map_slots)) * map_time + -(-reduces // (vms * reduce_slots)) * reduce_time <= time
    ]
    if found is None:
        assert map_time + (reduce_time if reduces else 0) > time
    else:
        assert found.vms == min(enough)


@pytest.mark.parametrize("share", [0.0, 0.02, 0.05, 0.2])
@pytest.mark.parametrize("seed", range(4))
def test_on_demand_the_promise_is_kept(share: float, seed: int) -> None:
    plan = run(spec(seed=seed, algorithm="frugal", instances="on_demand", tardy_share=share))
    assert plan.jobs.tardy <= share * plan.jobs.count


def world_that_boots(seed: int) -> tuple[MachineType, list[Job], float, float]:
    """A machine that boots, jobs due late enough for a new VM to boot and run one wave of each phase, a promise."""
    random = np.random.RandomState(seed)
    billing = float(random.choice([1.0, 60.0, 600.0, 3600.0]))
    machine = MachineType(
        int(random.randint(1, 4)),
        int(random.randint(1, 4)),
        1.0 / 3600,
        billing,
        float(random.choice([1.0, 5.0, 20.0, 40.0, 90.0])),
    )
    jobs, at = [], 0.0
    for i in range(random.randint(3, 16)):
        at += float(random.choice([0.0, 1.0, 10.0, random.exponential(30.0)]))
        maps, map_time, reduces = random.randint(1, 30), float(random.randint(1, 60)), random.randint(0, 12)
        reduce_time = float(random.randint(1, 40)) if reduces else 0.0
        least = machine.boot + map_time + reduce_time
        due = at + least * float(random.choice([1.0, random.uniform(1.0, 1.3), random.uniform(1.0, 3.0)]))
        jobs.append(Job(f"j{i}", at, due, maps, map_time, reduces, 0.0, reduce_time))
    return machine, jobs, float(random.choice([0.0, 0.0, 0.02, 0.1])), float(random.choice([billing, 3600.0, 200.0]))


def test_the_promise_holds_where_vms_boot() -> None:
    """600 random worlds on demand: never more late jobs than promised, and every late one ends within its time."""
    late = 0
    for seed in range(600):
        machine, jobs, share, late_within = world_that_boots(seed)
        seen = Simulation(machine, None, jobs, Frugal("on_demand", share, late_within)).run()
        assert seen.tardy <= share * len(jobs) + 1e-9, f"world {seed}: {seen.tardy} of {len(jobs)} late"
        late += seen.tardy
    assert late > 0


def test_reduce_slots_are_held_for_a_job_that_has_no_time_for_a_second_boot() -> None:
    """a's map tasks end at 50 s, its reduce tasks must start then; b comes at 45 s and takes what is not held."""
    machine = MachineType(1, 1, 1.0 / 3600, 3600.0, 40.0)
    a = Job("a", 0.0, 61.0, 2, 10.0, 2, 0.0, 10.0)
    b = Job("b", 35.0, 95.0, 1, 10.0, 2, 0.0, 10.0)
    log = Log()
    seen = Simulation(machine, None, [a, b], Frugal("on_demand"), log).run()
    ends = {each.facts["job"]: each.time for each in log.entries if each.what == "finish"}
    assert ends == {"a": 60.0, "b": ends["b"]}
    assert seen.tardy == 0


def test_a_job_due_before_a_new_vm_could_end_it_takes_idle_slots() -> None:
    """b is due 20 s after its arrival, a VM boots for 40 s; a's two VMs stand idle and end it after 20 s."""
    machine = MachineType(1, 1, 1.0 / 3600, 3600.0, 40.0)
    a, b = Job("a", 0.0, 105.0, 12, 10.0), Job("b", 300.0, 320.0, 2, 10.0, 2, 0.0, 10.0)
    log = Log()
    seen = Simulation(machine, None, [a, b], Frugal("on_demand"), log).run()
    assert seen.tardy == 0
    assert len([each for each in log.entries if each.what == "rent"]) == 1


@pytest.mark.parametrize("seed", range(4))
def test_cheaper_than_mdasa_at_no_more_late_jobs(seed: int) -> None:
    """Where broken hours are paid; where they are free, a bid that loses its VMs pays next to nothing."""
    for instances in ("on_demand", "hybrid"):
        one = spec(seed=seed, instances=instances, machine=vm(broken_period="paid"))
        mdasa, frugal = run(one), run(with_policy(one, algorithm="frugal", tardy_share=0.05))
        assert frugal.cost.total < mdasa.cost.total
        assert frugal.jobs.tardy < mdasa.jobs.tardy


def test_late_jobs_end_within_what_the_spec_says() -> None:
    """Either phase within three minutes of its start: at most six minutes and the time before the first of them."""
    long = run(spec(algorithm="frugal", instances="on_demand", tardy_share=0.2))
    short = run(spec(algorithm="frugal", instances="on_demand", tardy_share=0.2, late_within=180.0))
    assert 0.0 < short.tardiness.max <= 360.0 < long.tardiness.max
    assert long.cost.total < short.cost.total


def test_a_boot_time_makes_tight_jobs_late_but_not_the_run_wrong() -> None:
    one = spec(machine=vm(boot=40.0), algorithm="frugal", instances="on_demand")
    assert run(one).jobs.tardy > 0
    assert run(replace(one, seed=8)).jobs.count == 200
