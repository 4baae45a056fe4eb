"""Without a record the engine takes short cuts and runs cohorts: the same tasks start and end at the same moments."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from mrdsl.simulation.engine.engine import Engine
from mrdsl.simulation.engine.flow import TASK, Submission
from mrdsl.simulation.engine.world import JobKind, Machines, Sharing, Stage
from mrdsl.simulation.queues import FewestRunning, OldestFirst, Queue
from tests.simulation.test_engine_against_simpy import Tables


class Mixed(Tables):
    """Every second stage has equal tasks."""

    def block(self, kind, number, stage):
        self.equal = (kind + number + stage) % 2 == 0
        return super().block(kind, number, stage)


def random_world(seed):
    """One queue a pool; from worlds whose slots are nearly all idle to crowded ones."""
    random = np.random.RandomState(seed)
    pools = int(random.randint(1, 3))
    slowstart = bool(random.randint(2))
    kinds = []
    for name in range(random.randint(1, 4)):
        limits = [float(random.choice([inf, inf, 3.0])) for _ in range(pools)]
        stages = []
        for index in range(random.randint(1, 5)):
            pool = int(random.randint(pools))
            after = tuple(parent for parent in range(index) if random.randint(2))
            early = float(random.choice([1.0, 0.5, 0.0])) if slowstart else 1.0
            stages.append(Stage(f"s{index}", int(random.randint(1, 25)), after, pool, early, limits[pool]))
        kinds.append(JobKind(f"k{name}", tuple(stages)))
    crowd = int(random.choice([2, 5, 20]))
    machines = [
        Machines(int(random.randint(1, crowd + 1)), int(random.randint(1, 4)), pool, speed)
        for pool in range(pools)
        for speed in ([1.0], [2.0, 1.0], [1.0, 1.5])[random.randint(3)]
    ]
    whole, fair = bool(random.randint(2)), bool(random.randint(2))
    count = int(random.randint(2, 15))
    times = np.cumsum(random.randint(0, 12, count) if whole else random.exponential(6.0, count))
    submissions = [Submission(float(time), int(random.randint(len(kinds)))) for time in times]
    return kinds, machines, fair, submissions, Mixed(kinds, seed, whole, bool(random.randint(2)))


def engine_of(world, record=None):
    kinds, machines, fair, submissions, draws = world
    pools = max(each.pool for each in machines) + 1
    ends = {}

    def completed(job, now):
        ends[job.number] = (job.started, now)

    queues = [Queue(FewestRunning() if fair else OldestFirst()) for _ in range(pools)]
    return Engine(kinds, machines, [Sharing([q]) for q in queues], iter(submissions), draws, completed, record), ends


def running(engine):
    """Job, stage, group of machines and end of every task that runs."""
    found = []
    for end, _, code, task in engine.events:
        if code == TASK:
            ends = [end] * task.count + [later for later, *_ in task.later or ()]
            found += [(task.run.job.number, task.run.index, task.group, each) for each in ends]
    return sorted(found)


def held(engine):
    return [(pool.idle, pool.queues[0].running, sum(len(engine.free[g]) for g in pool.groups)) for pool in engine.pools]


@pytest.mark.parametrize("part", range(3))
def test_the_same_tasks_run_at_every_moment(part):
    for seed in range(40 * part, 40 * part + 40):
        quick, quick_ends = engine_of(random_world(seed))
        plain, plain_ends = engine_of(random_world(seed), [].append)
        assert quick.plain
        assert not plain.plain
        until = 0.0
        while plain.events or until == 0.0:
            plain.run(until)
            quick.run(until)
            assert running(quick) == running(plain), (seed, until)
            assert held(quick) == held(plain), (seed, until)
            until = min((event[0] for event in plain.events), default=inf)
        assert not quick.events
        assert quick_ends == plain_ends, seed
        assert len(quick_ends) == len(random_world(seed)[3])
        assert quick.tasks == plain.tasks
        assert quick.busy == pytest.approx(plain.busy, rel=1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_what_was_done_when_a_run_is_stopped(seed):
    (quick, _), (plain, _) = engine_of(random_world(seed)), engine_of(random_world(seed), [].append)
    for engine in (quick, plain):
        engine.run(9.0)
        engine.stop()
        engine.run()
    assert quick.busy == pytest.approx(plain.busy, rel=1e-12)
    assert quick.now == plain.now


def test_the_random_worlds_have_crowds_idle_slots_and_cohorts():
    seen = {"idle": 0, "crowded": 0, "cohort": 0, "equal": 0}
    for seed in range(40):
        engine, _ = engine_of(random_world(seed))
        for until in range(60):
            engine.run(float(until))
            tasks = [event[3] for event in engine.events if event[2] == TASK]
            seen["idle"] += bool(tasks) and all(pool.idle for pool in engine.pools)
            seen["crowded"] += any(not pool.idle and pool.queues[0].order.best() for pool in engine.pools)
            seen["cohort"] += any(task.later for task in tasks)
            seen["equal"] += any(task.count > 1 for task in tasks)
    assert min(seen.values()) > 100
