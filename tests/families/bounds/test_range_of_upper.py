"""``upper_is_bound``: each job has whole slots, no fewer than the formula says; runs show what happens elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mrdsl
from mrdsl.formulas.estimates import is_even, upper_is_bound

CLUSTER = """problem bounds
cluster {{ slots {{ map = {slots}, reduce = {slots} }}, {rule} }}
class a {{ map {{ tasks = {tasks}, avg = 10 s, max = 10 s }}, jobs = {jobs}, think = 0 s, distribution = fixed{more} }}
simulation {{ jobs_per_user = 6 }}
estimate completion
"""


def ran(slots: int, jobs: int, rule: str, tasks: int = 60, more: str = "") -> Any:
    text = CLUSTER.format(slots=slots, jobs=jobs, rule=rule, tasks=tasks, more=more)
    return mrdsl.simulate(mrdsl.loads(text), runs=2).plan


@pytest.mark.parametrize(
    ("slots", "jobs", "rule", "bound"),
    [
        (7, 4, "work_conserving = no", False),
        (8, 4, "work_conserving = no", True),
        (10, 4, "scheduler = fair", False),
        (12, 4, "scheduler = fair", True),
        (8, 4, "masters = yes", False),
        (8, 4, "work_conserving = no, masters = yes", False),
    ],
)
def test_where_a_bound_is_called_one_runs_keep_it_and_elsewhere_they_may_not(
    slots: int, jobs: int, rule: str, bound: bool
) -> None:
    plan = ran(slots, jobs, rule, tasks=120)
    assert plan.upper_is_bound.tolist() == [bound]
    assert bool(plan.observed["a"].p99 <= plan.completion["upper"][0] * (1.0 + 1e-9)) is bound


@pytest.mark.parametrize("seed", range(25))
def test_drawn_clusters_keep_what_is_called_a_bound(seed: int) -> None:
    """With fixed times every job has exactly the profile's work: no job may be late, in any run."""
    random = np.random.RandomState(seed)
    jobs = int(random.randint(1, 5))
    rule = ("work_conserving = no", "scheduler = fair")[seed % 2]
    plan = ran(int(random.randint(jobs, 8 * jobs)), jobs, rule, int(random.randint(1, 60)))
    if plan.upper_is_bound[0]:
        assert plan.observed["a"].p99 <= plan.completion["upper"][0] * (1.0 + 1e-9)


@pytest.mark.parametrize("rule", ["work_conserving = no", "scheduler = fair"])
@pytest.mark.parametrize("jobs", [1, 2])
def test_times_without_a_longest_one_have_no_upper_bound(rule: str, jobs: int) -> None:
    def bounds(distribution: str) -> bool:
        text = CLUSTER.format(slots=8, jobs=jobs, rule=rule, tasks=40, more="").replace("fixed", distribution)
        return bool(mrdsl.solve(mrdsl.loads(text)).plan.upper_is_bound[0])

    found = {each: bounds(each) for each in ("uniform", "fixed", "exponential", "lognormal")}
    assert found == {"uniform": True, "fixed": True, "exponential": False, "lognormal": False}


TWO = """problem bounds
cluster {{ slots {{ map = {slots}, reduce = {slots} }}, {rule} }}
class a {{ map {{ tasks = 40, avg = 10 s, max = 10 s }}, jobs = {jobs}{first} }}
class b {{ map {{ tasks = 40, avg = 10 s, max = 10 s }}, jobs = 1{second} }}
estimate completion
"""


@pytest.mark.parametrize(
    ("slots", "rule", "jobs", "shares", "bounds"),
    [
        (9, "work_conserving = no", 2, ("", ""), [True, True]),
        (10, "work_conserving = no", 2, ("", ""), [False, False]),
        (8, "work_conserving = no", 2, (", share = 50%", ", share = 50%"), [True, True]),
        (9, "work_conserving = no", 2, (", share = 50%", ", share = 50%"), [False, False]),
        (10, "work_conserving = no", 1, (", share = 95%", ", share = 5%"), [False, False]),
        (20, "work_conserving = no", 1, (", share = 95%", ", share = 5%"), [True, True]),
        (20, "work_conserving = no", 1, (", share = 96%", ", share = 4%"), [False, False]),
        (9, "scheduler = fair", 2, ("", ""), [True, True]),
        (11, "scheduler = fair", 2, ("", ""), [False, False]),
        (12, "scheduler = fair", 2, (", share = 50%", ", share = 50%"), [True, True]),
        (9, "scheduler = fair, preemption = 10 s", 2, ("", ""), [False, False]),
        (9, "scheduler = capacity", 2, ("", ""), [False, True]),
    ],
)
def test_two_classes(slots: int, rule: str, jobs: int, shares: tuple[str, str], bounds: list[bool]) -> None:
    text = TWO.format(slots=slots, rule=rule, jobs=jobs, first=shares[0], second=shares[1])
    assert mrdsl.solve(mrdsl.loads(text)).plan.upper_is_bound.tolist() == bounds


def test_even_slots() -> None:
    """17 slots of two jobs: one has 8, and 8.5 is the formula's; 15.6 are 16 when they run, 4 for each of four."""
    slots, jobs = np.array([17.0, 16.0, 15.6, 16.3, 7.0, 8.0, 3.0]), np.array([2.0, 2.0, 4.0, 4.0, 4.0, 4.0, 0.0])
    assert is_even(slots, jobs, np.ceil(slots)).tolist() == [False, True, True, False, False, True, True]
    one = np.ones_like(jobs)
    assert upper_is_bound(one, jobs, slots).tolist() == [False, True, True, False, False, True, True]
    assert bool(upper_is_bound(3, 1.0, 2.5))


STAGED = """problem capacity
vm m5 { on_demand { price = 0.192 USD/h } }
class a {
  stage one { tasks = 40, avg = 20 s, max = 60 s }
  stage two { tasks = 10, avg = 10 s, max = 30 s, after = [one] }
  slots { task = 4 }, jobs = 2..2, deadline = 270 s, penalty = 20 USD
}
minimize cost
"""


def test_soft_deadlines_of_stages_are_told_with_the_price_of_the_upper_estimate() -> None:
    """Four slots are the fewest for 900 s of work; their upper estimate is (800 - 60 + 100 - 30) / 4 + 90 s."""
    (told,) = [d for d in mrdsl.solve(mrdsl.loads(STAGED)).diagnostics if d.code == "soft-deadline"]
    firm = mrdsl.solve(mrdsl.loads(STAGED.replace("penalty", "guarantee = upper, penalty")))
    assert f"would cost {firm.objective.value:.2f} USD" in told.hint
    assert "soft-deadline" not in [d.code for d in firm.diagnostics]
    said = mrdsl.solve(mrdsl.loads(STAGED.replace("penalty", "guarantee = average, penalty")))
    assert "soft-deadline" not in [d.code for d in said.diagnostics]


def test_soft_deadlines_of_stages_in_bounds() -> None:
    text = """problem bounds
    class a { stage one { tasks = 40, avg = 20 s, max = 60 s }, jobs = 1, deadline = 2 min }
    minimize slots
    """
    assert "soft-deadline" in [d.code for d in mrdsl.solve(mrdsl.loads(text)).diagnostics]
