"""Slots beyond all tasks never run one: they change neither the plan nor the size of its model."""

from __future__ import annotations

import pytest

import mrdsl

TEXT = """problem energy "Slots"
vm m {{ slots {{ map = {slots}, reduce = {slots} }}, on_demand {{ price = 0.038 USD/h }}, available = 2 }}
vm n {{ slots {{ map = {slots}, reduce = 2 }}, on_demand {{ price = 0.05 USD/h }}, available = 2 }}
network {{ speed = 1 Gbit/s, io_power = 20 W }}
job a {{
  map {{ tasks = {tasks}, block = 256 MB }}
  reduce {{ tasks = 2 }}
  intermediate = 50%, deadline = 240 s, budget = 10 cent
  on m {{ map {{ time = 48 s, energy = 720 J }}, reduce {{ time = 40 s, energy = 620 J }} }}
  on n {{ map {{ time = 40 s, energy = 820 J }}, reduce {{ time = 30 s, energy = 720 J }} }}
}}
minimize energy
"""


def solved(slots: int, tasks: int, **how: str) -> mrdsl.Result:
    return mrdsl.solve(mrdsl.loads(TEXT.format(slots=slots, tasks=tasks)), **how)


@pytest.mark.parametrize("solver", ["highs", "mrdsl-energy", "mspan", "emrsa-1"])
@pytest.mark.parametrize("tasks", [1, 5])
def test_slots_that_no_task_needs_change_nothing(solver: str, tasks: int) -> None:
    few, many = (solved(slots, tasks, solver=solver) for slots in (tasks + 2, 10_000_000))
    assert many.plan is not None
    assert many.value == few.value
    assert max(len(use.slots) for use in many.plan.vms) <= tasks + 2
