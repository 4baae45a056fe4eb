"""What an expression over a plan comes to, and where it means nothing."""

from __future__ import annotations

from math import isnan, nan

import pytest

import mrdsl
from mrdsl.checking.comparisons import broken
from mrdsl.core.result import SolutionStatus
from mrdsl.planning.saved_plans import read_saved
from mrdsl.planning.verified_plans import verify
from mrdsl.spec.expression import Constant, Operation, PlanQuantity, value_of
from tests.families.deadline.specs import spec_of

NONE = """\
problem capacity
vm m5 { on_demand { price = 0.2 USD/h } }
class sort {
  coefficients { A = 5400 s, B = 1250 s, C = 95 s }
  slots { map = 4, reduce = 2 }
  jobs = 0..4
  deadline = 10 min
  penalty = 0.0001 USD
}
"""
AMOUNTS = {"cost": 6.0, "vms": 0.0, "completion": nan}
COST, VMS, ABSENT = map(PlanQuantity, AMOUNTS)
BY_ZERO = Operation("/", (COST, VMS))


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        (Operation("/", (COST, Constant(4.0))), 1.5),
        (BY_ZERO, nan),
        (Operation("+", (COST, BY_ZERO)), nan),
        (Operation("/", (COST, BY_ZERO)), nan),
        (Operation("*", (VMS, ABSENT)), nan),
        (Operation("max", (ABSENT, COST)), 6.0),
        (Operation("max", (COST, ABSENT)), 6.0),
        (Operation("min", (BY_ZERO, COST, ABSENT)), 6.0),
        (Operation("min", (BY_ZERO, ABSENT)), nan),
    ],
)
def test_a_quotient_by_zero_means_nothing(expression: Operation, value: float) -> None:
    found = value_of(expression, lambda name, _: AMOUNTS[name])
    assert found == value or (isnan(found) and isnan(value))


@pytest.mark.parametrize(
    ("left", "kept"),
    [
        (BY_ZERO, False),
        (ABSENT, True),
        (Operation("max", (ABSENT, Constant(7.0))), True),
        (Operation("max", (ABSENT, Constant(9.0))), False),
        (Operation("max", (BY_ZERO, Constant(7.0))), False),
        (Operation("/", (COST, ABSENT)), True),
    ],
)
def test_a_comparison_is_kept_of_what_is_absent_and_not_of_a_quotient_by_zero(left: Operation, kept: bool) -> None:
    """Semantics 20: a model finds no plan in which it divides by 0."""
    spec = mrdsl.Spec(problem="capacity", facts=None, constraints=(mrdsl.Constraint(left, "<=", Constant(8.0)),))
    assert (not list(broken(spec, lambda name, _: AMOUNTS[name]))) is kept


def test_a_plan_that_admits_nothing_is_told_and_verified() -> None:
    text = NONE + "let each = cost / admitted(sort)\nlet end = max(completion(sort), 3 min)\nminimize cost\n"
    result = mrdsl.solve(mrdsl.loads(text))
    assert result.objective.value == pytest.approx(0.0004)
    assert (result.quantities["each"].value, result.quantities["end"].value) == (None, 180.0)
    assert verify(read_saved(result.to_json())).found == ()


def test_a_task_without_slack_has_no_share_of_it() -> None:
    spec = spec_of({"a": (60.0, ()), "b": (40.0, ("a",))}, 100.0, "min_slack")
    let = mrdsl.Let("each", Operation("/", (PlanQuantity("delay", "a"), PlanQuantity("slack", "a"))), "")
    result = mrdsl.solve(mrdsl.Spec(problem="deadline", facts=spec.facts, goal=spec.goal, lets=(let,)))
    assert result.solution is SolutionStatus.OPTIMAL
    assert result.quantities["each"].value is None


@pytest.mark.parametrize("line", ["let x = cost / 0", "subject to { cost / (2 - 2) <= 5 USD }", "minimize cost / 0"])
def test_a_divisor_that_is_zero_is_a_mistake(line: str) -> None:
    with pytest.raises(mrdsl.MrdslError) as refused:
        mrdsl.loads(f"{NONE}{line}\n")
    assert [d.code for d in refused.value.diagnostics] == ["division-by-zero"]


@pytest.mark.parametrize("divisor", [Constant(0.0), Operation("-", (Constant(2.0), Constant(2.0)))])
def test_a_divisor_that_is_zero_is_a_mistake_from_python_too(divisor: Constant | Operation) -> None:
    let = mrdsl.Let("x", Operation("/", (COST, divisor)), "USD")
    facts = mrdsl.loads(NONE).facts
    found = mrdsl.check(mrdsl.Spec(problem="capacity", facts=facts, lets=(let,)))
    assert [d.code for d in found] == ["division-by-zero"]
