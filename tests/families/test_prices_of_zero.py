"""A price of 0, machines of one's own, where it means something; one mistake in a block is told once."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mrdsl.language.loading import load_text
from mrdsl.planning.solve_spec import solve

MODELS = Path(__file__).resolve().parents[2] / "models"
CAPACITY = (MODELS / "capacity" / "quickstart.mrspec").read_text(encoding="utf-8")
ENERGY = (MODELS / "energy" / "reference.mrspec").read_text(encoding="utf-8")
SHARED = (MODELS / "bounds" / "shared-cluster.mrspec").read_text(encoding="utf-8")
SCHEDULE = """problem schedule "x"
seed = 1
horizon = 1 h
vm own { slots { map = 1, reduce = 1 }, on_demand { price = %s USD/h } }
class a { rate = 6/h, map { tasks = 4, avg = 9 s, max = 9 s } }
policy { algorithm = %s, instances = on_demand, tardy_share = 10%% }
minimize cost
"""


@pytest.mark.parametrize("solver", ["highs", "direct", "scip"])
def test_capacity_on_machines_of_ones_own(solver: str) -> None:
    """With free VMs every job runs for nothing. The 40 reserved ones are used by any plan, whatever they cost (clicks
    alone needs more): where they are free, a plan costs less by their price."""
    dear = load_text(CAPACITY).spec
    free = load_text(priced(re.sub(r"reserved .*", "", CAPACITY), "on_demand", "0")).spec
    own = load_text(priced(CAPACITY, "reserved", "0")).spec
    assert free is not None
    assert own is not None
    assert dear is not None
    assert solve(free, solver=solver).objective.value == pytest.approx(0.0, abs=1e-9)
    found, before = solve(own, solver=solver).objective.value, solve(dear, solver=solver).objective.value
    assert found == pytest.approx((before or 0.0) - 40 * 0.121)


def priced(text: str, contract: str, price: str) -> str:
    """The text with another price for every VM of a contract."""
    return re.sub(rf"({contract} *{{ price = )[0-9.]+", rf"\g<1>{price}", text)


@pytest.mark.parametrize("algorithm", ["ndasa", "mdasa", "ep_edf", "ev_edf", "frugal"])
def test_a_schedule_on_machines_of_ones_own(algorithm: str) -> None:
    """What is decided does not depend on the price, but for frugal, which has nothing to save where all is free."""
    plans = [solve(load_text(SCHEDULE % (price, algorithm)).spec) for price in ("0", "1")]  # type: ignore[arg-type]
    assert plans[0].objective.value == 0.0
    if algorithm != "frugal":
        assert plans[0].plan.vm_hours == plans[1].plan.vm_hours  # type: ignore[union-attr]
    else:
        assert plans[0].plan.jobs.tardy == 0  # type: ignore[union-attr]


def test_energy_on_machines_of_ones_own() -> None:
    """Machines that cost nothing leave the whole budget, so that no plan takes more energy than with their price."""
    dear, free = (load_text(text, folder=MODELS / "energy").spec for text in (ENERGY, priced(ENERGY, "on_demand", "0")))
    assert free is not None
    assert dear is not None
    at_most, least = (solve(each).objective.value for each in (dear, free))
    assert at_most is not None
    assert least is not None
    assert 0.0 < least <= at_most * (1.0 + 1e-9)


@pytest.mark.parametrize(
    "text",
    [SCHEDULE % ("-1", "mdasa"), priced(CAPACITY, "on_demand", "-1"), SHARED.replace("{ tasks = 60", "{ tasks = -1")],
)
def test_a_rejected_block_causes_no_second_error(text: str) -> None:
    found = [each for each in load_text(text).diagnostics if each.severity.name == "ERROR"]
    assert [each.code for each in found] == ["out-of-range"]
