"""Classes of stages, simulated: schedules by hand, Graham's bound, and the bounds of the estimates."""

from __future__ import annotations

import numpy as np
import pytest

import mrdsl
from mrdsl.simulation.engine.draws import Exponential, Spread, TaskTimes
from mrdsl.simulation.engine.scenario import JobClass, QueueRule, Scenario, Users, run_once
from mrdsl.simulation.engine.world import JobKind, Machines, Stage
from tests.formulas.random_stages import random_stages
from tests.simulation.engine_audit import audit

TEXT = """problem bounds
cluster {{ slots {{ task = {slots} }} {more} }}
class a {{
  stage scan {{ tasks = 4, avg = 6 s, max = 6 s }}
  stage lookup {{ tasks = 1, avg = 20 s, max = 20 s }}
  stage join {{ tasks = 2, avg = 5 s, max = 5 s, after = [scan, lookup] }}
  {items}
}}
{others}
estimate completion
"""


def run_scenarios(slots: int = 3, more: str = "", items: str = "", others: str = "", **given: int) -> mrdsl.Result:
    text = TEXT.format(slots=slots, more=more, items=items, others=others)
    return mrdsl.simulate(mrdsl.loads(text), **{"runs": 1, "jobs": 4, "seed": 1, **given})


def test_a_lone_job_of_stages_takes_what_its_schedule_says() -> None:
    # Three slots: three tasks of scan to 6 s; its fourth to 12 s, and lookup from 6 to 26 s; join to 31 s.
    assert run_scenarios().plan.observed["a"].mean == pytest.approx(31.0)
    # One slot: all one after the other.
    assert run_scenarios(slots=1).plan.observed["a"].mean == pytest.approx(4 * 6 + 20 + 2 * 5)


def test_map_and_reduce_run_beside_stages_in_one_pool() -> None:
    other = "class b { map { tasks = 3, avg = 9 s, max = 9 s } think = 0 s }"
    plan = run_scenarios(items="think = 0 s", others=other).plan
    assert plan.observed["a"].mean > 31.0
    assert plan.observed["b"].mean > 9.0


@pytest.mark.parametrize("scheduler", ["fair", "capacity", "fifo"])
def test_every_scheduler_serves_jobs_of_stages(scheduler: str) -> None:
    plan = run_scenarios(more=f"scheduler = {scheduler}", items="jobs = 3").plan
    assert plan.observed["a"].jobs >= 10
    # Three users on three slots: no job is faster than its longest path.
    assert plan.observed["a"].mean > 25.0


def test_slots_that_are_not_lent_keep_jobs_apart() -> None:
    # Two users with three slots each: as if each were alone.
    plan = run_scenarios(slots=6, more="work_conserving = no", items="jobs = 2").plan
    assert plan.observed["a"].mean == pytest.approx(31.0)
    assert plan.completion["lower"][0] <= 31.0 <= plan.completion["upper"][0]


def test_masters_hold_a_slot_beside_the_stages() -> None:
    # Two of three slots are left: scan in two waves to 12 s, lookup to 32 s, join to 37 s.
    assert run_scenarios(more="masters = yes").plan.observed["a"].mean == pytest.approx(37.0)


def test_data_that_grow_make_the_same_phases_as_the_formulas() -> None:
    grown = """class b { map { tasks = 4, avg = 9 s, max = 9 s } shuffle { first_max = 2 s, avg = 3 s, max = 3 s }
      reduce { tasks = 2, avg = 5 s, max = 5 s } profiled_on = 1 GB, data = 2 GB, think = 0 s }"""
    # Alone on 100 slots: one wave of 8 maps, then 2 x (2 + 5) s.
    seen = run_scenarios(slots=100, others=grown).plan.observed["b"]
    assert (seen.mean, seen.p95) == pytest.approx((23.0, 23.0))


def test_no_job_on_slots_of_its_own_takes_longer_than_grahams_bound() -> None:
    # (W - P) / k + P of the very times that ran, 1,000 random jobs; and never less than W / k and P.
    random = np.random.default_rng(11)
    for number in range(1000):
        described = random_stages(random, int(random.integers(1, 7)))
        places = {stage.name: index for index, stage in enumerate(described)}
        stages = tuple(Stage(s.name, min(s.tasks, 12), tuple(places[name] for name in s.after)) for s in described)
        times = tuple(TaskTimes(Exponential(s.avg) if number % 2 else Spread(0.0, s.avg, 2 * s.avg)) for s in described)
        slots = int(random.integers(1, 9))
        world = Scenario(
            (JobClass(JobKind("a", stages), times, Users(1), 1),), (Machines(1, slots),), ((QueueRule(),),), 0.0
        )
        record = []
        took = run_once(world, 7, number, record.append).times[0][0]
        longest = [max(a.end - a.start for a in record if a.stage == index) for index in range(len(stages))]
        path = [0.0] * len(stages)
        for index, stage in enumerate(stages):
            path[index] = longest[index] + max((path[parent] for parent in stage.after), default=0.0)
        work, most = sum(a.end - a.start for a in record), max(path)
        assert max(work / slots, most) <= took * (1 + 1e-9)
        assert took <= ((work - most) / slots + most) * (1 + 1e-9)
        if number % 50 == 0:
            assert audit(record, [world.classes[0].kind], world.machines, {0: (0, False)}) == []
