"""The engine against the plain version on simpy: the same attempts on the same slots at the same moments."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from math import inf

import numpy as np
import pytest

from mrdsl.simulation.engine.draws import Block
from mrdsl.simulation.engine.engine import Engine
from mrdsl.simulation.engine.faults import FaultyEngine
from mrdsl.simulation.engine.flow import Submission
from mrdsl.simulation.engine.world import Faults, JobKind, Loss, Machines, Sharing, Speculation, Stage, count_vms
from mrdsl.simulation.queues import FewestRunning, OldestFirst, Queue
from tests.simulation.engine_audit import audit
from tests.simulation.plain_engine import Plain


@dataclass
class Tables:
    """Times by class, job, stage and task, the same whoever asks; whole numbers make many things happen at once."""

    kinds: list[JobKind]
    seed: int
    whole: bool
    shuffles: bool
    equal: bool = False
    asked: dict[tuple[int, int], int] = field(default_factory=dict)

    def draw(self, key, count):
        random = np.random.RandomState([self.seed, *key])
        values = random.randint(1, 9, count).astype(float) if self.whole else random.exponential(5.0, count)
        return (np.full(count, values[0]) if self.equal else values).tolist()

    def block(self, kind, number, stage):
        tasks = self.kinds[kind].stages[stage].tasks
        key = (kind, number, stage)
        fetches = self.shuffles and self.kinds[kind].stages[stage].after
        luck = np.random.RandomState([self.seed, 7, *key]).random_sample(tasks).tolist()
        return Block(
            self.draw((1, *key), tasks),
            self.draw((2, *key), tasks) if fetches else None,
            self.draw((3, *key), tasks) if fetches else None,
            luck,
            self.equal,
        )

    def again(self, kind, stage):
        asked = self.asked[kind, stage] = self.asked.get((kind, stage), 0) + 1
        luck = float(np.random.RandomState([self.seed, 5, kind, stage, asked]).random_sample())
        return self.draw((4, kind, stage, asked), 1)[0], 0.0, luck

    def forget(self, kind, number, stage):
        pass


def random_world(seed, faulty):
    random = np.random.RandomState(seed)
    pools = int(random.randint(1, 3))
    kinds = [random_kind(random, pools, f"k{n}") for n in range(random.randint(1, 4))]
    machines = [
        Machines(int(random.randint(1, 4)), int(random.randint(1, 4)), pool, speed)
        for pool in range(pools)
        for speed in ([1.0], [2.0, 1.0], [1.0, 1.5])[random.randint(3)]
    ]
    fair = bool(random.randint(2))
    queues = [random_queues(random, len(kinds), fair) for _ in range(pools)]
    whole = bool(random.randint(2))
    times = np.cumsum(random.randint(0, 12, random.randint(2, 9)) if whole else random.exponential(6.0, 7))
    submissions = [Submission(float(time), int(random.randint(len(kinds)))) for time in times]
    faults = Faults(
        share=float(random.choice([0.0, 0.15])),
        retries=int(random.randint(0, 4)),
        shuffle_service=bool(random.randint(2)),
        speculation=[None, Speculation(0.5, 1.25)][random.randint(2)],
        patience=[None, 2.0][random.randint(2)],
    )
    if pools > 1 and random.randint(2):  # machines of two types, each with slots of both kinds
        machines = [
            Machines(vms, int(random.randint(1, 4)), pool, speed, beside=pool > 0)
            for vms, speed in ((int(random.randint(1, 4)), 1.0), (int(random.randint(1, 3)), 1.5))
            for pool in range(pools)
        ]
    vms = count_vms(machines)
    losses = [
        Loss(float(time), int(random.randint(vms)), float(time) + 3.25)
        for time in np.cumsum(random.exponential(8.0, random.choice([0, 6])))
    ]
    draws = Tables(kinds, seed, whole, bool(random.randint(2)))
    return kinds, machines, queues, submissions, draws, (faults if faulty else Faults()), (losses if faulty else [])


def random_kind(random, pools, name):
    count = random.randint(1, 5)
    stages = []
    for index in range(count):
        after = tuple(parent for parent in range(index) if random.randint(2))
        stages.append(
            Stage(
                f"s{index}",
                int(random.randint(1, 9)),
                after,
                int(random.randint(pools)),
                float(random.choice([1.0, 1.0, 0.5, 0.0])),
                float(random.choice([inf, inf, 2.0])),
            )
        )
    limits = {stage.pool: stage.limit for stage in stages}
    return JobKind(name, tuple(Stage(s.name, s.tasks, s.after, s.pool, s.slowstart, limits[s.pool]) for s in stages))


def random_queues(random, kinds, fair):
    if random.randint(2):
        return [(fair, 1.0, 0.0, inf)]
    return [
        (fair, float(random.choice([0.2, 0.5, 1.0])), float(random.randint(3)), float(random.choice([3.0, inf])))
        for _ in range(kinds)
    ]


def sharing(queues):
    return [
        Sharing([Queue(FewestRunning() if fair else OldestFirst(), *rest) for fair, *rest in pool]) for pool in queues
    ]


def run_engine(kinds, machines, queues, submissions, draws, faults, losses, masters=False, most=inf):
    record, ended = [], {}

    def completed(job, now):
        ended[job.number] = (now, job.kind, job.failed)

    engine = FaultyEngine(
        kinds,
        machines,
        sharing(queues),
        iter(submissions),
        draws,
        completed,
        record.append,
        masters,
        most,
        faults=faults,
        losses=losses,
    )
    engine.run()
    draws.asked.clear()
    return record, ended


def note_end(ends, job, now):
    ends[job.number] = now


def rows(record):
    """Of the engine's attempts, what the plain version notes."""
    return [(a.job, a.stage, a.task, a.slot, a.start, a.end, a.outcome) for a in record]


def rounded(record):
    return sorted((*row[:4], round(row[4], 7), round(row[5], 7), row[6]) for row in record)


@pytest.mark.parametrize("part", range(4))
def test_the_same_attempts_on_the_same_slots_at_the_same_moments(part):
    for seed in range(35 * part, 35 * part + 35):
        kinds, machines, *_, losses = world = random_world(seed, faulty=True)
        record, ended = run_engine(*world)
        plain = Plain(*world)
        assert rounded(rows(record)) == rounded(plain.record), seed
        assert {job: failed for job, (_, _, failed) in ended.items()} == {j: f for j, (_, f) in plain.ended.items()}
        assert [at for at, _, _ in ended.values()] == pytest.approx([plain.ended[job][0] for job in ended]), seed
        assert len(ended) == len(world[3])
        over = {job: (kind, failed) for job, (_, kind, failed) in ended.items()}
        assert audit(record, kinds, machines, over, losses) == [], seed


def test_jobs_whose_masters_hold_slots_run_the_same_attempts():
    for seed in range(60):
        kinds, machines, queues, submissions, draws, faults, _ = random_world(seed, faulty=bool(seed % 2))
        # Every job's master may stand in the pool of its first stage.
        machines = [*machines, *(Machines(len(submissions), 1, pool) for pool in range(len(queues)))]
        world = kinds, machines, queues, submissions, draws, faults, []
        record, ended = run_engine(*world, masters=True)
        assert len(ended) == len(submissions)
        assert rounded(rows(record)) == rounded(Plain(*world, masters=True).record), seed
        over = {job: (kind, failed) for job, (_, kind, failed) in ended.items()}
        assert audit(record, kinds, machines, over) == [], seed


@pytest.mark.parametrize("most", [1, 2])
def test_jobs_wait_for_the_end_of_others_if_few_may_run(most):
    for seed in range(50):
        world = random_world(seed, faulty=bool(seed % 2))
        record, ended = run_engine(*world, most=most)
        assert rounded(rows(record)) == rounded(Plain(*world, most=most).record), seed
        assert len(ended) == len(world[3])


def test_the_random_worlds_show_everything_that_can_happen():
    seen, given_up, copies = set(), 0, 0
    for seed in range(60):
        record, ended = run_engine(*random_world(seed, faulty=True))
        seen |= {each.outcome for each in record}
        given_up += sum(failed for _, _, failed in ended.values())
        places = [(each.job, each.stage, each.task, each.end) for each in record]
        copies += len(places) - len(set(places))
    assert seen == {"done", "failed", "killed", "lost"}
    assert given_up > 5
    assert copies > 20


@pytest.mark.parametrize("part", range(4))
def test_short_cuts_and_cohorts_change_nothing(part):
    # Without a record the engine takes short cuts, and equal tasks are one event; the engine of faults knows neither.
    for seed in range(35 * part, 35 * part + 35):
        kinds, machines, queues, submissions, draws, faults, losses = random_world(seed, faulty=False)
        draws.equal = bool(seed % 2)
        ends = {}
        engine = Engine(kinds, machines, sharing(queues), iter(submissions), draws, partial(note_end, ends))
        engine.run()
        record, ended = run_engine(kinds, machines, queues, submissions, draws, faults, losses)
        assert ends == pytest.approx({job: now for job, (now, _, _) in ended.items()}), seed
        assert engine.tasks == len(record)
        busy = sum(each.end - each.start for each in record)
        assert sum(engine.busy) == pytest.approx(busy), seed
