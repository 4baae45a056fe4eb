"""Runs on spot VMs, with time for a second attempt on demand: by hand, tampered plans, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

import mrdsl
from mrdsl.core.diagnostics import MrdslError
from mrdsl.families.timetable.plan import TimetablePlan
from mrdsl.families.timetable.verify import verify
from mrdsl.language.loading import load_text

TEXT = """problem timetable "spot"
rent = elastic
billing { period = 1 s, minimum = 0 s }
vm m {
  on_demand { price = 3 USD/h }
  spot { price = 1 USD/h, interruptions = 0.05/h }
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


def solved(text: str) -> tuple[mrdsl.Spec, TimetablePlan, float]:
    spec = mrdsl.loads(text)
    result = mrdsl.solve(spec).of(TimetablePlan)
    assert result.solution == "optimal"
    assert result.plan is not None
    assert result.value is not None
    return spec, result.plan, result.value * 60


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
    without = mrdsl.loads(TEXT.replace("  spot { price = 1 USD/h, interruptions = 0.05/h }\n", ""))
    assert any("on spot, which the spec does not have" in each.message for each in verify(without, plan))
    longer_boot = mrdsl.loads(TEXT.replace("boot = 1 min", "boot = 2 min"))
    assert any("second attempt" in each.message for each in verify(longer_boot, plan))
    spec = mrdsl.loads(TEXT)
    firm = replace(plan, rentals=tuple(replace(each, spot=False) for each in plan.rentals))
    assert any("cost" in each.message for each in verify(spec, firm))


def test_second_attempts_are_not_simulated() -> None:
    with pytest.raises(MrdslError, match="second attempts"):
        mrdsl.simulate(mrdsl.solve(mrdsl.loads(TEXT)), runs=2)


@pytest.mark.parametrize("more", ["available = 3", "masters = 1"])
def test_what_is_not_planned_with_spot_is_told(more: str) -> None:
    found = load_text(TEXT.replace("boot = 1 min", f"boot = 1 min, {more}")).diagnostics
    assert [each for each in found if each.code in ("out-of-range", "one-vm-type") and each.span and each.hint]
