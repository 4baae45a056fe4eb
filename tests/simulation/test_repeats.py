"""Runs that faults would never let end are told before they begin; those that end in seconds are begun."""

from __future__ import annotations

from math import exp

import pytest

import mrdsl

TEXT = """problem capacity
vm m5 {{ on_demand {{ price = 0.192 USD/h }} }}
class a {{
  map {{ tasks = 37, avg = 30 s, max = 42 s }}, shuffle {{ first_max = 11 s, avg = 37 s, max = 40 s }}
  reduce {{ tasks = 6, avg = 22 s, max = 44 s }}, slots {{ map = 2, reduce = 1 }}
  jobs = 3..4, deadline = 15 min, penalty = 4 USD }}
minimize cost
simulation {{ {rules} }}
"""
# Maps alone, one of four tasks of 10 s after the other.
LONE = """problem {family}
{vms}
class a {{ map {{ tasks = 4, avg = 10 s, max = 10 s }}, {slots} jobs = {jobs}, deadline = 30 min{penalty} }}
{goal}
simulation {{ warm_up = 0%, {rules} }}
"""


def lone(rules: str, family: str = "capacity") -> mrdsl.Spec:
    if family == "bounds":
        words = {"vms": "cluster { slots { map = 1, reduce = 1 } }", "slots": "", "jobs": "1", "penalty": ""}
        return mrdsl.loads(LONE.format(family=family, goal="estimate completion", rules=rules, **words))
    words = {"vms": "vm m5 { on_demand { price = 1 USD/h } }", "slots": "slots { map = 1, reduce = 1 },"}
    more = {"jobs": "1..1", "penalty": ", penalty = 1 USD", "goal": "minimize cost"}
    return mrdsl.loads(LONE.format(family=family, rules=rules, **words, **more))


@pytest.mark.parametrize(
    ("rules", "what"),
    [
        ("machine_failures { rate = 10/h, repair_time = 1e9 s }", "losses of machines"),
        ("machine_failures { rate = 1e9/h }", "end with their machine"),
        ("machine_failures { rate = 600/h }", "end with their machine"),
        ("task_failures { probability = 99.999%, retries = 1000000 }", "attempts that fail"),
    ],
)
def test_a_run_that_would_hardly_end_is_told_before_it(rules: str, what: str) -> None:
    with pytest.raises(mrdsl.MrdslError, match="would hardly end") as refused:
        mrdsl.simulate(mrdsl.loads(TEXT.format(rules=rules)), runs=1, jobs=2)
    (told,) = refused.value.diagnostics
    assert what in told.message
    assert told.span is not None
    assert told.span.line == 8


def test_failures_are_told_where_slots_have_no_machines_too() -> None:
    with pytest.raises(mrdsl.MrdslError, match="would hardly end"):
        mrdsl.simulate(lone("task_failures { probability = 99.999%, retries = 1000000 }", "bounds"), runs=1, jobs=2)


def test_a_task_is_tried_as_often_as_is_expected_of_it() -> None:
    # On one slot, whose machine goes once in 5 s and is back at once: 10 s without a loss take (e^2 - 1) * 5 s.
    plan = mrdsl.simulate(lone("machine_failures { rate = 0.2/s, repair_time = 0 s }"), runs=4, jobs=50).plan
    assert plan.observed["a"].mean == pytest.approx(4 * 5.0 * (exp(2.0) - 1.0), rel=0.15)


def test_a_lone_machine_is_there_for_its_share_of_the_time() -> None:
    # It goes once in 1,000 s and comes back after 9,000 s: 40 s take ten times as long, and a little more.
    plan = mrdsl.simulate(lone("machine_failures { rate = 0.001/s, repair_time = 9000 s }"), runs=4, jobs=2000).plan
    assert plan.observed["a"].mean == pytest.approx(400.0, rel=0.1)


@pytest.mark.parametrize(
    "rules",
    ["machine_failures { rate = 5/h, repair_time = 30 s }", "machine_failures { rate = 1e-6/h, repair_time = 1e15 s }"],
)
def test_losses_that_a_run_outlasts_are_run(rules: str) -> None:
    assert mrdsl.simulate(mrdsl.loads(TEXT.format(rules=rules)), runs=1, jobs=2).plan.observed["a"].jobs > 0
