"""Slots of Spark jobs by the default estimates, by hand: a job ends with the last wave of its tasks."""

from __future__ import annotations

import json

import pytest

import mrdsl
from mrdsl.planning.saved_plans import fingerprint, read_saved
from mrdsl.planning.verified_plans import verify

CAPACITY = """problem capacity "one stage"
vm m {{ on_demand {{ price = 1 USD/h }} }}
class c {{
  stage s {{ tasks = {tasks}, avg = {avg} s, max = {longest} s }}
  slots {{ task = 1 }}
  jobs = 1, deadline = {deadline} s, penalty = 99 USD
}}
minimize cost
"""
BOUNDS = """problem bounds "one stage"
class c {{
  stage s {{ tasks = {tasks}, avg = {avg} s, max = {longest} s }}
  jobs = 1, deadline = {deadline} s
}}
minimize slots
"""
CASES = [
    (40, 10, 10, 101, 4),  # ten waves
    (41, 10, 10, 51, 9),  # five waves of nine tasks; six of eight take 60 s
    (8, 10, 10, 10.5, 8),
    (8, 9.5, 10, 10.5, 8),  # seven slots have a second wave
    (1, 10, 10, 10, 1),
    (1, 10, 20, 10, 1),  # the mean of one task is its average
    (5, 10, 10, 49.9, 2),
    (5, 10, 10, 1000, 1),
]


@pytest.mark.parametrize("family", ["capacity", "bounds"])
@pytest.mark.parametrize(("tasks", "avg", "longest", "deadline", "slots"), CASES)
def test_the_fewest_whole_slots(
    family: str, tasks: int, avg: float, longest: float, deadline: float, slots: int
) -> None:
    text = (CAPACITY if family == "capacity" else BOUNDS).format(
        tasks=tasks, avg=avg, longest=longest, deadline=deadline
    )
    result = mrdsl.solve(mrdsl.loads(text))
    assert result.plan is not None, result.diagnostics
    assert result.plan.document()["classes"]["c"]["task_slots"] == pytest.approx(slots)
    assert result.value == pytest.approx(slots)


@pytest.mark.parametrize("family", ["capacity", "bounds"])
def test_the_estimates_of_the_paper_take_more(family: str) -> None:
    """The average is 390 s / k + 10 s: 390 / 91 slots, 5 whole ones; no slots end the second job in 10.5 s."""
    text = (CAPACITY if family == "capacity" else BOUNDS) + "estimates = paper\n"
    slots = 5 if family == "capacity" else 390 / 91
    result = mrdsl.solve(mrdsl.loads(text.format(tasks=40, avg=10, longest=10, deadline=101)))
    assert result.value == pytest.approx(slots)
    late = mrdsl.solve(mrdsl.loads(text.format(tasks=8, avg=10, longest=10, deadline=10.5)))
    assert late.plan is None
    assert "late-by-estimate" in {each.code for each in late.diagnostics}


@pytest.mark.parametrize("family", ["capacity", "bounds"])
@pytest.mark.parametrize("said", ["", "estimates = paper\n", "estimates = scheduling\n"])
def test_a_plan_of_version_5_has_the_estimates_of_the_paper(family: str, said: str) -> None:
    """Such a plan leaves out `paper`, which was the default, and states `scheduling`."""
    text = (CAPACITY if family == "capacity" else BOUNDS).format(tasks=40, avg=10, longest=12, deadline=101) + said
    scheduling = "scheduling" in said
    solved = mrdsl.solve(mrdsl.loads(text if scheduling else text.replace(said, "") + "estimates = paper\n"))
    document = json.loads(solved.to_json())
    facts = document["spec"]["facts"]
    if not scheduling:
        del facts["estimates"]
    if not said:  # as the text is without the line, its last one
        document["spec"]["text"] = text
        del facts["spans"]["estimates"]
    older = {**document, "format": 5}
    found = verify(read_saved(json.dumps({**older, "fingerprint": fingerprint(older)})))
    assert found.kept, found.found
    assert found.result.spec.facts.estimates == ("scheduling" if scheduling else "paper")
    assert read_saved(json.dumps(document)).result.spec.facts.estimates == ("scheduling" if scheduling else None)
