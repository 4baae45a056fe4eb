"""What small specs are worth, found from their facts alone: enumeration, search over one number, duality."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import comb, inf, isfinite, isinf, prod
from types import MappingProxyType

import numpy as np

from mrdsl.spec.spec import Spec
from tests.cross_check import hybrids
from tests.families.capacity import capacity_oracle
from tests.families.deadline.specs import paths
from tests.families.energy.specs import enumerate_best
from tests.families.joint.brute import brute_force as joint_brute_force
from tests.families.makespan.test_exact import brute_force as makespan_brute_force

MOST_CASES = 4_000
"""What an enumeration may try; larger specs have no oracle."""
ROUNDING = 1e-6
"""Staircases of whole numbers are entered from both sides of what solvers' tolerances blur."""


@dataclass(frozen=True)
class Known:
    """A value that some plan attains, and a bound that none passes; both None where there is no plan."""

    value: float | None
    bound: float | None


def known(spec: Spec, relax: bool) -> Known | None:
    """What a spec is worth, None where no oracle serves it."""
    oracle = ORACLES.get(spec.problem)
    return None if oracle is None or spec.constraints else oracle(spec, relax)


def _capacity(spec: Spec, relax: bool) -> Known | None:
    classes = spec.facts.classes
    cases = prod(int(node.jobs.high) - int(node.jobs.low) + 1 for node in classes)
    if (
        spec.facts.whole != "no"
        or cases > MOST_CASES
        or any(not isfinite(capacity_oracle.vms_of_one_job(node)) for node in classes)
    ):
        return None
    if relax:
        value = capacity_oracle.best(spec)[1]
        return Known(value, value)
    return Known(*(capacity_oracle.best(spec, slack)[0] for slack in (ROUNDING, -ROUNDING)))


def _bounds(spec: Spec, relax: bool) -> Known | None:
    """Whole slots in whole waves by enumeration; fractions by search over the map slots."""
    if spec.goal is None or spec.goal.quantity != "slots":
        return None
    total = 0.0
    for node in spec.facts.classes:
        guarantee = node.guarantee or "average"
        if guarantee == "fractional_waves" or (node.map is not None and node.map.tasks > MOST_CASES):
            return None
        each = _slots_in_waves(node) if guarantee == "waves" else _fractions_of_slots(node)
        if isinf(each):
            return Known(None, None)
        total += node.jobs * each
    return Known(total, total)


def _slots_in_waves(node: object) -> float:
    """The least map and reduce slots that keep the deadline by (3.14), all of them tried."""
    m, s, r = node.map, node.shuffle, node.reduce  # type: ignore[attr-defined]
    deadline = node.deadline * (1 + 1e-12)  # type: ignore[attr-defined]
    reduces = r.tasks if r is not None else 0

    def middle(avg: float, most: float) -> float:
        return (max(2 * avg - most, 0.0) + most) / 2

    def reducing(slots: int) -> float:
        if not reduces:
            return 0.0
        waves = -(-reduces // slots)
        first = s.first_max if s.first_avg is None else s.first_avg
        return float(first + (waves - 1) * middle(s.avg, s.max) + waves * middle(r.avg, r.max))

    ends = [(slots, reducing(slots)) for slots in (range(1, reduces + 1) if reduces else (0,))]
    best = inf
    for maps in range(1, m.tasks + 1):
        mapping = -(-m.tasks // maps) * middle(m.avg, m.max)
        slots = next((slots for slots, time in ends if mapping + time <= deadline), None)
        best = min(best, maps + slots) if slots is not None else best
    return best


def _fractions_of_slots(node: object) -> float:
    """The least map and reduce slots of one job, as fractions: those of capacity with one slot of a kind per VM."""
    return capacity_oracle.vms_of_one_job(_OneSlotPerVm(node))  # type: ignore[arg-type]


class _OneSlotPerVm:
    """A class of bounds as the oracle of capacity reads it."""

    coefficients = None
    slots = type("Slots", (), {"map": 1, "reduce": 1, "task": 1})

    def __init__(self, node: object) -> None:
        self.node = node

    def __getattr__(self, name: str) -> object:
        return getattr(self.node, name)


def _joint(spec: Spec, relax: bool) -> Known | None:
    cluster = spec.facts.cluster
    units = len(spec.facts.classes) + len(spec.facts.services)
    if relax or cluster.concurrency != "whole" or (cluster.size + 1) ** units > 10 * MOST_CASES or cluster.size > 40:
        return None
    value = joint_brute_force(spec, cluster.size)
    return Known(value, value)


def _energy(spec: Spec, relax: bool) -> Known | None:
    if relax or len(spec.facts.jobs) > 1:
        return None
    value = enumerate_best(spec)
    return Known(None, None) if isinf(value) else Known(value, value)


def _makespan(spec: Spec, relax: bool) -> Known | None:
    jobs = spec.facts.jobs
    rows = [
        (j.name, j.map.tasks, j.map.time, j.reduce.tasks if j.reduce else 0, j.reduce.time if j.reduce else 0.0)
        for j in jobs
    ]
    cases = _orders([row[1] for row in rows]), _orders([row[3] for row in rows])
    if relax or max(cases) > MOST_CASES or prod(cases) > 10 * MOST_CASES:
        return None
    slots = spec.facts.cluster.slots
    value = makespan_brute_force(rows, slots.map, slots.reduce)
    return Known(value, value)


def _orders(counts: list[int]) -> int:
    """In how many orders so many alike things come."""
    total, found = 0, 1
    for count in counts:
        total += count
        found *= comb(total, count)
    return found


def _deadline(spec: Spec, relax: bool) -> Known | None:
    """The tightest path for the least slack; for the sum of logarithms a plan and its dual bound, path by path."""
    dag = spec.facts.dags[0]
    tasks = {task.name: (task.duration, task.after) for task in dag.tasks}
    every = paths(tasks)
    left = [dag.allowable_delay - sum(tasks[name][0] for name in path) for path in every]
    if min(left) < -1e-9 * dag.allowable_delay:
        return Known(None, None)
    if min(left) < 1e-4 * dag.allowable_delay:
        return None
    goal = spec.goal.quantity if spec.goal is not None else "slack"
    weight = {task.name: task.weight for task in dag.tasks}
    if goal == "slack":
        return _sum_of_logarithms(list(weight.values()), [[name in path for name in tasks] for path in every], left)
    share = {name: weight[name] * (tasks[name][0] if goal == "slack_ratio" else 1.0) for name in tasks}
    bounds = [
        spare / sum(share[name] for name in path)
        for path, spare in zip(every, left, strict=True)
        if sum(share[name] for name in path) > 0
    ]
    return Known(min(bounds), min(bounds)) if bounds else None


def _sum_of_logarithms(weights: list[float], member: list[list[bool]], left: list[float]) -> Known:
    """Maximizes ``w . log s`` with ``A s <= b``: the dual ``w . log(w / A'l) - w + b . l`` by multiplicative steps."""
    w, a, b = np.array(weights), np.array(member, dtype=float), np.array(left)
    price = np.full(len(b), w.sum() / len(b)) / b
    value, bound = -inf, inf
    for _ in range(20_000):
        slack = w / (price @ a)
        bound = min(bound, float(w @ np.log(slack) - w.sum() + b @ price))
        value = max(value, float(w @ np.log(slack * (b / (a @ slack)).min())))
        if bound - value <= 1e-7 * max(abs(value), w.sum()):
            break
        price = price * (a @ slack) / b
    return Known(value, bound)


def _hybrid(spec: Spec, relax: bool) -> Known | None:
    return Known(hybrids.all_outside(spec), hybrids.offline(spec))


ORACLES: Mapping[str, Callable[[Spec, bool], Known | None]] = MappingProxyType(
    {
        "capacity": _capacity,
        "bounds": _bounds,
        "joint": _joint,
        "energy": _energy,
        "makespan": _makespan,
        "deadline": _deadline,
        "hybrid": _hybrid,
    }
)
"""Each family's; schedule has none but its offline optimum, which is asked as a way."""
