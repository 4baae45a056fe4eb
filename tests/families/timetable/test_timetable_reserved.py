"""Reserved VMs below those on demand: by hand, prepaid ones, bad input, and tampered plans."""

from __future__ import annotations

from dataclasses import replace

import pytest

import mrdsl
from mrdsl.families.timetable.plan import TimetablePlan
from mrdsl.families.timetable.verify import verify
from mrdsl.language.loading import load_text

TEXT = """problem timetable "base"
rent = elastic
billing { period = 1 s, minimum = 0 s }
vm m {
  on_demand { price = 3 USD/h }
  reserved { price = 1 USD/h, available = 1 }
  boot = 1 min
}
class a {
  stage s { tasks = 4, avg = 5 min, max = 5 min }
  slots { task = 2 }
  distribution = fixed
  runs = [0 min, 10 min]
  deadline = 5 min
}
minimize cost
"""


def solved(text: str) -> tuple[mrdsl.Spec, TimetablePlan, float]:
    spec = mrdsl.loads(text)
    result = mrdsl.solve(spec).of(TimetablePlan)
    assert result.solution == "optimal"
    assert result.plan is not None
    assert result.value is not None
    assert list(verify(spec, result.plan)) == []
    return spec, result.plan, result.value * 60


@pytest.mark.parametrize(
    ("rent", "prepaid", "more", "cost"),
    [
        ("constant", "no", "", 16 * (3 + 1)),
        ("elastic", "no", "", 2 * 6 * (3 + 1)),
        ("per_job", "no", "", 2 * 6 * (3 + 1)),
        ("elastic", "yes", "", 2 * 6 * 3),
        ("elastic", "yes", "horizon = 29 min", 2 * 6 * 3),
        ("elastic", "yes", "fee", 2 * 6 * 3 + 4 * 6 * 6),
    ],
)
def test_one_of_two_machines_is_reserved(rent: str, prepaid: str, more: str, cost: float) -> None:
    """Each run needs two VMs for 5 min after a boot of 1 min; the cost leaves out a prepaid one."""
    text = TEXT.replace("elastic", rent).replace("available = 1", f"available = 1, prepaid = {prepaid}")
    text = (
        text.replace("  boot", "  fee = 6 USD/h\n  boot")
        if more == "fee"
        else text.replace("vm m {", f"{more}\nvm m {{")
    )
    spec, plan, value = solved(text)
    assert value == pytest.approx(cost)
    assert plan.document()["vms"] == {"m": {"on_demand": 1, "reserved": 1}}
    simulated = mrdsl.simulate(mrdsl.solve(spec), runs=2).of(TimetablePlan).plan
    assert simulated is not None
    assert simulated.bill is not None
    assert simulated.bill.mean * 60 == pytest.approx(cost)


@pytest.mark.parametrize(("horizon", "minutes"), [("", 16), ("horizon = 29 min", 30)])
def test_prepaid_machines_cost_nothing_and_their_price_is_shown(horizon: str, minutes: int) -> None:
    """The five VMs are there from minute -1 to 15 or 29."""
    text = TEXT.replace("available = 1", "available = 5, prepaid = yes").replace("vm m {", f"{horizon}\nvm m {{")
    spec, plan, value = solved(text)
    assert value == 0.0
    assert plan.prepaid * 60 == pytest.approx(5 * minutes)
    assert any("prepaid" in each.message for each in verify(spec, replace(plan, prepaid=0.0)))
    assert plan.document()["vms"] == {"m": {"on_demand": 0, "reserved": 2}}


def test_tampered_rentals_are_broken() -> None:
    spec, plan, _ = solved(TEXT)
    every = replace(plan, rentals=tuple(replace(each, reserved=True) for each in plan.rentals))
    assert any("reserved at once of" in each.message for each in verify(spec, every))
    none = replace(plan, rentals=tuple(replace(each, reserved=False) for each in plan.rentals))
    assert any("cost" in each.message for each in verify(spec, none))
    without = mrdsl.loads(TEXT.replace("  reserved { price = 1 USD/h, available = 1 }\n", ""))
    assert any("is reserved, which the spec does not have" in each.message for each in verify(without, plan))


def test_disks_are_paid_while_vms_are_rented() -> None:
    """Two VMs for 12 min, one of them reserved, each with a disk for 3 USD/h."""
    disk = "disk { size = 60 GiB, price = 0.05 USD/GiB/h }, boot = 1 min"
    assert solved(TEXT.replace("boot = 1 min", disk))[2] == pytest.approx(12 * (3 + 1) + 24 * 3)


@pytest.mark.parametrize(("rent", "span"), [("elastic", 16), ("per_job", 12), ("constant", 16)])
def test_masters_are_on_demand_above_reserved_vms(rent: str, span: int) -> None:
    """One VM of two is reserved, and a master is there for the cluster, or for the 6 min of each run."""
    text = TEXT.replace("boot = 1 min", "boot = 1 min, masters = 1").replace("elastic", rent)
    _, plan, value = solved(text)
    assert value == pytest.approx((16 if rent == "constant" else 12) * (3 + 1) + 3 * span)
    assert [each.reserved for each in plan.rentals if each.master] == [False] * (1 + (rent == "per_job"))


def test_bad_input_is_told_with_its_place() -> None:
    text = TEXT.replace("price = 1 USD/h", "price = 3 USD/h")
    found = [each for each in load_text(text).diagnostics if each.code == "reserved-not-cheaper"]
    assert found
    assert found[0].span is not None
    assert found[0].hint


PER_JOB = """problem timetable "few"
rent = per_job
vm m { on_demand { price = 2 USD/min }, boot = 1 min, available = 1 }
class a {
  stage s { tasks = 1, avg = 2 min, max = 2 min }
  slots { task = 1 }
  runs = [4 min, 5 min, 6 min]
  deadline = 8 min
}
minimize cost
"""


def test_machines_of_runs_are_planned_together_if_they_are_few() -> None:
    """Each run has a VM for 3 min: from 3 min to 6 min, to 9 min and to 12 min; the last may end at 14 min."""
    result = mrdsl.solve(mrdsl.loads(PER_JOB))
    assert (result.solution, result.value) == ("optimal", pytest.approx(3 * 3 * 2))
    both = PER_JOB.replace("available = 1", "reserved { price = 1 USD/min, available = 1 }")
    result = mrdsl.solve(mrdsl.loads(both))
    assert (result.solution, result.value) == ("optimal", pytest.approx(3 * 3))
    result = mrdsl.solve(mrdsl.loads(PER_JOB.replace("deadline = 8 min", "deadline = 5 min")))
    assert result.solution == "none"
    assert result.termination == "infeasible"
    assert [each.code for each in result.diagnostics if each.span and each.hint] == ["impossible-deadline"]
