"""A constant cluster for a night: by hand, and plans that were tampered with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import mrdsl
from mrdsl.families.timetable.bounds import fewest_machines
from mrdsl.families.timetable.plan import TimetablePlan
from mrdsl.families.timetable.types import market_of
from mrdsl.families.timetable.verify import verify

MODELS = Path(__file__).resolve().parents[3] / "models" / "timetable"


def solved(text: str) -> tuple[mrdsl.Spec, mrdsl.Result[TimetablePlan]]:
    spec = mrdsl.loads(text)
    return spec, mrdsl.solve(spec).of(TimetablePlan)


def test_one_machine_runs_the_reference_night() -> None:
    """Four waves of 5 s and one more fit into 2 min: 398 min to the last release, 25 s, and a boot of 2 min."""
    spec = mrdsl.load(MODELS / "reference.mrspec")
    result = mrdsl.solve(spec).of(TimetablePlan)
    assert result.plan is not None
    assert result.plan.machines == 1
    assert result.value == pytest.approx((398 * 60 + 25 + 120) * 0.192 / 3600)
    assert result.solution == "optimal"


NIGHT = """problem timetable "t"
vm m { on_demand { price = 1 USD/min }, boot = 1 min }
class a {
  stage one { tasks = 4, avg = 1 min, max = 2 min }
  stage two { tasks = 2, avg = 1 min, max = 2 min, after = [one] }
  slots { task = 2 }
  runs { at = [2 min, 5 min] }
  deadline = 3 min
}
minimize cost
"""


def test_task_times_follow_the_guarantee() -> None:
    """One machine: 2 waves and 1 of 1 min each; two machines if each takes 2 min, of 4 min until the deadline."""
    _, result = solved(NIGHT)
    assert result.value == pytest.approx(7.0)
    spec = mrdsl.loads(
        NIGHT.replace("5 min]", "8 min]").replace("deadline = 3 min", "deadline = 4 min, guarantee = upper")
    )
    assert fewest_machines(market_of(spec.facts).nights[0]) == 2


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"cost": 1.0}, "cost"),
        ({"rentals": ()}, "is not rented"),
        ({"machines": 3}, "machines at once"),
    ],
)
def test_a_plan_with_other_rentals_is_broken(change: dict[str, object], words: str) -> None:
    spec, result = solved(NIGHT)
    assert result.plan is not None
    assert not list(verify(spec, result.plan))
    assert any(words in each.message for each in verify(spec, replace(result.plan, **change)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("column", "index", "value", "words"),
    [
        ("start", 0, 0.0, "machine is not there"),
        ("start", 2, 120.0, "before the stages"),
        ("count", 0, 1, "of a stage of 4"),
        ("count", 0, 3, "of a stage of 4"),
        ("run", 0, 7, "does not have"),
        ("start", 1, 120.0, "at once"),
    ],
)
def test_a_plan_with_other_tasks_is_broken(column: str, index: int, value: float, words: str) -> None:
    spec, result = solved(NIGHT)
    assert result.plan is not None
    assert result.plan.tasks is not None
    changed = np.array(getattr(result.plan.tasks, column))
    changed[index] = value
    plan = replace(result.plan, tasks=replace(result.plan.tasks, **{column: changed}))
    assert any(words in each.message for each in verify(spec, plan))


def test_a_saved_plan_is_read_back_and_verified() -> None:
    _, result = solved(NIGHT)
    again = mrdsl.Result.from_json(result.to_json())
    assert again.plan is not None
    assert again.plan.document() == result.plan.document()  # type: ignore[union-attr]
    assert not list(verify(again.spec, again.plan))  # type: ignore[arg-type]


def test_200_runs_that_may_be_left_out_have_a_close_bound() -> None:
    """Penalties of 0.02 USD and more, for 25 runs in each of eight classes; one class is mandatory."""
    classes = "".join(
        f"class c{n} {{ stage s {{ tasks = {12 + 7 * n}, avg = {25 + 9 * n} s, max = 200 s }}, slots {{ task = 8 }}\n"
        f"  runs {{ from = {7 * n} min, every = {19 + n} min, times = 25 }}, deadline = {15 + 6 * n} min"
        + (f"\n  penalty = {0.02 * n} USD }}\n" if n else " }\n")
        for n in range(8)
    )
    vm = "vm m5 { on_demand { price = 0.192 USD/h }, boot = 2 min }"
    _, result = solved(f"problem timetable\nrent = constant\n{vm}\n{classes}minimize cost\n")
    assert result.plan is not None
    assert result.objective.bound is not None
    assert result.objective.bound <= result.objective.value * (1.0 + 1e-9)
    assert result.objective.bound >= 0.98 * result.objective.value
