"""What a spec says of who submits jobs and of slow tasks, against what a renewal or a schedule by hand gives."""

from __future__ import annotations

import pytest

import mrdsl

TEXT = """problem capacity
vm m5 {{ on_demand {{ price = 0.192 USD/h }} }}
class a {{ map {{ tasks = 4, avg = 10 s, max = 10 s }} slots {{ map = 2, reduce = 1 }}
  jobs = 1..1, deadline = 30 min, penalty = 1 USD {items} }}
minimize cost
simulation {{ warm_up = 0%, {rules} }}
"""


def seen(items: str = "", rules: str = "", runs: int = 4, jobs: int = 400):
    spec = mrdsl.loads(TEXT.format(items=items, rules=rules))
    return mrdsl.simulate(spec, runs=runs, jobs=jobs).plan.observed["a"]


def test_users_who_think_leave_the_slot_idle_as_long() -> None:
    # One slot: 40 s at work and 60 s of thinking on average, in turn.
    found = seen(", think = 60 s")
    assert found.mean == 40.0
    assert found.utilisation == pytest.approx(0.4, abs=0.015)
    assert seen(jobs=2).utilisation == pytest.approx(1.0)


def test_stragglers_take_their_multiple_as_often_as_they_say() -> None:
    assert seen(rules="stragglers { share = 100 %, factor = 4 }", jobs=2).mean == 160.0
    assert seen(rules="stragglers { share = 0 %, factor = 4 }", jobs=2).mean == 40.0
    # Four tasks one after the other, each of 10 s, or 30 s once in four.
    found = seen(rules="stragglers { share = 25 %, factor = 3 }")
    # The variance of a task is 20^2 (1/4) (3/4): four standard errors of 1,600 jobs.
    assert found.mean == pytest.approx(4 * 15.0, abs=4.0 * (4 * 20.0**2 * 0.1875 / found.jobs) ** 0.5)
    assert found.half_width < 2.0


def test_bursts_wait_for_each_other() -> None:
    # Two jobs of 40 s at once, seldom: on one slot the older comes first whenever none runs, so 40 and 80 s.
    found = seen(", arrivals = 0.1/h, burst = 2", jobs=40)
    assert found.mean == pytest.approx(60.0, abs=0.5)


@pytest.mark.parametrize("retries", [0, 1, 9])
def test_jobs_survive_as_often_as_their_retries_allow(retries: int) -> None:
    found = seen(rules=f"task_failures {{ probability = 20 %, retries = {retries} }}")
    survive = (1.0 - 0.2 ** (retries + 1)) ** 4
    assert 1.0 - found.failed / found.jobs == pytest.approx(survive, abs=0.035)
    if retries == 9:
        # A failed attempt takes half of its time on average, and there are 0.2 / 0.8 of them for each task.
        assert found.mean == pytest.approx(4 * (10.0 + 5.0 * 0.25), abs=1.5 * found.half_width)
