"""Passes from the front and from the back, compared with a loop over tasks, and what the search reaches."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import mrdsl
from mrdsl.contracts.pipeline import Draft
from mrdsl.core.result import Limits, Termination
from mrdsl.families.makespan.lower_bounds import lower_bounds
from mrdsl.families.makespan.methods.balanced_pools import divide
from mrdsl.families.makespan.methods.constraint_programming import where_installed
from mrdsl.families.makespan.methods.orders import johnson
from mrdsl.families.makespan.methods.priorities import passed, priorities, start_of
from mrdsl.families.makespan.schedule import Batch, Floats, batch_of, earlier, plan_of
from mrdsl.families.makespan.verify import verify
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


def by_task(
    tasks: list[int], order: list[int], slots: int, times: list[float], released: list[float] | None
) -> list[float]:
    """When each job ends a phase, slot by slot and task by task.

    The earliest moment at which a task may start takes the first entry that is released then; without releases, the
    next task of the list.
    """
    free, left, end = [0.0] * slots, list(tasks), [0.0] * len(times)
    while any(left):
        open_entries = [i for i, count in enumerate(left) if count]
        if released is None:
            now, entry = min(free), open_entries[0]
        else:
            now = max(min(free), min(released[order[i]] for i in open_entries))
            entry = next(i for i in open_entries if released[order[i]] <= now)
        slot = free.index(min(free))
        free[slot] = now + times[order[entry]]
        end[order[entry]] = max(end[order[entry]], free[slot])
        left[entry] -= 1
    return end


@pytest.mark.parametrize("seed", range(30))
def test_a_pass_places_what_a_loop_over_tasks_does(seed: int) -> None:
    """Entries of a job may occur twice; the next pass, seen from the front, is a schedule that ends when it says."""
    rng = np.random.default_rng(seed)
    spec = batch_text(seed, int(rng.integers(2, 9)), int(rng.integers(1, 20)), int(rng.integers(1, 20)))
    batch = batch_of(spec)
    sides = start_of(batch, johnson(Draft(spec)).state.schedule).sides
    lists = [
        [(j, k) for j in [*rng.permutation(len(batch)).tolist()] * 2 if (k := int(tasks[j]) // 2 + int(tasks[j]) % 2)]
        for tasks in (batch.map_tasks, batch.reduce_tasks)
    ]
    found = passed(sides, *lists)
    ends: list[list[float]] = []
    for side, entries in zip(sides, lists, strict=True):
        jobs, counts = [j for j, _ in entries], [k for _, k in entries]
        ends.append(by_task(counts, jobs, side.slots, side.times, ends[0] if ends else None))
    assert found.makespan == max(max(each) for each in ends)
    assert found.back().back().makespan >= lower_bounds(batch).best


@pytest.mark.parametrize("seed", range(10))
def test_every_pass_is_a_schedule(seed: int) -> None:
    rng = np.random.default_rng(seed)
    spec = batch_text(seed, int(rng.integers(2, 9)), int(rng.integers(1, 20)), int(rng.integers(1, 20)))
    first = johnson(Draft(spec))
    batch = batch_of(spec)
    state = start_of(batch, first.state.schedule)
    for _ in range(4):
        state = state.back().shifted(rng, len(batch))
        schedule = earlier(batch, state.waves())
        assert schedule.makespan <= state.makespan
        plan = plan_of(batch, schedule, first.state.bound)
        assert list(verify(spec, plan)) == []


def test_a_job_that_is_mapped_late_overtakes() -> None:
    """Two reduce slots: by readiness the long task waits until 4 s and ends at 13 s, by priority it starts at 2 s."""
    text = """problem makespan "x"
cluster { slots { map = 1, reduce = 2 } }
job early { map { tasks = 1, time = 1 s }, reduce { tasks = 6, time = 1 s } }
job late  { map { tasks = 1, time = 1 s }, reduce { tasks = 1, time = 9 s } }
minimize makespan
"""
    spec = mrdsl.loads(text)
    sides = start_of(batch_of(spec), johnson(Draft(spec)).state.schedule).sides
    assert passed(sides, [(0, 1), (1, 1)], [(0, 6), (1, 1)]).makespan == 13e6
    assert passed(sides, [(0, 1), (1, 1)], [(1, 1), (0, 6)]).makespan == 11e6


@pytest.mark.parametrize("seed", range(4))
def test_a_wide_cluster_gets_near_its_bound(seed: int) -> None:
    """25 jobs on 200/100 slots: no worse than Johnson, and the same every time."""
    spec = batch_text(100 + seed, 25, 200, 100)
    first = johnson(Draft(spec))
    better = priorities(first, neighbours=1500)
    assert better.state.schedule.makespan <= first.state.schedule.makespan
    again = priorities(first, neighbours=1500)
    assert again.state.schedule == better.state.schedule


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
