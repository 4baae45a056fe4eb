"""Optima found in independent ways agree; no bound passes them, no method beats them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from heapq import heapify, heapreplace
from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mrdsl
from mrdsl.contracts.pipeline import Draft
from mrdsl.core.answer import Reply
from mrdsl.core.diagnostics import MrdslError
from mrdsl.core.result import Limits, SolutionStatus, Termination
from mrdsl.explaining.why import explain
from mrdsl.families.makespan.lower_bounds import johnson_order, lower_bounds
from mrdsl.families.makespan.methods import constraint_programming
from mrdsl.families.makespan.methods import orders as steps
from mrdsl.families.makespan.methods.constraint_programming import cp_sat
from mrdsl.families.makespan.models import grid_of, prove, time_indexed
from mrdsl.families.makespan.schedule import batch_of
from mrdsl.families.makespan.verify import verify
from mrdsl.planning.solve_spec import build_model
from mrdsl.solving.checked_answer import solve_model
from mrdsl.solving.request import Request

from .batches import TABLE_5_1, Row, spec

HEURISTICS = ("fifo", "johnson", "genetic", "balanced-pools", "balanced-pools-genetic", "slot-search")


def sequences(counts: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """All sequences in which job j comes counts[j] times."""
    if not any(counts):
        yield ()
    for j, left in enumerate(counts):
        if left:
            for rest in sequences((*counts[:j], left - 1, *counts[j + 1 :])):
                yield (j, *rest)


def placed(sequence: tuple[int, ...], slots: int, times: list[float], release: list[float]) -> list[float]:
    """When the last task of each job ends, each task in turn on the slot that is free first."""
    free, ends = [0.0] * slots, list(release)
    heapify(free)
    for j in sequence:
        end = max(free[0], release[j]) + times[j]
        heapreplace(free, end)
        ends[j] = max(ends[j], end)
    return ends


def brute_force(rows: list[Row], map_slots: int, reduce_slots: int) -> float:
    """The least makespan of all lists of map tasks with all lists of reduce tasks: one pair of them is optimal."""
    best = float("inf")
    _, maps, map_times, reduces, reduce_times = (list(column) for column in zip(*rows, strict=True))
    ready = {tuple(placed(s, map_slots, map_times, [0.0] * len(rows))) for s in sequences(tuple(maps))}
    for s in sequences(tuple(reduces)):
        for release in ready:
            best = min(best, max(placed(s, reduce_slots, reduce_times, list(release))))
    return best


seconds = st.integers(1, 9).map(float)
tiny = st.lists(st.tuples(st.just("J"), st.integers(1, 3), seconds, st.integers(0, 2), seconds), min_size=1, max_size=3)


@settings(max_examples=12, derandomize=True, deadline=None)
@given(tiny, st.integers(1, 3), st.integers(1, 3))
def test_all_ways_of_proof_agree_with_brute_force(rows: list[Row], map_slots: int, reduce_slots: int) -> None:
    named = [(f"J{i}", *row[1:]) for i, row in enumerate(rows)]
    problem = spec(named, map_slots, reduce_slots)
    optimum = brute_force(named, map_slots, reduce_slots)
    batch = batch_of(problem)
    assert batch.seconds(lower_bounds(batch).best) <= optimum
    for solver in ("exact", "highs"):
        result = mrdsl.solve(problem, solver)
        assert result.objective.value == pytest.approx(optimum)
        assert result.solution is SolutionStatus.OPTIMAL
    for solver in HEURISTICS:
        result = mrdsl.solve(problem, solver)
        assert result.objective.value >= optimum - 1e-9
        assert result.objective.bound <= optimum + 1e-9


@pytest.mark.skipif(find_spec("ortools") is None, reason="OR-tools is not installed")
@pytest.mark.parametrize("number", range(3))
def test_cp_sat_agrees_with_brute_force(number: int) -> None:
    stream = np.random.RandomState(number)
    rows = [
        (f"J{j}", *(int(x) if k % 2 == 0 else float(x) for k, x in enumerate(stream.randint(1, [4, 9, 3, 9]))))
        for j in range(3)
    ]
    problem = spec(rows, 2, 2)
    result = mrdsl.solve(problem, "cp-sat")
    assert result.solution is SolutionStatus.OPTIMAL
    assert result.objective.value == pytest.approx(brute_force(rows, 2, 2))


@pytest.mark.parametrize(("used", "asked"), [(0.0, True), (45.0, True), (60.0, False)])
def test_cp_sat_gets_what_is_left_of_the_time_limit(monkeypatch: pytest.MonkeyPatch, used: float, asked: bool) -> None:
    given: list[float] = []

    def unanswered(call: object, request: Request, seconds: float, fresh: bool) -> Reply:
        given.extend([seconds, request.options["seconds"]])
        return Reply(Termination.TIME_LIMIT)

    monkeypatch.setattr(constraint_programming, "run_in_worker", unanswered)
    begun = Draft(spec(TABLE_5_1, 30, 30), limits=Limits(time=60.0), started=time.monotonic() - used)
    ended = cp_sat(steps.johnson(begun))
    assert ended.termination is Termination.TIME_LIMIT
    assert bool(given) is asked
    assert all(seconds <= 60.0 - used for seconds in given)


@pytest.mark.skipif(find_spec("ortools") is None, reason="OR-tools is not installed")
def test_cp_sat_finds_the_40_seconds_of_table_5_1_from_johnsons_47() -> None:
    problem = spec(TABLE_5_1, 30, 30)
    draft = steps.conclude(cp_sat(steps.johnson(Draft(problem)), seconds=60.0))
    assert (draft.value, draft.bound, draft.termination) == (40.0, 40.0, Termination.OPTIMAL)
    assert list(verify(problem, draft.plan)) == []


def test_the_program_refutes_39_seconds_for_table_5_1_without_the_energetic_bound() -> None:
    grid = grid_of(batch_of(spec(TABLE_5_1, 30, 30)))
    assert solve_model(time_indexed(grid, 39, 39), "highs").termination is Termination.INFEASIBLE
    assert solve_model(time_indexed(grid, 40, 40), "highs").solution is not SolutionStatus.NONE


def test_a_coarse_grid_never_refutes_what_is_possible() -> None:
    rows = [("A", 3, 4.5, 2, 3.25), ("B", 2, 2.75, 3, 5.125), ("C", 1, 7.0, 2, 1.5)]
    optimum = brute_force(rows, 2, 2)
    batch = batch_of(spec(rows, 2, 2))
    for unit in (0.5e6, 0.7e6, 1e6, 2.5e6):
        grid = grid_of(batch, unit)
        steps_of_optimum = grid.whole_steps(optimum / batch.tick)
        answer = solve_model(time_indexed(grid, steps_of_optimum, steps_of_optimum), "highs")
        assert answer.solution is not SolutionStatus.NONE


def test_a_proof_stops_in_time_and_keeps_its_schedule() -> None:
    rows = [(f"J{j}", 3 + j, 3.0 + 2 * j, 2 + j % 3, 7.0 - j) for j in range(5)]
    draft = prove(steps.fifo(Draft(spec(rows, 3, 2), limits=Limits(time=0.0))))
    done = steps.conclude(draft)
    assert done.termination is Termination.TIME_LIMIT
    assert done.plan is not None


def test_johnsons_rule_is_optimal_on_two_machines() -> None:
    from itertools import permutations

    from mrdsl.families.makespan.methods.orders import phase_makespans

    stream = np.random.RandomState(5)
    for _ in range(30):
        n = int(stream.randint(1, 6))
        rows = [(f"J{j}", 1, float(a), 1, float(b)) for j, (a, b) in enumerate(stream.randint(1, 20, (n, 2)))]
        batch = batch_of(spec(rows, 1, 1))
        orders = np.array(list(permutations(range(n))))
        one = np.ones(len(orders), dtype=int)
        best = phase_makespans(batch, orders, one, one).min()
        order = johnson_order(batch.map_time, batch.reduce_time)[None, :]
        assert phase_makespans(batch, order, one[:1], one[:1])[0] == best


def test_finish_times_can_be_promised() -> None:
    rows = [("A", 4, 3.0, 2, 5.0), ("B", 4, 3.0, 2, 5.0), ("C", 2, 6.0, 2, 2.0)]
    text = """
        problem makespan
        cluster { slots { map = 2, reduce = 2 } }
        job A { map { tasks = 4, time = 3 s }, reduce { tasks = 2, time = 5 s } }
        job B { map { tasks = 4, time = 3 s }, reduce { tasks = 2, time = 5 s } }
        job C { map { tasks = 2, time = 6 s }, reduce { tasks = 2, time = 2 s } }
        minimize makespan
    """
    free = mrdsl.solve(mrdsl.loads(text))
    assert free.objective.value == pytest.approx(brute_force(rows, 2, 2))
    promised = mrdsl.solve(mrdsl.loads(text + "subject to { finish(C) <= 8 s, finish(B) <= finish(A) - 5 s }"))
    assert promised.solution is SolutionStatus.OPTIMAL
    times = promised.plan.jobs
    assert times["C"].finish <= 8.0
    assert times["B"].finish <= times["A"].finish - 5.0
    # C first (6 s of maps), then B and A: maps end at 6, 12, 18, and the last reduces take 5 s.
    assert promised.objective.value == pytest.approx(23.0)
    refused = mrdsl.solve(mrdsl.loads(text + "subject to { finish(C) <= 7 s }"))
    assert refused.termination is Termination.INFEASIBLE


def test_a_passed_time_limit_leaves_the_first_schedule_and_says_so() -> None:
    problem = spec([(f"J{j}", 9 + j, 3.0 + 2 * j, 5 + j % 3, 7.0 - j) for j in range(6)], 3, 2)
    result = mrdsl.solve(problem, "portfolio", limits=Limits(time=0.0))
    assert result.termination is Termination.TIME_LIMIT
    assert result.solution is SolutionStatus.FEASIBLE
    assert result.objective.value == mrdsl.solve(problem, "johnson").objective.value


ONE_JOB = """problem makespan "one"
cluster {{ slots {{ map = 2, reduce = 1 }} }}
job a {{ map {{ tasks = 3, time = 5 s }}, reduce {{ tasks = 2, time = 3 s }} }}
minimize makespan
subject to {{ {} }}
"""


@pytest.mark.parametrize(
    ("comparison", "wanted"),
    [
        ("makespan <= 9000 s", 16.0),
        ("9000 s >= finish(a) + 5 s", 16.0),
        ("finish(a) >= 40 s", 40.0),
        ("makespan - 20 s >= 5 s", 25.0),
        ("makespan >= 25 s, finish(a) <= 9000 s", 25.0),
    ],
)
def test_a_plan_waits_only_for_what_bounds_it_from_below(comparison: str, wanted: float) -> None:
    """Two waves of maps and two reduces in a row take 16 s; a bound from above makes no model larger."""
    problem = mrdsl.loads(ONE_JOB.format(comparison))
    assert mrdsl.solve(problem, "highs").objective.value == pytest.approx(wanted)
    if wanted == 16.0:
        near = mrdsl.loads(ONE_JOB.format("makespan <= 16 s"))
        assert len(build_model(problem).maps) == len(build_model(near).maps)


def test_a_far_bound_from_below_is_too_large_before_it_is_built() -> None:
    with pytest.raises(MrdslError) as refused:
        build_model(mrdsl.loads(ONE_JOB.format("finish(a) >= 9000 s")))
    assert refused.value.diagnostics[0].code == "too-large"


def test_a_makespan_that_is_promised_too_short_is_explained() -> None:
    explanation = explain(mrdsl.loads(ONE_JOB.format("makespan <= 9 s")))
    (change,) = explanation.relaxations
    assert 16.0 <= change.value <= 16.2
