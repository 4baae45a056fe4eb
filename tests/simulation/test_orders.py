"""Slots that are dealt together go to whom they go one by one."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field
from math import inf

from hypothesis import given, settings
from hypothesis import strategies as st

from mrdsl.simulation.queues import FewestRunning, OldestFirst


@dataclass(eq=False)
class Waiting:
    number: int
    running: int
    pending: int
    limit: float
    room: int
    stage: int = 0
    queued: set[int] = field(default_factory=set)


def one_by_one(order, slots):
    """Numbers of the jobs in the order of their first slot."""
    first: list[int] = []
    for _ in range(slots):
        job = order.take()
        if job is None:
            break
        if job.number not in first:
            first.append(job.number)
    return first


def in_deals(order, slots):
    first: list[int] = []
    while slots:
        dealt = order.deal(slots, lambda job: job.room)
        if not dealt:
            break
        slots -= sum(count for _, count in dealt)
        assert slots >= 0
        first += [job.number for job, _ in dealt if job.number not in first]
    return first


JOBS = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 12), st.sampled_from([3, 6, inf]), st.integers(1, 9)), max_size=9
)


@settings(derandomize=True, max_examples=150, deadline=None)
@given(
    JOBS, st.integers(1, 40), st.sampled_from([FewestRunning, OldestFirst]), st.lists(st.integers(0, 8), max_size=12)
)
def test_slots_dealt_together_go_to_whom_they_go_one_by_one(data, slots, kind, ends):
    jobs = [Waiting(number, *each) for number, each in enumerate(data)]
    order = kind()
    put_all(order, jobs)
    for number in ends:  # notes of states that have passed stay in an order for a while
        if number < len(jobs) and jobs[number].running:
            jobs[number].running -= 1
            if jobs[number].pending:
                order.put(jobs[number])
    other, others = deepcopy((order, jobs))
    assert one_by_one(order, slots) == in_deals(other, slots)
    assert [(job.running, job.pending) for job in jobs] == [(job.running, job.pending) for job in others]
    # And so do later ones.
    assert one_by_one(order, 7) == in_deals(other, 7)
    assert [(job.running, job.pending) for job in jobs] == [(job.running, job.pending) for job in others]


@settings(derandomize=True, max_examples=100, deadline=None)
@given(
    JOBS,
    st.sampled_from([FewestRunning, OldestFirst]),
    st.lists(st.tuples(st.integers(0, 8), st.integers(0, 9), st.integers(0, 8)), max_size=25),
)
def test_a_slot_that_goes_from_task_to_task_goes_to_the_best_job(data, kind, steps):
    # Jobs come, get slots together, and end tasks one by one; the other order is new at every step, and has no past.
    jobs = [Waiting(number, *each) for number, each in enumerate(data)]
    order, there = kind(), []
    for comes, more, ends in steps:
        if comes < len(jobs) and jobs[comes] not in there:
            there.append(jobs[comes])
            put_all(order, there[-1:])
        job = order.take() if more else None
        if job is not None:
            order.more(job, more - 1)
        if ends < len(there) and there[ends].running:
            there[ends].running -= 1
            others, fresh = deepcopy(there), kind()
            for other in others:
                other.queued.clear()
            put_all(fresh, others)
            expected, found = fresh.take(), order.swap(there[ends])
            assert (found and found.number) == (expected and expected.number)
            assert [(j.running, j.pending) for j in there] == [(j.running, j.pending) for j in others]


def put_all(order, jobs):
    for job in jobs:
        if job.pending and job.running < job.limit:
            order.put(job)
