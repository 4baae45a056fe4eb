"""Simulated schedules stay within Propositions 2.1 to 2.5 where these hold, and leave them where they do not."""

from itertools import pairwise

import numpy as np
import pytest

from mrdsl.formulas import propositions
from mrdsl.simulation.queues import FewestRunning, OldestFirst, Queue
from tests.simulation.known_jobs import Known
from tests.simulation.known_jobs import run as on_engine

CASES = 1500
SLACK = 1 + 1e-9


def run(queues, slots, jobs):
    """Runs jobs whose tasks are known on one pool; gives every run of a task."""
    return on_engine([(slots, queues)], jobs)


def job_of(times, kind=0, at=0.0):
    return Known([float(time) for time in times], [], at, kind)


def random_times(random, tasks, kind=None):
    """Task times of one job, from even to heavily skewed."""
    kind = random.randint(4) if kind is None else kind
    return [
        np.full(tasks, 3.0),
        random.uniform(1, 5, tasks),
        random.exponential(3.0, tasks) + 0.01,
        np.where(random.random_sample(tasks) < 0.1, 30.0, 1.0),
    ][kind]


def test_a_single_phase_is_within_proposition_2_1():
    random = np.random.RandomState(21)
    for _ in range(CASES):
        slots, tasks = random.randint(1, 12), random.randint(1, 60)
        times = random_times(random, tasks)
        run([Queue(FewestRunning())], slots, [job := job_of(times)])
        assert propositions.phase_lower(tasks, times.mean(), slots) <= job.ended * SLACK
        assert job.ended <= propositions.phase_upper(tasks, times.mean(), times.max(), slots) * SLACK


def two_jobs(random, skewed=True):
    slots = (random.randint(1, 6), random.randint(1, 6))
    times = [random_times(random, random.randint(mine, 60), None if skewed else 0) for mine in slots]
    return slots, times


def run_two(slots, times):
    jobs = [job_of(mine, kind) for kind, mine in enumerate(times)]
    runs = run([Queue(FewestRunning(), weight=mine) for mine in slots], sum(slots), jobs)
    return jobs, runs


def fills_its_share(runs, kind, slots, until):
    """Whether the job of this class runs on all its slots from the start until then."""
    edges = sorted({0.0, *(r.start for r in runs), *(r.end for r in runs)})
    middles = [(a + b) / 2 for a, b in pairwise(edges) if b <= until]
    return all(sum(r.start < t < r.end for r in runs if r.kind == kind) >= slots for t in middles)


def test_two_jobs_are_within_propositions_2_2_and_2_3():
    random = np.random.RandomState(22)
    first_bounds = 0
    for _ in range(CASES):
        slots, times = two_jobs(random)
        jobs, runs = run_two(slots, times)
        work = [mine.sum() for mine in times]
        share = [mine / sum(slots) for mine in slots]
        ends = [job.ended for job in jobs]
        first, last = propositions.two_jobs_lower(work[0], share[0], work[1], sum(slots))
        assert last <= max(ends) * SLACK
        if fills_its_share(runs, int(np.argmax(ends)), slots[np.argmax(ends)], min(ends)):
            first_bounds += 1
            assert first <= min(ends) * SLACK
        for i in (0, 1):
            upper = propositions.two_jobs_upper(
                len(times[i]), times[i].mean(), times[i].max(), share[i], work[1 - i], sum(slots)
            )
            assert ends[i] <= upper * SLACK
    assert first_bounds > CASES / 2


def test_proposition_2_2_fails_where_a_job_cannot_fill_its_share():
    # One task of 1000 s beside 1000 tasks of 1 s, 5 slots each: the short ones take the other four slots too.
    jobs, _ = run_two((5, 5), [np.array([1000.0]), np.full(1000, 1.0)])
    first, last = propositions.two_jobs_lower(1000.0, 0.5, 1000.0, 10)
    assert jobs[1].ended == pytest.approx(112.0)
    assert min(jobs[0].ended, jobs[1].ended) < first == 200.0
    assert last <= 1000.0


def lanes(random, kinds):
    """Jobs of several classes in lanes of whole slots: in each lane a job follows when the one before frees a slot."""
    queues, jobs, longest = [], [], {}
    for lane in range(kinds):
        tasks, kind, slots = random.randint(2, 50), random.randint(4), random.randint(1, 8)
        queues.append(Queue(OldestFirst(), limit=slots))
        mine = [random_times(random, tasks, kind) for _ in range(4)]
        longest[lane] = max(times.max() for times in mine)
        jobs += [(job_of(times, lane, at=float(number)), times) for number, times in enumerate(mine)]
    return queues, jobs, longest


def test_classes_are_within_propositions_2_4_and_2_5():
    random = np.random.RandomState(24)
    for _ in range(CASES // 3):
        queues, jobs, longest = lanes(random, random.randint(2, 5))
        total = int(sum(queue.limit for queue in queues))
        run(queues, total, [job for job, _ in jobs])
        for job, times in jobs:
            share, took = queues[job.queue].limit / total, job.ended - job.started
            assert propositions.class_lower(len(times), times.mean(), 1, share, total) <= took * SLACK
            upper = propositions.class_upper(len(times), times.mean(), longest[job.queue], 1, share, total)
            assert took <= upper * SLACK


def test_the_worst_case_of_proposition_2_5_comes_close_to_its_bound():
    # The one before leaves its slots late, and the last task is the longest: the proof's own schedule.
    slots, longest = 4, 10.0
    before = job_of([5.0, *[longest] * (slots - 1)], at=0.0)
    times = np.array([longest] + [1.0] * 60 + [longest])
    job = job_of(times, at=1.0)
    run([Queue(OldestFirst())], slots, [before, job])
    upper = propositions.class_upper(len(times), times.mean(), longest, 1, 1.0, slots)
    assert 0.75 * upper < job.ended - job.started <= upper


def test_proposition_2_4_fails_where_jobs_leave_part_of_their_share():
    # Two jobs of one class share six slots; the second has two tasks only, so the first runs on four.
    jobs = [job_of([1.0] * 40), job_of([10.0] * 2)]
    run([Queue(FewestRunning())], 6, jobs)
    assert jobs[0].ended == pytest.approx(10.0)
    assert jobs[0].ended < propositions.class_lower(40, 1.0, 2, 1.0, 6)
