"""Masters: `masters = 1` in a vm or `master { vm = TYPE }`, in plans, costs, texts and verification."""

from __future__ import annotations

from dataclasses import replace

import pytest

import mrdsl
from mrdsl.families.capacity.explain import _cost, _decision
from mrdsl.families.capacity.verify import verify

SPEC = """problem capacity
vm m5 { on_demand { price = 0.2 USD/h }, reserved { price = 0.1 USD/h, available = 2 }, fee = 25% REST }
vm small { on_demand { price = 0.07 USD/h } }
MASTER
class c { coefficients { A = 7200 s, B = 0 s, C = 0 s }, slots { map = 2, reduce = 2 }, types = [m5]
          jobs = 3, deadline = 1 h, penalty = 9 USD }
minimize cost
"""
SOLVERS = ("highs", "direct", "glpk")


def spec_of(rest: str = "", master: str = "") -> mrdsl.Spec:
    return mrdsl.loads(SPEC.replace("REST", rest).replace("MASTER", master))


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    ("rest", "master", "cost", "of_masters"),
    [
        ("", "", 0.55, None),  # 3 jobs of one VM each: 2 reserved at 0.15, and 1 at 0.25 USD
        (", masters = 1", "", 0.8, 0.15),  # one VM more; of all of them the master is the cheapest
        ("", "master { vm = m5 }", 0.8, 0.15),
        ("", "master { vm = small }", 0.62, 0.07),
        ("", "master { vm = small, count = 3 }", 0.76, 0.21),
        ("", "master { vm = m5, count = 3 }", 1.3, 0.55),
    ],
)
def test_masters_and_their_cost(solver: str, rest: str, master: str, cost: float, of_masters: float | None) -> None:
    spec = spec_of(rest, master)
    result = mrdsl.solve(spec, solver=solver)
    plan = result.plan_of(mrdsl.CapacityPlan)
    assert not list(verify(spec, plan, relax=False))
    assert plan.total == pytest.approx(cost)
    assert plan.document()["cost"].get("masters") == (None if of_masters is None else pytest.approx(of_masters))
    assert sum(_cost(spec, plan).values()) == pytest.approx(cost)
    assert mrdsl.Result.from_json(result.to_json()).plan.document() == plan.document()


def test_the_text_of_a_plan_names_its_masters() -> None:
    spec = spec_of("", "master { vm = small }")
    plan = mrdsl.solve(spec).plan_of(mrdsl.CapacityPlan)
    assert "of them 1 small as master" in _decision(spec, plan)
    assert _cost(spec, plan)["small as master"] == pytest.approx(0.07)
    tables = {table.title: table for table in plan.tables()}
    assert tables["VMs"].columns[-1] == "as masters"
    assert [row[-1] for row in tables["VMs"].rows] == [0, 1]
    three = spec_of("", "master { vm = m5, count = 3 }")
    assert "of them 3 m5 as masters" in _decision(three, mrdsl.solve(three).plan_of(mrdsl.CapacityPlan))
    plain = spec_of()
    plan = mrdsl.solve(plain).plan_of(mrdsl.CapacityPlan)
    assert "master" not in _decision(plain, plan)
    assert "master" not in str(plan.tables())


def test_a_master_cannot_run_tasks() -> None:
    """With one VM of the type, which is the master, no job is left a place: none is admitted."""
    text = SPEC.replace("REST", ", available = 1").replace("MASTER", "master { vm = m5 }")
    text = text.replace("jobs = 3", "jobs = 0 .. 3")
    for solver in SOLVERS:
        plan = mrdsl.solve(mrdsl.loads(text), solver=solver).plan_of(mrdsl.CapacityPlan)
        assert (plan.admitted.tolist(), plan.rented) == ([0.0], 1.0)


@pytest.mark.parametrize(
    ("rest", "master", "code", "said"),
    [
        ("", "master { vm = m6 }", "unknown-name", "VM types: `m5`, `small`"),
        (", masters = 1", "master { vm = small }", "duplicate", "keep one of them"),
        ("", "master { vm = small, count = 0 }", "out-of-range", "at least 1"),
        ("", "master { vm = small, count = 1.5 }", "not-whole", "whole"),
        ("", "master { vm = small, count = -1 }", "out-of-range", "at least 1"),
        ("", "master { }", "missing-item", "`vm = ...`"),
        ("", "master { vm = small }\nmaster { vm = m5 }", "duplicate", "keep one of them"),
        (", available = 2", "master { vm = m5, count = 3 }", "impossible-quota", "lower masters"),
    ],
)
def test_wrong_masters(rest: str, master: str, code: str, said: str) -> None:
    told = next(each for each in _found(rest, master) if each.code == code)
    assert said in f"{told.message} {told.hint}"


def _found(rest: str, master: str) -> tuple[mrdsl.Diagnostic, ...]:
    try:
        return mrdsl.solve(spec_of(rest, master)).diagnostics
    except mrdsl.MrdslError as caught:
        return tuple(caught.diagnostics)


def test_verification_recomputes_masters_and_their_cost() -> None:
    spec = spec_of("", "master { vm = small }")
    plan = mrdsl.solve(spec).plan_of(mrdsl.CapacityPlan)
    assert plan.mix is not None
    for change in ({"masters_cost": 0.05}, {"masters_cost": 0.0}, {"masters": plan.mix.masters[::-1]}):
        broken = replace(plan, mix=replace(plan.mix, **change))  # type: ignore[arg-type]
        assert [each.code for each in verify(spec, broken, relax=False)].count("broken-plan") >= 1
