"""Annealing over map orders and reduce priorities: its judge against a loop over tasks, and what it reaches."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import mrdsl
from mrdsl.contracts.pipeline import Draft
from mrdsl.core.result import Limits, Termination
from mrdsl.families.makespan.methods.balanced_pools import divide
from mrdsl.families.makespan.methods.constraint_programming import where_installed
from mrdsl.families.makespan.methods.orders import johnson
from mrdsl.families.makespan.methods.priorities import Judge, Order, order_of, priorities
from mrdsl.families.makespan.schedule import Batch, Floats, batch_of
from mrdsl.simulation.slots import Integers, makespans
from mrdsl.spec.spec import Spec


def batch_text(seed: int, jobs: int, maps: int, reduces: int) -> Spec:
    """Jobs of 1 to 40 maps and 0 to 20 reduces of 1 to 60 s."""
    rng = np.random.RandomState(seed)
    rows = [
        f"job J{j} {{ map {{ tasks = {rng.randint(1, 41)}, time = {rng.randint(1, 61)} s }}, "
        f"reduce {{ tasks = {rng.randint(0, 21)}, time = {rng.randint(1, 61)} s }} }}"
        for j in range(jobs)
    ]
    cluster = f"cluster {{ slots {{ map = {maps}, reduce = {reduces} }} }}"
    return mrdsl.loads("\n".join(['problem makespan "x"', cluster, *rows, "minimize makespan"]))


def by_task(spec: Spec, order: Order) -> float:
    """The makespan of an order, slot by slot and task by task: the earliest moment at which a task may start takes the
    first job that is ready then."""
    batch = batch_of(spec)
    free, end = [0.0] * batch.map_slots, [0.0] * len(batch)
    for j in order.maps:
        for _ in range(int(batch.map_tasks[j])):
            slot = free.index(min(free))
            free[slot] += batch.map_time[j]
            end[j] = max(end[j], free[slot])
    free, left = [0.0] * batch.reduce_slots, {j: int(batch.reduce_tasks[j]) for j in order.reduces}
    last = max(end)
    while left:
        now = max(min(free), min(end[j] for j in left))
        job = next(j for j in order.reduces if j in left and end[j] <= now)
        slot = free.index(min(free))
        free[slot] = now + batch.reduce_time[job]
        last = max(last, free[slot])
        left[job] -= 1
        if not left[job]:
            del left[job]
    return last


@pytest.mark.parametrize("seed", range(30))
def test_the_judge_counts_what_a_loop_over_tasks_does(seed: int) -> None:
    rng = np.random.default_rng(seed)
    spec = batch_text(seed, int(rng.integers(2, 9)), int(rng.integers(1, 20)), int(rng.integers(1, 20)))
    batch = batch_of(spec)
    judge = Judge(batch)
    reducing = [j for j in rng.permutation(len(batch)).tolist() if batch.reduce_tasks[j] > 0]
    order = Order(tuple(rng.permutation(len(batch)).tolist()), tuple(reducing))
    mapped = judge.mapped(order.maps)
    expected = by_task(spec, order)
    assert judge.makespan(order, mapped) == expected
    assert judge.schedule(order).makespan == expected
    first = int(rng.integers(0, len(batch)))
    turned = order.maps[:first] + order.maps[first:][::-1]
    assert judge.mapped(turned, mapped, first).end == judge.mapped(turned).end


def test_a_job_that_is_mapped_late_overtakes() -> None:
    """Two reduce slots: by readiness the long task waits until 4 s and ends at 13 s, by priority it starts at 2 s."""
    text = """problem makespan "x"
cluster { slots { map = 1, reduce = 2 } }
job early { map { tasks = 1, time = 1 s }, reduce { tasks = 6, time = 1 s } }
job late  { map { tasks = 1, time = 1 s }, reduce { tasks = 1, time = 9 s } }
minimize makespan
"""
    judge = Judge(batch_of(mrdsl.loads(text)))
    mapped = judge.mapped((0, 1))
    assert judge.makespan(Order((0, 1), (0, 1)), mapped) == 13e6
    assert judge.makespan(Order((0, 1), (1, 0)), mapped) == 11e6


@pytest.mark.parametrize("seed", range(4))
def test_a_wide_cluster_gets_near_its_bound(seed: int) -> None:
    """25 jobs on 200/100 slots: no worse than Johnson, and the same every time."""
    spec = batch_text(100 + seed, 25, 200, 100)
    first = johnson(Draft(spec))
    better = priorities(first, neighbours=1500)
    assert better.state.schedule.makespan <= first.state.schedule.makespan
    again = priorities(first, neighbours=1500)
    assert again.state.schedule == better.state.schedule
    batch = batch_of(spec)
    assert sorted(order_of(batch, better.state.schedule).maps) == list(range(len(batch)))


def test_a_first_pool_of_one_slot_is_tried() -> None:
    """Whatever it has, the pool of the short job is done first: its size is halved down to one slot."""
    text = """problem makespan "x"
cluster { slots { map = 10, reduce = 10 } }
job wide  { map { tasks = 90, time = 10 s }, reduce { tasks = 9, time = 10 s } }
job short { map { tasks = 1, time = 60 s }, reduce { tasks = 1, time = 50 s } }
minimize makespan
"""
    tried: list[int] = []

    def recorded(batch: Batch, orders: Integers, maps: Integers, reduces: Integers) -> Floats:
        tried.extend(maps.tolist())
        return makespans(batch, orders, maps, reduces)

    divide(batch_of(mrdsl.loads(text)), None, np.random.default_rng(1), judge=recorded)
    assert tried == [10, 5, 5, 3, 7, 2, 8, 1, 9]


@pytest.mark.skipif(find_spec("ortools") is None, reason="CP-SAT is not installed")
def test_cp_sat_helps_the_portfolio_on_a_small_batch() -> None:
    """It proves what Johnson's order alone leaves open, and says the same twice."""
    spec = mrdsl.load(str(Path("models/makespan/reference.mrspec")))
    first = johnson(Draft(spec, limits=Limits()))
    proven = where_installed(first)
    assert proven.state.proven
    assert proven.state.bound == where_installed(first).state.bound == 40e6
    assert proven.termination is Termination.COMPLETED
    assert where_installed(first, most_tasks=3) == replace(first, state=first.state)
