"""``subject to`` in ``direct``: bounds on single tasks and sums, held against HiGHS on linear programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest

import mrdsl
from mrdsl.checking.comparisons import broken
from mrdsl.core.result import Limits, Termination
from mrdsl.families.deadline.facts import Dag, known_names
from mrdsl.families.deadline.methods.interior_point import least_of
from mrdsl.families.deadline.methods.slack_limits import choose
from mrdsl.families.deadline.verify import quantity
from mrdsl.spec.expression import Constant, Linear, Operation, PlanQuantity
from mrdsl.spec.spec import Constraint, Spec

from .specs import spec_of
from .test_comparisons import BY_HAND
from .test_comparisons import SPEC as CHAIN


def random_spec(seed: int, goal: str = "slack", sums: bool = True) -> Spec:
    """Up to 14 tasks of 0 to 100 s in a random DAG, weights among them, and one to four comparisons."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(3, 15))
    tasks = {}
    for i in range(count):
        after = rng.choice(i, min(i, int(rng.integers(0, 3))), replace=False) if i else []
        tasks[f"t{i}"] = (float(rng.choice([0.0, 10.0, rng.uniform(1, 100)])), [f"t{j}" for j in after])
    weights = {name: float(rng.choice([0.5, 1.0, 3.0])) for name in tasks}
    spec = spec_of(tasks, float(rng.uniform(1.2, 3.0)) * 300.0, goal, weights)
    return replace(spec, constraints=tuple(_comparison(rng, count, sums) for _ in range(int(rng.integers(1, 5)))))


def _comparison(rng: np.random.Generator, count: int, sums: bool) -> Constraint:
    terms = [
        Operation("*", (Constant(float(rng.choice([1.0, 1.0, 2.0, -1.0]))), PlanQuantity(kind, f"t{i}")))
        for i in rng.choice(count, int(rng.integers(2, 4)) if sums and rng.random() < 0.5 else 1, replace=False)
        for kind in [str(rng.choice(["delay", "slack"]))]
    ]
    value = float(rng.uniform(5, 250))
    kind = str(rng.choice(["<=", ">=", "<=", ">=", "="]))
    return Constraint(Operation("+", (Constant(0.0), *terms)), kind, Constant(value))


@pytest.mark.parametrize("seed", range(29))
def test_direct_agrees_with_the_tangents(seed: int) -> None:
    """The same value to the gaps that both prove, or both say that there is no plan."""
    spec = random_spec(seed)
    ours = mrdsl.solve(spec, "direct", limits=Limits(gap=1e-6))
    theirs = mrdsl.solve(spec, formulation="tangents", limits=Limits(gap=1e-6))
    assert (ours.termination is Termination.INFEASIBLE) == (theirs.termination is Termination.INFEASIBLE)
    if theirs.objective.value is None:
        return
    assert ours.objective.value is not None
    assert ours.objective.bound is not None
    assert ours.termination is Termination.OPTIMAL
    near = 3e-6 * max(abs(theirs.objective.value), 1.0)
    assert ours.objective.value == pytest.approx(theirs.objective.value, abs=near)
    assert theirs.objective.value <= ours.objective.bound + near
    assert not list(broken(spec, lambda name, argument: quantity(spec, ours.plan, name, argument)))


@pytest.mark.parametrize("goal", ["min_slack", "slack_ratio"])
@pytest.mark.parametrize("seed", range(12))
def test_the_even_goals_agree_with_a_linear_program(goal: str, seed: int) -> None:
    spec = random_spec(1000 + seed, goal, sums=False)
    assert choose(spec, False, None) == "direct"
    ours, theirs = mrdsl.solve(spec, "direct"), mrdsl.solve(spec, "highs")
    assert (ours.termination is Termination.INFEASIBLE) == (theirs.termination is Termination.INFEASIBLE)
    if theirs.objective.value is not None:
        assert ours.objective.value == pytest.approx(theirs.objective.value, rel=1e-5, abs=1e-5)
        assert not list(broken(spec, lambda name, argument: quantity(spec, ours.plan, name, argument)))


@pytest.mark.parametrize("goal", BY_HAND)
def test_a_bound_that_binds_is_met_by_auto(goal: str) -> None:
    result = mrdsl.solve(mrdsl.loads(CHAIN.format(goal=goal, least="400 s")))
    assert result.solver["name"] == "direct"
    assert result.objective.value == pytest.approx(BY_HAND[goal], rel=1e-5)


@pytest.mark.parametrize("goal", BY_HAND)
def test_a_bound_that_nothing_keeps(goal: str) -> None:
    assert mrdsl.solve(mrdsl.loads(CHAIN.format(goal=goal, least="20 min"))).termination is Termination.INFEASIBLE


def test_a_bound_that_takes_all_the_slack_there_is() -> None:
    """450 s in all, all of them asked for: the other task gets none."""
    result = mrdsl.solve(mrdsl.loads(CHAIN.format(goal="min_slack", least="450 s")))
    assert result.objective.value == pytest.approx(0.0, abs=1e-6)


def test_bounds_that_leave_nothing_to_choose() -> None:
    """400 s and 50 s of 450 s: no room for an interior point, and still the plan there is."""
    text = CHAIN.format(goal="slack", least="400 s, slack(m2) >= 50 s")
    result = mrdsl.solve(mrdsl.loads(text))
    assert result.objective.value == pytest.approx(np.log(400) + np.log(50), rel=1e-6)


def test_windows_keep_the_bounds_that_they_show() -> None:
    """A task that is to take a minute at most ends a minute after those before it, not when the job has to end."""
    text = CHAIN.format(goal="slack", least="1 s").replace("slack(m1) >= 1 s", "delay(m2) <= 100 s, delay(m1) <= 80 s")
    plan = mrdsl.solve(mrdsl.loads(text)).plan
    assert plan is not None
    assert plan.latest_finish == pytest.approx([80.0, 180.0], rel=1e-6)
    assert plan.latest_start == pytest.approx([20.0, 90.0], rel=1e-6)


@pytest.mark.parametrize(
    ("comparison", "chosen"),
    [
        ("slack(m1) <= 2 * slack(m2)", "direct"),
        ("max(delay(m1), delay(m2)) <= 300 s", "direct"),
        ("min(delay(m1), delay(m2)) <= 300 s", "highs"),
        ("slack(m1) * slack(m2) <= 300", "highs"),
    ],
)
def test_what_is_linear_goes_to_direct(comparison: str, chosen: str) -> None:
    where = [PlanQuantity("slack", "m1"), PlanQuantity("slack", "m2")]
    spec = spec_of({"m1": (60.0, []), "m2": (90.0, ["m1"])}, 600.0)
    delays = (PlanQuantity("delay", "m1"), PlanQuantity("delay", "m2"))
    built = {
        "slack(m1) <= 2 * slack(m2)": (where[0], Operation("*", (Constant(2.0), where[1]))),
        "max(delay(m1), delay(m2)) <= 300 s": (Operation("max", delays), Constant(300.0)),
        "min(delay(m1), delay(m2)) <= 300 s": (Operation("min", delays), Constant(300.0)),
        "slack(m1) * slack(m2) <= 300": (Operation("*", tuple(where)), Constant(300.0)),
    }[comparison]
    assert choose(replace(spec, constraints=(Constraint(built[0], "<=", built[1]),)), False, None) == chosen


def test_linear_functions_are_those_of_numbers() -> None:
    x, y = Linear({"x": 1.0}), Linear({"y": 1.0}, 2.0)
    found = 3 - (2 * x - y / 4) * 2 + x
    assert dict(found.factors) == {"x": -3.0, "y": 0.5}
    assert found.constant == 4.0
    for wrong in (lambda: x * y, lambda: 1 / x, lambda: x / 0, lambda: max(x, y)):
        with pytest.raises(ValueError, match="not linear"):
            wrong()


def test_the_least_of_a_parabola() -> None:
    assert least_of(lambda x: (x - 0.3) ** 2 + 1.0, -1.0, 1.0) == pytest.approx(1.0, abs=1e-8)


def test_the_names_of_the_tasks_are_listed_once_for_all_comparisons(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not for each: 100,000 tasks with 1,000 comparisons would take minutes to check."""
    listed = []

    def counted(dags: Sequence[Dag]) -> Iterator[str]:
        listed.append(1)
        return known_names(dags)

    monkeypatch.setattr("mrdsl.families.deadline.facts.known_names", counted)
    spec = random_spec(1)
    comparisons = tuple(Constraint(PlanQuantity("slack", "t0"), ">=", Constant(0.0)) for _ in range(20))
    assert not mrdsl.check(replace(spec, constraints=comparisons))
    assert len(listed) == 1
