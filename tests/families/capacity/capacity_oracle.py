"""Capacity by plain search: the estimates as the paper prints them, no Theorem 4.1, no linear program."""

from __future__ import annotations

import math
from itertools import product

import numpy as np

from mrdsl.families.capacity.facts import CapacityFacts, JobClass, VmType
from mrdsl.spec import Spec
from mrdsl.spec.blocks import Coefficients, MapPhase, OnDemand, ReducePhase, Reserved, ShufflePhase, Slots
from mrdsl.spec.schema import Range
from tests.formulas.random_stages import least_slots


def estimate(node: JobClass) -> tuple[float, float, float]:
    """A, B and C by (1), (2) or (3); where (2) has no positive work, that of (1)."""
    if node.coefficients is not None:
        return node.coefficients.A, node.coefficients.B, node.coefficients.C
    n, avg, most = node.map.tasks, node.map.avg, node.map.max
    low, high = [n * avg, 0.0, 0.0], [n * avg - 2 * most, 0.0, 2 * most]
    if node.reduce is not None and node.reduce.tasks:
        s, r, count = node.shuffle, node.reduce, node.reduce.tasks
        first = s.first_max if s.first_avg is None else s.first_avg
        low[1:] = [count * (s.avg + r.avg), first - s.avg]
        high[1] = low[1] - 2 * (s.max + r.max)
        high[2] += s.first_max + 2 * (s.max + r.max)
    high[:2] = [up if up > 0 else down for up, down in zip(high[:2], low[:2], strict=True)]
    chosen = {"lower": low, "upper": high}.get(
        node.guarantee or "average", [(x + y) / 2 for x, y in zip(low, high, strict=True)]
    )
    return chosen[0], chosen[1], chosen[2]


def vms_of_one_job(node: JobClass) -> float:
    """The fewest VMs that keep the deadline of one job with one slot or more of each kind, at most one a task.

    By ternary search over map slots, each beside the fewest reduce slots that still fit; infinite where none do.
    """
    if node.stages:
        return least_slots(node.stages, node.guarantee or "average", node.deadline) / (node.slots.task or 1)
    a, b, c = estimate(node)
    known = node.coefficients is None
    most_map = float(node.map.tasks) if known else 1e15
    reduces = node.reduce is not None and node.reduce.tasks > 0 if known else b > 0
    most_reduce = (float(node.reduce.tasks) if known else math.inf) if reduces else 0.0

    def beside(maps: float) -> float:
        left = node.deadline - c - a / maps
        if not reduces:
            return 0.0 if left >= -1e-9 * node.deadline else math.inf
        needed = (b / left if left > 0 else math.inf) if b else 0.0
        return min(max(1.0, needed), most_reduce) if needed <= most_reduce * (1 + 1e-9) else math.inf

    def vms(maps: float) -> float:
        return maps / node.slots.map + beside(maps) / node.slots.reduce

    low, high = 1.0, most_map
    if math.isinf(vms(high)):
        return math.inf
    if math.isinf(vms(low)):  # the least map slots that leave time enough
        short = low
        for _ in range(200):
            middle = (short + high) / 2
            short, high = (middle, high) if math.isinf(vms(middle)) else (short, middle)
        low, high = high, most_map
    for _ in range(300):
        one, two = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, two) if vms(one) <= vms(two) else (one, high)
    return min(vms(low), vms(high))


def best(spec: Spec, excess: float = -1e-7) -> tuple[float, float]:
    """The least cost (5) over all whole admissions, and over all fractional ones; few jobs and classes only.

    ``excess`` is the part by which whole VMs are counted for more than the jobs take, or for less.
    """
    facts: CapacityFacts = spec.facts
    vm = facts.vms[0]
    on_demand = vm.on_demand.price * facts.period
    reserved, available = (
        (on_demand, 0) if vm.reserved is None else (vm.reserved.price * facts.period, vm.reserved.available)
    )
    gamma = np.array([vms_of_one_job(node) for node in facts.classes])
    penalty = np.array([node.penalty for node in facts.classes])
    ranges = [(math.ceil(node.jobs.low), math.floor(node.jobs.high)) for node in facts.classes]
    expected = np.array([high for _, high in ranges])

    def cost(vms: float, jobs: np.ndarray) -> float:
        cheap = min(vms, available) if reserved < on_demand else 0.0
        return on_demand * (vms - cheap) + reserved * cheap + float(penalty @ (expected - jobs))

    every = [np.array(jobs) for jobs in product(*(range(low, high + 1) for low, high in ranges))]
    whole = min(cost(math.ceil(max(float(gamma @ jobs) * (1 + excess), float(jobs.any()) / 2)), jobs) for jobs in every)
    return whole, _relaxed(gamma, penalty, ranges, expected, (on_demand, reserved, available))


def _relaxed(
    gamma: np.ndarray,
    penalty: np.ndarray,
    ranges: list[tuple[int, int]],
    expected: np.ndarray,
    prices: tuple[float, float, int],
) -> float:
    from scipy.optimize import linprog

    found = linprog(
        [prices[0], prices[1], *-penalty],
        A_ub=[[-1.0, -1.0, *gamma]],
        b_ub=[0.0],
        bounds=[(0, None), (0, prices[2]), *ranges],
    )
    return float(found.fun + penalty @ expected)


def drawn(rng: np.random.Generator, least_jobs: int = 0) -> Spec:
    """A spec far outside what the paper measures, each deadline kept by some slots."""
    classes = []
    while len(classes) < int(rng.integers(1, 4)):
        node = _class(rng, f"c{len(classes)}", least_jobs)
        if math.isfinite(vms_of_one_job(node)):
            classes.append(node)
    on_demand = 10.0 ** rng.uniform(-3, 1)
    reserved = (
        None
        if rng.random() < 0.3
        else Reserved(
            price=on_demand * rng.choice([0.3, 0.99, 1.0]) / 3600.0, available=int(rng.choice([0, 1, 5, 10_000]))
        )
    )
    vm = VmType(name="m5", on_demand=OnDemand(price=on_demand / 3600.0), reserved=reserved)
    return Spec(
        problem="capacity", facts=CapacityFacts(estimates="paper", vms=(vm,), classes=tuple(classes), whole="no")
    )


def _class(rng: np.random.Generator, name: str, least_jobs: int) -> JobClass:
    longest = [10.0 ** rng.uniform(-1, 3) for _ in range(4)]
    avg = [most * float(rng.choice([1.0, 0.5, 0.1])) for most in longest]
    maps, reduces = (int(rng.choice([1, 2, 3, 7, 50, 100_000])) for _ in range(2))
    phases = {"map": MapPhase(tasks=maps, avg=avg[0], max=longest[0])}
    if rng.random() < 0.6:
        phases |= {
            "shuffle": ShufflePhase(first_max=longest[3] * float(rng.choice([0, 1])), avg=avg[1], max=longest[1]),
            "reduce": ReducePhase(tasks=reduces, avg=avg[2] * float(rng.choice([0, 1])), max=longest[2]),
        }
    guarantee = rng.choice(["lower", "average", "upper"])
    if rng.random() < 0.25:
        work = {
            "A": maps * avg[0],
            "B": reduces * avg[1] * float(rng.choice([0, 1])),
            "C": float(rng.choice([0.0, -20.0, 30.0])),
        }
        phases, guarantee = {"coefficients": Coefficients(**work)}, None
    low = int(rng.integers(least_jobs, 4))
    node = JobClass(
        name=name,
        slots=Slots(map=int(rng.integers(1, 6)), reduce=int(rng.integers(1, 6))),
        deadline=1.0,
        jobs=Range(float(low), float(max(low, 1) + rng.integers(0, 4))),
        penalty=float(rng.choice([0.0, 0.1, 1.0, 10.0, 1e3])),
        guarantee=guarantee,
        **phases,
    )
    a, b, c = estimate(node)
    tasks = (float(maps), float(reduces)) if node.coefficients is None else (math.inf, math.inf)
    earliest = c + a / tasks[0] + b / tasks[1]
    deadline = max(earliest, 0.0) + (abs(earliest) + 1.0) * float(rng.choice([1e-3, 0.3, 1.0, 20.0, 1e4]))
    return JobClass(**{**vars(node), "deadline": deadline})
