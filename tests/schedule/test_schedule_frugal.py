"""The policy of our own: whole waves against enumeration, its promise, and its place beside MDASA."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mrdsl.heuristics.pipeline import Draft
from mrdsl.heuristics.schedule import run_policy
from mrdsl.heuristics.schedule_frugal import fewest_vms
from mrdsl.problems.schedule.plan import SchedulePlan
from mrdsl.simulation.jobs import Job
from mrdsl.simulation.scheduling import JobRun
from mrdsl.spec.spec import Spec
from tests.schedule.schedule_specs import spec, vm, with_policy


def run(one: Spec) -> SchedulePlan:
    plan = run_policy(Draft(one, seed=one.seed or 0)).plan
    assert isinstance(plan, SchedulePlan)
    return plan


@settings(derandomize=True, max_examples=150)
@given(st.integers(1, 40), st.integers(1, 9), st.integers(0, 30), st.integers(1, 9), st.integers(1, 60),
       st.integers(1, 3), st.integers(1, 3))
def test_fewest_vms_by_enumeration(maps: int, map_time: int, reduces: int, reduce_time: int, time: int,
                                   map_slots: int, reduce_slots: int) -> None:
    """The least VM count for which some whole number of waves of each phase ends in time."""
    job = Job("j", 0.0, float(time), maps, float(map_time), reduces, 0.0, float(reduce_time) if reduces else 0.0)
    found = fewest_vms(JobRun(job, 0), float(time), (map_slots, reduce_slots))
    enough = [vms for vms in range(1, max(maps, reduces) + 1)
              if -(-maps // (vms * map_slots)) * map_time + -(-reduces // (vms * reduce_slots)) * reduce_time <= time]
    if found is None:
        assert map_time + (reduce_time if reduces else 0) > time
    else:
        assert found.vms == min(enough)


@pytest.mark.parametrize("share", [0.0, 0.02, 0.05, 0.2])
@pytest.mark.parametrize("seed", range(4))
def test_on_demand_the_promise_is_kept(share: float, seed: int) -> None:
    plan = run(spec(seed=seed, algorithm="frugal", instances="on_demand", tardy_share=share))
    assert plan.jobs.tardy <= share * plan.jobs.count


@pytest.mark.parametrize("seed", range(4))
def test_cheaper_than_mdasa_at_no_more_late_jobs(seed: int) -> None:
    for instances in ("on_demand", "hybrid"):
        one = spec(seed=seed, instances=instances)
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
