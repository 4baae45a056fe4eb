"""Whole slots of one job against all pairs in a box."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mrdsl.formulas import estimates
from mrdsl.formulas.mapreduce import Coefficients
from mrdsl.formulas.whole_slots import whole_slots

Case = tuple[tuple[float, float, float], float, tuple[float, float], tuple[float, float]]


def found(cases: list[Case]) -> list[tuple[float, float]]:
    work = Coefficients(*(np.array([case[0][k] for case in cases]) for k in range(3)))
    deadline = np.array([case[1] for case in cases])
    per_vm = np.array([case[2][0] for case in cases]), np.array([case[2][1] for case in cases])
    limits = estimates.limits_of_tasks(*(np.array([case[3][k] for case in cases]) for k in range(2)))
    fractions = estimates.slots_per_job(work, deadline, *per_vm, limits)
    pair = whole_slots(work, deadline, per_vm, limits, fractions)
    return list(zip(pair[0].tolist(), pair[1].tolist(), strict=True))


def searched(case: Case, box: int) -> float:
    """The fewest VMs of all pairs in the box; infinite where none keeps the deadline."""
    (a, b, c), deadline, per_vm, tasks = case
    most = [box if math.isnan(count) else int(min(count, box)) for count in tasks]
    maps = np.arange(1, most[0] + 1, dtype=float)[:, None]
    reduces = np.arange(1, most[1] + 1, dtype=float)[None, :] if tasks[1] else np.zeros((1, 1))
    time = a / maps + (b / reduces if b else 0.0) + c
    vms = np.where(time <= deadline * (1 + 1e-12), maps / per_vm[0] + reduces / per_vm[1], np.inf)
    return float(vms.min())


def drawn(rng: np.random.Generator) -> Case:
    """A job that takes a few dozen slots at most, some at the edge of what any slots keep."""
    tasks = [float(rng.choice([1, 2, 5, 30, 60, math.nan])) for _ in range(2)]
    if rng.random() < 0.2:
        tasks[1] = 0.0
    known = [20.0 if math.isnan(count) else count for count in tasks]
    a, b = known[0] * rng.uniform(1, 30), known[1] * rng.uniform(1, 30) * (rng.random() < 0.9)
    c = float(rng.choice([0.0, -3.0, 40.0]))
    least = c + a / known[0] + (b / known[1] if b else 0.0)
    deadline = max(least, 1.0) * float(rng.choice([1.0, 1.01, 1.3, 2.0, 10.0])) + 0.5
    return (a, b, c), deadline, (float(rng.integers(1, 9)), float(rng.integers(1, 9))), (tasks[0], tasks[1])


@pytest.mark.parametrize("seed", range(5))
def test_no_pair_in_the_box_takes_fewer_vms(seed: int) -> None:
    rng = np.random.default_rng(seed)
    cases = [drawn(rng) for _ in range(200)]
    kept = 0
    for case, (maps, reduces) in zip(cases, found(cases), strict=True):
        (a, b, c), deadline, per_vm, tasks = case
        if math.isinf(maps):
            assert searched(case, 60) == math.inf, case
            continue
        kept += 1
        assert (maps, reduces) == (round(maps), round(reduces)), case
        assert a / maps + (b / reduces if b else 0.0) + c <= deadline * (1 + 1e-9), case
        assert not maps > tasks[0], case
        assert not reduces > tasks[1], case
        assert maps >= 1.0, case
        assert reduces >= (tasks[1] != 0.0), case
        vms = maps / per_vm[0] + reduces / per_vm[1]
        assert vms == pytest.approx(searched(case, 400), rel=1e-12), case
    assert kept > 100


def test_a_pair_that_meets_the_deadline_exactly_does_not_end_the_search() -> None:
    """10 map slots and 1 reduce slot take 31 s, and 2.83 VMs; 8 and 2 take 30.75 s, and 2.67 VMs."""
    case: Case = ((190.0, 10.0, 2.0), 31.0, (4.0, 3.0), (math.nan, math.nan))
    assert found([case]) == [(8.0, 2.0)]


def test_the_corner_beside_the_fewest_reduce_slots() -> None:
    """5 map slots do beside one reduce slot, and take 5 1/9 VMs; 4 do beside two, and take 4 2/9."""
    case: Case = ((10.0, 1.0, 0.0), 3.2, (1.0, 9.0), (math.nan, math.nan))
    assert found([case]) == [(4.0, 2.0)]
    assert searched(case, 50) == pytest.approx(4.0 + 2.0 / 9.0)


def test_rounding_both_up_is_not_the_least() -> None:
    """2.5 and 2.5 rounded up are 3 and 3; 2 and 3 keep the deadline too."""
    case: Case = ((10.0, 10.0, 0.0), 8.4, (1.0, 1.0), (math.nan, math.nan))
    assert sum(found([case])[0]) == searched(case, 50) == 5.0


def test_jobs_of_a_million_slots() -> None:
    """The least pair of a large job is found without looking at every number; checked on all numbers of map slots."""
    a, b, deadline = 4.1e6, 2.7e6, 7.3
    (maps, reduces) = found([((a, b, 0.0), deadline, (3.0, 5.0), (math.nan, math.nan))])[0]
    every = np.arange(math.floor(a / deadline) + 1.0, 3e6)
    beside = np.ceil(b / (deadline - a / every) * (1 - 1e-14))
    assert maps / 3 + reduces / 5 == pytest.approx(float((every / 3 + beside / 5).min()), rel=1e-13)
