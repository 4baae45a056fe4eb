"""Plans that users build from numbers of jobs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import mrdsl
from mrdsl.core.resources import resource
from mrdsl.families.capacity.own_plans import plan_with
from mrdsl.families.capacity.verify import verify

MODELS = Path(str(resource("models"))) / "capacity"
SPEC = """problem capacity "q", estimates = paper
vm m5 { on_demand { price = 1 USD/h }, reserved { price = 0.5 USD/h, available = 2 } }
class a { map { tasks = 4, avg = 10 s, max = 10 s }, slots { map = 2, reduce = 1 }
  jobs = 1 .. 5, deadline = 20 s, penalty = 1 USD }
minimize cost
"""
TYPES = SPEC.replace(
    "vm m5", "vm r5 { on_demand { price = 3 USD/h }, spot { price = 1 USD/h, interruptions = 1e-9/h } }\nvm m5"
)


@pytest.mark.parametrize("name", ["quickstart", "reference", "table2_20"])
def test_the_jobs_of_a_solved_plan_give_its_cost(name: str) -> None:
    spec = mrdsl.load(MODELS / f"{name}.mrspec")
    solved = mrdsl.solve(spec, "direct").plan_of(mrdsl.CapacityPlan)
    plan = plan_with(spec, {each: one.admitted for each, one in solved.classes.items()})
    assert plan.total == pytest.approx(solved.total)
    assert not tuple(verify(spec, plan, False))


def test_vms_are_the_fewest_of_the_cheapest() -> None:
    """A job takes (4 - 1) * 10 s / S + 10 s on S slots: 3 for 20 s; 9 slots are on 5 VMs, of which 2 are reserved."""
    spec = mrdsl.loads(SPEC)
    plan = plan_with(spec, {"a": 3})
    assert (plan.on_demand, plan.reserved, plan.rejected.tolist()) == (3.0, 2.0, [2.0])
    assert plan.total == pytest.approx(3 * 1 + 2 * 0.5 + 2 * 1)
    assert plan_with(spec, {"a": 0.5}, relax=True).vms.tolist() == [0.75]
    assert plan_with(spec, {}).total == 5.0


def test_jobs_are_on_the_named_types() -> None:
    spec = mrdsl.loads(TYPES)
    plan: Any = plan_with(spec, {"a": {"m5": 2, "r5": 1}})
    assert plan.vm_cost == pytest.approx(2 * 0.5 + 1 * 1 + 2 * 3), "6 slots on 3 m5, 3 slots on 2 r5"
    assert not tuple(verify(spec, plan, False))
    assert plan_with(spec, {"a": 1}).vm == "r5"
    spot: Any = plan_with(spec, {"a": {"r5 spot": 2}})
    assert spot.vm_cost < plan.vm_cost


@pytest.mark.parametrize(
    ("admitted", "said"),
    [({"b": 1}, "no class `b`"), ({"a": {"m6": 1}}, "no VM type for class `a` `m6`")],
)
def test_unknown_names(admitted: Any, said: str) -> None:
    with pytest.raises(mrdsl.MrdslError, match=said):
        plan_with(mrdsl.loads(TYPES), admitted)
