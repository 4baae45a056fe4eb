"""The engine on map and reduce phases: a known queue, a plain second implementation, brute force, schedules by hand."""

from itertools import permutations, product
from math import exp, inf, pi, tan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mrdsl.simulation.engine.draws import Exponential, Samples, Spread, StreamDraws, TaskTimes
from mrdsl.simulation.engine.engine import Engine
from mrdsl.simulation.engine.faults import Claim, fair_shares
from mrdsl.simulation.engine.flow import Submission
from mrdsl.simulation.engine.scenario import JobClass, LossRule, QueueRule, Scenario, Users, run_once
from mrdsl.simulation.engine.world import JobKind, Machines, Sharing, Stage
from mrdsl.simulation.queues import FewestRunning, OldestFirst, Queue
from mrdsl.simulation.recordings import read_times
from mrdsl.simulation.verdicts import half_width, student_95, summarize
from tests.formulas.queues import fifo_wait, multi_server_wait
from tests.simulation.known_jobs import Known, run


def mean_wait(order, servers, rate, times, seed, jobs=60_000):
    random, waits = np.random.RandomState(seed), []

    def completed(job, now):
        waits.append(job.started - job.submitted)

    arrivals = (Submission(time, 0) for time in np.cumsum(random.exponential(1.0 / rate, jobs)).tolist())
    draws = StreamDraws([[TaskTimes(times)]], [[1]], lambda *place: random)
    kind = JobKind("one", (Stage("only", 1),))
    Engine([kind], [Machines(1, servers)], [Sharing([Queue(order)])], arrivals, draws, completed).run()
    return summarize([waits[jobs // 10 :]])


@pytest.mark.parametrize(
    ("order", "servers", "rate"),
    [(OldestFirst, 1, 0.7), (FewestRunning, 4, 3.2), (OldestFirst, 10, 8.5)],
)
def test_an_m_m_c_queue_waits_as_long_as_erlang_says(order, servers, rate):
    seen = mean_wait(order(), servers, rate, Exponential(1.0), servers)
    assert seen.mean == pytest.approx(multi_server_wait(1.0, rate, servers), abs=2.0 * seen.half_width)
    assert seen.half_width < 0.2 * seen.mean


def test_an_m_d_1_queue_waits_half_as_long():
    seen = mean_wait(OldestFirst(), 1, 0.6, Spread(1.0, 1.0, 1.0), 5)
    assert seen.mean == pytest.approx(float(fifo_wait(1.0, 0.6, 0.0)), abs=2.0 * seen.half_width)


def by_steps(jobs, slots, fair, common):
    """The same rules in the plainest form: one unit of time after the other. Gives the ends of the jobs."""
    state = [
        {"at": at, "number": n, "maps": list(maps), "reduces": list(reduces), "running": [], "end": None}
        for n, (at, maps, reduces) in enumerate(jobs)
    ]
    now = -1
    while any(job["end"] is None for job in state):
        now += 1
        for job in state:
            job["running"] = [(end, pool) for end, pool in job["running"] if end > now]
            if job["at"] <= now and job["end"] is None and not (job["maps"] or job["reduces"] or job["running"]):
                job["end"] = now
        for pool in range(1 if common else 2):
            while slots[pool] > sum(p == pool for job in state for _, p in job["running"]):
                able = [
                    (job, tasks)
                    for job in state
                    if job["at"] <= now and job["end"] is None
                    for tasks in [next_tasks(job, pool, common)]
                    if tasks
                ]
                if not able:
                    break
                job, tasks = min(able, key=lambda each: (len(each[0]["running"]) if fair else 0, each[0]["number"]))
                job["running"].append((now + tasks.pop(0), pool))
    return [job["end"] for job in state]


def next_tasks(job, pool, common):
    if job["maps"]:
        return job["maps"] if common or pool == 0 else []
    if job["running"] and not job.get("reducing"):
        return []
    job["reducing"] = True
    return job["reduces"] if common or pool == 1 else []


TIMES = st.lists(st.integers(1, 9), min_size=1, max_size=12)


@settings(derandomize=True, max_examples=50, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 20), TIMES, st.lists(st.integers(1, 9), max_size=8)), min_size=1, max_size=6),
    st.integers(1, 5),
    st.integers(1, 4),
    st.booleans(),
    st.booleans(),
)
def test_it_agrees_with_a_plain_second_implementation(data, first, second, fair, common):
    data = sorted(data, key=lambda each: each[0])
    jobs = [Known([*map(float, maps)], [*map(float, reduces)], float(at)) for at, maps, reduces in data]
    pools = [(first, [Queue(FewestRunning() if fair else OldestFirst())])]
    if not common:
        pools.append((second, [Queue(FewestRunning() if fair else OldestFirst())]))
    run(pools, jobs)
    assert [job.ended for job in jobs] == by_steps(data, (first, second), fair, common)


@settings(derandomize=True, max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.booleans(), st.booleans(), st.integers(2, 12), st.integers(2, 5))
def test_the_short_cut_for_the_usual_case_changes_nothing(seed, fair, common, slots, limit):
    # Runs that are recorded take the long way throughout.
    def ends(recorded):
        random = np.random.RandomState(seed)

        def draw(most):
            tasks = random.randint(1, most)
            return (random.exponential(3.0, tasks) if seed % 2 else random.randint(1, 6, tasks).astype(float)).tolist()

        jobs = [Known(draw(40), draw(9), float(random.randint(60)), limits=(limit, inf)) for _ in range(25)]
        queues = [Queue(FewestRunning() if fair else OldestFirst()) for _ in range(1 if common else 2)]
        run([(slots, [queue]) for queue in queues], jobs, recorded=recorded)
        return [job.ended for job in jobs]

    assert ends(True) == ends(False)


def test_tiny_batches_against_every_schedule():
    # Brute force over all assignments of tasks to slots: greedy is never better than the best schedule, and never worse
    # than twice it (Graham); over all orders of the tasks, greedy finds the best one.
    random = np.random.RandomState(3)
    for _ in range(40):
        slots, times = random.randint(2, 4), random.randint(1, 10, random.randint(2, 6)).tolist()
        best = min(
            max(sum(t for t, s in zip(times, where, strict=True) if s == slot) for slot in range(slots))
            for where in product(range(slots), repeat=len(times))
        )
        ends = []
        for order in set(permutations(times)):
            job = Known([*map(float, order)])
            run([(slots, [Queue(FewestRunning())])], [job])
            ends.append(job.ended)
        assert min(ends) == best
        assert max(ends) <= (2 - 1 / slots) * best


def test_reduce_tasks_follow_the_last_map_task_and_the_first_wave_has_its_own_shuffle():
    job = Known([2.0] * 3, [1.0] * 4, 1.0, first=[0.0] * 4, later=[4.0] * 4)
    seen = run([(2, [Queue(FewestRunning())]), (2, [Queue(FewestRunning())])], [job])
    assert [(each.stage, each.vm, each.start, each.end) for each in seen] == [
        (0, 0, 1.0, 3.0),
        (0, 0, 1.0, 3.0),
        (0, 0, 3.0, 5.0),
        (1, 1, 5.0, 6.0),
        (1, 1, 5.0, 6.0),
        (1, 1, 6.0, 11.0),
        (1, 1, 6.0, 11.0),
    ]
    assert (job.started, job.ended) == (1.0, 11.0)


def test_slots_are_not_lent_where_the_cluster_is_not_work_conserving():
    def ends(limit):
        queues = [Queue(FewestRunning(), limit=limit), Queue(FewestRunning(), limit=limit)]
        jobs = [Known([1.0] * 8, at=0.0), Known([1.0] * 2, at=0.0, queue=1)]
        run([(4, queues)], jobs)
        return [job.ended for job in jobs]

    assert ends(float("inf")) == [3.0, 1.0]
    assert ends(2) == [4.0, 1.0]


def test_a_minimum_share_comes_first():
    def ends(minimum):
        queues = [Queue(OldestFirst(), weight=3.0), Queue(OldestFirst(), weight=1.0, minimum=minimum)]
        jobs = [Known([1.0] * 12, at=0.0), Known([1.0] * 6, at=0.0, queue=1)]
        run([(4, queues)], jobs)
        return [job.ended for job in jobs]

    assert ends(0.0) == [4.0, 5.0]
    assert ends(3.0) == [5.0, 2.0]


def test_a_queue_of_oldest_first_runs_jobs_one_after_the_other():
    jobs = [Known([2.0] * 5, at=0.0), Known([1.0] * 2, at=0.0)]
    run([(2, [Queue(OldestFirst())])], jobs)
    assert [job.ended for job in jobs] == [6.0, 6.0]


def test_a_limit_per_job_leaves_slots_idle():
    job = Known([1.0] * 6, limits=(2, inf))
    run([(4, [Queue(FewestRunning())])], [job])
    assert job.ended == 3.0


@pytest.mark.parametrize("order", [FewestRunning, OldestFirst])
def test_masters_hold_a_slot_each_from_the_first_task_to_the_end(order):
    jobs = [Known([1.0] * 4, [1.0] * 2, 0.0), Known([1.0] * 2, at=0.0)]
    run([(4, [Queue(order())])], jobs, masters=True)
    # Fair: one slot of four for the tasks of each job, three when one is left. In order: three for the first; what it
    # leaves at 1 s is a master and one task of the second, whose other task waits for the reduce tasks of the first.
    assert [job.ended for job in jobs] == ([4.0, 2.0] if order is FewestRunning else [3.0, 4.0])


def test_preemption_kills_the_youngest_tasks_and_runs_them_again():
    def both(patience):
        jobs = [Known([10.0] * 4, at=0.0), Known([1.0] * 2, at=1.0)]
        seen = run([(4, [Queue(FewestRunning())])], jobs, patience=patience)
        return [job.ended for job in jobs], [each for each in seen if each.outcome == "killed"]

    assert both(None) == ([10.0, 11.0], [])
    ends, killed = both(2.0)
    # At 3 s two of the four tasks are killed; they start again at 4 s, when the second job is through.
    assert ends == [14.0, 4.0]
    assert [(each.job, each.start, each.end) for each in killed] == [(0, 0.0, 3.0)] * 2


def test_preemption_loses_no_task_over_a_long_mixed_run():
    random = np.random.RandomState(9)

    def draw(tasks):
        return Spread(1.0, 4.0, 20.0)(random, tasks).tolist()

    queues = [Queue(FewestRunning(), 0.5), Queue(FewestRunning(), 0.3, 2.0), Queue(FewestRunning(), 0.2)]
    jobs = [Known(draw(random.randint(1, 30)), draw(random.randint(0, 5)), 5.0 * i, i % 3) for i in range(200)]
    tasks = sum(len(job.maps) + len(job.reduces) for job in jobs)
    pools = [(8, queues), (3, [Queue(FewestRunning(), 1.0) for _ in queues])]
    seen = run(pools, jobs, patience=1.0)
    assert sum(each.outcome == "done" for each in seen) == tasks
    assert any(each.outcome == "killed" for each in seen)
    assert all(job.ended > job.at for job in jobs)
    assert all(queue.running == 0 for _, queues in pools for queue in queues)
    assert no_slot_runs_two_tasks(seen)


def no_slot_runs_two_tasks(runs):
    last = {}
    for each in sorted(runs, key=lambda each: (each.start, each.end)):
        if each.start < last.get(each.slot, 0.0):
            return False
        last[each.slot] = each.end
    return True


def test_fair_shares_are_weighted_within_demands_with_minima_first():
    assert fair_shares({0: Claim(1, 0, 100), 1: Claim(3, 0, 100)}, 8) == {0: 2.0, 1: 6.0}
    assert fair_shares({0: Claim(1, 0, 1), 1: Claim(1, 0, 100), 2: Claim(2, 0, 100)}, 10) == {0: 1.0, 1: 3.0, 2: 6.0}
    assert fair_shares({0: Claim(1, 5, 100), 1: Claim(3, 0, 100)}, 8) == {0: 5.0, 1: 3.0}
    assert fair_shares({0: Claim(1, 0, 0)}, 8) == {0: 0.0}


@pytest.mark.parametrize("order", [FewestRunning, OldestFirst])
def test_memory_grows_with_running_tasks_only(order):
    random = np.random.RandomState(1)
    kinds = [JobKind("k", (Stage("map", int(n)), Stage("reduce", 10, (0,), 1))) for n in random.randint(50, 400, 150)]
    draws = StreamDraws(
        [[TaskTimes(Exponential(1.0))] * 2] * 150,
        [[stage.tasks for stage in kind.stages] for kind in kinds],
        lambda *place: random,
    )
    queue = Queue(order())
    arrivals = (Submission(11.0 * kind, kind) for kind in range(150))
    engine = Engine(
        kinds,
        [Machines(1, 20), Machines(1, 5, 1)],
        [Sharing([queue]), Sharing([Queue(order())])],
        arrivals,
        draws,
        lambda job, now: None,
    )
    most = 0
    for until in range(0, 3000, 10):
        engine.run(float(until))
        most = max(most, len(queue.order.heap), len(engine.events))
    assert engine.tasks > 20_000
    assert most < 400


@pytest.mark.parametrize(("least", "avg", "longest"), [(0.0, 5.0, 16.0), (18.0, 30.0, 42.0), (1.0, 9.0, 10.0)])
def test_spread_times_have_the_given_average_and_never_pass_the_longest(least, avg, longest):
    times = Spread(least, avg, longest)(np.random.RandomState(0), 100_000)
    assert least <= times.min()
    assert 0.99 * longest < times.max() <= longest
    assert times.mean() == pytest.approx(avg, rel=0.01)
    assert Spread(5.0, 5.0, 5.0)(np.random.RandomState(0), 3).tolist() == [5.0] * 3


def test_recorded_times(tmp_path):
    file = tmp_path / "times.txt"
    file.write_text("1500\n\n2500\n")
    values = read_times(file, 1e-3)
    assert values.tolist() == [1.5, 2.5]
    assert set(Samples(tuple(values))(np.random.RandomState(0), 9)) == {1.5, 2.5}
    for text, where in (("12\nx\n", "line 2"), ("-1\n", "line 1"), ("nan\n", "line 1"), ("\n", "no number")):
        file.write_text(text)
        with pytest.raises(ValueError, match=where):
            read_times(file, 1.0)


def test_confidence_intervals_cover_the_mean_as_often_as_they_say():
    random = np.random.RandomState(0)
    samples = random.standard_normal((4000, 5))
    covered = np.mean([abs(each.mean()) <= half_width(each) for each in samples])
    assert covered == pytest.approx(0.95, abs=0.015)
    # Quantiles from printed tables.
    assert [round(student_95(n), 3) for n in (1, 10, 30)] == [12.706, 2.228, 2.042]
    assert [round(student_95(n), 3) for n in (40, 120, 100000)] == [2.021, 1.980, 1.960]


def test_summaries():
    seen = summarize([[1.0, 2.0, 3.0, 4.0]])
    assert (seen.count, seen.mean, seen.p50, seen.half_width) == (4, 2.5, 2.5, None)
    assert summarize([[1.0, 3.0], [], [3.0, 5.0]]).half_width == pytest.approx(tan(0.475 * pi))
    with pytest.raises(ValueError, match="observations"):
        summarize([[]])


def by_steps_with_queues(jobs, slots, queues, fair):
    """One pool shared by queues (weight, minimum, limit), in the plainest form; jobs are (at, queue, map times)."""
    state = [
        {"at": at, "number": n, "queue": queue, "maps": list(maps), "running": [], "end": None}
        for n, (at, queue, maps) in enumerate(jobs)
    ]
    now = -1
    while any(job["end"] is None for job in state):
        now += 1
        for job in state:
            job["running"] = [end for end in job["running"] if end > now]
            if job["at"] <= now and job["end"] is None and not (job["maps"] or job["running"]):
                job["end"] = now
        while sum(len(job["running"]) for job in state) < slots:
            used = [sum(len(job["running"]) for job in state if job["queue"] == q) for q in range(len(queues))]
            able = [
                job
                for job in state
                if job["at"] <= now and job["maps"] and used[job["queue"]] < queues[job["queue"]][2]
            ]
            if not able:
                break

            def rank(job, used=used):
                weight, minimum, _ = queues[job["queue"]]
                running = used[job["queue"]]
                level = (0, running / minimum) if running < minimum else (1, running / weight)
                return *level, job["queue"], len(job["running"]) if fair else 0, job["number"]

            job = min(able, key=rank)
            job["running"].append(now + job["maps"].pop(0))
    return [job["end"] for job in state]


@settings(derandomize=True, max_examples=50, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 20), st.integers(0, 2), TIMES), min_size=1, max_size=8),
    st.integers(2, 7),
    st.lists(
        st.tuples(st.sampled_from([0.2, 0.5, 1.0]), st.integers(0, 2), st.sampled_from([2, 3, float("inf")])),
        min_size=3,
        max_size=3,
    ),
    st.booleans(),
)
def test_queues_agree_with_a_plain_second_implementation(data, slots, queues, fair):
    data = sorted(data, key=lambda each: each[0])
    jobs = [Known([*map(float, maps)], [], float(at), queue) for at, queue, maps in data]
    pool = (slots, [Queue(FewestRunning() if fair else OldestFirst(), *each) for each in queues])
    run([pool], jobs)
    assert [job.ended for job in jobs] == by_steps_with_queues(data, slots, queues, fair)


def test_a_machine_that_is_taken_back_delays_its_tasks_as_renewals_say():
    # Tasks of 10 s on one slot that goes at a rate r and is back after b: (1/r + b) (exp(10 r) - 1) each.
    rate, back = 20.0 / 3600.0, 120.0
    kind = JobKind("a", (Stage("s", 4),))
    job = JobClass(kind, (TaskTimes(Spread(10.0, 10.0, 10.0)),), Users(1), 2000)
    for machines, rule in (
        (Machines(1, 1, interruptions=rate), LossRule(back=back)),
        (Machines(1, 1), LossRule(rate, back)),
        (Machines(1, 1, interruptions=0.75 * rate), LossRule(0.25 * rate, back)),
    ):
        scenario = Scenario((job,), (machines,), ((QueueRule(),),), 0.0, losses=rule)
        seen = summarize([run_once(scenario, 1, run).times[0] for run in range(5)])
        assert seen.mean == pytest.approx(4 * (1 / rate + back) * (exp(10.0 * rate) - 1), abs=1.5 * seen.half_width)
        assert seen.half_width < 0.1 * seen.mean
