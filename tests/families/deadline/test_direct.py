"""`direct` against the other two ways, closed forms, and its own bound."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mrdsl
from mrdsl.core.result import SolutionStatus, Termination
from mrdsl.families.deadline.plan import DeadlinePlan
from mrdsl.spec.spec import Spec
from tests.families.deadline.random_dags import Tasks, critical, dags
from tests.families.deadline.specs import paths, spec_of


def direct(spec: Spec) -> tuple[DeadlinePlan, float, float]:
    result = mrdsl.solve(spec, solver="direct")
    assert isinstance(result.plan, DeadlinePlan), result.diagnostics
    assert result.solution is SolutionStatus.OPTIMAL
    assert result.objective.value is not None
    assert result.objective.bound is not None
    return result.plan, result.objective.value, result.objective.bound


def longest(tasks: Tasks, delay: dict[str, float]) -> float:
    return max(sum(delay[name] for name in path) for path in paths(tasks))


@settings(max_examples=60, derandomize=True, deadline=None)
@given(dags(), st.floats(1.05, 5.0), st.data())
def test_direct_keeps_every_path_and_closes_its_gap(tasks: Tasks, factor: float, data: st.DataObject) -> None:
    """The delays keep every path written out; the plan is worth what is claimed, as near the bound as is claimed."""
    allowed = factor * max(critical(tasks), 1.0)
    weights = {name: data.draw(st.sampled_from([0.5, 1.0, 3.0])) for name in tasks}
    plan, value, bound = direct(spec_of(tasks, allowed, weights=weights))
    delay = dict(zip(plan.names, plan.delay.tolist(), strict=True))
    slack = dict(zip(plan.names, plan.slack.tolist(), strict=True))
    assert longest(tasks, delay) <= allowed * (1 + 1e-9)
    assert all(slack[name] > 0 for name in tasks)
    assert value == pytest.approx(sum(weights[n] * math.log(slack[n]) for n in tasks), rel=1e-9, abs=1e-9)
    assert value <= bound + 1e-12 * abs(bound)
    assert bound - value <= 1e-6 * max(abs(value), 0.01 * sum(weights.values())) * (1 + 1e-6)


@settings(max_examples=40, derandomize=True, deadline=None)
@given(dags(), st.floats(1.0, 4.0), st.sampled_from(["min_slack", "slack_ratio"]), st.data())
def test_the_least_slack_is_that_of_the_tightest_path(
    tasks: Tasks, factor: float, goal: str, data: st.DataObject
) -> None:
    weights = {name: data.draw(st.sampled_from([0.5, 1.0, 3.0])) for name in tasks}
    allowed = factor * max(critical(tasks), 1.0)
    if goal == "slack_ratio" and not any(duration for duration, _ in tasks.values()):
        return
    plan, value, _ = direct(spec_of(tasks, allowed, goal, weights))
    share = {n: weights[n] * (tasks[n][0] if goal == "slack_ratio" else 1.0) for n in tasks}
    tightest = min(
        (allowed - sum(tasks[n][0] for n in path)) / sum(share[n] for n in path)
        for path in paths(tasks)
        if sum(share[n] for n in path) > 0
    )
    assert value == pytest.approx(tightest, rel=1e-7, abs=1e-9 * allowed)
    assert longest(tasks, dict(zip(plan.names, plan.delay.tolist(), strict=True))) <= allowed * (1 + 1e-9)


def test_max_min_goes_on_to_the_next_least() -> None:
    """a -> b takes all of 100 s; c beside b shares only a's end, and gets what the window leaves."""
    tasks: Tasks = {"a": (10, ()), "b": (50, ("a",)), "c": (20, ("a",)), "d": (5, ())}
    plan, value, _ = direct(spec_of(tasks, 100, "min_slack"))
    assert value == pytest.approx(20)
    assert dict(zip(plan.names, plan.slack.tolist(), strict=True)) == pytest.approx(
        {"a": 20, "b": 20, "c": 50, "d": 95}
    )


@pytest.mark.parametrize(
    ("maps", "reduces", "map_time", "reduce_time", "allowed"),
    [(3, 2, 60, 120, 600), (200, 30, 45, 90, 300), (1, 1, 0, 10, 11)],
)
def test_complete_bipartite_with_equal_durations_has_a_closed_form(
    maps: int, reduces: int, map_time: float, reduce_time: float, allowed: float
) -> None:
    """m / (theta - T_m) = r / (D' - theta - T_r): the spare time is shared in proportion to the counts."""
    tasks: Tasks = {f"m{i}": (map_time, ()) for i in range(maps)}
    tasks |= {f"r{i}": (reduce_time, tuple(f"m{j}" for j in range(maps))) for i in range(reduces)}
    plan, _, _ = direct(spec_of(tasks, allowed))
    spare = allowed - map_time - reduce_time
    assert plan.slack[:maps] == pytest.approx(np.full(maps, spare * maps / (maps + reduces)), rel=2e-3)
    assert plan.slack[maps:] == pytest.approx(np.full(reduces, spare * reduces / (maps + reduces)), rel=2e-3)


@settings(max_examples=40, derandomize=True, deadline=None)
@given(
    st.lists(st.floats(0, 100), min_size=1, max_size=8),
    st.lists(st.floats(0, 100), min_size=1, max_size=8),
    st.floats(1.05, 5),
)
def test_complete_bipartite_is_the_root_of_one_equation(maps: list[float], reduces: list[float], factor: float) -> None:
    """sum 1 / (theta - T_j) = sum 1 / (D' - theta - T_k) in between, solved by bisection."""
    low, top = max(maps), max(reduces)
    allowed = factor * max(low + top, 1.0)
    left, right = low, allowed - top
    for _ in range(200):
        theta = (left + right) / 2
        gain = sum(1 / max(theta - t, 1e-300) for t in maps)
        gain -= sum(1 / max(allowed - theta - t, 1e-300) for t in reduces)
        left, right = (theta, right) if gain > 0 else (left, theta)
    best = sum(math.log(theta - t) for t in maps) + sum(math.log(allowed - theta - t) for t in reduces)
    tasks: Tasks = {f"m{i}": (t, ()) for i, t in enumerate(maps)}
    tasks |= {f"r{i}": (t, tuple(f"m{j}" for j in range(len(maps)))) for i, t in enumerate(reduces)}
    _, value, bound = direct(spec_of(tasks, allowed))
    assert value == pytest.approx(best, rel=1.1e-6, abs=1e-9)
    assert bound >= best - 1e-9 * abs(best)


def test_an_isolated_task_gets_the_whole_delay() -> None:
    plan, _, _ = direct(spec_of({"a": (10, ()), "b": (20, ("a",)), "alone": (5, ())}, 100))
    assert plan.delay[2] == pytest.approx(100)


def test_a_time_limit_leaves_a_plan_with_an_honest_gap() -> None:
    tasks: Tasks = {f"t{i}": (1.0 + i % 7, (f"t{i - 1}",) if i % 5 else ()) for i in range(50)}
    result = mrdsl.solve(spec_of(tasks, 100), solver="direct", limits=mrdsl.Limits(time=0.0, gap=1e-12))
    assert result.termination is Termination.TIME_LIMIT
    assert result.solution is SolutionStatus.FEASIBLE
    assert result.objective.value is not None
    assert result.objective.bound is not None
    assert result.objective.value < result.objective.bound
