"""Each option of the engine against a schedule worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import numpy as np
import pytest

from mrdsl.simulation.engine.draws import Block
from mrdsl.simulation.engine.engine import Engine
from mrdsl.simulation.engine.faults import FaultyEngine
from mrdsl.simulation.engine.flow import Submission
from mrdsl.simulation.engine.world import Faults, JobKind, Loss, Machines, Sharing, Speculation, Stage
from mrdsl.simulation.queues import FewestRunning, OldestFirst, Queue
from tests.simulation.engine_audit import audit


class Given:
    """Times as written: by class and stage the block, by class and stage what further attempts take."""

    def __init__(self, blocks, more=()):
        self.blocks, self.more = blocks, iter(more)

    def block(self, kind, number, stage):
        return self.blocks[kind, stage]

    def again(self, kind, stage):
        return next(self.more)

    def forget(self, kind, number, stage):
        pass


def play(kinds, machines, blocks, at=(0.0,), queues=None, faults=None, losses=(), more=()):
    """Ends of the jobs, and of every attempt (job, stage, task, start, end, outcome)."""
    record, ends, kinds_of = [], {}, {}

    def completed(job, now):
        ends[job.number] = now
        kinds_of[job.number] = job.kind, job.failed

    pools = 1 + max(m.pool for m in machines)
    shares = [Sharing(queues or [Queue(FewestRunning())]) for _ in range(pools)]
    world = kinds, machines, shares, iter(at if isinstance(at[0], Submission) else [Submission(t, 0) for t in at])
    if faults is None and not losses:
        engine = Engine(*world, Given(blocks), completed, record.append)
    else:
        engine = FaultyEngine(
            *world, Given(blocks, more), completed, record.append, faults=faults or Faults(), losses=losses
        )
    engine.run()
    assert audit(record, kinds, machines, kinds_of, losses) == []
    return ends, [(a.job, a.stage, a.task, a.start, a.end, a.outcome) for a in record]


def block(*work, **more):
    return Block([float(each) for each in work], luck=more.pop("luck", [1.0] * len(work)), **more)


DIAMOND = JobKind("diamond", (Stage("scan", 4), Stage("lookup", 1), Stage("join", 2, (0, 1)), Stage("write", 1, (2,))))
MAP_REDUCE = JobKind("mr", (Stage("map", 4), Stage("reduce", 2, (0,), pool=1)))
TWO_POOLS = (Machines(1, 2, 0), Machines(1, 2, 1))


def test_a_stage_starts_when_all_before_it_have_ended():
    blocks = {(0, 0): block(3, 3, 3, 3), (0, 1): block(10), (0, 2): block(2, 4), (0, 3): block(1)}
    ends, record = play([DIAMOND], [Machines(3, 1)], blocks)
    # Three of scan's tasks at 0, the fourth and lookup at 3; join waits for lookup until 13, write until 17.
    assert ends == {0: 18.0}
    assert [(s, t, a, b) for _, s, t, a, b, _ in record] == [
        (0, 0, 0.0, 3.0),
        (0, 1, 0.0, 3.0),
        (0, 2, 0.0, 3.0),
        (0, 3, 3.0, 6.0),
        (1, 0, 3.0, 13.0),
        (2, 0, 13.0, 15.0),
        (2, 1, 13.0, 17.0),
        (3, 0, 17.0, 18.0),
    ]


def test_faster_machines_come_first_and_their_speed_is_not_the_networks():
    kind = JobKind("a", (Stage("map", 3), Stage("reduce", 3, (0,))))
    blocks = {
        (0, 0): block(6, 6, 6),
        (0, 1): Block([4.0] * 3, first=[1.0] * 3, shuffle=[2.0] * 3, equal=True),
    }
    ends, record = play([kind], [Machines(1, 1, speed=1.0), Machines(1, 1, speed=2.0)], blocks)
    # Map: 3 s, 3 s on the fast one, 6 s on the slow one. Reduce at 6: 1 + 2 s fast, 1 + 4 s slow, then 2 + 2 s fast.
    assert [row[3:5] for row in record] == [(0, 3), (0, 6), (3, 6), (6, 9), (6, 11), (9, 13)]
    assert ends == {0: 13.0}


def test_equal_tasks_are_one_event_and_end_as_single_ones_do():
    kind = JobKind("a", (Stage("s", 7),))
    single = play([kind], [Machines(3, 1)], {(0, 0): block(*[2.0] * 7)}, at=(0.0, 1.0))
    together = play([kind], [Machines(3, 1)], {(0, 0): Block([2.0] * 7, equal=True)}, at=(0.0, 1.0))
    # From 2 s on two slots for the older job and one for the other; from 6 s on all three.
    assert single[0] == together[0] == {0: 6.0, 1: 10.0}
    assert sorted(single[1]) == sorted(together[1])


def test_slowstart_lets_reduces_hold_slots_and_shuffle_after_the_last_map():
    blocks = {
        (0, 0): block(4, 4, 4, 4),
        (0, 1): Block([5.0, 5.0], first=[1.0, 1.0], shuffle=[9.0, 9.0], luck=[1.0, 1.0]),
    }
    early = JobKind("mr", (MAP_REDUCE.stages[0], replace(MAP_REDUCE.stages[1], slowstart=0.5)))
    ends, record = play([early], TWO_POOLS, blocks)
    # Two maps at 0, two at 4: half is done at 4, when both reduces take slots; maps end at 8, and 1 + 5 s later all.
    assert [row[3:5] for row in record if row[1] == 1] == [(4.0, 14.0)] * 2
    assert ends == {0: 14.0}
    # In one pool, the reduce tasks of a job leave slots to its own waiting maps, and take them once these have started.
    common = JobKind("mr", (early.stages[0], replace(early.stages[1], pool=0)))
    ends, record = play([common], [Machines(3, 1)], {**blocks, (0, 0): block(4, 4, 4, 4)})
    assert [row[3:5] for row in record if row[1] == 1] == [(4.0, 14.0)] * 2
    ends, record = play([common], [Machines(2, 1)], blocks)
    assert [row[3:5] for row in record if row[1] == 1] == [(8.0, 14.0)] * 2


def test_a_waiting_reduce_holds_its_slot_against_others():
    early = JobKind("mr", (Stage("map", 1), Stage("reduce", 1, (0,), pool=1, slowstart=0.0)))
    other = JobKind("other", (Stage("only", 1, pool=1),))
    blocks = {(0, 0): block(10), (0, 1): block(1), (1, 0): block(2)}
    at = (Submission(0.0, 0), Submission(1.0, 1))
    ends, _ = play([early, other], [Machines(1, 1, 0), Machines(1, 1, 1)], blocks, at)
    assert ends == {0: 11.0, 1: 13.0}


def test_failed_attempts_run_again_and_a_job_is_given_up_after_its_retries():
    kind = JobKind("a", (Stage("s", 2),))
    # The first task fails after half of its 8 s (luck 0.1 of 0.2), then takes 3 s.
    blocks = {(0, 0): block(8, 5, luck=[0.1, 0.9])}
    ends, record = play([kind], [Machines(2, 1)], blocks, faults=Faults(share=0.2), more=[(3.0, 0.0, 0.9)])
    assert record == [
        (0, 0, 0, 0.0, 4.0, "failed"),
        (0, 0, 1, 0.0, 5.0, "done"),
        (0, 0, 0, 4.0, 7.0, "done"),
    ]
    assert ends == {0: 7.0}
    ends, record = play([kind], [Machines(2, 1)], blocks, faults=Faults(share=0.2, retries=0))
    assert record == [(0, 0, 0, 0.0, 4.0, "failed"), (0, 0, 1, 0.0, 4.0, "killed")]
    assert ends == {0: 4.0}


def test_a_lost_machine_takes_its_tasks_and_the_map_output_that_is_needed():
    # Two machines with a map slot each, one with the reduce slots. Maps of 4 s: 0 and 1 from 0 to 4, 2 and 3 to 8.
    machines = (Machines(2, 1, 0), Machines(1, 2, 1))
    blocks = {(0, 0): block(4, 4, 4, 4), (0, 1): block(5, 6)}

    def lost(time, service):
        # The slot that fell free last is taken first: machine 0 runs tasks 0 and 3, machine 1 tasks 1 and 2.
        loss = [Loss(time, 0, time + 2.0)]
        return play([MAP_REDUCE], machines, blocks, faults=Faults(shuffle_service=service), losses=loss)

    # At 5: task 3 starts again, and task 0's output is gone. Machine 1 ends task 2 at 8; machine 0 is there from 7.
    # Of what waits, the task that was put back last comes first: task 0 from 7 to 11, task 3 from 8 to 12.
    ends, record = lost(5.0, service=False)
    assert [row[2:] for row in record if row[1] == 0] == [
        (0, 0.0, 4.0, "done"),
        (1, 0.0, 4.0, "done"),
        (3, 4.0, 5.0, "lost"),
        (2, 4.0, 8.0, "done"),
        (0, 7.0, 11.0, "done"),
        (3, 8.0, 12.0, "done"),
    ]
    assert ends == {0: 18.0}
    # With a shuffle service only task 3 runs again, from 7 to 11.
    assert lost(5.0, service=True)[0] == {0: 17.0}
    # At 9 all maps are done and both reduces run: tasks 0 and 3 are made again, 3 on machine 1 from 9 to 13, 0 on
    # machine 0 from 11 to 15; the reduces, which run, end as they would.
    ends, record = lost(9.0, service=False)
    assert [row[2:] for row in record if row[1] == 1] == [(0, 8.0, 13.0, "done"), (1, 8.0, 14.0, "done")]
    assert [row[2:] for row in record if row[1] == 0 and row[3] > 4.0] == [
        (3, 9.0, 13.0, "done"),
        (0, 11.0, 15.0, "done"),
    ]
    assert ends == {0: 15.0}
    # At 14.5 nobody needs the maps any more.
    assert lost(14.5, service=False)[0] == {0: 14.0}


def test_a_machine_with_slots_of_both_kinds_goes_with_all_of_them():
    # Two machines with a map and a reduce slot each. The first job's reduces and the second job's maps run at 4 s, when
    # the second machine goes, for good: one reduce and one map start anew on the first one when it has a slot for them.
    kind = JobKind("mr", (Stage("map", 2), Stage("reduce", 2, (0,), pool=1)))
    both = (Machines(2, 1), Machines(2, 1, 1, beside=True))
    blocks = {(0, 0): block(2, 2), (0, 1): block(5, 5)}
    faults = Faults(shuffle_service=True)
    ends, record = play([kind], both, blocks, at=(0.0, 3.0), faults=faults, losses=(Loss(4.0, 1, inf),))
    lost = [(*row[:2], *row[3:5]) for row in record if row[5] == "lost"]
    assert sorted(lost) == [(0, 1, 2.0, 4.0), (1, 0, 3.0, 4.0)]
    # Map slot: 3 to 5 and 5 to 7 s. Reduce slot: 2 to 7 s, the lost one to 12 s, the second job's to 17 and 22 s.
    assert ends == {0: 12.0, 1: 22.0}
    back, _ = play([kind], both, blocks, at=(0.0, 3.0), faults=faults, losses=(Loss(4.0, 1, 4.5),))
    assert back == {0: 9.5, 1: 14.5}


def test_a_slow_task_is_copied_and_the_first_to_end_counts():
    kind = JobKind("a", (Stage("s", 4),))
    rule = Faults(speculation=Speculation(quantile=0.75, factor=1.5))
    # Three tasks end at 2; the fourth has 20 s. At 1.5 x 2 = 3 s it is copied; the copy takes 4 s and wins at 7.
    blocks = {(0, 0): block(2, 2, 2, 20)}
    ends, record = play([kind], [Machines(4, 1)], blocks, faults=rule, more=[(4.0, 0.0, 1.0)])
    assert record[3:] == [(0, 0, 3, 3.0, 7.0, "done"), (0, 0, 3, 0.0, 7.0, "killed")]
    assert ends == {0: 7.0}
    # A copy of 40 s loses at 20.
    ends, record = play([kind], [Machines(4, 1)], blocks, faults=rule, more=[(40.0, 0.0, 1.0)])
    assert record[3:] == [(0, 0, 3, 0.0, 20.0, "done"), (0, 0, 3, 3.0, 20.0, "killed")]
    # Half of the tasks are not yet three quarters; at 20, when three have ended, the fourth does too.
    late = {(0, 0): block(2, 2, 20, 20)}
    ends, record = play([kind], [Machines(4, 1)], late, faults=rule, more=[(1.0, 0.0, 1.0)])
    assert ends == {0: 20.0}
    assert len(record) == 4


def test_preemption_kills_the_youngest_and_loses_what_they_did():
    kind = JobKind("a", (Stage("s", 4),))
    small = JobKind("b", (Stage("s", 2),))
    blocks = {(0, 0): block(10, 10, 10, 10), (1, 0): block(1, 1)}
    at = (Submission(0.0, 0), Submission(1.0, 1))
    ends, record = play([kind, small], [Machines(4, 1)], blocks, at, faults=Faults(patience=2.0))
    # As for the simulation of shared clusters: two of four are killed at 3 s, and start again at 4 s.
    assert ends == {1: 4.0, 0: 14.0}
    assert [row for row in record if row[5] == "killed"] == [
        (0, 0, 3, 0.0, 3.0, "killed"),
        (0, 0, 2, 0.0, 3.0, "killed"),
    ]


@pytest.mark.parametrize(
    ("queues", "ends"),
    [
        # Jobs of 8 and of 2 tasks of 1 s on 4 slots. Fair: two each, then all four to the first.
        ([Queue(FewestRunning())], {1: 1.0, 0: 3.0}),
        # The oldest first: all four for two rounds.
        ([Queue(OldestFirst())], {0: 2.0, 1: 3.0}),
        # A queue each that lends nothing: two each.
        ([Queue(OldestFirst(), limit=2), Queue(OldestFirst(), limit=2)], {1: 1.0, 0: 4.0}),
        # A queue each, weighed 3 to 1, which lends: three and one, then three and one, then the last two.
        ([Queue(OldestFirst(), 3.0), Queue(OldestFirst(), 1.0)], {1: 2.0, 0: 3.0}),
    ],
)
@pytest.mark.parametrize("equal", [False, True])
def test_who_gets_the_slots(queues, ends, equal):
    kinds = [JobKind("a", (Stage("s", 8),)), JobKind("b", (Stage("s", 2),))]
    blocks = {(0, 0): Block([1.0] * 8, equal=equal), (1, 0): Block([1.0] * 2, equal=equal)}
    fresh = [Queue(type(queue.order)(), queue.weight, queue.minimum, queue.limit) for queue in queues]
    assert play(kinds, [Machines(4, 1)], blocks, (Submission(0.0, 0), Submission(0.0, 1)), fresh)[0] == ends


def test_no_more_than_its_limit_of_one_job_run_at_once():
    kind = JobKind("a", (Stage("s", 6, limit=2), Stage("t", 4, (0,), limit=4)))
    for equal in (False, True):
        blocks = {(0, 0): Block([1.0] * 6, equal=equal), (0, 1): Block([1.0] * 4, equal=equal)}
        assert play([kind], [Machines(4, 1)], blocks)[0] == {0: 4.0}


def test_what_is_noted_follows_the_jobs_that_are_there():
    # 3,000 jobs of ten users; entries of ended jobs must not pile up, whatever numbers of running tasks they stand for.
    kind = JobKind("a", (Stage("s", 30), Stage("t", 7, (0,))))
    queue = Queue(FewestRunning())
    most, random = 0, np.random.RandomState(2)

    class Drawn(Given):
        def block(self, kind, number, stage):
            return Block(random.exponential(5.0, (30, 7)[stage]).tolist())

    def again(job, now):
        nonlocal most
        most = max(most, len(queue.order.heap), len(engine.events))
        return Submission(now, 0, job.user) if job.number < 3000 else None

    starts = iter([Submission(0.0, 0, user) for user in range(10)])
    engine = Engine([kind], [Machines(40, 1)], [Sharing([queue])], starts, Drawn({}), again)
    engine.run()
    assert engine.tasks == 37 * 3010
    assert most <= 4 * 64 + 1


def test_stages_in_a_circle_or_without_tasks_are_refused():
    with pytest.raises(ValueError, match="before its parents"):
        JobKind("a", (Stage("s", 1, (0,)),))
    with pytest.raises(ValueError, match="no tasks"):
        JobKind("a", (Stage("s", 0),))


def test_the_audit_finds_what_is_wrong():
    kind = JobKind("a", (Stage("s", 2), Stage("t", 1, (0,))))
    machines = [Machines(2, 1)]
    record = []
    Engine(
        [kind],
        machines,
        [Sharing([Queue(FewestRunning())])],
        iter([Submission(0.0, 0)]),
        Given({(0, 0): block(2, 4), (0, 1): block(3)}),
        lambda job, now: None,
        record.append,
    ).run()
    ended = {0: (0, False)}
    assert audit(record, [kind], machines, ended) == []
    first, second, third = record
    assert "two tasks" in audit([first, replace(second, slot=first.slot), third], [kind], machines, ended)[0]
    assert "without tasks" in audit([first, third], [kind], machines, ended)[0]
    assert "again" in audit([*record, replace(first, start=9.0, end=11.0)], [kind], machines, ended)[0]
    assert "gone" in audit(record, [kind], machines, ended, [Loss(1.0, second.vm, 2.0)])[0]
    assert "before stage" in audit([first, second, replace(third, start=3.0, slot=0)], [kind], machines, ended)[0]
    assert (
        "another pool" in audit(record, [JobKind("a", tuple(replace(s, pool=1) for s in kind.stages))], machines, {})[0]
    )
    assert inf > max(each.end for each in record)
