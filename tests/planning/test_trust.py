"""``verify`` says what of a saved plan it worked out again, and what it takes on trust."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

import mrdsl
from mrdsl.planning.saved_plans import fingerprint, read_saved
from mrdsl.planning.verified_plans import document, tables, verify
from tests.families.makespan.test_planted_defects import SPEC as BATCH

CAPACITY = """
problem capacity "Nightly"
whole = no
vm m5 { on_demand { price = 0.192 USD/h } }
class sort {
  coefficients { A = 5400 s, B = 1250 s, C = 95 s }
  slots { map = 4, reduce = 2 }
  jobs = 2..3, deadline = 10 min, penalty = 20 USD
}
minimize cost
"""


def resealed(text: str, change: Callable[[dict[str, Any]], None]) -> str:
    written = json.loads(text)
    change(written)
    return json.dumps({**written, "fingerprint": fingerprint(written)})


def with_bound(bound: float) -> Callable[[dict[str, Any]], None]:
    def change(written: dict[str, Any]) -> None:
        written["objective"] |= {"bound": bound, "gap": 0.0}

    return change


def checked(text: str) -> tuple[Any, dict[str, Any], str]:
    saved = read_saved(text)
    found = verify(saved)
    shown = "\n".join(str(row) for table in tables(found, saved) for row in table.rows)
    return found, document(found, saved), shown


def test_a_bound_of_direct_is_proven_again() -> None:
    found, told, shown = checked(mrdsl.solve(mrdsl.loads(CAPACITY), "direct").to_json())
    assert found.kept
    ended = ["how the solve ended", "the solver", "its formulation", "its seconds", "the version of mrdsl"]
    assert told["on_trust"] == ended
    assert told["bound_now"] == pytest.approx(found.result.bound)
    assert "the bound" not in shown


def test_a_bound_that_another_plan_beats_is_refused() -> None:
    """Six of nine VMs too many, resealed as the best: direct has the plan that the claim excludes."""
    spec = mrdsl.loads(CAPACITY)
    dear = mrdsl.loads(CAPACITY.replace("minimize cost", "minimize cost\nsubject to { vms >= 60 }"))
    plan = mrdsl.solve(dear, "highs")
    cheap = json.loads(mrdsl.solve(spec, "direct").to_json())
    assert plan.value is not None

    def swap(written: dict[str, Any]) -> None:
        written["spec"] = cheap["spec"]
        written["objective"] |= {"bound": written["objective"]["value"], "gap": 0.0}

    found, _, _ = checked(resealed(plan.to_json(), swap))
    assert not found.kept
    assert any("`objective.bound` is" in each.message and "direct has a plan" in each.message for each in found.found)


@pytest.mark.parametrize(("path", "said"), [("termination", "infeasible"), ("solution", "none")])
def test_a_plan_beside_a_claim_of_none_is_refused(path: str, said: str) -> None:
    text = mrdsl.solve(mrdsl.loads(CAPACITY), "direct").to_json()
    found, _, _ = checked(resealed(text, lambda written: written.update({path: said})))
    assert [each.message for each in found.found] == [f"`{path}` is {said}, but there is a plan"]


def test_a_claim_that_there_is_no_plan_is_refused_if_direct_has_one() -> None:
    impossible = mrdsl.loads(CAPACITY.replace("minimize cost", "minimize cost\nsubject to { vms <= 1 }"))
    nothing = mrdsl.solve(impossible, "highs")
    assert nothing.plan is None
    found, _, _ = checked(nothing.to_json())
    assert found.kept
    easy = json.loads(mrdsl.solve(mrdsl.loads(CAPACITY), "direct").to_json())
    found, _, _ = checked(resealed(nothing.to_json(), lambda written: written.update({"spec": easy["spec"]})))
    assert any("`termination` is infeasible, but direct has a plan" in each.message for each in found.found)


def test_a_bound_that_nothing_proves_is_on_trust() -> None:
    """Of a batch no method finds a bound anew: one that somebody wrote is believed, and said to be."""
    plan = mrdsl.solve(mrdsl.loads(BATCH), "genetic")
    found, told, shown = checked(resealed(plan.to_json(), with_bound(plan.value)))
    assert found.kept
    assert told["on_trust"][:2] == ["the bound", "the gap"]
    assert told["bound_now"] is None
    assert "the bound, the gap" in shown


def test_that_there_is_no_plan_is_on_trust() -> None:
    impossible = mrdsl.solve(mrdsl.loads(CAPACITY.replace("deadline = 10 min", "deadline = 1 min")), "highs")
    assert impossible.plan is None
    _, told, _ = checked(impossible.to_json())
    assert "that there is no plan" in told["on_trust"]
