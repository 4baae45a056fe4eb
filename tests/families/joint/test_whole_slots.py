"""Whole slots of every job at once, hour by hour: against enumeration, checked, packed and run."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import ceil
from typing import Any

import numpy as np
import pytest

import mrdsl
from mrdsl.core.diagnostics import MrdslError
from mrdsl.core.resources import resource
from mrdsl.core.result import SolutionStatus, Termination
from mrdsl.families.joint.checks import find_impossible
from mrdsl.families.joint.plan import JointPlan
from mrdsl.families.joint.simulate import held_in
from mrdsl.formulas.packing import of_one_class
from mrdsl.planning.solve_spec import solve
from mrdsl.spec.spec import Spec
from tests.formulas.packings import fewest

from .brute import brute_force
from .specs import broken, wild_spec

REFERENCE = resource("models") / "joint" / "reference.mrspec"


def whole(spec: Spec) -> Spec:
    return replace(spec, facts=replace(spec.facts, whole="slots"))


def possible(spec: Spec) -> bool:
    return not {"impossible-deadline", "late-by-estimate"} & {d.code for d in find_impossible(spec)}


@pytest.mark.parametrize(
    ("options", "wholeness"),
    [
        ({"solver": "greedy"}, "slots"),
        ({"solver": "highs"}, "slots"),
        ({"solver": "greedy", "relax": True}, "no"),
        ({"solver": "highs", "relax": True}, "no"),
        ({"solver": "scip", "formulation": "P0", "relax": True}, "no"),
    ],
)
def test_slots_are_whole_where_the_spec_leaves_it_open(options: dict[str, Any], wholeness: str) -> None:
    """And fractions where they cannot be whole, which the plan and a note say."""
    if options["solver"] == "scip":
        pytest.importorskip("pyscipopt")
    text = REFERENCE.read_text(encoding="utf-8")
    spec = mrdsl.loads(text.replace("cluster {", "cluster {\n  reuse = paper") if options["solver"] == "scip" else text)
    found, same = (mrdsl.solve(replace(spec, facts=replace(spec.facts, whole=w)), **options) for w in (None, wholeness))
    assert found.plan.document()["whole"] == wholeness
    assert found.value == pytest.approx(same.value, rel=1e-9)
    told = [{each.code for each in one.diagnostics} for one in (found, same)]
    assert ["slots-in-fractions" in codes for codes in told] == [wholeness == "no", False]


def test_fractions_of_jobs_have_fractions_of_slots() -> None:
    text = REFERENCE.read_text(encoding="utf-8")
    found = mrdsl.solve(mrdsl.loads(re.sub(r"cluster \{", "cluster { concurrency = fractional", text)))
    assert found.plan.whole == "no"
    assert "slots-in-fractions" not in {each.code for each in found.diagnostics}


def test_slots_of_one_class_fit_the_vms_that_they_add_up_to() -> None:
    """All remainders of two sizes, beside enumeration; and what is packed is what there is."""
    for per_vm in ((2, 3), (4, 2), (5, 7), (3, 3), (1, 6)):
        for slots in product(range(per_vm[0] + 2), range(per_vm[1] + 2)):
            packed = of_one_class(slots, per_vm)
            vms = sum(count for count, *_ in packed)
            assert vms == ceil(Fraction(slots[0], per_vm[0]) + Fraction(slots[1], per_vm[1]))
            assert vms == (fewest(per_vm, slots) if per_vm[0] != per_vm[1] else vms)
            assert tuple(sum(count * each[kind] for count, *each in packed) for kind in (0, 1)) == slots
            assert all(Fraction(m, per_vm[0]) + Fraction(r, per_vm[1]) <= 1 for _, m, r in packed)


@pytest.mark.parametrize("solver", ["greedy", "highs"])
def test_whole_plans_equal_enumeration(solver: str) -> None:
    solved = dearer = 0
    for seed in range(40):
        spec = whole(wild_spec(seed))
        if not possible(spec):
            continue
        best, found = brute_force(spec, 14), solve(spec, solver)
        if best is None:
            assert found.termination is Termination.INFEASIBLE, seed
            continue
        assert found.solution is SolutionStatus.OPTIMAL, seed
        assert found.value == pytest.approx(best, rel=1e-6, abs=1e-9), seed
        assert isinstance(found.plan, JointPlan)
        assert not broken(spec, found.plan), seed
        fractions = brute_force(wild_spec(seed), 14)
        assert fractions is not None
        assert best >= fractions - 1e-9
        dearer += best > fractions + 1e-9
        solved += 1
    assert solved > 15
    assert dearer


def test_slots_are_whole_and_lie_on_the_vms_of_their_class() -> None:
    spec = mrdsl.load("models/joint/reference.mrspec")
    result = solve(whole(spec))
    plan = result.plan
    assert isinstance(plan, JointPlan)
    assert "slots-beyond-vms" not in [d.code for d in result.diagnostics]
    for name, shown in plan.document()["periods"][0]["classes"].items():
        index = list(plan.class_names).index(name)
        node = spec.facts.classes[index]
        hosted = {"map": node.slots.map, "reduce": node.slots.reduce}
        total = {"map": 0, "reduce": 0}
        for row in shown["packing"]:
            assert sum(Fraction(n, hosted[kind]) for kind, n in row["slots"].items()) <= 1
            for kind, slots in row["slots"].items():
                total[kind] += row["count"] * slots
        assert total == {"map": shown["map_slots"], "reduce": shown["reduce_slots"]}
        assert sum(row["count"] for row in shown["packing"]) <= shown["vms"]
        assert shown["map_slots"] % shown["at_once"] == 0
    held = held_in(spec.facts, plan, 0)
    assert all(sum(vms * maps for vms, maps, _ in each.machines) == each.slots[0] for each in held)
    again = mrdsl.Result.from_json(result.to_json())
    assert again.plan.document() == plan.document()


def test_broken_whole_plans_are_found_out() -> None:
    spec = whole(mrdsl.load("models/joint/reference.mrspec"))
    plan = solve(spec).plan
    assert isinstance(plan, JointPlan)
    got = plan.classes
    fractions = replace(plan, classes=replace(got, map_slots=got.map_slots + 0.5))
    assert any("not whole" in str(each) for each in broken(spec, fractions))
    more = replace(plan, classes=replace(got, map_slots=got.map_slots + 40 * got.at_once))
    assert any("fewer VMs than their slots take" in str(each) for each in broken(spec, more))
    assert any("whole is" in str(each) for each in broken(spec, replace(plan, whole="no", per_vm=())))
    other = replace(plan, per_vm=tuple(np.full_like(each, 99.0) for each in plan.per_vm))
    assert any("hosts" in str(each) for each in broken(spec, other))


@pytest.mark.parametrize(
    ("solver", "formulation", "relax"),
    [("scip", "P0", False), ("scip", "P1", False), ("highs", "P2", True), ("greedy", None, True)],
)
def test_fractions_are_refused_where_slots_are_whole(solver: str, formulation: str | None, relax: bool) -> None:
    with pytest.raises(MrdslError) as refused:
        solve(whole(mrdsl.load("models/joint/reference.mrspec")), solver, formulation, relax)
    assert [d.code for d in refused.value.diagnostics] == ["needs-fractions"]


def test_fractional_concurrency_has_no_whole_slots() -> None:
    facts = mrdsl.load("models/joint/reference.mrspec").facts
    spec = whole(mrdsl.load("models/joint/reference.mrspec"))
    paper = replace(spec, facts=replace(spec.facts, cluster=replace(facts.cluster, concurrency="fractional")))
    with pytest.raises(MrdslError) as refused:
        solve(paper)
    assert "needs-fractions" in [d.code for d in refused.value.diagnostics]
