"""A solver that takes a start begins there: with next to no search it is at least as good."""

from __future__ import annotations

import pytest

from mrdsl.core.result import Limits, SolutionStatus
from mrdsl.solving import registry
from mrdsl.solving.checked_answer import Memory, solve_model
from tests.solving.hard_models import many_knapsacks

STARTERS = [name for name in ("highs", "glpk", "cbc", "scip") if "start" in registry.find(name).offers]


def test_those_that_offer_it() -> None:
    assert STARTERS == ["highs", "cbc", "scip"]


@pytest.mark.parametrize("solver", STARTERS)
def test_a_start_is_where_the_search_begins(solver: str) -> None:
    memory = Memory()
    good = solve_model(many_knapsacks(), "highs", Limits(gap=0.012, time=20), memory=memory)
    assert memory.values is not None
    assert good.value is not None
    again = solve_model(many_knapsacks(), solver, Limits(nodes=1, time=20), memory=memory)
    assert again.solution is SolutionStatus.FEASIBLE
    assert again.value is not None
    assert again.value >= good.value - 1e-6


def test_a_start_of_another_shape_is_left_out() -> None:
    memory = Memory()
    solve_model(many_knapsacks(3, 8), "highs", memory=memory)
    assert solve_model(many_knapsacks(3, 9), "highs", memory=memory).solution is SolutionStatus.OPTIMAL
    assert memory.values is not None
    assert len(memory.values) == 9
