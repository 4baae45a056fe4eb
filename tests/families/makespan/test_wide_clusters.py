"""Clusters that are wide for their batch: bounds of many jobs, searches that end at the gap, and what they may cost."""

from __future__ import annotations

import numpy as np
import pytest

import mrdsl
from mrdsl.core.result import Limits, SolutionStatus, Termination
from mrdsl.families.makespan import lower_bounds as bounds
from mrdsl.families.makespan.lower_bounds import lower_bounds
from mrdsl.families.makespan.methods import balanced_pools
from mrdsl.families.makespan.methods.balanced_pools import Effort, divide
from mrdsl.families.makespan.schedule import batch_of
from mrdsl.spec.spec import Spec
from tests.families.makespan.batches import Row, spec
from tests.families.makespan.test_exact import brute_force


def wide(seed: int, jobs: int = 50, maps: int = 400, reduces: int = 200) -> Spec:
    """Draw jobs of at most 60 maps and 30 reduces of 5 to 119 s."""
    rng = np.random.RandomState(seed)
    return spec([_row(rng, j) for j in range(jobs)], maps, reduces)


def _row(rng: np.random.RandomState, job: int) -> Row:
    maps, map_time, reduces, reduce_time = (rng.randint(*span) for span in ((1, 61), (5, 120), (1, 31), (5, 120)))
    return f"J{job}", int(maps), float(map_time), int(reduces), float(reduce_time)


@pytest.mark.parametrize("jobs", [41, 45, 60])
def test_windows_bound_batches_of_more_than_forty_jobs(jobs: int) -> None:
    """One map and one reduce of 10 s each on 30 map slots: two waves of maps, then the last reduce, 30 s.

    All work takes 20 s or less on all slots, and 10 s follow: only the window in which all maps run refutes 29 s.
    """
    same = spec([(f"J{j}", 1, 10.0, 1, 10.0) for j in range(jobs)], 30, 100)
    result = mrdsl.solve(same)
    assert (result.value, result.bound) == (30.0, 30.0)


@pytest.mark.parametrize("cells", [1, 100, 1000])
@pytest.mark.parametrize("seed", range(12))
def test_some_windows_bound_no_more_than_all(seed: int, cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.RandomState(seed)
    rows: list[Row] = [
        (f"J{j}", int(rng.randint(1, 4)), float(rng.randint(1, 6)), int(rng.randint(0, 3)), float(rng.randint(1, 6)))
        for j in range(2)
    ]
    slots = int(rng.randint(1, 4)), int(rng.randint(1, 3))
    batch = batch_of(spec(rows, *slots))
    every = lower_bounds(batch).best
    monkeypatch.setattr(bounds, "MOST_CELLS", cells)
    some = lower_bounds(batch).best
    assert some <= every
    assert batch.seconds(every) <= brute_force(rows, *slots)


def test_one_long_job_on_a_wide_cluster_is_proven() -> None:
    """400 s of maps and 300 s of reduces of one job, beside 49 that fit next to it."""
    rng = np.random.RandomState(3)
    rows = [_row(rng, j) for j in range(49)]
    result = mrdsl.solve(spec([*rows, ("long", 30, 400.0, 20, 300.0)], 400, 200))
    assert (result.value, result.bound, result.termination) == (700.0, 700.0, Termination.OPTIMAL)


@pytest.mark.parametrize("solver", ["auto", "genetic", "balanced-pools-genetic", "slot-search"])
def test_a_search_ends_at_the_gap(solver: str) -> None:
    """Johnson's order is within half of the bound, so a search that would find less does not begin."""
    few = wide(1, 8, 60, 30)
    first = mrdsl.solve(few, "johnson")
    enough = mrdsl.solve(few, solver, limits=Limits(gap=0.5))
    assert enough.value == first.value
    assert (enough.termination, enough.solution) == (Termination.OPTIMAL, SolutionStatus.OPTIMAL)


def test_without_a_gap_searches_find_less_than_johnson() -> None:
    few = wide(1, 8, 60, 30)
    assert mrdsl.solve(few, "genetic").value < mrdsl.solve(few, "johnson").value
    assert mrdsl.solve(few, "balanced-pools-genetic").value < mrdsl.solve(few, "johnson").value


@pytest.mark.parametrize("gap", [0.0, 0.02, 0.2, 1.0])
def test_the_gap_is_kept(gap: float) -> None:
    result = mrdsl.solve(wide(2, 6, 80, 40), "genetic", limits=Limits(gap=gap))
    assert result.value is not None
    assert result.bound is not None
    assert (result.termination is Termination.OPTIMAL) == ((result.value - result.bound) / result.value <= gap + 1e-9)


def test_searches_of_many_pools_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many jobs there are, genetic searches of pools place ``SEARCHED`` jobs at most."""
    monkeypatch.setattr(balanced_pools, "SEARCHED", 50_000)
    batch = batch_of(wide(1, 30, 40, 20))
    division = divide(batch, Effort(20, 12, 4), np.random.default_rng(1))
    assert 0 < division.searched <= 50_000


def test_a_division_stops_when_it_is_told_to() -> None:
    batch = batch_of(wide(1, 30, 40, 20))
    seen: list[int] = []

    def judge(*arguments: object) -> object:
        seen.append(1)
        return balanced_pools.makespans(*arguments)  # type: ignore[arg-type]

    divide(batch, Effort(20, 12, 4), np.random.default_rng(1), judge=judge, stop=lambda: True)  # type: ignore[arg-type]
    assert len(seen) == 1
