"""The counted simulation against MDASA written with simpy, an object per slot and an event per task."""

from __future__ import annotations

import importlib
import sys
from dataclasses import replace

import pytest

from mrdsl.families.schedule.simulate import run_once
from mrdsl.families.schedule.trace import jobs
from tests.families.schedule.schedule_specs import ROOT, spec, swim, vm


@pytest.mark.parametrize("sizing", ["least_slots", "fixed_reduce"])
@pytest.mark.parametrize("overhead", [0.0, 20.0])
@pytest.mark.parametrize(("idle", "seed"), [("all", 7), ("sized", 8)])
def test_same_late_jobs_and_nearly_the_same_cost(
    monkeypatch: pytest.MonkeyPatch, sizing: str, overhead: float, idle: str, seed: int
) -> None:
    """Which of several free slots of one VM is taken is open, so a VM may be kept an hour longer here or there."""
    pytest.importorskip("simpy")
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks" / "schedule_peers"))
    peer = importlib.import_module("simpy_mdasa")
    one = spec(swim(task_overhead=overhead), vm(), seed, instances="on_demand", sizing=sizing, idle=idle)
    found = run_once(one, seed)
    other = peer.simulate(list(jobs(one.facts, seed)), (1, 1), 3600.0, 0.07 / 3600, sizing, idle)
    assert (found.jobs.count, found.jobs.tardy) == (other["jobs"], other["late"])
    assert found.cost.total == pytest.approx(other["cost"], rel=2e-3)
    assert replace(found, evictions=0) == found
    sys.modules.pop("simpy_mdasa", None)
