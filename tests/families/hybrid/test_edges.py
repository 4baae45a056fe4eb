"""Hybrid clouds at the edge: fractional arrivals, an acceptance below the one asked for, why without contradiction."""

from __future__ import annotations

from dataclasses import replace

import pytest

import mrdsl
from mrdsl.families.hybrid.explain import look_ahead, why
from mrdsl.families.hybrid.plan import HybridPlan
from mrdsl.families.hybrid.verify import verify
from mrdsl.families.hybrid.workload import arrivals_of
from mrdsl.spec.spec import Spec

TEXT = """\
problem hybrid
seed = 3
horizon = {horizon} slots
vm m {{ available = {vms}, preemption_cost = 0 USD }}
queue q {{
  vm = m, size = 1 slots, delay = {delay} slots, arrivals = {arrivals}, arrivals_max = 9, outsourcing = 2 USD
}}
control {{ V = {weight}, acceptance = 95%, outsource_limit = 40 }}
"""


def cloud(arrivals: str, horizon: int = 1000, vms: int = 2, weight: float = 1.0, delay: int = 60) -> Spec:
    return mrdsl.loads(TEXT.format(arrivals=arrivals, horizon=horizon, vms=vms, weight=weight, delay=delay))


@pytest.mark.parametrize(
    ("arrivals", "first"),
    [
        ("0.5", [0, 1, 0, 1, 0, 1, 0, 1, 0, 1]),
        ("2.7", [2, 3, 3, 2, 3, 3, 2, 3, 3, 3]),
        ("0.1", [0] * 9 + [1]),
        ("9", [9] * 10),
        ("0", [0] * 10),
    ],
)
def test_fractions_of_tasks_are_carried_over(arrivals: str, first: list[int]) -> None:
    spec = cloud(arrivals)
    counts = arrivals_of(spec.facts, 3)[:, 0]
    assert counts[:10].tolist() == first
    assert counts.sum() == round(1000 * float(arrivals))
    assert counts.max(initial=0) <= spec.facts.queues[0].arrivals_max


def test_drawn_fractions_keep_their_mean_and_drawn_counts_are_as_drawn() -> None:
    """The mean of 20,000 exponentials of mean 0.9 lies within 5 standard errors, 0.032, of it."""
    counts = arrivals_of(cloud("exponential(0.9)", horizon=20_000).facts, 3)[:, 0]
    assert counts.mean() == pytest.approx(0.9, abs=0.032)
    assert counts.max() <= 9


def test_an_acceptance_far_below_the_one_asked_for_is_told_with_its_floor() -> None:
    """K_max = V H + alpha S_max = 2 V + 8.55 tasks; over few tasks the floor alpha - K_max / submitted is low."""
    spec = cloud("2", horizon=40, weight=4.0)
    result = mrdsl.solve(spec, "controller")
    run = result.plan.queues["q"]
    assert run.floor(0.95) == pytest.approx(0.95 - (2 * 4.0 + 0.95 * 9) / run.submitted)
    assert run.acceptance >= run.floor(0.95) - 1e-9
    (found,) = [d for d in result.diagnostics if d.code == "acceptance-below"]
    assert (found.severity, found.span.line) == ("warning", 8)
    assert f"{run.acceptance:.1%} of the tasks" in found.message
    assert f"promises {run.floor(0.95):.1%}" in found.message
    needed = int(found.hint.split("horizon = ")[1].split()[0])
    longer = mrdsl.solve(replace(spec, facts=replace(spec.facts, horizon=needed)), "controller")
    assert longer.plan.queues["q"].floor(0.95) >= 0.99 * 0.95 - 1e-9
    assert "acceptance-below" not in [d.code for d in longer.diagnostics]


def test_an_acceptance_below_the_promised_floor_is_broken() -> None:
    spec = cloud("2", horizon=400)
    plan = mrdsl.solve(spec, "controller").plan
    run = plan.queues["q"]
    less = replace(run, acceptance=run.floor(0.95) - 0.01)
    codes = [d.code for d in verify(spec, replace(plan, queues={"q": less}), False)]
    assert "broken-plan" in codes


def test_why_does_not_say_that_a_run_cost_less_than_any_run_can() -> None:
    spec = cloud("4", horizon=60, delay=5)
    result = mrdsl.solve(spec, "never-outsource")
    assert isinstance(result.plan, HybridPlan)
    arrivals = arrivals_of(spec.facts, 3)
    assert look_ahead(spec.facts, arrivals, result.plan) <= result.plan.cost.average + 1e-9
    asked = look_ahead(spec.facts, arrivals, result.plan, as_rejected=False)
    assert asked > result.plan.cost.average
    told = [line for line in why(spec, result) if isinstance(line, str)]
    assert told[-2].endswith("with as many tasks turned away; it cost 0.")
    assert (
        told[-1] == f"The acceptance of q is below the 0.95 asked for; with it no run costs less than {asked:.4g} "
        "per slot."
    )
    assert "this policy guarantees no acceptance" in " ".join(d.message for d in result.diagnostics)
