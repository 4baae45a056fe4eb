"""The studies of paper 000, 5.3 and 5.4: instances within Table 2, and what the numbers must be."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from mrdsl import api
from studies.capacity_cases import HOUR, alone, cases, drawn, tightened


@pytest.mark.parametrize("size", [1, 20])
def test_instances_are_drawn_from_table_2(size: int) -> None:
    """Penalties are ten times what HiGHS says that one job costs on fractions of VMs (5.1)."""
    spec = drawn(size, 1, 0)
    assert spec == drawn(size, 1, 0)
    assert spec != drawn(size, 1, 1)
    assert not [one for one in api.check(spec) if one.severity == "error"]
    vm, classes = spec.facts.vms[0], spec.facts.classes
    assert 5 <= 100 * HOUR * vm.reserved.price <= 20
    assert vm.reserved.price <= vm.on_demand.price <= 0.4 / HOUR
    for one in classes:
        assert 70 <= one.map.tasks <= 700
        assert 32 <= one.reduce.tasks <= 64
        assert one.map.avg <= one.map.max
        assert 600 <= one.deadline <= 1200
        assert 10 <= one.jobs.high <= 30
        assert 0.9 * one.jobs.high <= one.jobs.low <= one.jobs.high
    first = next(alone(drawn(size, 1, 0, reserved=False)))
    jobs = first.facts.classes[0].jobs.high
    plan = api.solve(first, "highs", relax=True)
    assert first.facts.classes[0].penalty == pytest.approx(10 * plan.objective.value / jobs, rel=1e-6)


def test_the_four_studies(tmp_path: Path) -> None:
    """Fractions of VMs share nothing and cost alike; a whole VM a class is the most that sharing saves."""
    scaling, sharing, concurrency, tightening = cases(tmp_path, classes="3,8", instances=1)
    assert [row[:2] for row in scaling.rows] == [(3, 1), (8, 1)]
    assert all(0.0 <= row[4] < 0.5 for row in scaling.rows)
    for (size, _, saved, most, fractions), spec in zip(
        sharing.rows, (drawn(n, 1, 0, reserved=False) for n in (3, 8)), strict=True
    ):
        assert fractions < 1e-6
        apart = sum(api.solve(one, "highs").objective.value for one in alone(spec))
        whole = 100.0 * size * spec.facts.vms[0].on_demand.price * HOUR / apart
        assert -1e-6 <= saved == most <= whole
    *rows, spread = concurrency.rows
    assert [row[0] for row in rows] == ["10", "15", "20", "25", "30"]
    assert all(row[1] >= row[2] * (1 - 1e-9) for row in rows)
    assert spread[2] < 1e-6 < spread[1]
    assert_as_by_highs(tightening.rows)


def assert_as_by_highs(rows: Sequence[tuple[float, ...]]) -> None:
    """Each step again by HiGHS, whose plans lie within 0.5 %; the step after the last has no plan at all."""
    specs = [drawn(n, 1, 0) for n in (3, 8)]
    assert rows[0] == (0.0, 2, 1.0, 1.0, 1.0)
    assert [row[0] for row in rows] == pytest.approx([5.0 * step for step in range(len(rows))])
    assert all(before[3] < after[4] for before, after in pairwise(rows))
    base = [api.solve(spec, "highs").objective.value for spec in specs]
    for shorter, count, mean, least, most in (*rows, (5.0 * len(rows), 0, 0.0, 0.0, 0.0)):
        found = [api.solve(tightened(spec, shorter / 100), "highs").objective.value for spec in specs]
        ratios = [value / first for value, first in zip(found, base, strict=True) if value is not None]
        assert len(ratios) == count
        if ratios:
            assert (mean, least, most) == pytest.approx((sum(ratios) / count, min(ratios), max(ratios)), rel=5e-3)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_on_fractions_the_cost_goes_with_one_over_what_is_left_of_the_deadline(number: int) -> None:
    """By Theorem 4.1 one class costs K / (D - C): one over the cost falls by the same amount at each step.

    On these instances no job has as many slots as tasks, where the theorem ends.
    """
    spec = drawn(1, 1, number, reserved=False)
    costs = [
        api.solve(tightened(spec, part), solver, relax=True).objective.value
        for part in (0.0, 0.05, 0.1, 0.15)
        for solver in ("direct", "highs")
    ]
    assert costs[::2] == pytest.approx(costs[1::2], rel=1e-6)
    falls = [1 / before - 1 / after for before, after in pairwise(costs[::2])]
    assert min(falls) > 0
    assert falls == pytest.approx([falls[0]] * 3, rel=1e-4)
