"""``subject to`` in every formulation: the tangents keep it, whatever the goal, and say so where nothing can."""

from __future__ import annotations

import pytest

import mrdsl
from mrdsl.core.result import Termination

SPEC = """problem deadline "chain of two"
dag nightly {{
  allowable_delay = 10 min
  task m1 {{ duration = 60 s }}
  task m2 {{ duration = 90 s, after = [m1] }}
}}
maximize {goal}
subject to {{ slack(m1) >= {least} }}
"""
BY_HAND = {
    # 450 s of slack in all, 400 of them for m1: the goals are 400 * 50 (as a sum of logarithms), 50, and 50/90.
    "slack": 9.903487552536127,
    "min_slack": 50.0,
    "slack_ratio": 50.0 / 90.0,
}


@pytest.mark.parametrize("formulation", ["tangents", "potentials"])
@pytest.mark.parametrize("goal", BY_HAND)
def test_a_comparison_that_binds(goal: str, formulation: str) -> None:
    result = mrdsl.solve(mrdsl.loads(SPEC.format(goal=goal, least="400 s")), formulation=formulation)
    assert result.plan is not None, result.diagnostics
    assert result.objective.value == pytest.approx(BY_HAND[goal], rel=1e-5)


@pytest.mark.parametrize("formulation", ["tangents", "potentials"])
@pytest.mark.parametrize("goal", BY_HAND)
def test_a_comparison_that_nothing_keeps(goal: str, formulation: str) -> None:
    result = mrdsl.solve(mrdsl.loads(SPEC.format(goal=goal, least="20 min")), formulation=formulation)
    assert result.termination is Termination.INFEASIBLE, result.diagnostics
    assert "broken-plan" not in [d.code for d in result.diagnostics]
