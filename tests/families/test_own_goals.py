"""Goals of one's own in every family that takes them: no plan does better, by two solvers and by comparisons alone.

What is least of an expression E is v where ``subject to { E <= v }`` leaves a plan and ``subject to { E <= v less a
little }`` leaves none: those specs keep the family's own goal, and know nothing of another.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import mrdsl
from mrdsl.core.result import SolutionStatus, Termination
from mrdsl.spec import Constraint
from mrdsl.spec.expression import Constant

PLAIN = """\
problem capacity
vm m5 { on_demand { price = 0.2 USD/h }, reserved { price = 0.12 USD/h, available = 6 } }
whole = no
class sort {
  coefficients { A = 5400 s, B = 1250 s, C = 95 s }, slots { map = 4, reduce = 2 }
  jobs = 2..6, deadline = 10 min, penalty = 0.4 USD
}
class join {
  coefficients { A = 2500 s, B = 900 s, C = 60 s }, slots { map = 4, reduce = 2 }
  jobs = 1..5, deadline = 8 min, penalty = 0.1 USD
}
"""
TYPES = PLAIN.replace(
    "class sort",
    "vm c5 { on_demand { price = 0.17 USD/h } }\nclass sort",
    1,
).replace("penalty = 0.4 USD", "penalty = 0.4 USD, on c5 { speed = 0.9 }")
JOINT = """\
problem joint
cluster { size = 30 vms, period = 1 h, vm_cost = 0.1 USD/h }
class sort {
  coefficients { A = 5400 s, B = 1250 s, C = 95 s }, slots { map = 4, reduce = 4 }
  jobs = 3..9, deadline = 10 min, penalty = 0.5 USD
}
service web { rate = 40/s .. 90/s, service_rate = 8/s, delay = 0 s, response = 0.5 s, penalty = 0.00002 USD }
"""
DEADLINE = """\
problem deadline
dag nightly {
  allowable_delay = 100 s
  task a { duration = 10 s }
  task b { duration = 20 s, after = [a] }
  task c { duration = 30 s, after = [a] }
  task d { duration = 5 s, after = [b, c] }
}
"""
MAKESPAN = """\
problem makespan
cluster { slots { map = 2, reduce = 1 } }
job a { map { tasks = 3, time = 4 s }, reduce { tasks = 1, time = 6 s } }
job b { map { tasks = 2, time = 2 s }, reduce { tasks = 2, time = 2 s } }
job c { map { tasks = 1, time = 6 s }, reduce { tasks = 1, time = 2 s } }
"""
GOALS = {
    "capacity: a price for VMs": PLAIN + "let dear = cost + 0.01 USD/vms * vms\nminimize dear",
    "capacity: as many as money buys": PLAIN
    + "let many = admitted(sort) + 2 * admitted(join)\nmaximize many\nsubject to { vms <= 24 }",
    "capacity: one class before the other": PLAIN
    + "let fair = cost - 0.6 USD/job * admitted(join)\nminimize fair\nsubject to { admitted(sort) >= 3 }",
    "capacity: whole slots": PLAIN.replace("whole = no", "whole = slots")
    + "let dear = cost + 0.01 USD/vms * vms\nminimize dear",
    "capacity: several types": TYPES + "let less = cost + 0.2 USD/vm * vms(c5)\nminimize less",
    "joint: fewer VMs": JOINT + "let green = cost + vms * 0.3 USD/vm\nminimize green",
    "joint: work for its own sake": JOINT
    + "let done = 3 * admitted(sort) / 1 job + rate(web) * 1 s\nmaximize done\nsubject to { vms <= 24 }",
    "deadline: some matter more": DEADLINE + "let spare = slack(b) + 2 * slack(d) + 0.5 * slack(a)\nmaximize spare",
    "deadline: short delays": DEADLINE
    + "let short = delay(b) + delay(c)\nminimize short\nsubject to { slack(b) >= 9 s }",
    "makespan: the sum of all ends": MAKESPAN + "let flow = finish(a) + finish(b) + finish(c)\nminimize flow",
    "makespan: ends that weigh": MAKESPAN + "let flow = makespan + 0.5 * finish(c) + 2 * finish(b)\nminimize flow",
}
NO_PLAN = ("infeasible",)


@pytest.mark.parametrize("text", GOALS.values(), ids=GOALS)
def test_no_plan_does_better(text: str) -> None:
    spec = mrdsl.loads(text + "\n")
    result = mrdsl.solve(spec, "highs")
    assert result.termination == "optimal", result.diagnostics
    assert result.value is not None
    assert mrdsl.solve(spec, "scip").value == pytest.approx(result.value, rel=1e-6)
    assert result.value == result.quantities[result.quantity].value
    sign = 1.0 if result.sense == "minimize" else -1.0
    step = sign * 1e-4 * max(1.0, abs(result.value))
    assert mrdsl.solve(with_limit(spec, result.value + 0.01 * step), "highs").plan is not None
    assert mrdsl.solve(with_limit(spec, result.value - step), "highs").termination in NO_PLAN


def with_limit(spec: Any, limit: float) -> Any:
    """The spec with its goal as a comparison, and the family's own goal."""
    comparison = "<=" if spec.goal.sense == "minimize" else ">="
    kept = Constraint(spec.goal.expression, comparison, Constant(limit))
    return replace(spec, goal=None, lets=(), constraints=(*spec.constraints, kept))


@pytest.mark.parametrize("text", list(GOALS.values())[::4], ids=list(GOALS)[::4])
def test_why_says_what_the_goal_is_made_of_and_nothing_of_another(text: str) -> None:
    spec = mrdsl.loads(text + "\n")
    result = mrdsl.solve(spec)
    assert result.value is not None
    (table,) = mrdsl.why(result, worth=False).parts
    assert not isinstance(table, str)
    assert table.title == f"Parts of {result.quantity}"
    assert sum(row[2] for row in table.rows) == pytest.approx(result.value, rel=1e-9)


@pytest.mark.parametrize("name", ["capacity: a price for VMs", "joint: fewer VMs", "deadline: short delays", None])
def test_without_a_plan_there_is_nothing_to_explain(name: str | None) -> None:
    """As at a time limit; families' own goals too, where the hook has nothing to say of the facts."""
    spec = mrdsl.loads((GOALS[name] if name else PLAIN) + "\n")
    ended = replace(mrdsl.solve(spec, "highs"), plan=None, value=None, solution=SolutionStatus.NONE)
    ended = replace(ended, termination=Termination.TIME_LIMIT)
    assert mrdsl.why(ended).parts == ("There is no plan to explain.",)


def test_a_goal_that_is_better_for_waiting_has_no_model_of_a_batch() -> None:
    with pytest.raises(mrdsl.MrdslError) as told:
        mrdsl.solve(mrdsl.loads(MAKESPAN + "let late = finish(a) - 0.5 * finish(c)\nminimize late\n"))
    assert [d.code for d in told.value.diagnostics] == ["unable-solver"]
    assert "wait forever" in told.value.diagnostics[0].message


@pytest.mark.parametrize("formulation", ["P1", "P0", "P0-cone"])
def test_formulations_of_the_familys_goal_alone_say_so(formulation: str) -> None:
    spec = mrdsl.loads(GOALS["capacity: a price for VMs"] + "\n")
    with pytest.raises(mrdsl.MrdslError) as told:
        mrdsl.solve(spec, formulation=formulation)
    assert "does not support user-defined objectives" in told.value.diagnostics[0].message
    assert told.value.diagnostics[0].hint == "use the formulation P2"
