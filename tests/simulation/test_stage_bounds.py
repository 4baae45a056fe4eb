"""Bounds of jobs of stages: they hold in random runs that keep their premises, and not in others.

The premises and the proofs are in ``docs/validation/proofs.md``.
The engine runs every task; times are those that ran.
"""

from __future__ import annotations

import numpy as np
import pytest

from mrdsl.formulas.stages import longest_path
from mrdsl.simulation.engine.draws import Block
from mrdsl.simulation.engine.engine import Engine
from mrdsl.simulation.engine.flow import Submission
from mrdsl.simulation.engine.world import JobKind, Machines, Sharing, Stage
from mrdsl.simulation.queues import FewestRunning, Queue

CASES = 1000
ROUNDING = 1 + 1e-9


class Given:
    """Task times by class and stage."""

    def __init__(self, times):
        self.times = times

    def block(self, kind, number, stage):
        return Block(list(self.times[kind][stage]), luck=[1.0] * len(self.times[kind][stage]))

    def forget(self, kind, number, stage):
        pass


def completion(stages, times, slots, fillers=(), at=0.0):
    """How long a job of stages takes from ``at``, where jobs of one stage each, ``fillers``, run from 0."""
    kinds = [JobKind("job", stages), *(JobKind("filler", (Stage("all", len(each)),)) for each in fillers)]
    ends = {}

    def completed(job, now):
        ends[job.kind] = now
        if job.kind == 0:
            engine.stop()

    engine = Engine(
        kinds,
        [Machines(1, slots)],
        [Sharing([Queue(FewestRunning())])],
        iter(sorted([Submission(at, 0), *(Submission(0.0, 1 + i) for i in range(len(fillers)))])),
        Given([times, *([each] for each in fillers)]),
        completed,
    )
    engine.run()
    assert list(ends) == [0]  # every filler outlasted the job
    return ends[0] - at


def drawn(rng, most_stages=5, most_tasks=14):
    """A DAG in order, and the times of its tasks: each stage has its own longest time."""
    stages, times = [], []
    density = rng.uniform(0.1, 0.9)
    for number in range(int(rng.integers(1, most_stages + 1))):
        after = tuple(other for other in range(number) if rng.uniform() < density)
        count, longest = int(rng.integers(1, most_tasks + 1)), float(rng.uniform(1.0, 10.0))
        stages.append(Stage(f"s{number}", count, after))
        times.append([*rng.uniform(0.05, 1.0, count - 1) * longest, longest])
        rng.shuffle(times[-1])
    return tuple(stages), times


def figures(stages, times):
    """Work, and the longest paths of averages and of longest tasks."""
    parents = tuple(stage.after for stage in stages)
    paths = ([float(f(each)) for each in times] for f in (np.mean, np.max))
    return float(sum(map(sum, times))), *(sum(lengths[i] for i in longest_path(parents, lengths)) for lengths in paths)


def lent(rng, stretch=1.0):
    """A random job among others that fill their shares, ``stretch`` times its shortest longest task at most.

    It starts with a slot that another leaves, and is due ``slots`` of them. Its figures, its slots and its time.
    """
    stages, times = drawn(rng)
    slots, others = int(rng.integers(1, 7)), int(rng.integers(1, 4))
    work, _, path = figures(stages, times)
    foreign = stretch * min(max(each) for each in times)
    enough = int(3 * (others + 1) * slots * (work + 3 * path + foreign) / foreign / others) + (others + 1) * slots
    fillers = [list(rng.uniform(0.3, 1.0, enough) * foreign) for _ in range(others)]
    for each in fillers:
        each[int(rng.integers(slots))] = foreign
    first = fillers[0][0]
    return work, path, slots, completion(stages, times, slots * (others + 1), fillers, at=first)


def upper(work, path, slots):
    return (work - 2 * path if work > 2 * path else work) / slots + 2 * path


def test_slots_of_its_own_keep_a_job_within_grahams_bound():
    rng = np.random.default_rng(17)
    tightest = 0.0
    for _ in range(CASES):
        stages, times = drawn(rng)
        slots = int(rng.integers(1, 9))
        work, path_avg, path_max = figures(stages, times)
        time = completion(stages, times, slots)
        graham = (work - path_max) / slots + path_max
        assert max(work / slots, path_avg) <= time * ROUNDING
        assert time <= graham * ROUNDING
        tightest = max(tightest, time / graham)
    assert tightest > 0.99


def test_lent_slots_keep_a_job_within_twice_its_path_where_others_fill_their_shares():
    rng = np.random.default_rng(18)
    beyond_graham = 0
    for _ in range(CASES):
        work, path, slots, time = lent(rng)
        assert time <= upper(work, path, slots) * ROUNDING
        beyond_graham += time > ((work - path) / slots + path) * ROUNDING
    assert beyond_graham > 0


def test_longer_tasks_of_others_break_it():
    """What a job lends at the end of a stage comes back when tasks twenty times as long have ended."""
    rng = np.random.default_rng(19)
    assert any(
        time > 1.2 * upper(work, path, slots) for work, path, slots, time in (lent(rng, 20.0) for _ in range(60))
    )


def longest_of_a_class(rng, slots):
    """The longest of 60 jobs of one class relative to the upper estimate: its users submit the next at once."""
    stages, times = drawn(rng, most_stages=4, most_tasks=10)
    users = int(rng.integers(3, 6))
    work, _, path = figures(stages, times)
    seen = []

    def completed(job, now):
        seen.append(now - job.submitted)
        if len(seen) == 60:
            engine.stop()
        return Submission(now, 0, job.user)

    class Shuffled(Given):
        def block(self, kind, number, stage):
            own = np.random.default_rng([number, stage]).permutation(times[stage])
            return Block(own.tolist(), luck=[1.0] * len(own))

    first = sorted(Submission(float(rng.uniform(0, 5)), 0, user) for user in range(users))
    sharing = [Sharing([Queue(FewestRunning())])]
    kinds = [JobKind("job", stages)]
    engine = Engine(kinds, [Machines(1, users * slots)], sharing, iter(first), Shuffled(()), completed)
    engine.run()
    return max(seen) / upper(work, path, slots)


def test_users_who_resubmit_break_it_with_one_slot_a_job_and_have_not_with_more():
    rng = np.random.default_rng(20)
    ratios = {slots: [longest_of_a_class(rng, slots) for _ in range(25)] for slots in (1, 2, 3)}
    assert sum(ratio > ROUNDING for ratio in ratios[1]) > 15
    assert max(ratios[2] + ratios[3]) < 1.0


@pytest.mark.parametrize("slots", [1, 3])
def test_a_chain_of_equal_tasks_takes_what_it_says(slots):
    """Three stages of 6 tasks of 2 s: 12 s of work each, one after the other."""
    stages = tuple(Stage(f"s{i}", 6, (i - 1,) if i else ()) for i in range(3))
    assert completion(stages, [[2.0] * 6] * 3, slots) == 36.0 / slots
