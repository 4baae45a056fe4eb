"""A defect that is planted in what builds partitions is found by what checks them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest

import mrdsl
from mrdsl.families.deadline import network, workload
from mrdsl.families.deadline.verify import ends_of, measure, quantity, verify, written_in
from tests.families.deadline.specs import paths, spec_of

SPEC = """
problem deadline "Two jobs"
dag night { allowable_delay = 100 s
  task m[1..5] { duration = 10 s }
  task q { duration = 4 s, weight = 2, after = [m3] }
  task r[1..2] { duration = 5 s, after = [m, q] }
}
dag day { allowable_delay = 60 s
  task a { duration = 20 s }
  task b { duration = 10 s, after = [a] }
}
"""
GOALS = ("slack", "min_slack", "slack_ratio")


def solved(goal: str, solver: str = "direct") -> mrdsl.Result:
    return mrdsl.solve(mrdsl.loads(f"{SPEC}\nmaximize {goal}\n"), solver)


def refused(goal: str) -> bool:
    result = solved(goal)
    codes = {each.code for each in result.diagnostics}
    return result.solution.name == "NONE" and "broken-plan" in codes


def read(change: Callable[[workload.Tasks], Any]) -> tuple[Any, str, Any]:
    genuine = workload._read

    def other(spec: Any) -> Any:
        tasks, problems = genuine(spec)
        change(tasks)
        return tasks, problems

    return workload, "_read", other


def linked(change: Callable[[network.Network], network.Network]) -> tuple[Any, str, Any]:
    genuine = network._network_of
    return network, "_network_of", lambda tasks: change(genuine(tasks))


def without_order(one: network.Network) -> network.Network:
    """Let tasks that wait for others start at once."""
    waits = one.later >= one.fixed
    return replace(one, before=np.where(waits, 0, one.before))


DEFECTS = {
    "shorter tasks": read(lambda tasks: tasks.durations.__setitem__(slice(None), [d / 2 for d in tasks.durations])),
    "fewer tasks in a group": read(lambda tasks: tasks.counts.__setitem__(1, tasks.counts[1] - 1)),
    "more delay than allowed": read(lambda tasks: tasks.delays.__setitem__(0, 150.0)),
    "a task before what it waits for": linked(without_order),
    "shorter arcs": linked(lambda one: replace(one, duration=one.duration / 2.0)),
    "later deadlines": linked(lambda one: replace(one, deadlines=one.deadlines * 1.5)),
}


@pytest.mark.parametrize("goal", GOALS)
def test_without_a_defect_plans_are_right(goal: str) -> None:
    assert not refused(goal)


@pytest.mark.parametrize("goal", GOALS)
@pytest.mark.parametrize("defect", DEFECTS)
def test_defects_are_found(goal: str, defect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*DEFECTS[defect])
    assert refused(goal)


def test_a_value_by_other_weights_is_not_the_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    """The value is that of the weights as written, whatever the builder took."""
    monkeypatch.setattr(*read(lambda tasks: tasks.weights.__setitem__(slice(None), [3.0] * len(tasks))))
    result = solved("slack")
    assert result.plan is not None
    weights = {"night.q": 2.0}
    slack = dict(zip(result.plan.names, result.plan.slack.tolist(), strict=True))
    count = dict(zip(result.plan.names, result.plan.count, strict=True))
    value = sum(weights.get(name, 1.0) * count[name] * math.log(slack[name]) for name in slack)
    assert measure(mrdsl.loads(f"{SPEC}\nmaximize slack\n"), result.plan) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("column", ["delay", "slack", "duration", "latest_start", "latest_finish"])
@pytest.mark.parametrize("factor", [0.5, 1.5, math.nan])
def test_every_column_is_checked(column: str, factor: float) -> None:
    result = solved("slack")
    for row in range(len(result.plan.names)):
        values = np.array(getattr(result.plan, column))
        values[row] = values[row] * factor + (1.0 if factor > 1.0 else 0.0)
        assert list(verify(result.spec, replace(result.plan, **{column: values}))), (column, row)


def test_a_plan_without_a_task_is_refused() -> None:
    result = solved("slack")
    names = ["other" if name == "day.b" else name for name in result.plan.names]
    assert "lacks task day.b" in next(iter(verify(result.spec, replace(result.plan, names=names)))).message


def test_quantities_of_groups_and_of_their_members() -> None:
    result = solved("slack")
    plan = result.plan
    row = dict(zip(plan.names, range(len(plan.names)), strict=True))
    assert quantity(result.spec, plan, "delay", "night.m1") == plan.delay[row["night.m"]]
    assert quantity(result.spec, plan, "slack", "night.m3") == plan.slack[row["night.m3"]]
    with pytest.raises(KeyError):
        quantity(result.spec, plan, "slack", "night")


def test_ends_are_the_longest_of_all_paths() -> None:
    """Of drawn DAGs, against every path written out."""
    random = Random(30)
    for _ in range(200):
        tasks: dict[str, tuple[float, list[str]]] = {}
        for number in range(random.randint(1, 9)):
            after = random.sample(sorted(tasks), random.randint(0, min(3, len(tasks))))
            tasks[f"t{number}"] = (random.choice([0.0, 1.0, random.uniform(0.1, 50.0)]), after)
        spec = spec_of(tasks, 1000.0)
        lengths = [tasks[name][0] for name in tasks]
        ends = ends_of(written_in(spec), lengths)
        assert max(ends) == pytest.approx(max(sum(tasks[name][0] for name in path) for path in paths(tasks)))
