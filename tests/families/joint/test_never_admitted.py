"""Classes and services whose promises no VMs keep: each plan rejects them, if nothing of them has to be served."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import mrdsl
from mrdsl.core.diagnostics import Severity, has_errors
from mrdsl.families.joint.checks import find_impossible
from mrdsl.families.joint.methods.greedy import greedy_draft
from mrdsl.spec.schema import Range
from tests.families.joint.brute import brute_force
from tests.families.joint.specs import broken, wild_spec

TEXT = """problem joint "hopeless"
cluster {{ size = 60 vms, vm_cost = 0.1 USD/h, reuse = paper {more} }}
class late {{ coefficients {{ A = 5400 s, B = 1250 s, C = 95 s }}, slots {{ map = 4, reduce = 2 }}
  jobs = {least}..3, deadline = 90 s, penalty = 20 USD }}
class fits {{ coefficients {{ A = 4000 s, B = 0 s, C = 0 s }}, slots {{ map = 4, reduce = 2 }}
  jobs = 2..4, deadline = 1000 s, penalty = 30 USD }}
service slow {{ rate = {least}/s..10/s, service_rate = 5/s, response = {response}, penalty = 0.001 USD }}
service web {{ rate = 1/s..10/s, service_rate = 5/s, response = 1 s, penalty = 0.01 USD }}
minimize cost
"""
COST = 0.2 + 0.3 + 3 * 20 + 10 * 3600 * 0.001
"""By hand: 4 jobs of `fits` in 3 rounds on 2 VMs, 10 requests on 3 VMs that take 4 each; the rest is rejected."""


def text(least: int = 0, more: str = "", response: str = "100 ms") -> str:
    return TEXT.format(least=least, more=more, response=response)


def rejects(result: mrdsl.Result, value: float = COST) -> None:
    assert result.value == pytest.approx(value, rel=1e-6)
    assert result.plan.classes.rejected[:, 0].tolist() == [3.0]
    assert result.plan.services.rejected_rate[:, 0].tolist() == [10.0]
    warned = [each for each in result.diagnostics if each.severity is not Severity.NOTE]
    assert [(each.code, each.severity) for each in warned] == [("never-admitted", Severity.WARNING)] * 2


@pytest.mark.parametrize("more", ["", ", sharing = partitioned"])
@pytest.mark.parametrize("solver", ["auto", "greedy", "highs", "scip", "cbc", "glpk"])
def test_hopeless_demand_is_rejected_with_a_warning(solver: str, more: str) -> None:
    result = mrdsl.solve(mrdsl.loads(text(more=more)), solver)
    rejects(result)
    assert result.bound <= result.value + 1e-6


@pytest.mark.parametrize("formulation", ["P0", "P1", "P2-rounded"])
def test_other_formulations_reject_it_too(formulation: str) -> None:
    solver = "highs" if formulation == "P2-rounded" else "scip"
    rejects(mrdsl.solve(mrdsl.loads(text()), solver, formulation=formulation))


@pytest.mark.parametrize("solver", ["greedy", "highs"])
def test_in_fractions(solver: str) -> None:
    """By hand: 4/3 jobs of `fits` at once take 4/3 VMs, 10 requests take 2.5."""
    rejects(mrdsl.solve(mrdsl.loads(text()), solver, relax=True), 0.1 * (4 / 3 + 2.5) + 60 + 36)


def test_a_comparison_may_make_a_response_impossible() -> None:
    spec = mrdsl.loads(text(response="1 s") + "subject to { response(slow) <= 100 ms }")
    rejects(mrdsl.solve(spec, "highs"))


def test_what_has_to_be_served_has_no_plan() -> None:
    result = mrdsl.solve(mrdsl.loads(text(least=1)))
    assert (result.plan, result.termination) == (None, "infeasible")
    assert {each.code for each in result.diagnostics if each.impossible} == {
        "impossible-deadline",
        "impossible-response",
    }


def test_plans_are_explained_saved_and_simulated(tmp_path: Path) -> None:
    tasks = text().replace("coefficients { A = 4000 s, B = 0 s, C = 0 s }", "map { tasks = 400, avg = 9 s, max = 9 s }")
    result = mrdsl.solve(mrdsl.loads(tasks))
    assert mrdsl.why(result) is not None
    (tmp_path / "plan.json").write_text(result.to_json(), encoding="utf-8")
    assert mrdsl.verify(tmp_path / "plan.json").kept
    assert "fits" in mrdsl.simulate(result).plan.observed


def test_a_table_of_demand_may_need_them_in_one_period(tmp_path: Path) -> None:
    """Least demand is a part of the expected one: 0 in all periods, or more than 0 in one."""
    rng = np.random.default_rng(1)
    rows = "\n".join(f"{a},{b},{c},{d}" for a, b, c, d in rng.integers(1, 6, (6, 4)).tolist())
    (tmp_path / "day.csv").write_text(f"late,fits,slow,web\n{rows}\n", encoding="utf-8")
    for floor, planned in (("0 %", True), ("10 %", False)):
        body = text().replace("minimize", f'demand {{ periods = 6, from = "day.csv", floor = {floor} }}\nminimize')
        (tmp_path / "day.mrspec").write_text(body, encoding="utf-8")
        result = mrdsl.solve(mrdsl.load(tmp_path / "day.mrspec"))
        assert (result.plan is not None) is planned
        if result.plan is not None:
            assert result.plan.classes.admitted[:, 0].tolist() == [0.0] * 6
            assert result.plan.classes.admitted[:, 1].sum() > 0.0


@pytest.mark.parametrize("block", range(4))
def test_drawn_plans_are_what_enumeration_finds(block: int) -> None:
    """One class or service of each drawn spec has a promise that no VMs keep, and no least demand."""
    solved = 0
    for seed in range(30 * block, 30 * (block + 1)):
        drawn = wild_spec(seed)
        facts = drawn.facts
        if facts.classes and (seed % 2 or not facts.services):
            late = replace(facts.classes[0], deadline=1.0, jobs=Range(0.0, facts.classes[0].jobs.high))
            facts = replace(facts, classes=(late, *facts.classes[1:]))
        else:
            slow = replace(facts.services[0], response=0.9 / facts.services[0].service_rate)
            slow = replace(slow, rate=Range(0.0, slow.rate.high))
            facts = replace(facts, services=(slow, *facts.services[1:]))
        spec = replace(drawn, facts=facts)
        if has_errors(find_impossible(spec)):
            continue
        best, found = brute_force(spec, 14), greedy_draft(spec, False)
        if best is None:
            assert found.plan is None, seed
            continue
        assert found.value == pytest.approx(best, rel=1e-7, abs=1e-10), seed
        assert not broken(spec, found.plan), seed
        solved += 1
    assert solved > 10
