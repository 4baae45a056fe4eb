"""`direct` on DAGs whose durations, weights and deadlines span many powers of ten, and on deep and wide ones."""

from __future__ import annotations

import numpy as np
import pytest

from mrdsl.families.deadline.facts import Dag, DeadlineFacts, Task
from mrdsl.families.deadline.methods.interior_point import maximize_product
from mrdsl.families.deadline.methods.laplacian import Direct, Multigrid, Pattern, Solved
from mrdsl.families.deadline.methods.slack_limits import contracted, of_each_dag, without_twins
from mrdsl.families.deadline.network import Network, network_of
from mrdsl.families.deadline.workload import tasks_of
from mrdsl.spec.spec import Spec


def random_dag(rng: np.random.Generator, tasks: int, reach: int, spread: float, name: str) -> Dag:
    """Each task after about two of the ``reach`` before it; durations and weights over ``spread`` powers of ten."""
    durations = 10 ** rng.uniform(-spread, 0, tasks) * (rng.random(tasks) > 0.1)
    weights = 10 ** rng.uniform(-spread, 0, tasks)
    nodes = []
    for i in range(tasks):
        after = dict.fromkeys(f"t{j}" for j in rng.integers(max(0, i - reach), i, min(i, rng.poisson(2)))) if i else {}
        nodes.append(Task(name=f"t{i}", duration=float(durations[i]), weight=float(weights[i]), after=tuple(after)))
    return Dag(name=name, allowable_delay=1.0, tasks=tuple(nodes))


def with_spare(dags: list[Dag], spare: list[float]) -> Network:
    """The network of DAGs that are allowed so much more than their critical paths, relatively."""
    from dataclasses import replace

    facts = DeadlineFacts(dags=tuple(dags))
    network = network_of(tasks_of(Spec(problem="deadline", facts=facts)))
    critical = network.earliest(network.duration)[1 : network.fixed]
    return replace(network, deadlines=critical * (1 + np.array(spare)) + 1e-9)


@pytest.mark.parametrize("seed", range(12))
def test_the_gap_closes_on_hard_ones(seed: int) -> None:
    rng = np.random.default_rng(seed)
    dags = [
        random_dag(
            rng, int(rng.choice([5, 60, 300])), int(rng.choice([3, 20, 300])), float(rng.choice([0, 3])), f"d{i}"
        )
        for i in range(rng.choice([1, 3]))
    ]
    network = with_spare(dags, [float(rng.choice([1e-4, 1e-2, 1.0, 100.0])) for _ in dags])
    seen = np.zeros(len(network.tail), dtype=int)
    for part, numbers in of_each_dag(contracted(network)):
        found = maximize_product(without_twins(part)[0], 1e-6)
        assert found.done
        assert found.value <= found.bound
        assert np.array_equal(part.duration, network.duration[numbers])
        seen[numbers] += 1
    assert (seen == 1).all()


def test_contraction_changes_nothing_but_the_size() -> None:
    rng = np.random.default_rng(5)
    network = with_spare([random_dag(rng, 80, 10, 1.0, "d")], [0.7])
    small = without_twins(contracted(network))[0]
    assert small.events < network.events / 1.4
    plain, less = maximize_product(network, 1e-8), maximize_product(small, 1e-8)
    assert plain.done
    assert less.done
    assert less.value == pytest.approx(plain.value, abs=3e-8 * abs(plain.value))


def a_grid(side: int) -> tuple[Pattern, int]:
    """The pattern of a grid of ``side`` by ``side``, one side held at 0, and how many arcs it has."""
    number = np.arange(side * side).reshape(side, side)
    tails = np.concatenate([number[:, :-1].ravel(), number[:-1].ravel()])
    heads = np.concatenate([number[:, 1:].ravel(), number[1:].ravel()])
    return Pattern(side, side * side, tails, heads), len(tails)


def test_multigrid_solves_what_the_factor_solves() -> None:
    """A grid of 60 by 60 with conductances over four powers of ten, one side held at 0."""
    rng = np.random.default_rng(1)
    pattern, arcs = a_grid(60)
    matrix = pattern.matrix(10 ** rng.uniform(-2, 2, arcs))
    right = rng.normal(size=matrix.shape[0])
    exact = Direct(matrix).solve(right).solution
    found, iterations, residual = Multigrid(matrix).solve(right, 1e-8)
    assert 0 < iterations < 200
    error = found - exact
    assert error @ (matrix @ error) <= 1e-12 * (exact @ (matrix @ exact))
    assert right - matrix @ found == pytest.approx(residual, abs=1e-10 * np.abs(right).max())


@pytest.mark.parametrize("at_once", [False, True])
def test_what_was_merged_serves_later_matrices_until_it_is_worn(at_once: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A grid that is stiff along its rows, a little less so, and then along its columns."""
    monkeypatch.setattr("mrdsl.families.deadline.methods.laplacian.USELESS", 1.0 if at_once else 100.0)
    monkeypatch.setattr("mrdsl.families.deadline.methods.laplacian.EASY", 0.0)
    monkeypatch.setattr("mrdsl.families.deadline.methods.laplacian.HARD", 0.0)
    monkeypatch.setattr("mrdsl.families.deadline.methods.laplacian.COARSEST", 50)
    rng = np.random.default_rng(2)
    pattern, arcs = a_grid(60)
    right = rng.normal(size=pattern.size)
    rows = np.where(np.arange(arcs) < arcs // 2, 100.0, 1.0) * rng.uniform(1.0, 2.0, arcs)
    columns = np.where(np.arange(arcs) < arcs // 2, 1.0, 100.0) * rng.uniform(1.0, 2.0, arcs)
    merged = []
    for conductances in (rows, 0.7 * rows, columns, 0.7 * columns):
        solver = pattern.solver(conductances)
        assert isinstance(solver, Multigrid)
        found = solver.solve(right, 1e-6)
        error = found.solution - Direct(pattern.matrix(conductances)).solve(right).solution
        assert error @ (pattern.matrix(conductances) @ error) <= 1e-8 * (found.solution @ right)
        merged.append(solver.merged)
    assert merged[0]
    assert [each is merged[0] for each in merged] == [True, True, not at_once, False]
    assert (merged[3] is merged[2]) is at_once


def test_systems_are_left_as_they_are_until_the_gap_is_to_be_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    network, _ = without_twins(contracted(with_spare([random_dag(rng, 500, 60, 1.0, "a")], [1.5])))
    by_factor = maximize_product(network, 1e-9)
    monkeypatch.setattr("mrdsl.families.deadline.methods.laplacian.EASY", 0.0)
    monkeypatch.setattr("mrdsl.families.deadline.methods.laplacian.HARD", np.inf)
    monkeypatch.setattr("mrdsl.families.deadline.methods.laplacian.SLOW", 1000)
    monkeypatch.setattr("mrdsl.families.deadline.methods.laplacian.MOST", 10)
    monkeypatch.setattr("mrdsl.families.deadline.methods.laplacian.COARSEST", 20)
    taken: list[int] = []
    solve = Multigrid.solve

    def counted(self: Multigrid, *arguments: float) -> Solved:
        found = solve(self, *arguments)  # type: ignore[arg-type]
        taken.append(found.iterations)
        return found

    monkeypatch.setattr(Multigrid, "solve", counted)
    assert maximize_product(network, 1e-3).done
    assert max(taken) == 10  # some were left, and the gap is proven all the same
    fine = maximize_product(network, 1e-9)
    assert fine.done
    assert max(taken) > 10  # the last ones were not
    assert fine.value == pytest.approx(by_factor.value, rel=2e-9)
