"""A defect that is planted in what builds energy plans is found by what checks them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import mrdsl
from mrdsl.families.energy import assignment, cluster
from mrdsl.families.energy.methods import local_search, steps

REFERENCE = Path(__file__).parents[3] / "models/energy/reference.mrspec"


def refused() -> bool:
    return "broken-plan" in {each.code for each in mrdsl.solve(mrdsl.load(REFERENCE), "mrdsl-energy").diagnostics}


def jobs(change: Callable[[cluster.JobData], cluster.JobData]) -> Callable[[Any], Any]:
    return lambda facts: tuple(change(each) for each in GENUINE_JOBS(facts))


def machines(change: Callable[[cluster.Machines], cluster.Machines]) -> Callable[[Any], Any]:
    return lambda facts: change(GENUINE_MACHINES(facts))


GENUINE_JOBS, GENUINE_MACHINES = cluster.jobs_of, cluster.machines_of
DEFECTS = {
    "shorter map tasks": ("jobs_of", jobs(lambda j: replace(j, map_time=j.map_time / 2.0))),
    "shorter reduce tasks": ("jobs_of", jobs(lambda j: replace(j, reduce_time=j.reduce_time / 2.0))),
    "map tasks of less energy": ("jobs_of", jobs(lambda j: replace(j, map_energy=j.map_energy / 2.0))),
    "reduce tasks of less energy": ("jobs_of", jobs(lambda j: replace(j, reduce_energy=j.reduce_energy / 2.0))),
    "fewer map tasks": ("jobs_of", jobs(lambda j: replace(j, map_tasks=j.map_tasks - 1))),
    "fewer reduce tasks": ("jobs_of", jobs(lambda j: replace(j, reduce_tasks=j.reduce_tasks - 1))),
    "quicker placement": ("jobs_of", jobs(lambda j: replace(j, place=j.place / 2.0))),
    "quicker shuffle": ("jobs_of", jobs(lambda j: replace(j, send=j.send / 2.0, fetch=j.fetch / 2.0))),
    "ports of less power": ("jobs_of", jobs(lambda j: replace(j, io_power=j.io_power / 2.0))),
    "half the price": ("machines_of", machines(lambda m: replace(m, price=m.price / 2.0))),
    "more slots": ("machines_of", machines(lambda m: replace(m, map_slots=m.map_slots * 4))),
}


def test_without_a_defect_plans_are_right() -> None:
    assert not refused()


@pytest.mark.parametrize("defect", DEFECTS)
def test_defects_are_found(defect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name, other = DEFECTS[defect]
    for module in (assignment, steps):
        monkeypatch.setattr(module, name, other)
    assert refused()


def test_machines_that_are_not_there_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    genuine = assignment.plan_of

    def numbered(*given: Any, **named: Any) -> Any:
        plan = genuine(*given, **named)
        return replace(plan, vms=tuple(replace(use, index=use.index + 2) for use in plan.vms))

    for module in (steps, local_search):
        monkeypatch.setattr(module, "plan_of", numbered)
    assert refused()
