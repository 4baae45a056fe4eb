"""Runs on spot VMs, with time for a second attempt on demand: by hand, tampered plans, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from math import exp, sqrt

import pytest

import mrdsl
from mrdsl.families.timetable.plan import TimetablePlan
from mrdsl.families.timetable.verify import verify

TEXT = """problem timetable "spot"
rent = elastic
billing { period = 1 s, minimum = 0 s }
vm m {
  on_demand { price = 3 USD/h }
  spot { price = 1 USD/h, interruptions = 0/h }
  boot = 1 min
}
class a {
  stage s { tasks = 2, avg = 5 min, max = 5 min }
  slots { task = 2 }
  startup = 1 min
  runs = [1 min, 30 min]
  deadline = 13 min
}
minimize cost
"""


@cache
def result_of(text: str) -> mrdsl.Result[TimetablePlan]:
    """Solve a text once for all tests that ask of its result."""
    return mrdsl.solve(mrdsl.loads(text)).of(TimetablePlan)


def solved(text: str) -> tuple[mrdsl.Spec, TimetablePlan, float]:
    result = result_of(text)
    assert result.solution == "optimal"
    assert result.plan is not None
    assert result.value is not None
    return mrdsl.loads(text), result.plan, result.value * 60


@pytest.mark.parametrize(("deadline", "price", "used"), [("13 min", 1, (0, 1)), ("12 min", 3, (1, 0))])
def test_a_run_is_on_spot_if_it_can_run_twice(deadline: str, price: int, used: tuple[int, int]) -> None:
    """Startup and tasks take 6 min, then a boot of 1 min and the same again: 13 min."""
    spec, plan, value = solved(TEXT.replace("13 min", deadline))
    assert value == pytest.approx(2 * 6 * price)
    assert plan.document()["vms"] == {"m": {"on_demand": used[0], "reserved": 0, "spot": used[1]}}
    assert list(verify(spec, plan)) == []


def test_plans_on_spot_without_time_for_a_second_attempt_are_broken() -> None:
    _, plan, _ = solved(TEXT)
    late = mrdsl.loads(TEXT.replace("avg = 5 min, max = 5 min", "avg = 301 s, max = 301 s"))
    assert list(verify(late, plan))
    without = mrdsl.loads(TEXT.replace("  spot { price = 1 USD/h, interruptions = 0/h }\n", ""))
    assert any("on spot, which the spec does not have" in each.message for each in verify(without, plan))
    longer_boot = mrdsl.loads(TEXT.replace("boot = 1 min", "boot = 2 min"))
    assert any("second attempt" in each.message for each in verify(longer_boot, plan))
    spec = mrdsl.loads(TEXT)
    firm = replace(plan, rentals=tuple(replace(each, spot=False) for each in plan.rentals))
    assert any("cost" in each.message for each in verify(spec, firm))


@pytest.mark.parametrize("rent", ["elastic", "per_job"])
def test_runs_on_spot_that_are_interrupted_run_again_on_demand_and_are_on_time(rent: str) -> None:
    """A VM is taken back within the 6 min from its request with probability 1 - exp(-0.6); new ones take 7 min each."""
    often = TEXT.replace("0/h", "6/h").replace("elastic", rent).replace("startup", "distribution = fixed\n  startup")
    runs = 400
    plan = mrdsl.simulate(mrdsl.solve(mrdsl.loads(often)), runs=runs).of(TimetablePlan).plan
    assert plan is not None
    assert plan.bill is not None
    for seen in plan.of_runs:
        assert seen is not None
        assert (seen.on_time, seen.failed) == (1.0, 0)
        assert seen.mean is not None
        assert seen.longest is not None
        assert 12 * 60 < seen.longest <= 13 * 60
    share = 1.0 - exp(-0.6)
    assert plan.value == pytest.approx(2 * share * (1.0 / 6.0 + 0.35), rel=1e-3)  # 1 s is the period
    spread = sqrt(2 * share * (1.0 - share)) * 0.45 / sqrt(runs)
    assert plan.bill.mean == pytest.approx(plan.value, abs=4 * spread)


@pytest.mark.parametrize("rate", ["0/h", "0.05/h"])
def test_runs_that_are_hardly_interrupted_end_as_planned(rate: str) -> None:
    calm = TEXT.replace("0/h", rate).replace("startup", "distribution = fixed\n  startup")
    plan = mrdsl.simulate(mrdsl.solve(mrdsl.loads(calm)), runs=2).of(TimetablePlan).plan
    assert plan is not None
    ends = [None if run.end is None else run.end - run.release for run in plan.runs]
    assert [seen and seen.mean for seen in plan.of_runs] == ends


@pytest.mark.parametrize(("rent", "on_demand"), [("elastic", 36), ("per_job", 36), ("constant", 36 * 3)])
@pytest.mark.parametrize("available", [1, 2])
def test_a_quota_has_room_for_second_attempts(rent: str, on_demand: int, available: int) -> None:
    """Each run needs one VM, and one more to run again; with one VM both are on demand."""
    _, unlimited, value = solved(TEXT.replace("elastic", rent))
    spec, plan, limited = solved(
        TEXT.replace("boot = 1 min", f"boot = 1 min, available = {available}").replace("elastic", rent)
    )
    assert limited == pytest.approx(value if available == 2 else on_demand)
    assert list(verify(spec, plan)) == []
    if available == 1:
        assert any("second attempts" in each.message for each in verify(spec, unlimited))


@pytest.mark.parametrize(
    ("rent", "price"),
    [("elastic", 28 * 3 + 6 * 3 + 6), ("per_job", 2 * 6 * (3 + 1)), ("constant", 36 * 3 + 7 * 3 + 7)],
)
def test_masters_of_spot_vms_are_on_demand(rent: str, price: int) -> None:
    """Elastic: the first run is on demand from 8 min to 14 min, so that the master is there from 8 min to 36 min.

    On spot it must end at 7 min, which is cheaper without masters. A constant cluster has a master for
    36 min, and a VM of either kind for 7 min.
    """
    text = TEXT.replace("boot = 1 min", "boot = 1 min, masters = 1").replace("elastic", rent)
    spec, plan, value = solved(text)
    assert value == pytest.approx(price)
    assert [(each.spot, each.vm) for each in plan.rentals if each.master] == [(False, "m")] * (1 + (rent == "per_job"))
    assert list(verify(spec, plan)) == []
    simulated = mrdsl.simulate(result_of(text), runs=3).of(TimetablePlan).plan
    assert simulated is not None
    assert simulated.bill is not None
    assert simulated.bill.mean * 60 >= price * (1.0 - 1e-9)
    early = replace(plan, rentals=tuple(replace(each, end=each.end - 60.0 * each.master) for each in plan.rentals))
    assert any("without 1 masters" in each.message for each in verify(spec, early))
