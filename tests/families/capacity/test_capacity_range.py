"""Classes far outside the papers' range: single tasks, more jobs than work, hardly or amply any time."""

from __future__ import annotations

import re

import numpy as np
import pytest

from mrdsl.core.diagnostics import Diagnostic
from mrdsl.core.result import Limits, Result, SolutionStatus, Termination
from mrdsl.families.capacity.verify import verify
from mrdsl.language.loading import load_text
from mrdsl.language.printing import print_spec
from mrdsl.planning.solve_spec import solve
from mrdsl.spec.spec import Spec
from tests.families.capacity import capacity_oracle as oracle

FEW_SLOTS = """problem capacity
vm m5 { on_demand { price = 0.192 USD/h } }
class copy {
  map   { tasks = 4, avg = 10 s, max = 10 s }
  slots { map = 2, reduce = 1 }
  jobs      = 20..20
  deadline  = 10 min
  penalty   = 5 USD
  guarantee = upper
}
minimize cost
"""


def test_every_job_has_a_slot_of_its_own() -> None:
    """20 jobs of 4 x 10 s within 10 min: 20 / 580 of a slot would do for each by the formula, which means nothing."""
    for solver in ("highs", "direct"):
        result = solve(load_text(FEW_SLOTS).spec, solver=solver)
        found = result.plan.of_class(0)
        assert (result.plan.on_demand, found.map_slots) == (10, 20)
        assert found.completion.lower <= found.completion.average <= found.completion.upper <= 600
        assert found.completion.upper == pytest.approx(20 + 20)  # A = 4 * 10 - 2 * 10, C = 2 * 10, one slot


@pytest.mark.parametrize("guarantee", ["lower", "average", "upper"])
def test_no_job_is_faster_than_with_a_slot_for_every_task(guarantee: str) -> None:
    text = (
        FEW_SLOTS.replace("tasks = 4, avg = 10 s, max = 10 s", "tasks = 10, avg = 30 s, max = 30 s")
        .replace("10 min", "5 s")
        .replace("= upper", f"= {guarantee}")
    )
    result = solve(load_text(text).spec)
    assert result.termination is Termination.INFEASIBLE
    told = [d for d in result.diagnostics if d.code == "impossible-deadline"]
    assert {"lower": "30 s", "average": "57 s", "upper": "1.4 min"}[guarantee] in told[0].message
    assert "with a slot for every task" in told[0].message
    assert told[0].span.line == 7


def test_coefficients_are_limited_by_what_is_known() -> None:
    """One slot of each kind at least; how many tasks there are is not known."""
    text = """problem capacity
vm m5 { on_demand { price = 0.192 USD/h } }
class slow { coefficients { A = 10 s, B = 5 s, C = 1 s }, slots { map = 4, reduce = 2 }, jobs = 3..3,
             deadline = 1 h, penalty = 5 USD }
class fast { coefficients { A = 10 s, B = 0 s, C = 1 s }, slots { map = 4, reduce = 2 }, jobs = 3..3,
             deadline = 1.01 s, penalty = 5 USD }
minimize cost
"""
    plan = solve(load_text(text).spec, relax=True).plan
    assert (plan.map_slots[0], plan.reduce_slots[0]) == (3, 3)
    assert (plan.map_slots[1], plan.reduce_slots[1]) == (pytest.approx(3000), 0)


@pytest.mark.parametrize("solver", ["highs", "direct", "glpk"])
@pytest.mark.parametrize("relax", [False, True])
def test_random_classes_against_a_search(solver: str, relax: bool) -> None:
    for seed in range(12):
        spec = oracle.drawn(np.random.default_rng(seed))
        result = solve(spec, solver=solver, relax=relax, limits=Limits(gap=1e-9))
        assert result.objective.value == pytest.approx(oracle.best(spec)[relax], rel=1e-6, abs=1e-6), seed
        assert [d for d in verify(spec, result.plan, relax) if d.severity == "error"] == []


@pytest.mark.parametrize("formulation", ["P0", "P1", "P0-cone"])
@pytest.mark.parametrize("seed", [1, 4, 9])
def test_the_limits_as_constraints_have_the_same_optimum(formulation: str, seed: int) -> None:
    """SCIP gets ``h <= s <= N h`` and not the closed form."""
    pytest.importorskip("pyscipopt")
    spec = oracle.drawn(np.random.default_rng(seed), least_jobs=1)
    result = solve(spec, solver="scip", formulation=formulation, relax=True, limits=Limits(gap=1e-6, time=30))
    assert result.solution is SolutionStatus.OPTIMAL
    assert result.objective.value == pytest.approx(oracle.best(spec)[1], rel=1e-4, abs=1e-6)


HALVES = """problem capacity
whole = no
vm m5 { on_demand { price = 0.192 USD/h } }
class a { coefficients { A = 35 s, B = 0 s, C = 0 s }, slots { map = 8, reduce = 1 }, jobs = 1..1, deadline = 10 s
          penalty = 9 USD }
class b { coefficients { A = 45 s, B = 0 s, C = 0 s }, slots { map = 8, reduce = 1 }, jobs = 1..1, deadline = 10 s
          penalty = 9 USD }
minimize cost
"""


@pytest.mark.parametrize("solver", ["highs", "direct"])
def test_whole_slots_that_exceed_the_vms_are_told(solver: str) -> None:
    """3.5 and 4.5 slots fill one VM of 8; a scheduler is told 4 and 5."""
    result = solve(load_text(HALVES).spec, solver=solver)
    assert result.plan.on_demand == 1
    told = [d for d in result.diagnostics if d.code == "slots-beyond-vms"]
    assert [d.severity for d in told] == ["warning"]
    assert "need 1.125 VMs, but the plan has 1" in told[0].message
    assert "vms >= 2" in told[0].hint
    roomy = solve(load_text(HALVES + "subject to { vms >= 2 }\n").spec)
    assert [d for d in roomy.diagnostics if d.code == "slots-beyond-vms"] == []


def test_the_vms_that_are_said_to_host_all_expected_jobs_do() -> None:
    """Where jobs are turned away, more VMs may admit more of them, whose whole slots exceed those VMs again."""
    seen = again = 0
    for seed in range(400):
        spec = oracle.drawn(np.random.default_rng(seed), 0)
        first = _told_of_hosting(solve(spec, solver="direct"))
        if first is None or "; for all: " not in first.hint:
            continue
        here, always = (int(number) for number in re.findall(r"(?:than |>= )(\d+)", first.hint))
        again += _told_of_hosting(solve(_with_vms(spec, here), solver="highs")) is not None
        assert _told_of_hosting(solve(_with_vms(spec, always), solver="highs")) is None
        seen += 1
        if seen == 12:
            break
    assert seen == 12
    assert again, "the VMs of the first plan's jobs are not always enough"


def _with_vms(spec: Spec, least: int) -> Spec:
    return load_text(print_spec(spec).rstrip() + f"\nsubject to {{ vms >= {least} }}\n").spec


def _told_of_hosting(result: Result) -> Diagnostic | None:
    return next((d for d in result.diagnostics if d.code == "slots-beyond-vms"), None)


@pytest.mark.parametrize("solver", ["highs", "direct", "glpk"])
def test_huge_numbers_of_jobs_and_slots_are_exact(solver: str) -> None:
    text = FEW_SLOTS.replace("jobs      = 20..20", "jobs = 1e9..1e9")
    assert solve(load_text(text).spec, solver=solver).plan.admitted.tolist() == [1_000_000_000.0]
    text = FEW_SLOTS.replace("jobs      = 20..20", "jobs = 2..2").replace("map = 2", "map = 1e9")
    for jobs in ("2..2", "0..2"):
        plan = solve(load_text(text.replace("2..2", jobs)).spec, solver=solver).plan
        assert plan.admitted.tolist() == [2.0]
        assert plan.on_demand == 1


def test_days_of_work_in_a_millisecond_take_billions_of_slots() -> None:
    """One class that binds: 2 (sqrt(A / 3) + sqrt(B))^2 / D VMs for its two jobs, which the search finds as well."""
    text = """problem capacity
    vm m { on_demand { price = 0.04 USD/h } }
    class c {
      coefficients { A = 54140 s, B = 31813772 s, C = 0 s }, slots { map = 3, reduce = 1 }
      jobs = 2 .. 4, deadline = 0.001 s, penalty = 0.1 USD
    }
    minimize cost
    """
    spec = load_text(text).spec
    wanted = 0.04 * 2 * ((54140 / 3) ** 0.5 + 31813772**0.5) ** 2 / 0.001 + 2 * 0.1
    assert solve(spec, solver="direct", relax=True).objective.value == pytest.approx(wanted, rel=1e-9)
    assert oracle.best(spec)[1] == pytest.approx(wanted, rel=1e-9)
