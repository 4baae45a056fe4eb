"""The slots of one job within the range of the estimates, against a search that knows no closed form."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mrdsl.formulas import sizing
from mrdsl.formulas.mapreduce import Coefficients

INF = math.inf
Pair = tuple[float, float]
Case = tuple[tuple[float, float, float], float, Pair, Pair]


def one(*values: float) -> tuple[np.ndarray, ...]:
    return tuple(np.array([float(value)]) for value in values)


def slots(
    work: tuple[float, float, float], deadline: float, per_vm: tuple[float, float], tasks: tuple[float, float]
) -> tuple[float, float]:
    limits = sizing.limits_of_tasks(*one(*tasks))
    found = sizing.slots_per_job(Coefficients(*one(*work)), *one(deadline, *per_vm), limits)
    return float(found[0][0]), float(found[1][0])


def searched(work: tuple[float, float, float], deadline: float, per_vm: Pair, tasks: Pair) -> float:
    """The fewest VMs over 4,001 numbers of map slots, each beside the fewest reduce slots in range that still fit."""
    a, b, c = work
    (least_map, most_map), (least_reduce, most_reduce) = (
        (0.0, 0.0) if count == 0 else (1.0, 1e7 if math.isnan(count) else count) for count in tasks
    )
    best = INF
    for maps in np.geomspace(least_map, most_map, 4001) if most_map > 1 else [1.0]:
        left = deadline - c - a / maps
        time_left = left >= 0 if b == 0 else left > 0
        reduces = max(least_reduce, b / left if b else 0.0) if time_left else INF
        if reduces <= most_reduce * (1 + 1e-14):
            best = min(best, maps / per_vm[0] + reduces / per_vm[1])
    return best


def drawn(rng: np.random.Generator) -> Case:
    """A job far outside what the papers measure: single tasks, no reduce, no known tasks, hardly or amply any time."""
    maps, reduces = (float(rng.choice([1, 2, 3, 10, 400, 10**6])) for _ in range(2))
    if rng.random() < 0.3:
        reduces = 0.0
    a = maps * 10.0 ** rng.uniform(-3, 4)
    b = reduces * 10.0 ** rng.uniform(-3, 4) * (rng.random() < 0.9)
    c = float(rng.choice([0.0, 1.0, -5.0, 200.0]))
    earliest = c + a / maps + (b / reduces if b else 0.0)
    deadline = earliest + abs(earliest) * float(rng.choice([-0.5, 0.0, 1e-6, 0.1, 1.0, 30.0, 1e5]))
    per_vm = float(rng.integers(1, 9)), float(rng.integers(1, 9))
    if rng.random() < 0.2:
        maps, reduces = math.nan, math.nan if b else 0.0
    return (a, b, c), max(deadline, 1e-3), per_vm, (maps, reduces)


@pytest.mark.parametrize("seed", range(6))
def test_no_slots_within_the_limits_take_fewer_vms(seed: int) -> None:
    rng = np.random.default_rng(seed)
    kept = 0
    for _ in range(60):
        work, deadline, per_vm, tasks = case = drawn(rng)
        maps, reduces = slots(*case)
        best = searched(*case)
        if math.isinf(maps):
            assert math.isinf(reduces), case
            assert best == INF, case
            continue
        kept += 1
        assert maps >= 1.0, case
        assert reduces >= (tasks[1] != 0.0), case
        assert not maps > tasks[0], case
        assert not reduces > tasks[1], case
        time = work[2] + work[0] / maps + (work[1] / reduces if work[1] else 0.0)
        assert time <= deadline * (1 + 1e-9), case
        assert maps / per_vm[0] + reduces / per_vm[1] <= best * (1 + 1e-9), case
    assert kept > 20


def test_inside_the_limits_it_is_theorem_4_1() -> None:
    # A = 11100, B = 3776, E = 929: equations (22) and (23) by hand with c_M = 2, c_R = 1
    root = math.sqrt(11100 * 3776 * 2)
    assert slots((11100, 3776, -29), 900, (2, 1), (370, 64)) == pytest.approx(
        ((root + 11100) / 929, (root / 2 + 3776) / 929), rel=1e-12
    )


@pytest.mark.parametrize(
    ("work", "deadline", "tasks", "expected"),
    [
        ((20, 0, 20), 600, (4, 0), (1, 0)),  # 20 / 580 of a slot would do: a job has one
        ((300, 0, 0), 30, (10, 0), (10, 0)),  # just a slot for every task
        ((300, 0, 0), 5, (10, 0), (INF, INF)),  # 60 slots for 10 tasks
        ((0.1, 0.2, 0), 0.3, (1, 1), (1, 1)),  # 0.1 + 0.2 > 0.3 on a computer
        ((100, 1, 0), 11, (400, 1), (10, 1)),  # the single reduce task takes 1 s, the maps have 10 s
        ((1, 100, 0), 11, (1, 400), (1, 10)),
        ((100, 4, 0), 400, (40, 40), (1, 1)),  # more time than one slot of each kind takes
        ((100, 0, 0), 50, (40, 3), (2, 1)),  # reduce tasks that take no time still take a slot
        ((1, 1e-20, 0), 1, (math.nan, math.nan), (1, 1)),  # hardly any: less than the rounding of the maps' time
    ],
)
def test_where_a_limit_binds(work: tuple[float, float, float], deadline: float, tasks: Pair, expected: Pair) -> None:
    assert slots(work, deadline, (1, 1), tasks) == pytest.approx(expected, rel=1e-12)


def test_every_class_by_itself() -> None:
    rng = np.random.default_rng(7)
    cases = [drawn(rng) for _ in range(200)]
    together = sizing.slots_per_job(
        Coefficients(*(np.array([c[0][k] for c in cases]) for k in range(3))),
        np.array([c[1] for c in cases]),
        *(np.array([c[2][k] for c in cases]) for k in range(2)),
        sizing.limits_of_tasks(*(np.array([c[3][k] for c in cases]) for k in range(2))),
    )
    assert list(zip(*(part.tolist() for part in together), strict=True)) == [slots(*case) for case in cases]
