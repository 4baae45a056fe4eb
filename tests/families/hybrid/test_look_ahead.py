"""The look-ahead program lies between the relaxed bound and every policy's cost, and meets costs known by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import mrdsl
from mrdsl.core.answer import Reply
from mrdsl.core.result import Table, Termination
from mrdsl.families.hybrid.explain import look_ahead, why
from mrdsl.families.hybrid.facts import Control, HybridFacts, Queue, Vm
from mrdsl.families.hybrid.plan import HybridPlan
from mrdsl.families.hybrid.simulate import SimulatedHybrid
from mrdsl.families.hybrid.workload import arrivals_of
from mrdsl.solving.backends import highs
from mrdsl.spec.schema import Distribution
from mrdsl.spec.spec import Spec
from tests.command_lines import run_python

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("method", ["controller", "calendar", "threshold", "always-outsource"])
def test_between_the_relaxed_bound_and_the_cost(method: str, seed: int) -> None:
    draw = np.random.RandomState(seed)
    queues = tuple(
        Queue(name=f"q{i}", vm="m", size=1 + 2 * i, delay=10 + 9 * i + int(draw.randint(4)), arrivals_max=6,
              arrivals=Distribution("poisson", (float(draw.uniform(1, 3)),)), outsourcing=float(draw.uniform(1, 9)))
        for i in range(2)
    )  # fmt: skip
    facts = HybridFacts(
        horizon=60,
        vms=(Vm(name="m", available=int(draw.randint(1, 8)), preemption_cost=0.2),),
        queues=queues,
        control=Control(V=float(draw.uniform(0, 1)), acceptance=0.9, outsource_limit=30),
    )
    result = mrdsl.solve(Spec(problem="hybrid", facts=facts, seed=seed), method)
    assert isinstance(result.plan, HybridPlan), result.diagnostics
    bound, cost = result.objective.bound, result.objective.value
    assert bound is not None
    assert cost is not None
    found = look_ahead(facts, arrivals_of(facts, seed), result.plan)
    assert bound - 1e-6 <= found <= cost + 1e-6


def test_a_burst_that_the_relaxed_bound_spreads() -> None:
    """Ten tasks at once, two VMs, due within two slots: four are served, six leave at 5 USD; pooled slots serve all."""
    queue = Queue(name="q", vm="m", size=1, delay=2, arrivals=0.0, arrivals_max=10, outsourcing=5.0)
    facts = HybridFacts(
        horizon=20,
        vms=(Vm(name="m", available=2),),
        queues=(queue,),
        control=Control(acceptance=1.0, outsource_limit=9),
    )
    result = mrdsl.solve(Spec(problem="hybrid", facts=facts), "threshold")
    arrivals = np.zeros((20, 1), dtype=np.int64)
    arrivals[3] = 10
    assert isinstance(result.plan, HybridPlan)
    assert look_ahead(facts, arrivals, result.plan) == pytest.approx(6 * 5.0 / 20)
    half = replace(facts, control=Control(acceptance=0.5, outsource_limit=9))
    assert look_ahead(half, arrivals, result.plan) == pytest.approx(1 * 5.0 / 20)


def test_why_says_that_the_program_was_not_solved(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = mrdsl.load(ROOT / "models" / "hybrid" / "reference.mrspec")
    spec = replace(spec, facts=replace(spec.facts, horizon=30))
    result = mrdsl.solve(spec, "threshold")
    monkeypatch.setattr(highs, "solve", lambda request, report: Reply(Termination.TIME_LIMIT))
    assert any("was not solved (time" in str(told) for told in why(spec, result))


def test_a_run_repeats_in_another_process() -> None:
    code = (
        "import mrdsl, dataclasses as d; s = mrdsl.load('models/hybrid/reference.mrspec')\n"
        "s = d.replace(s, facts=d.replace(s.facts, horizon=150)); print(repr(mrdsl.solve(s, 'controller').plan))"
    )
    runs = {run_python(code, PYTHONHASHSEED=salt).stdout for salt in ("1", "2")}
    assert len(runs) == 1
    assert "HybridPlan" in runs.pop()


def test_why_reports_the_slack_to_every_guarantee() -> None:
    """Bound less reached, (12) to (15) for all three queues, and none negative."""
    spec = mrdsl.load(ROOT / "models" / "hybrid" / "reference.mrspec")
    spec = replace(spec, facts=replace(spec.facts, horizon=200))
    result = mrdsl.solve(spec, "controller")
    assert isinstance(result.plan, HybridPlan)
    table, money, told = why(spec, result)
    assert isinstance(table, Table)
    assert isinstance(money, Table)
    assert len(table.rows) == 4 * 3
    for _, _, reached, bound, left in table.rows:
        assert left == pytest.approx(bound - reached)
        assert left >= -1e-6
    assert sum(row[1] + row[2] for row in money.rows) == pytest.approx(result.plan.cost.outsourcing)
    assert isinstance(told, str)


@pytest.mark.parametrize("name", ["bursts", "recorded"])
def test_the_models_keep_their_promises(name: str) -> None:
    """Solving checks (12) to (15); the calendar, which keeps every delay too, costs less."""
    spec = mrdsl.load(ROOT / "models" / "hybrid" / f"{name}.mrspec")
    costs = {}
    for method in ("controller", "calendar"):
        result = mrdsl.solve(spec, method)
        assert isinstance(result.plan, HybridPlan), result.diagnostics
        costs[method] = result.plan.cost.average
        for queue in spec.facts.queues:
            assert result.plan.queues[queue.name].worst_delay <= queue.delay
    assert costs["calendar"] < costs["controller"]


def test_simulating_is_solving_seed_by_seed() -> None:
    spec = mrdsl.load(ROOT / "models" / "hybrid" / "reference.mrspec")
    spec = replace(spec, facts=replace(spec.facts, horizon=100))
    found = mrdsl.simulate(spec, runs=3, seed=5).plan
    assert isinstance(found, SimulatedHybrid)
    costs = [mrdsl.solve(replace(spec, seed=seed), "calendar").objective.value or 0.0 for seed in (5, 6, 7)]
    assert found.policies["calendar"]["cost"].mean == pytest.approx(np.mean(costs))
    assert found.policies["calendar"]["cost"].half_width == pytest.approx(4.303 * np.std(costs, ddof=1) / 3**0.5)


@pytest.mark.parametrize("seed", range(4))
def test_no_bound_is_passed_by_another_policy(seed: int) -> None:
    """The acceptance holds in the limit: over 40 slots a controller with V = 2 pays less than the calendar must."""
    facts = HybridFacts(
        horizon=40,
        vms=(Vm(name="m", available=1),),
        queues=(Queue(name="q", vm="m", size=1, delay=12, arrivals_max=6,
                      arrivals=Distribution("poisson", (4.0,)), outsourcing=5.0),),
        control=Control(V=2.0, acceptance=0.9, outsource_limit=40),
    )  # fmt: skip
    methods = ("controller", "calendar", "threshold", "always-outsource")
    results = [mrdsl.solve(Spec(problem="hybrid", facts=facts, seed=seed), method) for method in methods]
    values = [result.objective.value for result in results if result.objective.value is not None]
    bounds = [result.objective.bound for result in results if result.objective.bound is not None]
    assert len(values) == len(bounds) == len(methods)
    assert max(bounds) <= min(values) + 1e-9
    assert max(bounds) > 0.0
