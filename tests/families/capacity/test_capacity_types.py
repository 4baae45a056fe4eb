"""Several VM types: solvers, trying everything, and runs with one type agree; facts are taken as they are meant."""

import re
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import mrdsl
from mrdsl.core.diagnostics import has_errors
from mrdsl.core.result import Limits, SolutionStatus, Termination
from mrdsl.families.capacity.facts import JobClass
from mrdsl.families.capacity.instance import instance_of, mix_of
from mrdsl.families.capacity.methods.lane_prices import Task, closed_form
from mrdsl.families.capacity.plan import CapacityPlan
from mrdsl.families.capacity.plan_warnings import idle_vm_warnings
from mrdsl.families.capacity.verify import measure, verify
from mrdsl.language.loading import load_text
from mrdsl.planning.solve_spec import solve
from mrdsl.spec import Spec
from mrdsl.spec.blocks import OnDemand
from tests.families.capacity import capacity_specs, type_specs
from tests.shared_data import shared

EXACT = Limits(gap=0.0)


def optimum(spec: Spec, solver: str = "highs", relax: bool = False) -> float:
    """The cost of a proven optimum; infinite where it is proven that there is none."""
    result = solve(spec, solver=solver, relax=relax, limits=EXACT)
    if result.termination is Termination.INFEASIBLE:
        return np.inf
    assert result.solution is SolutionStatus.OPTIMAL
    assert not has_errors(tuple(verify(spec, result.plan, relax)))
    assert measure(spec, result.plan) == pytest.approx(result.objective.value)
    return float(result.objective.value)


@pytest.mark.parametrize("seed", range(12))
def test_small_ones_are_the_best_of_all_placements(seed: int) -> None:
    spec = type_specs.random_types(seed, classes=2, types=2 + seed % 2, jobs=4)
    assert optimum(spec) == pytest.approx(type_specs.best_by_trying(spec), rel=1e-6)


@pytest.mark.parametrize("seed", range(1, 8))
def test_solvers_agree(seed: int) -> None:
    spec = type_specs.random_types(100 + seed)
    costs = [optimum(spec, name) for name in ("highs", "scip", "cbc", "glpk")]
    assert costs == pytest.approx([costs[0]] * 4, rel=1e-6)
    assert optimum(spec, relax=True) <= costs[0] * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_direct_is_exact_for_the_relaxation_and_bounds_whole_plans(seed: int) -> None:
    spec = type_specs.random_types(300 + seed)
    exact, found = optimum(spec), solve(spec, solver="direct", limits=EXACT)
    assert optimum(spec, "direct", relax=True) == pytest.approx(optimum(spec, relax=True), rel=1e-8)
    if exact == np.inf:
        assert found.termination is Termination.INFEASIBLE
        return
    assert found.objective.bound <= exact * (1 + 1e-9)
    assert exact * (1 - 1e-9) <= found.objective.value <= exact * 1.01
    assert not has_errors(tuple(verify(spec, found.plan, relax=False)))


def test_quotas_that_only_all_classes_together_exceed_are_proven_by_direct() -> None:
    """Two classes that fit each by itself: no weights of single quotas tell, the prices of both do."""
    spec = type_specs.random_types(7, classes=4, types=2)
    vms = tuple(replace(vm, available=12, masters=0, spot=None) for vm in spec.facts.vms)
    tight = replace(spec, facts=replace(spec.facts, vms=vms))
    assert optimum(tight) == np.inf
    assert solve(tight, solver="direct").termination is Termination.INFEASIBLE


def test_cheap_vms_in_any_number_are_a_closed_form() -> None:
    """No reservation and no quota: each class by itself on its cheapest type, worked out one by one."""
    mix = mix_of(mrdsl.loads(MACHINES))
    found = closed_form(Task(mix, mix.low, mix.expected, mix.market.available, False))
    price = np.array([offer.price for offer in mix.market.offers])
    cheapest = (price[:, None] * mix.gamma).min(axis=0)
    jobs = np.where(mix.penalty > cheapest, mix.expected, mix.low)
    assert found.value == pytest.approx(float(cheapest @ jobs + mix.penalty @ (mix.expected - jobs)))
    assert found.value == found.bound


def test_a_thousand_classes_on_ten_types_come_within_a_thousandth() -> None:
    spec = type_specs.random_types(1, classes=1000, types=10)
    classes = tuple(replace(each, spot=None if each.spot else each.spot) for each in spec.facts.classes)
    spec = replace(spec, facts=replace(spec.facts, classes=classes))
    found = solve(spec)
    assert found.solver["name"] == "direct"
    assert found.objective.gap <= 1e-3
    assert not has_errors(tuple(verify(spec, found.plan, relax=False)))


@pytest.mark.parametrize("seed", range(10))
def test_classes_on_one_type_each_cost_what_the_best_runs_with_single_types_do(seed: int) -> None:
    """One class, so that no reservation and no quota is shared: the least of a run for each type."""
    spec = type_specs.random_types(400 + seed, classes=1)
    node = replace(spec.facts.classes[0], types=("one",))
    vms = tuple(replace(vm, masters=0) for vm in spec.facts.vms)
    spec = replace(spec, facts=replace(spec.facts, classes=(node,), vms=vms))
    alone = [
        optimum(replace(spec, facts=replace(spec.facts, vms=(vm,), classes=(_only_on(node, vm.name),)))) for vm in vms
    ]
    assert optimum(spec) == pytest.approx(min(alone))


def _only_on(node: JobClass, name: str) -> JobClass:
    return replace(node, types=(), on=tuple(row for row in node.on if row.name == name))


def test_upper_estimates_on_spot_are_told_to_be_no_bound() -> None:
    text = MACHINES.replace("0.192 USD/h }", "0.192 USD/h }, spot { price = 0.05 USD/h, interruptions = 0.01/h }")
    text = text.replace("class clicks {", "class clicks {\n  guarantee = upper")
    found = [each for each in solve(mrdsl.loads(text), solver="highs").diagnostics if each.code == "no-upper-bound"]
    assert len(found) == 1
    assert "class clicks" in found[0].message
    firm = mrdsl.loads(text.replace("class clicks {", "class clicks {\n  spot = 0%"))
    assert "no-upper-bound" not in [each.code for each in solve(firm, solver="highs").diagnostics]


def test_a_plan_of_several_types_is_run_share_by_share() -> None:
    """Twice as fast a type for twice as long tasks: the same run as on the type itself, to the last digit."""
    text = MACHINES.replace("class clicks {", 'class clicks {\n  types = ["m5.xlarge"]')
    slow = text.replace("avg = 30 s, max = 42 s", "avg = 60 s, max = 84 s").replace(
        "avg = 22 s, max = 44 s", "avg = 44 s, max = 88 s"
    )
    slow = slow.replace("class clicks {", 'class clicks {\n  on "m5.xlarge" { speed = 2 }')
    found = [mrdsl.simulate(mrdsl.loads(each), runs=2, jobs=3, seed=1).plan.observed["clicks"] for each in (text, slow)]
    assert found[0].jobs > 0
    assert found[1].mean == pytest.approx(found[0].mean)
    assert found[0].kept.share == 1.0


def test_arrivals_are_shared_by_the_types_that_a_class_runs_on() -> None:
    """Two types alike, half of the jobs on each: each gets half of the arrivals, of which all would overload it."""
    head, tail = MACHINES.split("class clicks {")
    text = head.replace("USD/h } }", "USD/h }, available = 32 }") + "class clicks {\n  arrivals = 20/h" + tail
    text = text.replace("0.34", "0.192").replace("cores = 8", "cores = 4").replace("8..10", "4..4")
    text = text[: text.index("class sort")] + "minimize cost\n"
    plan = mrdsl.simulate(mrdsl.loads(text), runs=2, jobs=5, seed=1).plan
    assert len(plan.document()["classes"]["clicks"]["on"]) == 2
    assert 0.5 < plan.observed["clicks"].utilisation < 0.95


def test_recorded_arrivals_are_refused_where_the_plan_splits_their_class(tmp_path: Path) -> None:
    """Half of the jobs on each of two types alike; on one of them alone they are run."""
    (tmp_path / "times.txt").write_text("".join(f"{60 * number}\n" for number in range(1, 200)), encoding="utf-8")
    head, tail = MACHINES[: MACHINES.index("class sort")].split("class clicks {")
    head = (
        head.replace("USD/h } }", "USD/h }, available = 32 }")
        .replace("0.34", "0.192")
        .replace("cores = 8", "cores = 4")
    )
    text = head + 'class clicks {\n  submissions = "times.txt"' + tail.replace("8..10", "4..4") + "minimize cost\n"
    spec = load_text(text, folder=tmp_path).spec
    with pytest.raises(mrdsl.MrdslError, match="runs class clicks in 2 places") as refused:
        mrdsl.simulate(spec, runs=1, jobs=2, seed=1)
    assert [(each.code, each.span and each.span.line) for each in refused.value.diagnostics] == [
        ("recorded-in-parts", 6)
    ]
    together = load_text(text.replace("available = 32", "available = 99"), folder=tmp_path).spec
    kept = replace(together.facts.classes[0], types=("one",))
    whole = replace(together, facts=replace(together.facts, classes=(kept,)))
    assert mrdsl.simulate(whole, runs=1, jobs=2, seed=1).plan.observed["clicks"].jobs > 0


def test_spot_vms_that_go_take_work_with_them_in_the_run() -> None:
    text = MACHINES.replace("USD/h } }", "USD/h }, spot { price = 0.01 USD/h, interruptions = RATE/h } }")
    calm, rough = (
        mrdsl.simulate(mrdsl.loads(text.replace("RATE", rate)), runs=2, jobs=3, seed=1).plan for rate in ("0", "2")
    )
    assert all(share["spot"] for share in rough.document()["classes"]["clicks"]["on"])
    assert rough.map_slots[0] > calm.map_slots[0]
    assert rough.observed["clicks"].mean != calm.observed["clicks"].mean


def test_one_type_may_say_containers_speeds_and_fees_in_every_formulation() -> None:
    """Written out by hand: slots that follow, times that are shorter, a price that includes the fee."""
    said = """problem capacity, estimates = paper
vm m { on_demand { price = 0.192 USD/h }, fee = 0.048 USD/h, cores = 4, memory = 16 GiB }
class clicks {
  map { tasks = 370, avg = 30 s, max = 42 s }
  shuffle { first_max = 11 s, avg = 37 s, max = 40 s }
  reduce { tasks = 64, avg = 22 s, max = 44 s }
  container { map { cores = 1, memory = 4 GiB }, reduce { cores = 2, memory = 8 GiB } }
  on m { speed = 2 }
  jobs = 8..10, deadline = 15 min, penalty = 12 USD
}
minimize cost
"""
    written = said.replace(", fee = 0.048 USD/h", "").replace("0.192", "0.24").replace("on m { speed = 2 }", "")
    written = written.replace("30 s, max = 42 s", "15 s, max = 21 s").replace("22 s, max = 44 s", "11 s, max = 22 s")
    head, tail = written.split("  container")
    written = head + "  slots { map = 4, reduce = 2 }\n" + tail.split("\n", 1)[1]
    specs = mrdsl.loads(said), mrdsl.loads(written)
    for solver, formulation in (("highs", "P2"), ("direct", None), ("scip", "P0"), ("scip", "P0-cone")):
        found = [solve(spec, solver, formulation=formulation, relax=True) for spec in specs]
        assert found[0].objective.value == pytest.approx(found[1].objective.value, rel=1e-6)
        assert found[0].solution is SolutionStatus.OPTIMAL


def test_one_type_among_others_that_no_class_uses_is_the_same_plan() -> None:
    spec = capacity_specs.reference()
    dear = replace(spec.facts.vms[0], name="dear", on_demand=OnDemand(price=1.0), reserved=None)
    both = replace(spec, facts=replace(spec.facts, vms=(*spec.facts.vms, dear)))
    one, two = solve(spec, solver="highs").plan, solve(both, solver="highs").plan
    assert two.total == pytest.approx(one.total)
    assert two.admitted.tolist() == one.admitted.tolist()
    assert two.map_slots == pytest.approx(one.map_slots)
    assert two.completion_average == pytest.approx(one.completion_average)
    assert two.document()["vms"]["m5"] == one.document()["vms"]["m5"] | {"spot": 0}


@pytest.mark.parametrize("seed", range(6))
def test_vms_per_job_are_those_of_a_spec_with_that_type_alone(seed: int) -> None:
    """A profile that is faster by hand, its shuffle as it was, and slots written for the one type."""
    spec = type_specs.random_types(200 + seed)
    mix = mix_of(spec)
    for number, lane in enumerate(mix.market.lanes):
        vm = spec.facts.vms[lane.vm]
        for index, node in enumerate(spec.facts.classes):
            if lane.spot or not mix.possible[number, index]:
                continue
            row = next((each for each in node.on if each.name == vm.name), None)
            speed = row.speed if row else 1.0
            alone = replace(
                node,
                map=replace(node.map, avg=node.map.avg / speed, max=node.map.max / speed),
                reduce=replace(node.reduce, avg=node.reduce.avg / speed, max=node.reduce.max / speed),
                slots=row.slots if row else node.slots,
                on=(),
                types=(),
            )
            gamma = instance_of(capacity_specs.capacity((alone,))).vms_per_job()
            assert mix.gamma[number, index] == pytest.approx(gamma[0])


def test_slots_follow_from_containers_by_the_scarcer_resource() -> None:
    text = shared("specs/machines.mrspec").read_text(encoding="utf-8")
    mix = mix_of(mrdsl.loads(text))
    clicks, sort = mix.pairs.per_vm[0][:, 0], mix.pairs.per_vm[0][:, 1]
    assert clicks.tolist() == [4, 8, 4]  # cores: 4, 8, 4; memory holds 8, 8 and 16 of 2 GiB
    assert mix.pairs.per_vm[1][:, 0].tolist() == [2, 2, 4]  # memory: 16 / 6, 16 / 6; cores of r5: 4
    assert sort.tolist() == [4, 4, 5]
    assert mix.pairs.per_vm[1][:, 1].tolist() == [2, 2, 3]


@pytest.mark.parametrize("solver", ["highs", "scip", "cbc", "glpk"])
def test_the_spec_of_three_machines_runs_as_written(solver: str) -> None:
    """Containers are vectors: a plan within 1 % of its bound, below the 33.057 USD of slots by the scarcer resource."""
    spec = mrdsl.load(shared("specs/machines.mrspec"))
    spec = replace(spec, facts=replace(spec.facts, estimates="paper"))
    result = solve(spec, solver=solver, limits=EXACT)
    assert result.solution in (SolutionStatus.OPTIMAL, SolutionStatus.FEASIBLE)
    assert result.objective.value < 33.057
    assert result.objective.value * 0.99 <= result.objective.bound <= result.objective.value * (1.0 + 1e-6)
    plan = result.plan.document()
    spot = sum(vm["spot"] for vm in plan["vms"].values())
    assert spot <= 0.3 * sum(vm["on_demand"] + vm["reserved"] + vm["spot"] for vm in plan["vms"].values())
    assert len({share["vm"] for share in plan["classes"]["sort"]["on"]}) == 1
    assert not any(share["spot"] for share in plan["classes"]["sort"]["on"])


MACHINES = """problem capacity, estimates = paper
vm "m5.xlarge" { cores = 4, memory = 16 GiB, on_demand { price = 0.192 USD/h } }
vm "c5.2xlarge" { cores = 8, memory = 16 GiB, on_demand { price = 0.34 USD/h } }
vm "r5.xlarge" { cores = 4, memory = 32 GiB, on_demand { price = 0.252 USD/h } }
class clicks {
  map     { tasks = 370, avg = 30 s, max = 42 s }
  shuffle { first_max = 11 s, avg = 37 s, max = 40 s }
  reduce  { tasks = 64, avg = 22 s, max = 44 s }
  container { map { cores = 1, memory = 2 GiB }, reduce { cores = 1, memory = 6 GiB } }
  jobs = 8..10, deadline = 15 min, penalty = 12 USD
}
class sort {
  coefficients { A = 5400 s, B = 1250 s, C = 95 s }
  slots { map = 4, reduce = 2 }
  on "r5.xlarge" { slots { map = 5, reduce = 3 } }
  jobs = 4..6, deadline = 10 min, penalty = 20 USD
}
minimize cost
"""


@pytest.mark.parametrize("limit", ['vms("m5.xlarge") <= 20', 'cost("m5.xlarge") <= 3 USD', "vms <= 170"])
def test_comparisons_know_single_types(limit: str) -> None:
    free = solve(mrdsl.loads(MACHINES), solver="highs").plan
    spec = mrdsl.loads(MACHINES + "subject to { " + limit + " }\n")
    result = solve(spec, solver="highs")
    assert result.plan.total >= free.total
    rented = result.plan.document()["vms"]["m5.xlarge"]["on_demand"]
    assert rented <= {"vms(": 20, "cost": 15, "vms ": 170}[limit[:4]]


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("memory = 6 GiB", "memory = 60 GiB", "no-vm-type"),
        ("cores = 1, memory = 2", "cores = 9, memory = 2", "no-vm-type"),
        ('on "r5.xlarge"', 'on "r6.xlarge"', "unknown-name"),
        ("jobs = 8..10", "types = [m9], jobs = 8..10", "unknown-name"),
        ("cores = 8, memory", "memory", "missing-item"),
        ("class sort {", "class sort {\n container { map { cores = 1 } }", "slots-and-container"),
        ("  slots { map = 4, reduce = 2 }\n", "", "missing-block"),
        ("deadline = 10 min", "deadline = 90 s", "impossible-deadline"),
        ('vm "r5', 'vm "c5.2xlarge" { on_demand { price = 1 USD/h } }\nvm "r5', "duplicate"),
        ("price = 0.192 USD/h }", "price = 0.192 USD/h }, masters = 2, available = 1", "impossible-quota"),
    ],
)
def test_bad_input_is_told_at_its_place(old: str, new: str, code: str) -> None:
    assert old in MACHINES
    found = load_text(MACHINES.replace(old, new)).diagnostics
    assert [each.code for each in found] == [code]
    assert all(each.span is not None and each.hint for each in found)


@pytest.mark.parametrize(("types", "codes"), [("one", ["reserved-name"]), ('[one, "r5.xlarge"]', [])])
def test_a_vm_called_one_is_told_where_a_class_says_types_one(types: str, codes: list[str]) -> None:
    text = MACHINES.replace('vm "c5.2xlarge"', "vm one").replace("class sort {", f"class sort {{\n  types = {types}")
    found = load_text(text).diagnostics
    assert [each.code for each in found] == codes
    assert [each.span.line for each in found if each.span] == [3] * len(codes)


@pytest.mark.parametrize(("spot", "types"), [("", 50), (", spot { price = 0.1 USD/h, interruptions = 0/h }", 25)])
def test_more_classes_on_types_than_a_plan_may_hold_are_told_cheaply(spot: str, types: int) -> None:
    """100,000 classes: 50 types are the most, or 25 that are on spot too. The one beyond is the place."""
    text = """problem capacity, estimates = paper
class c[1..100000] {
  coefficients { A = 5400 s, B = 1250 s, C = 95 s }, slots { map = 4, reduce = 2 }
  jobs = 4..6, deadline = 10 min, penalty = 20 USD
}
minimize cost
"""
    one = "vm m{} {{ on_demand {{ price = 0.2 USD/h }}" + spot.replace("{", "{{").replace("}", "}}") + " }}\n"
    tracemalloc.start()
    try:
        found = load_text(text + "".join(one.format(number) for number in range(634))).diagnostics
        assert tracemalloc.get_traced_memory()[1] < 60e6
    finally:
        tracemalloc.stop()
    assert [(each.code, each.span and each.span.line) for each in found] == [("too-many-pairs", 7 + types)]
    assert "keep 50 kinds of VMs or fewer" in found[0].hint
    few = load_text(text.replace("100000", "2") + "".join(one.format(number) for number in range(types + 1)))
    assert few.diagnostics == ()


def test_the_scarce_resource_is_named() -> None:
    found = load_text(MACHINES.replace("memory = 6 GiB", "memory = 60 GiB")).diagnostics
    assert "no VM type holds a reduce task of class clicks" in found[0].message
    assert "memory" in found[0].message
    assert "r5.xlarge" in found[0].message


def test_quotas_that_cannot_carry_the_least_jobs() -> None:
    few = MACHINES.replace("USD/h } }", "USD/h }, available = 20 }")
    assert [each.code for each in load_text(few).diagnostics] == ["impossible-quota"]


@pytest.mark.parametrize("formulation", ["P0", "P1", "P0-cone"])
def test_formulations_that_take_the_type_as_fixed_say_so(formulation: str) -> None:
    with pytest.raises(mrdsl.MrdslError, match="takes the VM type as fixed"):
        solve(mrdsl.loads(MACHINES), solver="scip", formulation=formulation)


def test_a_spec_of_types_is_printed_and_read_back() -> None:
    text = """problem capacity, estimates = paper
vm a { on_demand { price = 1 USD/h }, reserved { price = 0.5 USD/h, available = 3 }
       reserved "1 year" { price = 0.4 USD/h, available = 2, prepaid = yes }
       spot { price = 0.2 USD/h, interruptions = 0.1/h }
       fee = 0.1 USD/h, available = 500, masters = 1, cores = 4, memory = 8 GiB }
class c[1..3] {
  coefficients { A = 540 s, B = 125 s, C = 9 s }
  container { map { cores = 1 }, reduce { cores = 2, memory = 1 GiB } }
  on a { speed = 1.2 }
  types = one, spot = 10%, jobs = 1..2, deadline = 10 min, penalty = 2 USD
}
minimize cost
subject to { vms(a) <= 400, share(spot) <= 5% }
"""
    spec = mrdsl.loads(text)
    again = mrdsl.loads(mrdsl.dumps(spec))
    sides = [[(one.left, one.comparison, one.right) for one in each.constraints] for each in (spec, again)]
    assert sides[0] == sides[1]
    assert list(again.facts.classes) == list(spec.facts.classes)
    assert again.facts.vms == spec.facts.vms
    assert optimum(again) == pytest.approx(optimum(spec))


@pytest.mark.parametrize("more", ["", "vm b { on_demand { price = 9 USD/h } }"])
def test_the_price_of_prepaid_vms_is_shown_beside_the_cost(more: str) -> None:
    """Three prepaid VMs of 0.12 USD/h, of one type alone or beside another."""
    text = f"""problem capacity, estimates = paper
vm a {{ on_demand {{ price = 0.2 USD/h }}, reserved {{ price = 0.12 USD/h, available = 3, prepaid = yes }} }}
{more}
class c {{ coefficients {{ A = 5400 s, B = 1250 s, C = 95 s }}, slots {{ map = 4, reduce = 2 }}
jobs = 4, deadline = 20 min, penalty = 20 USD }}
minimize cost
"""
    spec = mrdsl.loads(text)
    plan = mrdsl.solve(spec).plan_of(CapacityPlan)
    costs = next(table for table in plan.tables() if table.title == "Cost")
    shown = {str(head): value for head, value in zip(costs.columns, next(iter(costs.rows)), strict=True)}
    assert [value for head, value in shown.items() if "prepaid" in head] == [pytest.approx(0.36)]
    assert plan.document()["cost"]["sunk"] == pytest.approx(0.36)
    wrong = replace(plan, sunk=0.0) if plan.mix is None else replace(plan, mix=replace(plan.mix, sunk=0.0))
    assert any("paid in any case" in each.message for each in verify(spec, wrong, False))


def test_a_type_that_is_mistaken_makes_no_quota_impossible() -> None:
    text = """problem capacity "x", estimates = paper
vm a { on_demand { price = -1 USD/h } }
vm b { on_demand { price = 0.2 USD/h } available = 2 }
class f {
  map { tasks = 200, avg = 10 s, max = 20 s }
  slots { map = 2, reduce = 1 }
  jobs = 3..4
  deadline = 2 min
  penalty = 15 USD
}
minimize cost
"""
    with pytest.raises(mrdsl.MrdslError) as refused:
        mrdsl.loads(text)
    assert [d.code for d in refused.value.diagnostics] == ["out-of-range"]
    few = mrdsl.loads(text.replace("price = -1 USD/h } }", "price = 1 USD/h } available = 1 }"))
    assert [d.code for d in mrdsl.check(few)] == ["impossible-quota"]


MASTERS = """problem capacity, estimates = paper
vm a { on_demand { price = 0.2 USD/h }, masters = 1 }
vm b { on_demand { price = 0.31 USD/h }, spot { price = 0.1 USD/h, interruptions = 0.01/h } }
class c[1..3] {
  coefficients { A = 540 s, B = 125 s, C = 9 s }, slots { map = 4, reduce = 2 }
  on b { slots { map = 6, reduce = 3 } }
  spot = 37%, jobs = 1..12, deadline = 4 min, penalty = 0.3 USD
}
class d {
  coefficients { A = 740 s, B = 225 s, C = 9 s }, slots { map = 2, reduce = 3 }
  jobs = 1..9, deadline = 5 min, penalty = 0.6 USD
}
minimize cost
"""


@pytest.mark.parametrize("solver", ["highs", "scip", "cbc", "direct"])
def test_what_masters_cost_is_no_part_of_what_a_gap_is_measured_on(solver: str) -> None:
    """A hundred million of them: the plan is as near to the optimum as with one, and its gap says so."""
    few, many = mrdsl.loads(MASTERS), mrdsl.loads(MASTERS.replace("masters = 1", "masters = 100_000_000"))
    least = optimum(few) - 0.2
    found = solve(many, solver=solver, limits=Limits(gap=0.04, time=30))
    beside = found.objective.value - 0.2 * 100_000_000
    assert beside <= least * 1.04 + 1e-6
    gap = (found.objective.value - found.objective.bound) / beside
    assert found.objective.gap == pytest.approx(gap, abs=1e-6)
    assert (found.solution is SolutionStatus.OPTIMAL) is (gap <= 0.04)
    assert "beside the 20000000 USD of every plan" in found.status()
    again = mrdsl.Result.from_json(found.to_json())
    assert again.objective == found.objective


@pytest.mark.parametrize("group", ["class sort", "class sort[1..3]"])
def test_an_empty_list_of_types_is_refused_with_what_to_write(group: str) -> None:
    text = MACHINES.replace("class sort {", f"{group} {{\n  types = []")
    found = load_text(text).diagnostics
    assert [each.code for each in found] == ["missing-item"]
    assert 'types = ["m5.xlarge"]' in found[0].hint
    assert "types = one" in found[0].hint
    assert load_text(text.replace("types = []", 'types = ["m5.xlarge", "r5.xlarge"]')).diagnostics == ()
    assert load_text(text.replace("  types = []", "")).diagnostics == ()


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("class sort {", "class sort {\n  spot = 50%", "class sort may be on spot VMs, and no vm has a spot price"),
        ("class sort {", "class sort[1..3] {\n  spot = 50%", "class sort1 may be on spot VMs, and no vm has"),
        (
            "jobs = 8..10",
            'types = ["m5.xlarge"], on "c5.2xlarge" { speed = 2 }, jobs = 8..10',
            "which is not among its types",
        ),
        ("jobs = 8..10", 'on "c5.2xlarge" { }, jobs = 8..10', "`on c5.2xlarge` of class clicks has no effect"),
    ],
)
def test_settings_without_effect_are_told(old: str, new: str, told: str) -> None:
    found = load_text(MACHINES.replace(old, new)).diagnostics
    assert [(each.code, each.severity) for each in found] == [("unused", "warning")]
    assert told in found[0].message
    assert found[0].span is not None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("class sort {", "class sort {\n  spot = 0%"),
        ("jobs = 8..10", 'on "c5.2xlarge" { speed = 1 }, jobs = 8..10'),
        ("jobs = 8..10", 'types = one, on "c5.2xlarge" { speed = 2 }, jobs = 8..10'),
    ],
)
def test_settings_that_say_what_holds_anyhow_are_not(old: str, new: str) -> None:
    assert load_text(MACHINES.replace(old, new)).diagnostics == ()


def test_the_price_of_a_bound_is_named_with_several_types() -> None:
    """Its price is at least that of the relaxation which keeps it, and that of the plan that does not."""
    spec = mrdsl.loads(MACHINES)
    soft = next(each for each in solve(spec, solver="highs").diagnostics if each.code == "soft-deadline")
    said = re.search(r"would cost (at most )?([\d.]+) USD instead of ([\d.]+)", soft.hint)
    assert said is not None
    firm = mrdsl.loads(MACHINES.replace("class clicks {", "class clicks {\n  guarantee = upper"))
    assert float(said[3]) == pytest.approx(optimum(spec), abs=0.006)
    assert optimum(firm) - 0.006 <= float(said[2]) <= optimum(firm) * 1.02
    never = MACHINES.replace("deadline = 15 min", "deadline = 4 min")
    impossible = [each.hint for each in solve(mrdsl.loads(never), solver="highs").diagnostics]
    assert any("cannot be met by any cluster" in hint for hint in impossible)


def test_messages_are_in_the_units_of_who_writes() -> None:
    text = MACHINES.replace("0.192 USD/h }", "0.192 USD/h }, spot { price = 0.05 USD/h, interruptions = -0.01/h }")
    assert "`interruptions` is -0.01/h" in load_text(text).diagnostics[0].message
    text = MACHINES.replace("memory = 6 GiB", "memory = 60.25 GiB")
    assert "it takes 60.25 GiB of memory" in load_text(text).diagnostics[0].message


@pytest.mark.parametrize(("spot", "idle"), [("0%", True), ("20%", True), ("100%", False)])
def test_vms_that_a_share_asks_for_and_nobody_uses_are_told(spot: str, idle: bool) -> None:
    text = MACHINES.replace("0.192 USD/h }", "0.192 USD/h }, spot { price = 0.05 USD/h, interruptions = 0.01/h }")
    text = text.replace("jobs =", f"spot = {spot}, jobs =") + "subject to { share(spot) >= 90% }\n"
    result = solve(mrdsl.loads(text), solver="highs")
    told = [each for each in result.diagnostics if each.code == "idle-vms"]
    assert bool(told) is idle
    if idle:
        plan = result.plan.document()
        rented = plan["vms"]["m5.xlarge"]["spot"]
        used = sum(row["count"] for row in plan["packing"] if row["spot"])
        assert f"{rented - used:g} spot VMs of m5.xlarge are rented" in told[-1].message
        assert told[-1].span is not None


def test_idle_vms_are_those_that_the_comparison_requires() -> None:
    """Five idle VMs are added to a plan: only those count without which the share would be wrong."""
    text = MACHINES.replace("0.192 USD/h }", "0.192 USD/h }, spot { price = 0.05 USD/h, interruptions = 0.01/h }")
    spec = mrdsl.loads(text + "subject to { share(spot) <= 90% }\n")
    plan = solve(spec, solver="highs").plan
    assert isinstance(plan, CapacityPlan)
    firm = next(i for i, each in enumerate(plan.mixture.bought) if each.way == "on_demand" and each.vms)
    more = [replace(each, vms=each.vms + 5.0 * (i == firm)) for i, each in enumerate(plan.mixture.bought)]
    stopped = replace(plan, mix=replace(plan.mixture, bought=tuple(more)))
    rented, spot = (sum(each.vms for each in more if each.way in ways) for ways in (("on_demand", "spot"), ("spot",)))
    for most, needed in ((0.9, 0), (spot / (rented - 2.5), 3), (spot / rented, 5)):
        limited = mrdsl.loads(text + f"subject to {{ share(spot) <= {most:.12f} }}\n")
        told = [each.message for each in idle_vm_warnings(limited, stopped)]
        assert [int(each.split()[0]) for each in told] == [needed] * bool(needed)


@pytest.mark.parametrize(
    ("change", "most"),
    [
        ("spot = 0%, jobs =", 0),
        ("spot = 50%, jobs =", 50),
        ('types = ["m5.xlarge"], jobs =', None),
        ("spot = 90%, jobs =", None),
        ("jobs =", None),
    ],
)
def test_shares_that_need_idle_vms_are_told_before_solving(change: str, most: int | None) -> None:
    text = MACHINES.replace("0.192 USD/h }", "0.192 USD/h }, spot { price = 0.05 USD/h, interruptions = 0.01/h }")
    text = text.replace("jobs =", change)
    for share, warned in (("share(spot) >= 90%", most is not None), ("share(spot) <= 90%", False)):
        found = [
            each for each in load_text(text + f"subject to {{ {share} }}\n").diagnostics if each.code == "idle-vms"
        ]
        assert bool(found) is warned
        if warned:
            assert f"no class may have more than {most} % of its VM time" in found[0].message


@pytest.mark.parametrize("limit", ["share(spot) <= 30%", 'cost("m5.xlarge") <= 3 USD', 'vms("m5.xlarge") >= 2'])
def test_comparisons_that_direct_does_not_know_are_refused_with_what_does(limit: str) -> None:
    spec = mrdsl.loads(MACHINES + "subject to { " + limit + " }\n")
    with pytest.raises(mrdsl.MrdslError) as refused:
        solve(spec, solver="direct")
    assert limit in refused.value.diagnostics[0].message
    assert "--solver highs" in refused.value.diagnostics[0].hint
    assert solve(spec).solver["name"] == "highs"


def test_jobs_beside_spot_go_where_they_cost_less_though_no_whole_vm_shows_it() -> None:
    """Alike classes: the plan comes within half a percent of HiGHS's, which begins there; it was 0.85 % off before."""
    random = np.random.RandomState(3)
    vms = []
    for number in range(20):
        price = round(0.05 * random.uniform(1, 8), 4)
        cores, memory = int(random.choice([4, 8, 16])), int(random.choice([16, 32, 64]))
        there, rate = random.randint(0, 200), random.choice([0.01, 0.05, 0.1])
        vms.append(
            f"vm t{number} {{ cores = {cores}, memory = {memory} GiB, on_demand {{ price = {price} USD/h }}, "
            f"reserved {{ price = {0.6 * price:.5f} USD/h, available = {there} }}, "
            f"spot {{ price = {0.35 * price:.5f} USD/h, interruptions = {rate}/h }} }}"
        )
    node = MACHINES[MACHINES.index("class clicks {") : MACHINES.index("class sort")]
    node = node.replace("class clicks {", "class c[1..60] {\n  spot = 40%").replace("8..10", "5..20")
    node = re.sub(r"container \{.*\}\n", "slots { map = 4, reduce = 2 }\n", node)
    spec = mrdsl.loads("problem capacity, estimates = paper\n" + "\n".join(vms) + "\n" + node + "minimize cost\n")
    found = solve(spec, solver="direct")
    better = solve(spec, solver="highs", limits=Limits(gap=0.0, nodes=50))
    assert better.objective.value <= found.objective.value <= better.objective.value * 1.005
    assert found.objective.gap <= 0.02
    assert not has_errors(tuple(verify(spec, found.plan, relax=False)))
