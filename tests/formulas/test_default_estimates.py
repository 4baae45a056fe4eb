"""Slots of Spark jobs by the default estimates, by hand: a job ends with the last wave of its tasks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import mrdsl
from mrdsl.families.capacity.periods.plan import PeriodsPlan
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


SPOT = """problem capacity "half on spot"
vm m {
  cores = 4
  on_demand { price = 0.24 USD/h }
  spot { price = 0.121 USD/h, interruptions = 0.0003/h }
}
class c {
  map { tasks = 120, avg = 30 s, max = 42 s }
  slots { map = 4, reduce = 1 }
  jobs = 6..6, deadline = 15 min, penalty = 9 USD, spot = 50%
}
minimize cost
"""


def test_a_tiny_part_of_lost_work_takes_no_slot_more() -> None:
    """Four slots take more than 120 * 30 s / 4 = 15 min; three jobs of five slots are on four VMs, firm and on spot."""
    result = mrdsl.solve(mrdsl.loads(SPOT))
    assert result.value == pytest.approx(4 * 0.24 + 4 * 0.121)
    assert str(result.solution) == "optimal"


PERIODS = """problem capacity "eight jobs at night, one by day"
vm m { on_demand { price = 1 USD/h } }
demand { periods = 3, from = "day.csv" }
class c {
  map { tasks = 50, avg = 20 s, max = 50 s }
  slots { map = 1, reduce = 1 }
  jobs = 8, deadline = 5 min, penalty = 99 USD
}
minimize cost
"""


@pytest.mark.parametrize("solver", ["auto", "highs", "direct"])
def test_a_class_has_one_job_in_some_periods(solver: str, tmp_path: Path) -> None:
    """Four slots have 1000 s of work. A job alone takes at most 950 s / 4 + 50 s, one of several 900 s / 4 + 100 s."""
    (tmp_path / "day.csv").write_text("c\n8\n1\n0\n", encoding="utf-8")
    (tmp_path / "day.mrspec").write_text(PERIODS, encoding="utf-8")
    result = mrdsl.solve(mrdsl.load(tmp_path / "day.mrspec"), solver)
    assert result.value == pytest.approx(4 * 8 + 4)
    plan = result.plan_of(PeriodsPlan)
    uppers = [float(plan.of_period(number).completion_upper[0]) for number in range(2)]
    assert uppers == pytest.approx([900 / 4 + 100, 950 / 4 + 50])
