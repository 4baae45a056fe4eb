"""What promises are worth: shadow prices and steps, against closed forms."""

from __future__ import annotations

import pytest

import mrdsl
from mrdsl.explaining.sensitivity import shadow_prices, steps, table
from tests.explaining.test_infeasibility import GAMMA_A, spec_with


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


def test_shadow_prices_of_the_relaxation() -> None:
    """One VM more beside those that are rented saves its on-demand price, 1 USD."""
    rows = {row[0]: row[1] for row in shadow_prices(spec_with("vms <= 200")).rows}
    assert abs(rows["enough_vms"]) == pytest.approx(1.0)
