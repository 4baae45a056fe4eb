"""A share below one slot: a scheduler gives at least one, and jobs of a class that share one take turns on it."""

from __future__ import annotations

import pytest

import mrdsl
from tests.shared_data import shared

SPEC = """problem bounds "Shares"
cluster { slots { SLOTS }, scheduler = capacity, work_conserving = no }
class low  { STAGE, share = SHARE, jobs = JOBS }
class high { STAGE }
estimate completion
"""
STAGE = "stage s { tasks = 480, avg = 20 s, max = 40 s }"
PHASES = "map { tasks = 480, avg = 20 s, max = 40 s }"
BOTH = PHASES + ", shuffle { first_max = 1 s, avg = 1 s, max = 1 s }, reduce { tasks = 9, avg = 1 s, max = 1 s }"
ONE = 480 * 20.0
"""The time of all tasks on one slot, in any order [s]."""


def times(share: str, jobs: int = 1, slots: str = "task = 48", stage: str = STAGE) -> dict[str, float]:
    text = SPEC.replace("SLOTS", slots).replace("SHARE", share).replace("JOBS", str(jobs)).replace("STAGE", stage)
    plan = mrdsl.solve(mrdsl.loads(text)).plan
    assert plan is not None
    found: dict[str, float] = plan.document()["classes"]["low"]["completion"]
    return found


@pytest.mark.parametrize(
    ("share", "jobs", "lower"),
    [
        ("0.1%", 1, ONE),
        ("1%", 1, ONE),
        ("2.0833333333333335%", 1, ONE),
        ("4.166666666666667%", 1, ONE / 2),
        ("1%", 2, 2 * ONE),  # both on the one slot: the second ends after all of their work
        ("3%", 2, 2 * ONE / 1.44),  # 1.44 slots for both
        ("1%", 3, 3 * ONE),
        ("50%", 24, ONE),
    ],
)
def test_a_class_has_at_least_one_slot(share: str, jobs: int, lower: float) -> None:
    """Of 48 slots, one is 2.083 %."""
    found = times(share, jobs)
    assert found["lower"] == pytest.approx(lower)
    assert found["lower"] <= found["average"] * (1 + 1e-9) <= found["upper"] * (1 + 2e-9)


@pytest.mark.parametrize("share", ["0.5%", "1%", "2%", "5%", "9%", "12%"])
@pytest.mark.parametrize("stage", [STAGE, PHASES, BOTH])
def test_estimates_are_in_order(share: str, stage: str) -> None:
    slots = "task = 48" if stage == STAGE else "map = 48, reduce = 10"
    found = times(share, slots=slots, stage=stage)
    assert found["lower"] <= found["average"] * (1 + 1e-9) <= found["upper"] * (1 + 2e-9)


def test_slots_that_a_class_does_not_use_do_not_count() -> None:
    """5 % of 10 reduce slots is half of one, which a class without reduce tasks does not wait for."""
    assert times("5%", slots="map = 48, reduce = 10", stage=PHASES)["lower"] == pytest.approx(ONE / 2.4)


def test_the_estimates_are_near_the_simulation_without_lending() -> None:
    spec = mrdsl.load(shared("cases/below_one_slot.mrspec"))
    plan = mrdsl.solve(spec).plan
    assert plan is not None
    found = plan.document()["classes"]["low"]["completion"]
    assert found["lower"] <= found["upper"]
    assert found["average"] == pytest.approx(9666.0, rel=0.01)  # the mean of runs without lending, from the issue
