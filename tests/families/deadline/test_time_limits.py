"""A time limit of `direct` covers all of a solve: what comes before the search, each step, and what comes after it.

No test looks at a clock: walks along the arcs, patterns and systems advance a made one by what they are said to take.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import mrdsl
from mrdsl.contracts.pipeline import Draft
from mrdsl.core.result import Limits, Termination
from mrdsl.families.deadline import verify, workload
from mrdsl.families.deadline.facts import DeadlineFacts
from mrdsl.families.deadline.methods import direct, laplacian, newton
from mrdsl.families.deadline.methods.laplacian import Multigrid, Pattern
from mrdsl.families.deadline.network import Levels
from mrdsl.planning import solve_spec
from mrdsl.spec.spec import Goal, Spec
from tests.families.deadline.test_hard_dags import random_dag

SOLVED = 1e-9


class Made:
    """A clock that others advance; ``spent`` says by how much each kind of work did."""

    def __init__(self) -> None:
        self.now, self.spent = 100.0, dict.fromkeys(("walk", "pattern", "system"), 0.0)

    def __call__(self) -> float:
        return self.now

    def taking(self, kind: str, seconds: float, work: Callable[..., Any]) -> Callable[..., Any]:
        """The work, on this clock."""

        def worked(*given: Any, **named: Any) -> Any:
            self.now += seconds
            self.spent[kind] += seconds
            return work(*given, **named)

        return worked


def a_spec(dags: int = 1, tasks: int = 60) -> Spec:
    rng = np.random.default_rng(4)
    nodes = [replace(random_dag(rng, tasks, 8, 1.0, f"d{i}"), allowable_delay=30.0) for i in range(dags)]
    return Spec(problem="deadline", facts=DeadlineFacts(dags=tuple(nodes)), goal=Goal("maximize", "slack"))


def timed(patch: pytest.MonkeyPatch, clock: Made, walk: float = 0.0, pattern: float = 0.0, system: float = 0.0) -> None:
    for name in ("longest", "latest", "pushed"):
        patch.setattr(Levels, name, clock.taking("walk", walk, getattr(Levels, name)))
    patch.setattr(newton, "Pattern", clock.taking("pattern", pattern, Pattern))
    patch.setattr(Pattern, "solver", clock.taking("system", system, Pattern.solver))


def solved(spec: Spec, clock: Made, seconds: float | None, before: float = 0.0) -> Draft:
    """What `direct` makes of a spec whose solve began ``before`` seconds ago, and the checks of the plan after it."""
    draft = Draft(spec, limits=Limits(gap=SOLVED, time=seconds), started=clock() - before, clock=clock)
    for step in (direct.prepare, direct.maximize_slack, direct.maximize_least, direct.recover):
        draft = step(draft)
    assert not list(verify.verify(spec, draft.plan))
    verify.measure(spec, draft.plan)
    return draft


@pytest.mark.parametrize("seconds", [40.0, 60.0, 100.0, 130.0])
def test_what_comes_after_the_search_is_within_the_limit(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    clock = Made()
    timed(monkeypatch, clock, walk=1.0, system=15.0)
    draft = solved(a_spec(), clock, seconds)
    assert clock.now - 100.0 <= seconds
    assert draft.termination is Termination.TIME_LIMIT
    assert draft.bound is not None
    assert draft.value is not None
    assert draft.bound >= draft.value


def test_more_time_is_used_and_enough_closes_the_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    """So the limits of the test above are kept by ending early, not by doing nothing."""
    spent, values = [], []
    for seconds in (50.0, 100.0, 1_000.0):
        clock = Made()
        with monkeypatch.context() as patch:
            timed(patch, clock, walk=1.0, system=15.0)
            draft = solved(a_spec(), clock, seconds)
        spent.append(clock.spent["system"])
        values.append(draft.value)
    assert draft.termination is Termination.OPTIMAL
    assert spent == sorted(set(spent))
    assert values == sorted(set(values))


def test_what_the_first_step_prepares_is_not_expected_of_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """Merging the grids takes 20 of 30 seconds here, and a step after it one: the time that is left is used."""
    clock, begin = Made(), Multigrid.__init__

    def merging(self: Multigrid, matrix: Any, late: Callable[[], bool], before: Multigrid | None = None) -> None:
        clock.now += 1.0 if before is not None else 20.0
        begin(self, matrix, late, before)

    timed(monkeypatch, clock)
    monkeypatch.setattr(laplacian, "EASY", -1.0)
    monkeypatch.setattr(laplacian, "HARD", -1.0)
    monkeypatch.setattr(Multigrid, "__init__", merging)
    solved(a_spec(), clock, 30.0)
    assert 125.0 <= clock.now <= 130.0


@pytest.mark.parametrize("before", [5.0, 29.0, 35.0])
def test_what_comes_before_the_search_counts(monkeypatch: pytest.MonkeyPatch, before: float) -> None:
    """Where the checks of the spec took all of it, the first times that fit are the plan."""
    clock = Made()
    timed(monkeypatch, clock, pattern=2.0, system=5.0)
    draft = solved(a_spec(), clock, 30.0, before)
    assert draft.plan is not None
    assert clock.now - 100.0 <= max(30.0 - before, 0.0) + 2.0
    assert clock.spent["system"] == {5.0: 20.0, 29.0: 0.0, 35.0: 0.0}[before]


def test_each_dag_has_its_share_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of six alike DAGs the first does not take the steps of the others."""
    clock, ends = Made(), []
    timed(monkeypatch, clock, system=5.0)
    search = direct.maximize_product

    def noted(*given: Any) -> Any:
        begun = clock()
        found = search(*given)
        ends.append(clock() - begun)
        return found

    monkeypatch.setattr(direct, "maximize_product", noted)
    solved(a_spec(dags=6), clock, 120.0)
    assert len(ends) == 6
    assert sum(ends) <= 120.0
    assert min(ends) >= 15.0
    assert max(ends) <= 30.0


def test_the_clock_of_a_pipeline_starts_before_the_checks_of_the_spec(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = []
    checks = solve_spec.diagnose

    def noted(spec: Spec) -> Any:
        begun.append(solve_spec.time.monotonic())
        return checks(spec)

    def prepared(draft: Draft) -> Draft:
        begun.append(draft.started)
        return prepare(draft)

    prepare = direct.prepare
    monkeypatch.setattr(solve_spec, "diagnose", noted)
    monkeypatch.setattr(direct, "prepare", prepared)
    mrdsl.solve(a_spec(), solver="direct")
    checked, started = begun
    assert started <= checked


def test_a_solve_reads_the_tasks_and_builds_their_network_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from mrdsl.families.deadline import network

    calls = []
    for module, name in ((workload, "_read"), (network, "_network_of")):
        work = getattr(module, name)
        monkeypatch.setattr(module, name, lambda given, work=work, name=name: (calls.append(name), work(given))[1])
    assert mrdsl.solve(a_spec(), solver="direct").termination is Termination.OPTIMAL
    assert calls == ["_read", "_network_of"]
