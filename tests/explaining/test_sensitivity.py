"""What promises are worth: shadow prices and steps, against closed forms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import mrdsl
from mrdsl.explaining.sensitivity import MOST, effects, shadow_prices, steps, table
from mrdsl.families.capacity.facts import JobClass
from mrdsl.spec import Columns, column
from mrdsl.spec.changing import FactNumber, with_values
from tests.explaining.test_infeasibility import GAMMA_A, SPEC, spec_with


def test_steps_of_the_relaxation_are_what_the_closed_form_says() -> None:
    """All of class a is admitted, so a deadline of 630 s saves the on-demand VMs that its slots no longer take."""
    spec = spec_with("vms <= 200")
    result = mrdsl.solve(spec, "highs", relax=True)
    found = {(s.line.label, s.value > s.line.value): s for s in steps(spec, result, "highs", relax=True)}
    saved = found[("deadline of a", True)]
    assert saved.value == pytest.approx(630.0)
    assert saved.effect == pytest.approx(6 * GAMMA_A * (1 / (630 - 95) - 1 / (600 - 95)), rel=1e-6)
    more = found[("available of m5", True)]
    assert (more.value, more.effect) == (6.0, pytest.approx(-0.5)), "a reserved VM in place of one on demand"
    assert found[("`vms <= 200`", True)].effect == pytest.approx(0.0, abs=1e-6)


def test_a_step_that_no_plan_survives() -> None:
    spec = spec_with("vms <= 39")
    result = mrdsl.solve(spec, "highs")
    found = tuple(steps(spec, result, "highs"))
    hard = next(s for s in found if s.line.label == "`vms <= 39`" and s.value == 38)
    assert hard.possible is (mrdsl.solve(spec_with("vms <= 38"), "highs").plan is not None)
    assert hard.possible is False
    shown = table(spec, result, found)
    assert any(row[3] == "no plan" for row in shown.rows)


def test_a_step_beyond_the_other_end_of_a_range_takes_it_along() -> None:
    """One more than `jobs = 6` is seven that are asked for, not seven of six."""
    for written, low, high in (("6", 7, 7), ("6 .. 6", 7, 7), ("6 .. 9", 7, 9)):
        text = SPEC.format(promise="vms <= 200", whole="no").replace("jobs = 4 .. 6", f"jobs = {written}")
        spec, more = mrdsl.loads(text), mrdsl.loads(text.replace(f"jobs = {written}", f"jobs = {low} .. {high}"))
        result = mrdsl.solve(spec, "highs")
        base = result.objective.value
        step = next(s for s in steps(spec, result, "highs") if s.line.label == "jobs of a" and s.value == 7.0)
        assert step.possible
        assert step.effect == pytest.approx(mrdsl.solve(more, "highs").objective.value - base)


@pytest.mark.parametrize(
    ("path", "value", "ends"), [("low", 7.0, (7.0, 7.0)), ("high", 3.0, (3.0, 3.0)), ("low", 5.0, (5.0, 6.0))]
)
def test_ends_of_ranges_in_columns_move_as_written_ones(path: str, value: float, ends: tuple[float, float]) -> None:
    both = np.array([6.0, 4.0]), np.array([6.0, 6.0])
    held: Columns[JobClass] = Columns(JobClass, ["a", "b"], {"jobs.low": both[0], "jobs.high": both[1]})
    written = spec_with("vms <= 200").facts
    for facts, index in ((replace(written, classes=held), 1), (written, 0)):
        changed = with_values(facts, {FactNumber(f"classes.jobs.{path}", index): value}).classes
        assert tuple(float(column(changed, f"jobs.{end}")[index]) for end in ("low", "high")) == ends
    assert held.values["jobs.low"].tolist() == [6.0, 4.0]


def test_shadow_prices_of_the_relaxation() -> None:
    """One VM more beside those that are rented saves its on-demand price, 1 USD."""
    rows = {row[0]: row[1] for row in shadow_prices(spec_with("vms <= 200")).rows}
    assert abs(rows["enough_vms"]) == pytest.approx(1.0)


def test_steps_of_very_many_constraints_are_not_measured() -> None:
    spec = mrdsl.loads(
        """
        problem capacity
        vm m5 { on_demand { price = 0.2 USD/h } }
        class c[1..1001] {
          map { tasks = 3, avg = 1 s, max = 2 s }, slots { map = 2, reduce = 1 }
          jobs = 1, penalty = 1 USD, deadline = 1 h
        }
        minimize cost
        """
    )
    result = mrdsl.solve(spec)
    assert not tuple(steps(spec, result))
    (told,) = effects(spec, result, ())
    assert isinstance(told, str)
    assert f"{MOST:,}" in told
