"""A defect that is planted in what builds schedules is found by what checks them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import mrdsl
from mrdsl.families.makespan import schedule

SPEC = """
problem makespan "Batch"
cluster { slots { map = 4, reduce = 3 } }
job sort { map { tasks = 10, time = 12 s }, reduce { tasks = 4, time = 9 s } }
class scan {
  map { tasks = 6, avg = 8 s, max = 11 s }
  shuffle { first_max = 3 s, avg = 4 s, max = 6 s }
  reduce { tasks = 7, avg = 5 s, max = 9 s }
  jobs = 2
}
minimize makespan
"""


def refused() -> bool:
    return "broken-plan" in {each.code for each in mrdsl.solve(mrdsl.loads(SPEC), "genetic").diagnostics}


def columns(change: Callable[[list[Any]], list[Any]]) -> Callable[..., Any]:
    original = schedule._columns
    return lambda *given: tuple(change(list(original(*given))))


DEFECTS = {
    "shorter map tasks": columns(lambda c: [c[0], c[1] / 2.0, c[2], c[3]]),
    "shorter reduce tasks": columns(lambda c: [c[0], c[1], c[2], c[3] / 2.0]),
    "fewer map tasks": columns(lambda c: [c[0] - 1.0, *c[1:]]),
    "fewer reduce tasks": columns(lambda c: [*c[:2], 0.0 * c[2], c[3]]),
}


def test_without_a_defect_plans_are_right() -> None:
    assert not refused()


@pytest.mark.parametrize("defect", DEFECTS)
def test_defects_are_found(defect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule, "_columns", DEFECTS[defect])
    assert refused()


def test_slots_that_are_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    genuine = schedule.batch_of

    def wider(spec: Any) -> schedule.Batch:
        return replace(genuine(spec), map_slots=8)

    from mrdsl.families.makespan.methods import orders

    monkeypatch.setattr(orders, "batch_of", wider)
    assert refused()
