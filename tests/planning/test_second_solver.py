"""A method that nobody named and that ends without a plan hands over to the embedded solver."""

from __future__ import annotations

from dataclasses import replace

import pytest

import mrdsl
from mrdsl.contracts.pipeline import Draft
from mrdsl.core.result import Termination
from mrdsl.families.capacity import formulations
from mrdsl.families.capacity.methods import direct

TEXT = """problem capacity "two types"
whole = no
vm a { on_demand { price = 1 USD/h }, available = 3 }
vm b { on_demand { price = 2 USD/h }, available = 30 }
class c {
  coefficients { A = 4800 s, B = 0 s, C = 0 s }
  slots { map = 4, reduce = 1 }
  jobs = 2..2, deadline = 10 min, penalty = 9 USD
}
minimize cost
"""


def failing(draft: Draft) -> Draft:
    """A last step that loses the plan and keeps the bound."""
    return replace(draft, plan=None, value=None, termination=Termination.COMPLETED)


@pytest.fixture
def without_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formulations, "LARGE", 0)
    monkeypatch.setattr(direct, "_with_packing", failing)


@pytest.mark.usefixtures("without_plan")
def test_auto_hands_over_to_the_embedded_solver() -> None:
    """By hand: two jobs of 8 slots take 4 VMs, of which 3 are of the cheap type in part: 2 of a, 2 of b are 6 USD."""
    found = mrdsl.solve(mrdsl.loads(TEXT))
    assert found.solver["name"] == "highs"
    assert found.formulation == "P2"
    assert found.termination == "optimal"
    assert found.objective.value == pytest.approx(6.0)


@pytest.mark.usefixtures("without_plan")
def test_a_method_that_somebody_named_keeps_its_answer() -> None:
    found = mrdsl.solve(mrdsl.loads(TEXT), "direct")
    assert found.plan is None
    assert found.solver["name"] == "direct"
    assert found.objective.bound is not None


@pytest.mark.usefixtures("without_plan")
def test_the_second_solver_may_prove_that_there_is_no_plan() -> None:
    """2 jobs of 2 VMs each, which no job shares: 3 of a hold one job, 1 of b none; in parts of VMs they would."""
    few = TEXT.replace("available = 30", "available = 1")
    found = mrdsl.solve(mrdsl.loads(few))
    assert found.plan is None
    assert found.termination == "infeasible"


@pytest.mark.usefixtures("without_plan")
def test_a_second_solver_without_a_plan_leaves_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    named = mrdsl.solve(mrdsl.loads(TEXT), "direct")
    monkeypatch.setattr("mrdsl.planning.choice.SECOND_TIME", 1e9)
    found = mrdsl.solve(mrdsl.loads(TEXT), limits=mrdsl.Limits(time=100.0))
    assert (found.plan, found.termination) == (None, "completed")
    assert found.objective.bound == named.objective.bound
