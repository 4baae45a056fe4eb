"""Deadline partitions where the critical path takes the whole delay, or all but a rounding of it."""

from __future__ import annotations

from fractions import Fraction
from math import log
from random import Random

import pytest

import mrdsl
from mrdsl.families.deadline.verify import verify

from .random_dags import Tasks
from .specs import paths, spec_of

METHODS = (("direct", None), ("highs", "potentials"), ("highs", "tangents"), ("glpk", "potentials"))


def drawn(random: Random) -> Tasks:
    """A DAG of a few tasks, some of no duration, with fractions of seconds that no binary number holds."""
    tasks: Tasks = {}
    for i in range(random.randint(1, 7)):
        after = [name for name in tasks if random.random() < 0.4]
        tasks[f"t{i}"] = (random.choice((0.0, 0.1, 0.2, 0.3, 0.7, 33.3, random.uniform(0.01, 99.0))), after)
    return tasks


def longest(tasks: Tasks) -> float:
    """The critical path, exactly, rounded once."""
    return float(max(sum(Fraction(tasks[name][0]) for name in path) for path in paths(tasks)))


@pytest.mark.parametrize(("solver", "formulation"), METHODS)
def test_a_task_of_its_own_keeps_its_slack_where_another_path_has_none(solver: str, formulation: str | None) -> None:
    tasks: Tasks = {"a": (0.1, []), "b": (0.2, ["a"]), "c": (77.7, ["b"]), "alone": (3.0, [])}
    spec = spec_of(tasks, longest(tasks), "min_slack")
    result = mrdsl.solve(spec, solver, formulation=formulation)
    assert result.plan is not None, result.diagnostics
    assert result.objective.value == pytest.approx(0.0, abs=1e-7)
    assert verify_is_silent(spec, result)
    if solver == "direct":
        assert dict(zip(result.plan.names, result.plan.slack, strict=True))["alone"] == pytest.approx(75.0)


def verify_is_silent(spec: mrdsl.Spec, result: mrdsl.Result) -> bool:
    return list(verify(spec, result.plan)) == []


def test_progressive_filling_holds_at_the_critical_path() -> None:
    """Whatever the roundings: no task can be given more without taking from one that has no more (a path through it is
    full), and no path is over."""
    random = Random(22)
    for _ in range(300):
        tasks = drawn(random)
        delay = longest(tasks) or 1.0
        spec = spec_of(tasks, delay, "min_slack")
        result = mrdsl.solve(spec, "direct")
        assert result.plan is not None, result.diagnostics
        slack = dict(zip(result.plan.names, result.plan.slack, strict=True))
        lengths = {path: sum(tasks[name][0] + slack[name] for name in path) for path in paths(tasks)}
        assert max(lengths.values()) <= delay * (1 + 1e-12)
        for name in tasks:
            fullest = max(length for path, length in lengths.items() if name in path)
            assert fullest == pytest.approx(delay, rel=1e-8)


@pytest.mark.parametrize("goal", ["min_slack", "slack_ratio"])
def test_a_tenth_and_two_tenths_fit_into_three_tenths(goal: str) -> None:
    spec = spec_of({"a": (0.1, []), "b": (0.2, ["a"])}, 0.3, goal)
    for solver, formulation in METHODS:
        result = mrdsl.solve(spec, solver, formulation=formulation)
        assert result.plan is not None, (solver, result.diagnostics)
        assert result.objective.value == pytest.approx(0.0, abs=1e-7)


def test_what_is_too_long_by_more_than_a_rounding_is_impossible() -> None:
    tasks: Tasks = {"a": (0.1, []), "b": (0.2, ["a"])}
    late = mrdsl.solve(spec_of(tasks, 0.3 * (1 - 2e-9), "min_slack"), "direct")
    assert [d.code for d in late.diagnostics] == ["impossible-deadline"]
    full = mrdsl.solve(spec_of(tasks, 0.3 * (1 + 1e-10), "slack"), "direct")
    assert "has no slack to share" in full.diagnostics[0].message


@pytest.mark.parametrize("over", [1e-11, 2e-9, 1e-8, 1e-6, 1e-3, 1.0])
def test_the_bound_on_a_long_chain_is_never_below_its_value(over: float) -> None:
    """n equal tasks in a chain: the best product gives each (D' - critical path) / n."""
    count, duration = 2000, 0.7
    tasks: Tasks = {f"t{i}": (duration, [f"t{i - 1}"] if i else []) for i in range(count)}
    path = float(count * Fraction(duration))
    spec = spec_of(tasks, path * (1 + over), "slack")
    result = mrdsl.solve(spec, "direct")
    if over <= 1e-9:
        assert [d.code for d in result.diagnostics] == ["impossible-deadline"]
        return
    assert result.plan is not None
    exact = Fraction(path * (1 + over)) - count * Fraction(duration)
    best = count * log(float(exact / count))
    assert result.objective.bound >= result.objective.value
    assert result.objective.bound >= best - 1e-6 * count
    assert result.objective.value == pytest.approx(best, abs=1e-3 * count)
