"""direct for deadline specs against SCIP on the exact model and Clarabel on exponential cones, on random layered DAGs.

    nice python benchmarks/deadline_speed.py 1000 10000 100000   # sizes; needs pip install pyscipopt clarabel
    nice python benchmarks/deadline_speed.py --depths 100000 20 500 5000   # direct alone: a size, then layers
    nice python benchmarks/deadline_speed.py --random 100000 2 4   # the same: a size, then edges a task, at random
    nice python benchmarks/deadline_speed.py --shapes 100000 chain "mesh 10"   # the same: a size, then shapes, or all
    nice python benchmarks/deadline_speed.py --sums 100000 5     # so many sums of three bounded, 100 single tasks
    nice python benchmarks/deadline_speed.py --limits 100000 5   # on the wall under a limit: a size, seconds

Every case starts from the same Spec in memory and ends with slacks; seconds of CPU (of the process and its children)
stand beside those on the wall. Clarabel gets the plain conic form: times of events, one exponential cone per task.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

import mrdsl
from mrdsl.core.result import Limits
from mrdsl.families.deadline.facts import Dag, DeadlineFacts, Task
from mrdsl.families.deadline.methods.interior_point import maximize_product
from mrdsl.families.deadline.methods.slack_limits import contracted, without_twins
from mrdsl.families.deadline.network import network_of
from mrdsl.families.deadline.workload import tasks_of
from mrdsl.spec.expression import Constant, Operation, PlanQuantity
from mrdsl.spec.spec import Constraint, Goal, Spec


def layered(tasks: int, edges: int, layers: int, seed: int, factor: float = 1.5) -> Spec:
    """Tasks of 1 to 100 s in layers; each runs after one of the layer before, the other edges are drawn at random."""
    rng = np.random.default_rng(seed)
    layer = np.sort(np.concatenate([np.arange(layers), rng.integers(0, layers, tasks - layers)]))
    starts = np.searchsorted(layer, np.arange(layers + 1))
    later = np.flatnonzero(layer > 0)
    head = np.concatenate([later, rng.choice(later, edges - len(later))])
    width = np.diff(starts)[layer[head] - 1]
    tail = starts[layer[head] - 1] + (rng.random(len(head)) * width).astype(np.int64)
    after: list[dict[str, None]] = [{} for _ in range(tasks)]
    for a, b in zip(tail.tolist(), head.tolist(), strict=True):
        after[b][f"t{a}"] = None
    duration = rng.uniform(1.0, 100.0, tasks).tolist()
    nodes = tuple(Task(name=f"t{i}", duration=duration[i], after=tuple(after[i])) for i in range(tasks))
    facts = DeadlineFacts(dags=(Dag(name="job", allowable_delay=1.0, tasks=nodes),))
    network = network_of(tasks_of(Spec(problem="deadline", facts=facts)))
    allowed = factor * float(network.earliest(network.duration)[1])
    return Spec(
        problem="deadline",
        goal=Goal("maximize", "slack"),
        facts=DeadlineFacts(dags=(Dag(name="job", allowable_delay=allowed, tasks=nodes),)),
    )


def direct(spec: Spec, gap: float) -> tuple[float, float | None]:
    result = mrdsl.solve(spec, solver="direct", limits=Limits(gap=gap))
    assert result.objective.value is not None
    return result.objective.value, result.objective.bound


def scip(spec: Spec, gap: float) -> tuple[float, float | None]:
    limits = Limits(gap=gap, time=120.0)
    result = mrdsl.solve(spec, solver="scip", formulation="potentials", limits=limits)
    return (math.nan if result.objective.value is None else result.objective.value), result.objective.bound


def clarabel(spec: Spec, gap: float) -> tuple[float, float | None]:
    """max sum h, (h, 1, slack) in the exponential cone, slack = t_head - t_tail - T; order arcs as inequalities."""
    import clarabel as solver
    import scipy.sparse as sparse

    network = network_of(tasks_of(spec))
    n, events, fixed = len(network.tail), network.events, network.fixed
    unit = 100.0
    times = network.times / unit
    rows, columns, values = [], [], []
    given = np.zeros(3 * n + len(network.before))

    def put(row: np.ndarray, event: np.ndarray, sign: float) -> None:
        known = event < fixed
        np.subtract.at(given, row[known], sign * times[event[known]])
        rows.append(row[~known])
        columns.append(event[~known] - fixed)
        values.append(np.full(int((~known).sum()), sign))

    order = np.arange(len(network.before))
    put(order, network.before, 1.0)
    put(order, network.later, -1.0)
    base = len(order)
    task = np.arange(n)
    rows.append(base + 3 * task)
    columns.append(events - fixed + task)
    values.append(np.full(n, -1.0))
    given[base + 3 * task + 1] = 1.0
    put(base + 3 * task + 2, network.head, -1.0)
    put(base + 3 * task + 2, network.tail, 1.0)
    given[base + 3 * task + 2] -= network.duration / unit
    width = events - fixed + n
    matrix = sparse.csc_matrix(
        (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), shape=(len(given), width)
    )
    settings = solver.DefaultSettings()
    settings.verbose = False
    settings.time_limit = 300.0
    settings.tol_gap_rel = gap
    cones = [solver.NonnegativeConeT(base), *[solver.ExponentialConeT()] * n]
    goal = np.concatenate([np.zeros(events - fixed), -network.weight])
    found = solver.DefaultSolver(sparse.csc_matrix((width, width)), goal, matrix, given, cones, settings).solve()
    shift = float(network.weight.sum()) * math.log(unit)
    print(f"    clarabel: {found.status}, {found.iterations} iterations", file=sys.stderr)
    return -found.obj_val + shift, -found.obj_val_dual + shift


def measured(method: Callable[[Spec, float], tuple[float, float | None]], spec: Spec, gap: float) -> str:
    before, started = os.times(), time.perf_counter()
    value, bound = method(spec, gap)
    seconds, after = time.perf_counter() - started, os.times()
    cpu = sum(after[:4]) - sum(before[:4])
    reached = abs((bound if bound is not None else math.inf) - value) / abs(value)
    return f"{method.__name__:10} {seconds:9.2f} s  {cpu:9.2f} s CPU  value {value:.4f}  gap {reached:.1e}"


def main(sizes: list[int]) -> None:
    for size in sizes:
        for layers in (20, 100):
            gap = 1e-6 if size <= 10_000 else 1e-3
            spec = layered(size, 2 * size, layers, seed=1)
            print(f"{size:,} tasks, {2 * size:,} edges, {layers} layers, gap {gap:g}", flush=True)
            methods = [direct, *([scip] if size <= 1_000 else []), *([clarabel] if size <= 10_000 else [])]
            for method in methods:
                print("  " + measured(method, spec, gap), flush=True)


def depths(size: int, layers: list[int]) -> None:
    """CPU seconds and steps of the interior point method alone to 1e-3, on DAGs of one size and several depths."""
    for depth in layers:
        network = network_of(tasks_of(layered(size, 2 * size, depth, seed=1)))
        small, _ = without_twins(contracted(network))
        begun = time.process_time()
        found = maximize_product(small, 1e-3)
        print(f"{depth} layers: {found.steps} steps, {time.process_time() - begun:.1f} s CPU", flush=True)


def drawn(tasks: int, edges: int, seed: int = 1) -> Spec:
    """Tasks of 1 to 100 s, each after so many of those before it, at random; 1.5 times the critical path allowed."""
    rng = np.random.default_rng(seed)
    duration = rng.uniform(1.0, 100.0, tasks).tolist()
    return connected(duration, [list((rng.random(edges) * i).astype(int)) if i else [] for i in range(tasks)])


def connected(duration: list[float], before: list[list[int]]) -> Spec:
    """Tasks of these durations, each after others by number; 1.5 times the critical path allowed."""
    nodes = tuple(
        Task(name=f"t{i}", duration=length, after=tuple(dict.fromkeys(f"t{a}" for a in after)))
        for i, (length, after) in enumerate(zip(duration, before, strict=True))
    )
    plain = Spec(problem="deadline", facts=DeadlineFacts(dags=(Dag(name="job", allowable_delay=1.0, tasks=nodes),)))
    network = network_of(tasks_of(plain))
    allowed = 1.5 * float(network.earliest(network.duration)[1])
    facts = DeadlineFacts(dags=(Dag(name="job", allowable_delay=allowed, tasks=nodes),))
    return Spec(problem="deadline", goal=Goal("maximize", "slack"), facts=facts)


def mesh(tasks: int, width: int, seed: int = 1) -> Spec:
    """Tasks of 1 to 100 s in rows of ``width``, each after its neighbours on the left and in the row before."""
    duration = np.random.default_rng(seed).uniform(1.0, 100.0, tasks // width * width).tolist()
    sides = ([i - 1] if i % width else [] for i in range(len(duration)))
    return connected(duration, [side + ([i - width] if i >= width else []) for i, side in enumerate(sides)])


def shapes(size: int, names: list[str]) -> None:
    """The whole of `direct` to 1e-3, on DAGs of one size and of many shapes; a chain is a mesh of one column."""
    made: dict[str, Callable[[], Spec]] = {"chain": lambda: mesh(size, 1)}
    made |= {f"{n} layers": partial(layered, size, 2 * size, n, 1) for n in (20, 200, 5_000, 20_000) if n < size}
    made |= {f"mesh {width}": partial(mesh, size, width) for width in (3, 10, 150)}
    made |= {f"random {edges}": partial(drawn, size, edges) for edges in (2, 4)}
    made["200 layers, 4 edges a task"] = partial(layered, size, 4 * size, 200, 7)
    for name in names or made:
        print(f"{name}: " + measured(direct, made[name](), 1e-3), flush=True)


def at_random(size: int, edges: list[int]) -> None:
    """The whole of `direct`, from the spec in memory to the checked plan, to 1e-3."""
    for count in edges:
        print(f"{count} edges a task: " + measured(direct, drawn(size, count), 1e-3), flush=True)


def sums(size: int, count: int) -> None:
    """`direct` to 1e-3 in 100 layers, with sums of three slacks at half and single ones at 0.6 of what they had."""
    spec = layered(size, 2 * size, 100, seed=1)
    plan: Any = mrdsl.solve(spec, solver="direct", limits=Limits(gap=1e-3)).plan
    rng = np.random.default_rng(3)
    groups = [(rng.choice(size, 3, replace=False).tolist(), 0.5) for _ in range(count)]
    groups += [([task], 0.6) for task in rng.integers(0, size, 100).tolist()]
    bounds = []
    for tasks, share in groups:
        left = Operation("+", tuple(PlanQuantity("slack", f"t{task}") for task in tasks))
        bounds.append(Constraint(left, "<=", Constant(share * float(plan.slack[tasks].sum()))))
    limited = replace(spec, constraints=tuple(bounds))
    print(f"{count} sums, 100 bounds: " + measured(direct, limited, 1e-3), flush=True)


def limits(size: int, seconds: float) -> None:
    """How long `direct` takes on the wall under a limit, asked for a gap that it does not reach."""
    for edges, layers in ((2, 20), (2, size // 20), (4, 200)):
        spec = layered(size, edges * size, layers, seed=7)
        begun = time.perf_counter()
        found = mrdsl.solve(spec, solver="direct", limits=Limits(gap=1e-6, time=seconds))
        took = time.perf_counter() - begun
        print(f"{edges} edges a task, {layers} layers: {took:.2f} s, {found.termination}", flush=True)


if __name__ == "__main__":
    direct(layered(50, 100, 5, 0), 1e-6)
    if sys.argv[1:2] == ["--random"]:
        at_random(int(sys.argv[2]), [int(count) for count in sys.argv[3:]])
    elif sys.argv[1:2] == ["--shapes"]:
        shapes(int(sys.argv[2]), sys.argv[3:])
    elif sys.argv[1:2] == ["--sums"]:
        sums(int(sys.argv[2]), int(sys.argv[3]))
    elif sys.argv[1:2] == ["--limits"]:
        limits(int(sys.argv[2]), float(sys.argv[3]))
    elif sys.argv[1:2] == ["--depths"]:
        depths(int(sys.argv[2]), [int(depth) for depth in sys.argv[3:]])
    else:
        main([int(size) for size in sys.argv[1:]] or [1_000, 10_000, 100_000])
