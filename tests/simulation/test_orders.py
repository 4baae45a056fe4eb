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


@settings(derandomize=True, max_examples=600, deadline=None)
@given(
    JOBS, st.integers(1, 40), st.sampled_from([FewestRunning, OldestFirst]), st.lists(st.integers(0, 8), max_size=12)
)
def test_slots_dealt_together_go_to_whom_they_go_one_by_one(data, slots, kind, ends):
    jobs = [Waiting(number, *each) for number, each in enumerate(data)]
    order = kind()
    for job in jobs:
        if job.pending and job.running < job.limit:
            order.put(job)
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
