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
        ("elastic", "yes", "", 16 * 1 + 2 * 6 * 3),
        ("elastic", "yes", "horizon = 29 min", 30 * 1 + 2 * 6 * 3),
        ("elastic", "yes", "fee", 16 * 1 + 2 * 6 * 3 + 4 * 6 * 6),
    ],
)
def test_one_of_two_machines_is_reserved(rent: str, prepaid: str, more: str, cost: float) -> None:
    """Each run needs two VMs for 5 min after a boot of 1 min; prepaid ones are paid from minute -1 to 15 or 29."""
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


def test_unused_reserved_machines_are_paid_if_they_are_prepaid() -> None:
    text = TEXT.replace("available = 1", "available = 5, prepaid = yes")
    _, plan, value = solved(text)
    assert value == pytest.approx(5 * 16)
    assert plan.document()["vms"] == {"m": {"on_demand": 0, "reserved": 2}}


def test_tampered_rentals_are_broken() -> None:
    spec, plan, _ = solved(TEXT)
    every = replace(plan, rentals=tuple(replace(each, reserved=True) for each in plan.rentals))
    assert any("more than the spec has" in each.message for each in verify(spec, every))
    none = replace(plan, rentals=tuple(replace(each, reserved=False) for each in plan.rentals))
    assert any("cost" in each.message for each in verify(spec, none))
    without = mrdsl.loads(TEXT.replace("  reserved { price = 1 USD/h, available = 1 }\n", ""))
    assert any("more than the spec has" in each.message for each in verify(without, plan))


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("price = 1 USD/h", "price = 3 USD/h", "reserved-not-cheaper"),
        ("boot = 1 min", "boot = 1 min, masters = 1", "out-of-range"),
    ],
)
def test_bad_input_is_told_with_its_place(old: str, new: str, code: str) -> None:
    found = [each for each in load_text(TEXT.replace(old, new)).diagnostics if each.code == code]
    assert found
    assert found[0].span is not None
    assert found[0].hint
