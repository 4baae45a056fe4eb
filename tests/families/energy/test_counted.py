"""The counted model against enumeration, and the checker against broken plans."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import pyomo.environ as pyo
import pytest
from hypothesis import given, settings
from pyomo.contrib.appsi.base import TerminationCondition
from pyomo.contrib.appsi.solvers.highs import Highs

from mrdsl.families.energy import FAMILY, verify
from mrdsl.families.energy.models import counted
from mrdsl.families.energy.plan import EnergyPlan, SlotUse
from mrdsl.spec import Spec

from .specs import enumerate_best, reference, small_specs


def solve(spec: Spec, relax: bool = False) -> tuple[float, EnergyPlan] | None:
    """Objective and plan by HiGHS, None where the model is infeasible."""
    model = counted.build(spec, relax)
    solver = Highs()
    solver.config.load_solution = False
    solver.highs_options = {"mip_rel_gap": 0.0}
    results = solver.solve(model)
    if results.termination_condition != TerminationCondition.optimal:
        return None
    results.solution_loader.load_vars()
    return pyo.value(model.goal), counted.decode(spec, model, relax)


@pytest.mark.parametrize("goal", ["energy", "cost", "uptime"])
def test_reference_optimum_is_the_best_of_all_assignments(goal: str) -> None:
    spec = reference(goal=goal, maps=9)
    found = solve(spec)
    assert found is not None
    value, plan = found
    assert value == pytest.approx(enumerate_best(spec), rel=1e-6)
    assert verify.measure(spec, plan) == pytest.approx(value, rel=1e-6)
    assert verify.verify(spec, plan) == ()


def test_reference_plan_has_the_documented_keys() -> None:
    found = solve(reference())
    assert found is not None
    document = found[1].document()
    assert list(document) == ["vms", "energy", "phases", "uptime", "cost", "jobs"]
    assert list(document["vms"][0]) == ["type", "index", "job", "map_tasks", "reduce_tasks", "slots"]
    assert list(document["energy"]) == ["tasks", "placement", "shuffle", "total"]
    assert document["uptime"] == pytest.approx(sum(document["phases"].values()))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(small_specs())
def test_counted_optimum_is_the_best_of_all_assignments(spec: Spec) -> None:
    best = enumerate_best(spec)
    found, relaxed = solve(spec), solve(spec, relax=True)
    if best == inf:
        assert found is None
        return
    assert found is not None
    assert relaxed is not None
    assert found[0] == pytest.approx(best, rel=1e-6, abs=1e-9)
    assert verify.verify(spec, found[1]) == ()
    assert relaxed[0] <= found[0] * (1 + 1e-6) + 1e-9
    assert verify.verify(spec, relaxed[1], relax=True) == ()


def test_checker_finds_each_broken_plan() -> None:
    spec = reference()
    found = solve(spec)
    assert found is not None
    plan = found[1]
    first, *rest = plan.vms
    doubled = replace(plan, vms=(first, first, *rest))
    assert "taken 2 times" in verify.verify(spec, doubled)[0].message
    beyond = replace(plan, vms=(replace(first, index=9), *rest))
    assert "only 1 are available" in verify.verify(spec, beyond)[0].message
    fewer = replace(first, map_tasks=first.map_tasks - 1)
    assert "slots run 5 of 4 map tasks" in verify.verify(spec, replace(plan, vms=(fewer, *rest)))[0].message
    lopsided = replace(first, slots=(SlotUse(5, 1), SlotUse(0, 0)))
    messages = [d.message for d in verify.verify(spec, replace(plan, vms=(lopsided, *rest)))]
    assert messages[0] == "wordcount ends after 307.568 s, its deadline is 240 s"
    assert messages[1] == "wordcount costs 0.0148658, its budget is 0.0108"
    missing = [d.message for d in verify.verify(spec, replace(plan, vms=(first,)))]
    assert "5 of the 17 map tasks of wordcount run" in missing
    boast = replace(plan, jobs={"wordcount": replace(plan.jobs["wordcount"], uptime=1.0)})
    assert "states 1 as uptime" in verify.verify(spec, boast)[0].message


def test_checks_speak_of_names_and_machines() -> None:
    spec = reference()
    job = spec.facts.jobs[0]
    stray = replace(job.on[0], name="n2")
    lonely = replace(spec, facts=replace(spec.facts, jobs=(replace(job, on=(stray,)),)))
    assert [d.code for d in FAMILY.check(lonely)] == ["unknown-name", "no-machine", "no-machine"]
    assert list(FAMILY.check(spec)) == []
