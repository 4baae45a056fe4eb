"""A share below one slot is refused: a scheduler gives at least one, so that no estimate of a part holds."""

from __future__ import annotations

import pytest

import mrdsl
from tests.shared_data import shared

SPEC = """problem bounds "Shares"
cluster { slots { SLOTS }, scheduler = SCHEDULER }
class low  { STAGE, share = SHARE, jobs = JOBS }
class high { STAGE }
estimate completion
"""
STAGE = "stage s { tasks = 480, avg = 20 s, max = 40 s }"
PHASES = "map { tasks = 48, avg = 20 s, max = 40 s }"
BOTH = PHASES + ", shuffle { first_max = 1 s, avg = 1 s, max = 1 s }, reduce { tasks = 9, avg = 1 s, max = 1 s }"


def found(share: str, jobs: int = 1, slots: str = "task = 48", scheduler: str = "capacity", stage: str = STAGE) -> bool:
    text = SPEC.replace("SLOTS", slots).replace("SCHEDULER", scheduler).replace("SHARE", share)
    try:
        mrdsl.solve(mrdsl.loads(text.replace("JOBS", str(jobs)).replace("STAGE", stage)))
    except mrdsl.MrdslError as refused:
        codes = {each.code for each in refused.diagnostics if each.severity == "error"}
        assert codes == {"too-small-cluster"}
        return True
    return False


@pytest.mark.parametrize(
    ("share", "jobs", "refused"),
    [("1%", 1, True), ("2%", 1, True), ("2.1%", 1, False), ("4%", 2, True), ("4.2%", 2, False), ("50%", 24, False)],
)
def test_a_job_has_at_least_one_slot(share: str, jobs: int, refused: bool) -> None:
    """Of 48 slots, one is 2.083 %."""
    assert found(share, jobs) is refused


def test_slots_of_reduce_tasks_count_if_there_are_some() -> None:
    slots = "map = 48, reduce = 10"
    assert found("5%", slots=slots, stage=BOTH)
    assert not found("5%", slots=slots, stage=PHASES)
    assert not found("10%", slots=slots, stage=BOTH)


def test_fifo_gives_all_slots_to_a_job() -> None:
    text = SPEC.replace("SLOTS", "task = 48").replace("SCHEDULER", "fifo").replace(", share = SHARE", "")
    mrdsl.solve(mrdsl.loads(text.replace("JOBS", "1").replace("STAGE", STAGE)))


def test_the_shared_case_is_refused() -> None:
    with pytest.raises(mrdsl.MrdslError, match=r"0\.48 of a slot"):
        mrdsl.solve(mrdsl.load(shared("cases/below_one_slot.mrspec")))


def test_estimates_of_one_slot_are_in_order() -> None:
    text = SPEC.replace("SLOTS", "task = 48").replace("SCHEDULER", "capacity").replace("SHARE", "2.0833333333333%")
    plan = mrdsl.solve(mrdsl.loads(text.replace("JOBS", "1").replace("STAGE", STAGE))).plan
    assert plan is not None
    low = plan.document()["classes"]["low"]["completion"]
    assert low["lower"] == pytest.approx(480 * 20.0)  # one after the other, as all orders of tasks take
    assert low["lower"] <= low["upper"] * (1 + 1e-9)
