"""Sums along events in order: by levels and by arcs, and how much work a factor is foreseen to be."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sparse
from scipy.sparse.linalg import splu

from mrdsl.families.deadline.methods.laplacian import SECONDS, Direct, Either, Pattern, work_of_factor
from mrdsl.families.deadline.network import Floats, Ints, Levels


def arcs_of(rng: np.random.Generator, events: int) -> tuple[Ints, Ints]:
    """Arcs from lower to higher numbers, doubled ones among them, and all numbers mixed."""
    ends = np.sort(rng.integers(0, events, (3 * events, 2)), axis=1)
    ends = ends[ends[:, 0] < ends[:, 1]]
    names = rng.permutation(events)
    return names[ends[:, 0]], names[ends[:, 1]]


def both(events: int, tails: Ints, heads: Ints) -> tuple[Levels, Levels]:
    by_levels, by_arcs = Levels(events, tails, heads), Levels(events, tails, heads)
    by_levels.narrow, by_arcs.narrow = False, True
    return by_levels, by_arcs


@pytest.mark.parametrize("seed", range(20))
def test_by_levels_and_by_arcs_give_the_same_to_the_last_digit(seed: int) -> None:
    rng = np.random.default_rng(seed)
    events = int(rng.integers(1, 60))
    tails, heads = arcs_of(rng, events)
    by_levels, by_arcs = both(events, tails, heads)
    assert (by_levels.level[tails] < by_levels.level[heads]).all()
    lengths = np.round(rng.uniform(0, 3, len(tails)), 1) * (rng.random(len(tails)) > 0.4)
    carried = rng.uniform(0, 1, len(tails))
    assert np.array_equal(by_levels.longest(lengths), by_arcs.longest(lengths))
    for one, other in zip(
        by_levels.longest_with(lengths, carried), by_arcs.longest_with(lengths, carried), strict=True
    ):
        assert np.array_equal(one, other)
    ends = np.where(rng.random(events) < 0.3, rng.uniform(0, 50, events), np.inf)
    assert np.array_equal(by_levels.latest(lengths, ends.copy()), by_arcs.latest(lengths, ends.copy()))
    entering = rng.uniform(0, 1, events)
    for one, other in zip(by_levels.pushed(carried, entering), by_arcs.pushed(carried, entering), strict=True):
        assert np.array_equal(one, other)


def test_levels_are_longest_ways() -> None:
    levels = Levels(5, np.array([0, 1, 0, 3]), np.array([1, 2, 2, 4]))
    assert levels.level.tolist() == [0, 1, 2, 0, 1]
    assert levels.narrow
    with pytest.raises(ValueError, match="cycle"):
        Levels(2, np.array([0, 1]), np.array([1, 0]))


def mesh(width: int, height: int) -> tuple[Ints, Ints]:
    number = np.arange(width * height).reshape(height, width)
    return (
        np.concatenate([number[:, :-1].ravel(), number[:-1].ravel()]),
        np.concatenate([number[:, 1:].ravel(), number[1:].ravel()]),
    )


def multiplications(size: int, tails: Ints, heads: Ints) -> float:
    """Of SuperLU's factor of the graph's Laplacian: the squares of what its columns hold below the diagonal."""
    adjacent = sparse.csr_matrix((np.ones(len(tails)), (tails, heads)), shape=(size, size))
    laplacian = sparse.csgraph.laplacian(((adjacent + adjacent.T) > 0).astype(float)) + sparse.eye_array(size)
    options = {"SymmetricMode": True}
    factor = splu(laplacian.tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options)
    return float(((np.diff(factor.L.indptr) - 1.0) ** 2).sum())


def test_what_a_factor_takes_is_foreseen() -> None:
    """Trees and cycles cost nothing beyond their vertices; a mesh's band is as wide as its shorter side."""
    path = np.arange(1000)
    assert work_of_factor(1001, path, path + 1) == 0.0
    assert work_of_factor(1000, path, (path + 1) % 1000) == 0.0
    assert work_of_factor(1001, (path + 1) // 2, path + 1) == 0.0
    tails, heads = mesh(10, 500)
    assert 10 * 10 * 5000 / 4 <= work_of_factor(5000, tails, heads) <= 1.5 * 10 * 10 * 5000


@pytest.mark.parametrize("seed", range(6))
def test_a_factor_takes_no_more_than_is_foreseen(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tails, heads = arcs_of(rng, 400)
    tails, heads = tails[:700], heads[:700]
    foreseen = work_of_factor(400, tails, heads)
    assert 0 < multiplications(400, tails, heads) <= foreseen + 5 * 400


@pytest.mark.parametrize("seed", range(3))
def test_few_vertices_are_foreseen_as_a_full_matrix(seed: int) -> None:
    """No factor takes more, and it is no reason to leave one: a thousandth of a second."""
    tails, heads = arcs_of(np.random.default_rng(seed), 100)
    foreseen = work_of_factor(100, tails, heads)
    assert multiplications(100, tails, heads) <= foreseen <= 1e-3 / SECONDS
    assert Pattern(1, 101, tails + 1, heads + 1).direct


def test_a_deep_ladder_is_factorized() -> None:
    """Its levels hold few events, and its arcs reach no further than the next ones, however they are numbered."""
    tails, heads = mesh(3, 20_000)
    assert Pattern(1, 60_000, tails, heads).direct


def test_where_multigrid_is_slow_a_factor_serves_unless_the_time_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mrdsl.families.deadline.methods.laplacian.EASY", 0.0)
    monkeypatch.setattr("mrdsl.families.deadline.methods.laplacian.SLOW", 2)
    monkeypatch.setattr("mrdsl.families.deadline.methods.laplacian.A_FACTOR", 0.0)
    rng = np.random.default_rng(3)
    tails, heads = mesh(30, 60)
    conductances: Floats = 10 ** rng.uniform(-3, 3, len(tails))
    right = rng.normal(size=1799)
    pattern = Pattern(1, 1800, tails, heads)
    exact = Direct(pattern.matrix(conductances)).solve(right)[0]
    hurried = pattern.solver(conductances, lambda: 0.5 * pattern.work * 2e-9)
    assert not isinstance(hurried, Either)
    for _ in range(2):
        assert not pattern.direct
        solver = pattern.solver(conductances)
        assert isinstance(solver, Either)
        assert solver.solve(right, 1e-8).solution == pytest.approx(exact, rel=1e-9)
    assert pattern.direct
    assert isinstance(pattern.solver(conductances), Direct)
