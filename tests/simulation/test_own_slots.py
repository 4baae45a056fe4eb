"""One job on slots of its own: the times of the engine, of lists by hand, and of closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from mrdsl.simulation.engine.draws import (
    Block,
    Exponential,
    Lognormal,
    Samples,
    Spread,
    StreamDraws,
    TaskTimes,
    slowdown,
    with_shared,
)
from mrdsl.simulation.engine.engine import Engine
from mrdsl.simulation.engine.flow import Submission
from mrdsl.simulation.engine.world import JobKind, Machines, Sharing, Stage
from mrdsl.simulation.own_draws import OwnStage, drawn
from mrdsl.simulation.own_slots import blocks_of, completion, job_times, mean_times
from mrdsl.simulation.queues import OldestFirst, Queue
from mrdsl.simulation.sampling import stream

FIXED = TaskTimes(Spread(10.0, 10.0, 10.0))


class Given:
    """Given times of tasks."""

    def __init__(self, blocks):
        self.blocks = blocks

    def block(self, kind, number, stage):
        return self.blocks[stage]


def by_engine(stages, blocks, slots):
    ended = []

    def completed(job, now):
        ended.append(now)
        engine.stop()

    engine = Engine(
        [JobKind("a", tuple(stages))],
        [Machines(1, slots)],
        [Sharing([Queue(OldestFirst())])],
        iter([Submission(0.0, 0)]),
        Given(blocks),
        completed,
    )
    engine.run()
    return ended[0]


def drawn_job(seed):
    """A graph of up to seven stages with delays; times of few values, so that much happens at one moment, or not."""
    random = np.random.default_rng(seed)
    stages, times = [], []
    for place in range(int(random.integers(1, 8))):
        after = tuple(each for each in range(place) if random.random() < 0.4)
        tasks = int(random.integers(1, 14))
        stages.append(Stage(f"s{place}", tasks, after, delay=float(random.choice([0.0, 0.0, 1.5, 4.0]))))
        times.append(random.integers(1, 5, tasks).astype(float) if seed % 2 else random.exponential(3.0, tasks))
    return stages, [each.tolist() for each in times], int(random.integers(1, 18))


@pytest.mark.parametrize("seed", range(120))
def test_a_job_ends_when_it_does_in_the_engine(seed):
    stages, times, slots = drawn_job(seed)
    found = completion([(stage.after, stage.delay, each) for stage, each in zip(stages, times, strict=True)], slots)
    wanted = by_engine(stages, [Block(each) for each in times], slots)
    assert found == pytest.approx(wanted, rel=1e-12)
    own = [OwnStage(stage.after, stage.delay, np.array([each])) for stage, each in zip(stages, times, strict=True)]
    assert job_times(own, slots) == pytest.approx([wanted], rel=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_a_first_wave_takes_the_times_of_first_shuffles(seed):
    random = np.random.default_rng(seed)
    tasks, slots = (int(each) for each in random.integers(1, 20, 2))
    work, first, later = random.exponential(5.0, (3, tasks))
    wanted = by_engine([Stage("r", tasks)], [Block(work.tolist(), first.tolist(), later.tolist())], slots)
    assert job_times([OwnStage((), 0.0, np.array([work + later]), np.array([work + first]))], slots) == pytest.approx(
        [wanted], rel=1e-12
    )


@pytest.mark.parametrize(
    ("times", "slots", "ends"),
    [
        ([10.0] * 40, 4, 100.0),
        ([10.0] * 41, 9, 50.0),
        ([10.0] * 8, 8, 10.0),
        ([10.0] * 8, 100, 10.0),
        ([7.0], 1, 7.0),
        ([0.0] * 5, 2, 0.0),
        ([2.0, 0.0, 3.0, 1.0, 4.0], 2, 7.0),  # 2 | 0 3 -> 3; 1 at 2 -> 3; 4 at 3 -> 7
    ],
)
def test_lists_by_hand(times, slots, ends):
    assert completion([((), 0.0, times)], slots) == ends


def test_more_slots_can_be_slower():
    """Graham's anomaly: with four slots the tasks of 4 s are ready before the one of 9 s, which ends last then."""
    stages = [((), 0.0, [3.0]), *[((), 0.0, [2.0])] * 3, *[((3,), 0.0, [4.0])] * 4, ((0,), 0.0, [9.0])]
    assert completion(stages, 3) == 12.0
    assert completion(stages, 4) == 15.0


def test_blocks_are_the_least_parts_that_run_alone():
    after = [(), (), (0, 1), (2,), (2,), (3,), (4, 5)]
    stages = [OwnStage(each, 0.0, np.ones((1, 1))) for each in after]
    assert [list(each) for each in blocks_of(stages)] == [[0, 1], [2], [3, 4, 5], [6]]
    assert [list(each) for each in blocks_of([OwnStage((), 0.0, np.ones((1, 1)))] * 2)] == [[0, 1]]


def test_a_first_wave_beside_another_stage_is_refused():
    one = OwnStage((), 0.0, np.ones((1, 2)), np.ones((1, 2)))
    with pytest.raises(ValueError, match="first wave"):
        job_times([one, one], 2)


@pytest.mark.parametrize(("tasks", "slots"), [(1, 1), (1, 5), (8, 8), (8, 3), (200, 16), (200, 300), (1000, 7)])
def test_the_mean_is_that_of_many_jobs(tasks, slots):
    stages = [Stage("a", tasks, delay=2.0)]
    times = [TaskTimes(Lognormal(10.0, 20.0, tasks))]
    many = job_times(drawn(stages, times, max(50, 400_000 // tasks), 5), slots).mean()
    assert mean_times(stages, times, [slots])[0] == pytest.approx(many, rel=0.015)


def test_means_of_closed_forms():
    """Exponential tasks: n on n slots take the harmonic sum; on one slot, n times the mean; equal ones take waves."""
    stages, times = [Stage("a", 10)], [TaskTimes(Exponential(6.0))]
    harmonic = 6.0 * sum(1.0 / each for each in range(1, 11))
    assert mean_times(stages, times, [1, 10, 50]) == pytest.approx([60.0, harmonic, harmonic], rel=0.01)
    two = [Stage("a", 10), Stage("b", 5, (0,), delay=1.0)]
    assert mean_times(two, [FIXED, FIXED], [1, 4, 5, 20]).tolist() == pytest.approx([151.0, 51.0, 31.0, 21.0])


def test_the_speed_of_machines_divides_work_and_not_shuffles():
    times = [TaskTimes(Spread(8.0, 8.0, 8.0), Spread(1.0, 1.0, 1.0), Spread(3.0, 3.0, 3.0))]
    stages = [Stage("r", 6)]
    assert mean_times(stages, times, [3, 6], speed=2.0).tolist() == pytest.approx([12.0, 5.0])
    slow = [TaskTimes(Spread(8.0, 8.0, 8.0), slow=slowdown(1.0 - 1e-9, 2.0))]
    assert mean_times(stages, slow, [6], speed=2.0).tolist() == pytest.approx([8.0])


def test_recorded_tasks_keep_their_order():
    """Two runs of three tasks on two slots: 5 + 1 beside 2 is 5, then 1 + 5 beside 2: 6; 5.5 on average."""
    times = [TaskTimes(Samples((5.0, 2.0, 1.0, 1.0, 2.0, 5.0), 3))]
    assert mean_times([Stage("a", 3)], times, [1, 2, 3]).tolist() == [8.0, 5.5, 5.0]
    assert mean_times([Stage("a", 3)], times, [2], speed=2.0).tolist() == [2.75]


def test_recorded_times_are_not_put_back():
    """More tasks than recorded times have each of them equally often; fewer have different ones."""
    random = np.random.RandomState(0)
    found = Samples((1.0, 2.0, 4.0), 7)(random, 14).reshape(2, 7)
    for job in found:
        assert {time: list(job).count(time) for time in (1.0, 2.0, 4.0)}.keys() == {1.0, 2.0, 4.0}
        assert sorted(list(job).count(time) for time in (1.0, 2.0, 4.0)) == [2, 2, 3]
    assert all(len(set(job)) == 2 for job in Samples((1.0, 2.0, 4.0), 2)(random, 20).reshape(10, 2))


def test_all_tasks_of_a_job_share_a_factor():
    """One recorded run: its factor is lognormal with the deviation 5 %, and the mean 1."""
    (times,) = with_shared([TaskTimes(Samples((5.0, 2.0, 1.0), 3))])
    assert times.shared == pytest.approx(0.05)
    drawn_jobs = StreamDraws([[times]], [[3]], lambda *place: stream(0, *place))
    rows, _, _ = drawn_jobs.rows(0, 0, 4000)
    assert rows[:, 0] / rows[:, 2] == pytest.approx(np.full(4000, 5.0))
    assert rows[:, 1].mean() == pytest.approx(2.0, rel=0.005)
    assert np.log(rows[:, 1]).std() == pytest.approx(0.05, rel=0.05)
    again = StreamDraws([[times]], [[3]], lambda *place: stream(0, *place))
    assert [again.block(0, job, 0).work for job in range(5)] == [pytest.approx(row) for row in rows[:5].tolist()]


def test_the_factor_comes_from_the_runs_if_there_are_several():
    (same,) = with_shared([TaskTimes(Samples((5.0, 2.0) * 25, 2))])
    assert same.shared == pytest.approx(0.01)
    (drawn_times,) = with_shared([FIXED])
    assert drawn_times.shared == 0.0
