"""The examples of 003, 5.3 and Table 5.1, with the thesis's own figures (and its misprint put right)."""

from __future__ import annotations

from pathlib import Path

import pytest

import mrdsl
from mrdsl.contracts.pipeline import Draft, run_steps
from mrdsl.core.result import Result, SolutionStatus, Termination
from mrdsl.families.makespan.methods import orders as steps
from mrdsl.families.makespan.methods.balanced_pools import balanced_pools
from mrdsl.families.makespan.schedule import PoolOrder, batch_of, simulate
from mrdsl.families.makespan.verify import verify
from mrdsl.spec import Spec

from .batches import TABLE_5_1, TWO_JOBS, spec


def solved(problem: Spec, *names: str) -> Result:
    return run_steps([(getattr(steps, name), {}) for name in (*names, "conclude")], Draft(problem))


def test_fifo_of_the_two_jobs_takes_42_seconds_and_not_the_printed_40() -> None:
    outcome = solved(spec(TWO_JOBS, 1, 1), "fifo")
    assert outcome.value == 42.0
    assert outcome.solution is SolutionStatus.FEASIBLE


def test_johnson_takes_24_seconds_which_is_the_optimum() -> None:
    outcome = solved(spec(TWO_JOBS, 1, 1), "johnson")
    assert outcome.value == 24.0
    assert outcome.termination is Termination.OPTIMAL
    assert outcome.bound == 24.0


def test_johnson_on_table_5_1_takes_47_seconds() -> None:
    problem = spec(TABLE_5_1, 30, 30)
    outcome = solved(problem, "johnson")
    assert outcome.value == 47.0
    assert list(verify(problem, outcome.plan)) == []
    assert outcome.plan.document()["pools"] == [
        {"map_slots": 30, "reduce_slots": 30, "order": ["J2", "J5", "J1", "J4", "J3"]}
    ]


def test_the_two_pools_of_figure_5_6_take_40_seconds() -> None:
    batch = batch_of(spec(TABLE_5_1, 30, 30))
    schedule = simulate(batch, [PoolOrder(10, 10, (1, 4, 0)), PoolOrder(20, 20, (3, 2))])
    assert batch.seconds(schedule.makespan) == pytest.approx(40.0)


def test_two_pools_on_table_5_1_are_proven_optimal_without_a_solver() -> None:
    problem = spec(TABLE_5_1, 30, 30)
    outcome = run_steps([(balanced_pools, {}), (steps.conclude, {})], Draft(problem))
    assert (outcome.value, outcome.bound, outcome.termination) == (40.0, 40.0, Termination.OPTIMAL)
    assert list(verify(problem, outcome.plan)) == []


@pytest.mark.parametrize(("solver", "seconds"), [("fifo", 42.0), ("johnson", 24.0), ("auto", 24.0), ("highs", 24.0)])
def test_the_model_of_the_two_jobs_gives_the_figures_of_its_comment(solver: str, seconds: float) -> None:
    path = Path(__file__).resolve().parents[3] / "models" / "makespan" / "two-jobs.mrspec"
    result = mrdsl.solve(mrdsl.load(path), solver)
    assert result.objective.value == seconds
    assert result.objective.bound == 24.0
