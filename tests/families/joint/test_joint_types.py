"""Joint plans on several VM types: against an own enumeration, against one kind of VMs, and with planted defects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import mrdsl
from mrdsl.families.joint.explain import operated
from mrdsl.families.joint.export import deployments
from mrdsl.families.joint.plan import JointPlan, LanePlan
from tests.families.joint.specs import broken
from tests.families.joint.types_oracle import AmbiguousError, brute, draw, least, table, text, with_contracts

RENTED = Path(__file__).parents[3] / "models" / "joint" / "rented.mrspec"


@pytest.mark.parametrize("seed", range(24))
def test_drawn_specs_cost_what_all_placements_do(seed: int) -> None:
    """Drawn by hand: 700 specs, of which 94 are impossible, and 441 have several types."""
    drawn = draw(Random(seed))
    try:
        wanted = brute(drawn)
    except AmbiguousError:
        pytest.skip("the losses of jobs on spot depend on which of two pairs of slots counts")
    found = mrdsl.solve(mrdsl.loads(text(drawn)))
    assert (found.plan is None) == (wanted is None)
    if wanted is not None:
        assert found.objective.value == pytest.approx(wanted, rel=1e-4, abs=1e-7)


@pytest.mark.parametrize("seed", range(100, 120))
def test_drawn_contracts_and_fees_cost_what_all_placements_do(seed: int, tmp_path: Path) -> None:
    """Contracts are chosen for all periods, or prepaid."""
    drawn = with_contracts(draw(Random(seed)), Random(seed))
    try:
        wanted = least(drawn)
    except AmbiguousError:
        pytest.skip("the losses of jobs on spot depend on which of two pairs of slots counts")
    (tmp_path / "day.csv").write_text(table(drawn), encoding="utf-8")
    (tmp_path / "spec.mrspec").write_text(text(drawn), encoding="utf-8")
    found = mrdsl.solve(mrdsl.load(tmp_path / "spec.mrspec"))
    assert (found.plan is None) == (wanted is None)
    if wanted is not None:
        assert found.objective.value == pytest.approx(wanted, rel=1e-4, abs=1e-7)


@pytest.mark.parametrize("deadline", [600, 900, 1200, 1800, 3600, 7200, 100_000])
def test_a_looser_deadline_never_costs_more(deadline: int) -> None:
    """20 tasks of 30 s take 600 s on one slot: four jobs one after the other keep every deadline on one VM."""
    spec = mrdsl.loads(
        f"""problem joint
        cluster {{ period = 1 h }}
        vm small {{ on_demand {{ price = 0.5 USD/h }} }}
        vm large {{ on_demand {{ price = 0.9 USD/h }}, spot {{ price = 0.8 USD/h, interruptions = 0.1/h }} }}
        class a {{
          map {{ tasks = 20, avg = 30 s, max = 30 s }}
          slots {{ map = 1 }}
          on large {{ slots {{ map = 2 }} }}
          jobs = 4 .. 4
          deadline = {deadline} s
          penalty = 9 USD
        }}
        minimize cost"""
    )
    found = mrdsl.solve(spec)
    assert (found.objective.value, found.objective.bound) == pytest.approx((0.5, 0.5))


def test_more_jobs_than_there_are_turns_are_found() -> None:
    """Four jobs of 600 s run one after the other in an hour, but not seven."""
    text = (
        "problem joint\ncluster { period = 1 h }\nvm a { on_demand { price = 0.5 USD/h } }\n"
        "class c { map { tasks = 20, avg = 30 s, max = 30 s }, slots { map = 1 }\n"
        "jobs = %d, deadline = 1 h, penalty = 9 USD }\nminimize cost\n"
    )
    spec = mrdsl.loads(text % 6)
    plan = mrdsl.solve(spec).plan_of(JointPlan)
    assert plan.total == pytest.approx(0.5)
    assert not broken(spec, plan)
    seven = mrdsl.loads(text % 7)
    more = replace(plan, classes=replace(plan.classes, admitted=np.full_like(plan.classes.admitted, 7.0)))
    assert broken(seven, more)


ONE = """
problem joint "Shop"
CLUSTER
demand { periods = 3, from = "day.csv", floor = 30% }
class sort {
  map { tasks = 74, avg = 30 s, max = 42 s }
  shuffle { first_max = 11 s, avg = 37 s, max = 40 s }
  reduce { tasks = 64, avg = 22 s, max = 44 s }
  slots { map = 2, reduce = 2 }
  jobs = 30, deadline = 15 min, penalty = 0.3 EUR
}
service checkout {
  rate = 120/s, service_rate = 15/s, delay = 0.25 s, response = 1 s, penalty = 0.000001 EUR
}
minimize cost
"""


def test_one_type_is_a_cluster_of_one_kind(tmp_path: Path) -> None:
    (tmp_path / "day.csv").write_text("sort,checkout\n30,120\n12,160\n3,40\n", encoding="utf-8")
    plans = []
    for name, cluster in (
        ("kind", "cluster { size = 28, vm_cost = 0.05 EUR/h }"),
        ("type", "cluster { period = 1 h }\nvm a { on_demand { price = 0.05 EUR/h }, available = 28 }"),
    ):
        path = tmp_path / f"{name}.mrspec"
        path.write_text(ONE.replace("CLUSTER", cluster), encoding="utf-8")
        plans.append(mrdsl.solve(mrdsl.load(path)))
    assert plans[0].objective.value == pytest.approx(plans[1].objective.value)
    assert plans[0].plan_of(JointPlan).penalties.sum() > 0.0


def changed(plan: JointPlan, **parts: Callable[[Any], Any]) -> JointPlan:
    lanes = plan.by_type
    assert lanes is not None
    return replace(
        plan, by_type=replace(lanes, **{name: change(getattr(lanes, name)) for name, change in parts.items()})
    )


def all_on_spot(plan: JointPlan) -> JointPlan:
    """The class on spot VMs alone, with the same totals."""
    lanes = plan.by_type
    assert isinstance(lanes, LanePlan)
    spot = lanes.way.index("spot")
    moved = {}
    for name in ("class_vms", "at_once", "map_slots", "reduce_slots"):
        part = np.zeros_like(getattr(lanes, name))
        part[:, spot] = getattr(lanes, name).sum(axis=1)
        moved[name] = part
    return replace(plan, by_type=replace(lanes, **moved))


DEFECTS: dict[str, tuple[Callable[[JointPlan], JointPlan], str]] = {
    "less VMs": (lambda plan: changed(plan, class_vms=lambda vms: np.maximum(vms - 1.0, 0.0)), "fewer VMs"),
    "less slots": (lambda plan: changed(plan, map_slots=lambda slots: slots * 0.5), "after their deadline"),
    "more requests": (lambda plan: changed(plan, rate=lambda rate: rate * 1.2), "answers in"),
    "all on spot": (all_on_spot, "on spot"),
    "more VMs than there are": (lambda plan: changed(plan, service_vms=lambda vms: vms * 2.0), "of 30"),
    "other types": (lambda plan: changed(plan, vm=lambda names: ["m4", *names[1:]]), "which the spec does not have"),
    "negative VMs": (lambda plan: changed(plan, class_vms=lambda vms: vms - 1.0), "negative"),
    "a lower price": (lambda plan: replace(plan, operation=0.9 * plan.operation), "claims"),
    "a lower price of a VM": (lambda plan: changed(plan, prices=lambda prices: 0.9 * prices), "for a VM of"),
    "less penalties": (lambda plan: replace(plan, penalties=0.5 * plan.penalties), "claims"),
}


def test_defects_of_a_plan_are_found() -> None:
    spec = mrdsl.load(RENTED)
    plan = mrdsl.solve(spec).plan_of(JointPlan)
    assert broken(spec, plan) == []
    for name, (change, words) in DEFECTS.items():
        assert any(words in message for message in broken(spec, change(plan))), name


def test_defects_of_contracts_are_found(tmp_path: Path) -> None:
    """14 and 7 VMs are used: 7 under contract pay, 14 would not."""
    (tmp_path / "day.csv").write_text("c\n10\n4\n", encoding="utf-8")
    (tmp_path / "spec.mrspec").write_text(
        "problem joint\ncluster { period = 1 h, reuse = paper }\n"
        "vm a { on_demand { price = 0.2 USD/h }, reserved { price = 0.12 USD/h, available = 10 }, fee = 25% }\n"
        'demand { periods = 2, from = "day.csv" }\n'
        "class c { coefficients { A = 5400 s, B = 1250 s, C = 95 s }, slots { map = 4, reduce = 2 }\n"
        "jobs = 4, deadline = 20 min, penalty = 20 USD }\nminimize cost\n",
        encoding="utf-8",
    )
    spec = mrdsl.load(tmp_path / "spec.mrspec")
    plan = mrdsl.solve(spec).plan_of(JointPlan)
    assert plan.total == pytest.approx(21 * 0.05 + 7 * 0.2 + 2 * 7 * 0.12)
    assert broken(spec, plan) == []
    assert ("a under contract", 7.0) in [(each.what, each.value) for each in operated(spec, plan).settings]
    lanes = next(table for table in plan.tables() if table.title == "VM types")
    assert [tuple(row)[1:4] for row in lanes.rows] == [("on_demand", 3.5, 7.0), ("reserved, 7", 7.0, 7.0)]
    places = next(table for table in plan.tables() if table.title.startswith("Classes and services"))
    assert {row[2] for row in places.rows} == {"firm"}, "of a type both on demand and under contract"
    for change, words in (
        (lambda vms: vms + 4.0, "under contract of 10"),
        (lambda vms: vms + 0.5, "under contract of 10"),
        (lambda vms: vms - 1.0, "claims"),
        (lambda vms: np.zeros(3), "under contract of other types"),
    ):
        assert any(words in message for message in broken(spec, changed(plan, committed=change))), words
    for part in ("contract_prices", "saved"):  # which the table of VM types shows
        other = changed(plan, **{part: lambda prices: 0.9 * prices})
        assert any("other costs of VM types" in message for message in broken(spec, other)), part
    assert plan.document()["committed"] == [{"vm": "a", "vms": 7.0}]


def test_jobs_on_vms_that_other_periods_pay_are_not_called_dear(tmp_path: Path) -> None:
    """A VM for the first period costs 0.6 USD under contract and 1 USD on demand; the other class then has it free."""
    (tmp_path / "day.csv").write_text("c,d\n2,0\n0,2\n", encoding="utf-8")
    work = "coefficients { A = 1800 s, B = 0 s, C = 0 s }, slots { map = 1, reduce = 1 }, deadline = 30 min"
    text = (
        'problem joint\ncluster { period = 1 h }\ndemand { periods = 2, from = "day.csv" }\n'
        "vm a { on_demand { price = 1 USD/h }, reserved { price = 0.3 USD/h, available = 20 } }\n"
        f"class c {{ {work}, jobs = 2, penalty = 9 USD }}\nclass d {{ {work}, jobs = 0..2, penalty = 0.1 USD }}\n"
        "minimize cost\n"
    )
    (tmp_path / "spec.mrspec").write_text(text, encoding="utf-8")
    result = mrdsl.solve(mrdsl.load(tmp_path / "spec.mrspec"))
    assert result.plan_of(JointPlan).classes.admitted[1, 1] == 2.0
    assert "penalty-below-cost" not in [each.code for each in result.diagnostics]


def test_comparisons_hold() -> None:
    text = RENTED.read_text(encoding="utf-8").replace("periods = 24", "periods = 3")
    limited = text.replace("{ period = 1 h }", "{ size = 100 }")
    said = (
        'subject to { vms("m5.xlarge") >= 9, vms <= 36, admitted(recommendations) >= 21, response(checkout) <= 1.2 s }'
    )
    found = mrdsl.solve(mrdsl.loads(limited + said))
    plan = found.plan_of(JointPlan)
    assert plan.vms.max() <= 36
    assert plan.classes.admitted.sum() >= 21
    assert plan.services.response.max() <= 1.2
    assert found.objective.value >= mrdsl.solve(mrdsl.loads(limited)).objective.value


def test_an_objective_counts_where_there_are_no_vms() -> None:
    text = """problem joint "nothing to rent"
vm a { on_demand { price = 0.1 USD/h }, available = 0 }
cluster { period = 1 h }
service s { rate = 0/s .. 10/s, service_rate = 5/s, delay = 0 s, response = 1 s, penalty = 0.001 USD }
minimize cost + 1 USD/vm * vms
"""
    result = mrdsl.solve(mrdsl.loads(text))
    assert result.objective.value == pytest.approx(10 * 3600 * 0.001)


def test_a_saved_plan_is_read_again(tmp_path: Path) -> None:
    found = mrdsl.solve(mrdsl.load(RENTED))
    (tmp_path / "plan.json").write_text(found.to_json(), encoding="utf-8")
    assert mrdsl.load_plan(tmp_path / "plan.json").plan_of(JointPlan).total == found.plan_of(JointPlan).total


def test_jobs_on_each_type_meet_their_deadlines_in_runs() -> None:
    text = RENTED.read_text(encoding="utf-8").replace("periods = 24", "periods = 2")
    found = mrdsl.simulate(mrdsl.loads(text.replace("deadline = 900 s", "deadline = 900 s, guarantee = upper")), runs=2)
    plan = found.plan_of(JointPlan)
    lanes = plan.by_type
    assert lanes is not None
    assert (lanes.at_once.sum(axis=(0, 2)) > 0.0).sum() > 1
    assert len(plan.hourly) == 2
    jobs = plan.observed["recommendations"]
    assert jobs.p95 is not None
    assert 300.0 < jobs.p95 <= 900.0


def test_export_has_the_machines_of_each_type() -> None:
    text = RENTED.read_text(encoding="utf-8").replace("periods = 24", "periods = 2")
    spec = mrdsl.loads(text)
    plan = mrdsl.solve(spec).plan_of(JointPlan)
    lanes = plan.by_type
    assert lanes is not None
    for period, cluster in enumerate(deployments(spec, plan)):
        held = {(group.vm, group.lane): group.count for group in cluster.groups}
        ways = zip(lanes.vm, lanes.way, lanes.class_vms[period].sum(axis=1).tolist(), strict=True)
        assert held == {(vm, "spot" if way == "spot" else "firm"): vms for vm, way, vms in ways if vms}
        (load,) = cluster.workloads
        assert sum(share.jobs for share in load.shares) == plan.classes.at_once[period, 0]


def test_a_disk_costs_what_a_fee_does() -> None:
    """100 GiB at 0.0005 USD/GiB/h are a fee of 0.05 USD/h: on demand, under contract and on spot."""
    text = (
        "problem joint\ncluster { period = 2 h }\n"
        "vm a { on_demand { price = 0.2 USD/h }, reserved { price = 0.12 USD/h, available = 2 }, EXTRA\n"
        "spot { price = 0.06 USD/h, interruptions = 0.01/h } }\n"
        "class c { coefficients { A = 5400 s, B = 1250 s, C = 95 s }, slots { map = 4, reduce = 2 }, spot = 40%\n"
        "jobs = 9, deadline = 20 min, penalty = 20 USD }\nminimize cost\n"
    )
    plans = []
    for extra in ("fee = 0.05 USD/h,", "disk { size = 100 GiB, price = 0.0005 USD/GiB/h },", ""):
        spec = mrdsl.loads(text.replace("EXTRA", extra))
        plans.append(mrdsl.solve(spec).plan_of(JointPlan))
        assert broken(spec, plans[-1]) == []
    fee, disk, without = plans
    assert disk.total == pytest.approx(fee.total)
    assert disk.total == pytest.approx(without.total + 2 * 0.05 * float(disk.vms.sum()))
    assert any("for a VM of" in each for each in broken(mrdsl.loads(text.replace("EXTRA", "")), disk))
    with_disk = mrdsl.loads(text.replace("EXTRA", "disk { size = 100 GiB, price = 0.0005 USD/GiB/h },"))
    (machine,) = deployments(with_disk, disk)[0].types
    assert (machine.disk, machine.disk_paid) == (100 * 2.0**30, True)
