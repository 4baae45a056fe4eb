"""A defect that is planted in what builds joint plans is found by what checks them."""

from __future__ import annotations

from dataclasses import replace

import pytest

import mrdsl
from mrdsl.families.joint import plan, workload
from mrdsl.formulas import mapreduce, own_times
from tests.families.planted import planted

SPEC = """
problem joint "Shop"
cluster { size = 40, vm_cost = 0.05 EUR/h, period = 1 h SHARING }
class sort {
  map { tasks = 74, avg = 30 s, max = 42 s }
  shuffle { first_max = 11 s, avg = 37 s, max = 40 s }
  reduce { tasks = 64, avg = 22 s, max = 44 s }
  slots { map = 2, reduce = 2 }
  jobs = 3..30, deadline = 15 min, penalty = 12 EUR
}
service checkout {
  rate = 20/s..120/s, service_rate = 15/s, delay = 0.25 s, response = 1 s, penalty = 0.01 EUR
}
minimize cost
"""


def refused(sharing: str = "", period: str = "1 h", paper: bool = False) -> bool:
    text = SPEC.replace('"Shop"', '"Shop", estimates = paper') if paper else SPEC
    text = text.replace(" SHARING", f", sharing = {sharing}" if sharing else "").replace("1 h }", f"{period} }}")
    found = mrdsl.solve(mrdsl.loads(text), "greedy")
    assert found.plan is not None or found.diagnostics
    return "broken-plan" in {each.code for each in found.diagnostics}


DEFECTS = {
    "less map work": planted(mapreduce, "lower", lambda work: replace(work, map_work=0.7 * work.map_work)),
    "shorter means": planted(own_times, "mean_times", lambda times: 0.7 * times),
    "twice the slots": planted(workload, "slots_per_vm", lambda slots: (2 * slots[0], slots[1])),
    "more turns in a period": planted(workload, "reuse_factor", lambda turns: 2.0 * turns),
    "less demand": planted(workload, "expected_demand", lambda both: (0.5 * both[0], 0.5 * both[1])),
    "services that answer sooner": lambda patch: patch.setattr(
        workload.workloads, "rate_per_vm", lambda mu, delay, response: 0.0 * delay + 1.1 * mu
    ),
}


@pytest.mark.parametrize("sharing", ["", "partitioned"])
def test_without_a_defect_plans_are_right(sharing: str) -> None:
    assert not refused(sharing)


@pytest.mark.parametrize("defect", DEFECTS)
def test_defects_are_found(defect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    DEFECTS[defect](monkeypatch)
    assert refused(paper=defect == "less map work")


def test_a_part_of_the_cluster_that_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workload, "_share_by_peaks", lambda need, classes: 0.95)
    assert refused("partitioned")


def test_a_price_that_is_too_low(monkeypatch: pytest.MonkeyPatch) -> None:
    original = plan.assemble
    cheap = lambda work, *given: original(replace(work, vm_cost=work.vm_cost / 2.0), *given)  # noqa: E731
    from mrdsl.families.joint.methods import greedy

    monkeypatch.setattr(greedy, "assemble", cheap)
    assert refused()
