"""How fast makespans are judged: many orders at once against a plain Python loop over tasks, in one process.

    python benchmarks/makespan_evaluation.py

CPU seconds of this process, medians of 5 interleaved rounds; all ways give the same makespans, to the microsecond.
"""

from __future__ import annotations

import sys
from heapq import heapify, heappop, heappush, heapreplace
from pathlib import Path
from statistics import median
from time import process_time

import numpy as np

import mrdsl
from mrdsl.families.makespan.facts import Cluster, Job, MakespanFacts, MapTasks, ReduceTasks
from mrdsl.families.makespan.schedule import Batch, batch_of, simulate, whole_cluster
from mrdsl.simulation.slots import makespans
from mrdsl.spec import Spec
from mrdsl.spec.blocks import MapReduceSlots

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the folder of `studies`
from studies.makespan_production import DISTRIBUTIONS

ROUNDS = 5
Tasks = list[tuple[int, float]]


def production(jobs: int, slots: int, seed: int = 1) -> Spec:
    """Jobs of the thesis's production workload (5.7) on so many slots of either kind."""
    stream = np.random.RandomState(seed)
    drawn = {}
    for name, (mean, deviation) in DISTRIBUTIONS.items():
        values = stream.normal(mean, deviation, jobs)
        while (low := values < 1).any():
            values[low] = stream.normal(mean, deviation, int(low.sum()))
        drawn[name] = values
    batch = tuple(
        Job(
            name=f"J{j}",
            map=MapTasks(tasks=round(drawn["map tasks"][j]), time=float(drawn["map time"][j])),
            reduce=ReduceTasks(tasks=round(drawn["reduce tasks"][j]), time=float(drawn["reduce time"][j])),
        )
        for j in range(jobs)
    )
    cluster = Cluster(slots=MapReduceSlots(map=slots, reduce=slots))
    return Spec(problem="makespan", facts=MakespanFacts(cluster=cluster, jobs=batch))


def loop_over_tasks(maps: Tasks, reduces: Tasks, order: list[int], slots: int) -> float:
    """A plain simulator: a heap of free slots, one task after the other, the end of each noted."""
    free = [0.0] * slots
    map_end = dict.fromkeys(order, 0.0)
    for job in order:
        count, time = maps[job]
        for _ in range(count):
            start = heappop(free)
            end = start + time
            heappush(free, end)
            map_end[job] = max(map_end[job], end)
    free = [0.0] * slots
    makespan = max(map_end.values())
    for job in sorted(order, key=lambda j: map_end[j]):
        count, time = reduces[job]
        for _ in range(count):
            start = max(heappop(free), map_end[job])
            end = start + time
            heappush(free, end)
            makespan = max(makespan, end)
    return makespan


def tuned_loop(maps: Tasks, reduces: Tasks, order: list[int], slots: int) -> float:
    """The same with what Python offers to make it fast: one heap operation per task and nothing else."""
    free, map_end, replace = [0.0] * slots, {}, heapreplace
    for job in order:
        count, time = maps[job]
        for _ in range(count):
            end = free[0] + time
            replace(free, end)
        map_end[job] = end
    free, makespan = [0.0] * slots, max(map_end.values())
    for job in sorted(order, key=map_end.__getitem__):
        count, time = reduces[job]
        if count:
            free = [max(at, map_end[job]) for at in free]
            heapify(free)
            for _ in range(count):
                end = free[0] + time
                replace(free, end)
            makespan = max(makespan, end)
    return makespan


def compare(jobs: int, slots: int, population: int) -> None:
    """One row of the table."""
    batch: Batch = batch_of(production(jobs, slots))
    stream = np.random.RandomState(2)
    orders = np.array([stream.permutation(jobs) for _ in range(population)])
    rows = np.full(population, slots)
    maps = [(int(n), float(t)) for n, t in zip(batch.map_tasks, batch.map_time, strict=True)]
    reduces = [(int(n), float(t)) for n, t in zip(batch.reduce_tasks, batch.reduce_time, strict=True)]
    order = orders[0].tolist()
    ways = {
        "loop over tasks": (lambda: loop_over_tasks(maps, reduces, order, slots), 1),
        "tuned loop over tasks": (lambda: tuned_loop(maps, reduces, order, slots), 1),
        "counted waves, one order": (lambda: simulate(batch, whole_cluster(batch, order)).makespan, 1),
        f"{population} orders at once": (lambda: makespans(batch, orders, rows, rows), population),
    }
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, (way, count) in ways.items():
            begun = process_time()
            found = way()
            seconds[name].append((process_time() - begun) / count)
            assert float(np.ravel(found)[0]) == loop_over_tasks(maps, reduces, order, slots)
    tasks = int(batch.map_tasks.sum() + batch.reduce_tasks.sum())
    base, tuned = (median(seconds[name]) for name in ("loop over tasks", "tuned loop over tasks"))
    for name, measured in seconds.items():
        one = median(measured)
        print(
            f"| {jobs} jobs, {tasks} tasks, {slots} slots | {name} | {1000 * one:.3f} | {base / one:.1f} "
            f"| {tuned / one:.1f} |"
        )


def whole_pipelines() -> None:
    """BalancedPools with genetic search on 100 jobs and 50 VMs of 2 and 2 slots, and the other pipelines beside it."""
    spec = production(100, 100)
    for name in ("fifo", "johnson", "genetic", "balanced-pools", "balanced-pools-genetic"):
        measured = []
        for _ in range(3):
            begun = process_time()
            result = mrdsl.solve(spec, name)
            measured.append(process_time() - begun)
        print(f"| {name} | {median(measured):.2f} | {result.objective.value:.1f} | {100 * result.objective.gap:.3f} |")


if __name__ == "__main__":
    print("| batch | way | ms per makespan | times the loop | times the tuned loop |\n|---|---|---|---|---|")
    for case in ((6, 100, 256), (50, 50, 256), (100, 100, 256)):
        compare(*case)
    print("\n| pipeline, 100 jobs on 50 VMs | CPU s | makespan s | gap % |\n|---|---|---|---|")
    whole_pipelines()
