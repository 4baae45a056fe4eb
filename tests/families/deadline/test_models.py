"""The models against each other, and against every path written out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import pytest

import mrdsl
from mrdsl.families.deadline.plan import DeadlinePlan
from mrdsl.spec.spec import Spec
from tests.families.deadline.specs import paths, spec_of

Tasks = Mapping[str, tuple[float, Sequence[str]]]

NIGHTLY: Tasks = {
    "m1": (60, ()),
    "m2": (90, ()),
    "m3": (45, ()),
    "r1": (120, ("m1", "m2")),
    "r2": (80, ("m2", "m3")),
    "publish": (20, ("r1", "r2")),
}
WAYS = [("scip", "potentials"), ("highs", "tangents"), ("glpk", "tangents"), ("cbc", "tangents")]


def solved(spec: Spec, solver: str, formulation: str | None) -> tuple[DeadlinePlan, float]:
    result = mrdsl.solve(spec, solver=solver, formulation=formulation)
    assert isinstance(result.plan, DeadlinePlan), result.diagnostics
    assert result.objective.value is not None
    assert result.objective.bound is not None
    assert result.objective.value <= result.objective.bound + 1e-6 * abs(result.objective.bound)
    return result.plan, result.objective.value


@pytest.mark.parametrize(("solver", "formulation"), WAYS)
def test_every_solver_finds_the_same_partition(solver: str, formulation: str) -> None:
    """The prices of the paths prove it: each task's w / slack is the sum of the prices of the paths through it."""
    plan, value = solved(spec_of(NIGHTLY, 600), solver, formulation)
    delay = dict(zip(plan.names, plan.delay.tolist(), strict=True))
    for path in paths(NIGHTLY):
        assert sum(delay[name] for name in path) <= 600 * (1 + 1e-9)
    # m1, m2, m3 all end where both reduce tasks start, r1 and r2 where publish starts: three windows a, b, c of one
    # path, whose derivatives are equal at the optimum: 1/(a-60) + 1/(a-90) + 1/(a-45) = 1/(b-120) + 1/(b-80) = 1/(c-20)
    a, b, c = delay["m2"], delay["r1"], delay["publish"]
    first, second, third = 1 / (a - 60) + 1 / (a - 90) + 1 / (a - 45), 1 / (b - 120) + 1 / (b - 80), 1 / (c - 20)
    assert first == pytest.approx(second, rel=2e-2)
    assert second == pytest.approx(third, rel=2e-2)
    assert a + b + c == pytest.approx(600, rel=1e-6)
    assert value == pytest.approx(30.0677, abs=1e-4)


@pytest.mark.parametrize("solver", ["highs", "glpk", "cbc", "scip"])
def test_least_slack_is_that_of_the_tightest_path(solver: str) -> None:
    _, value = solved(spec_of(NIGHTLY, 600, "min_slack"), solver, "potentials")
    tightest = min((600 - sum(NIGHTLY[name][0] for name in path)) / len(path) for path in paths(NIGHTLY))
    assert value == pytest.approx(tightest, rel=1e-6)


@pytest.mark.parametrize("solver", ["highs", "glpk"])
def test_least_ratio_is_the_whole_delay_over_the_critical_path(solver: str) -> None:
    _, value = solved(spec_of(NIGHTLY, 600, "slack_ratio"), solver, "tangents")
    critical = max(sum(NIGHTLY[name][0] for name in path) for path in paths(NIGHTLY))
    assert value == pytest.approx(600 / critical - 1, rel=1e-6)


def test_weights_share_a_chain_in_proportion() -> None:
    """On one path the product with weights is greatest where each slack is its weight's share."""
    chain: Tasks = {"a": (10, ()), "b": (20, ("a",)), "c": (30, ("b",))}
    plan, value = solved(spec_of(chain, 120, weights={"a": 1, "b": 2, "c": 3}), "scip", "potentials")
    assert plan.slack.tolist() == pytest.approx([10, 20, 30], rel=1e-3)
    assert value == pytest.approx(math.log(10) + 2 * math.log(20) + 3 * math.log(30), abs=1e-5)


@pytest.mark.parametrize(("solver", "formulation"), [("scip", "potentials"), ("highs", "tangents"), ("direct", None)])
def test_a_solver_gets_the_first_formulation_that_it_can_solve(solver: str, formulation: str | None) -> None:
    assert mrdsl.solve(spec_of(NIGHTLY, 600), solver=solver).formulation == formulation
