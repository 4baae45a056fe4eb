"""The check of finished plans finds every way of breaking one, and nothing in plans that are right."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mrdsl
from mrdsl.contracts.pipeline import Draft, run_steps
from mrdsl.core.diagnostics import has_errors
from mrdsl.core.result import plain
from mrdsl.families.capacity.facts import Coefficients, JobClass
from mrdsl.families.capacity.instance import instance_of
from mrdsl.families.capacity.methods import direct
from mrdsl.families.capacity.plan import CapacityPlan
from mrdsl.families.capacity.verify import measure, quantity, verify
from mrdsl.formulas import mapreduce
from mrdsl.spec import Spec
from mrdsl.spec.blocks import Slots
from mrdsl.spec.schema import Range
from tests.families.capacity import capacity_specs as specs

STEPS = [(direct.prepare, {}), (direct.fill, {}), (direct.whole_jobs, {})]


def planned(spec: Spec, relax: bool = False) -> CapacityPlan:
    return run_steps(STEPS, Draft(spec, relax=relax)).plan


def changed(values: np.ndarray, index: int, by: float) -> np.ndarray:
    values = values.copy()
    values[index] += by
    return values


SPEC = specs.reference()
PLAN = planned(SPEC)
BROKEN = {
    "a job too many": lambda p: replace(p, admitted=changed(p.admitted, 0, 1.0)),
    "below the least": lambda p: replace(p, admitted=changed(p.admitted, 1, -1.0)),
    "half a job": lambda p: replace(p, admitted=changed(p.admitted, 2, -0.5)),
    "too few map slots": lambda p: replace(p, map_slots=changed(p.map_slots, 0, -1.0)),
    "too few reduce slots": lambda p: replace(p, reduce_slots=changed(p.reduce_slots, 2, -0.01)),
    "more slots than VMs": lambda p: replace(p, map_slots=changed(p.map_slots, 0, 10.0)),
    "too few VMs": lambda p: replace(p, on_demand=p.on_demand - 1, vm_cost=p.vm_cost - 0.192),
    "too many reserved": lambda p: replace(p, reserved=41.0, on_demand=p.on_demand - 1, vm_cost=p.vm_cost - 0.071),
    "half a VM": lambda p: replace(p, on_demand=p.on_demand + 0.5, vm_cost=p.vm_cost + 0.096),
    "negative VMs": lambda p: replace(p, reserved=-1.0, on_demand=p.on_demand + 41, vm_cost=p.vm_cost + 41 * 0.071),
    "a wrong cost": lambda p: replace(p, vm_cost=p.vm_cost - 0.01),
    "a flattering completion": lambda p: replace(p, completion_upper=changed(p.completion_upper, 0, -5.0)),
    "an invented completion": lambda p: replace(p, completion_lower=np.nan_to_num(p.completion_lower, nan=100.0)),
}


@pytest.mark.parametrize("name", BROKEN)
def test_every_broken_plan_is_found_out(name: str) -> None:
    assert not has_errors(tuple(verify(SPEC, PLAN, relax=False)))
    found = [d for d in verify(SPEC, BROKEN[name](PLAN), relax=False) if d.severity == "error"]
    assert found
    assert {d.code for d in found} == {"broken-plan"}


def test_fractions_are_right_in_a_relaxed_plan_only() -> None:
    plan = planned(SPEC, relax=True)
    assert not has_errors(tuple(verify(SPEC, plan, relax=True)))
    assert has_errors(tuple(verify(SPEC, plan, relax=False)))


classes = st.builds(
    lambda a, b, c, slack, m, r, low, more, penalty: JobClass(
        name="c",
        coefficients=Coefficients(A=a, B=b, C=c),
        slots=Slots(map=m, reduce=r),
        jobs=Range(low, low + more),
        deadline=max(c, 0.0) + slack,
        penalty=penalty,
    ),
    st.floats(1.0, 1e6),
    st.floats(0.0, 1e6),
    st.floats(-500.0, 500.0),
    st.floats(1.0, 1e4),
    st.integers(1, 8),
    st.integers(1, 8),
    st.integers(0, 20),
    st.integers(1, 20),
    st.floats(0.0, 100.0),
)


@settings(max_examples=60, derandomize=True, deadline=None)
@given(st.lists(classes, min_size=1, max_size=6), st.floats(0.01, 10.0), st.floats(0.01, 10.0), st.integers(0, 10_000))
def test_plans_of_direct_keep_every_promise(
    found: list[JobClass], price: float, reserved: float, available: int
) -> None:
    named = tuple(replace(c, name=f"c{i}") for i, c in enumerate(found))
    spec = specs.capacity(named, on_demand=price, reserved=reserved, available=available)
    for relax in (False, True):
        outcome = run_steps(STEPS, Draft(spec, relax=relax))
        assert not has_errors(tuple(verify(spec, outcome.plan, relax)))
        assert measure(spec, outcome.plan) == pytest.approx(outcome.value, rel=1e-9, abs=1e-9)
        assert outcome.bound <= outcome.value * (1 + 1e-12) + 1e-12


@settings(max_examples=60, derandomize=True, deadline=None)
@given(classes)
def test_theorem_41_takes_the_fewest_vms(found: JobClass) -> None:
    """Moving slots between the phases, the deadline kept and a slot of each kind, never saves VMs."""
    instance = instance_of(specs.capacity((found,)))
    a, b, slack = (float(x[0]) for x in (instance.work.map_work, instance.work.reduce_work, instance.slack))
    m, r, least = found.slots.map, found.slots.reduce, float(instance.vms_per_job()[0])
    for share in np.linspace(0.05, 0.95, 19):  # of the time that the deadline leaves, for the map phase
        vms = max(a / (share * slack), 1.0) / m + (max(b / ((1 - share) * slack), 1.0) / r if b else 0.0)
        assert vms >= least * (1 - 1e-9)


def test_quantities_of_a_plan() -> None:
    assert quantity(SPEC, PLAN, "vms", "") == 573
    assert quantity(SPEC, PLAN, "admitted", "sort") == 18
    assert quantity(SPEC, PLAN, "cost", "") == pytest.approx(PLAN.total)
    assert quantity(SPEC, PLAN, "completion", "sort") == pytest.approx(1200.0)  # its upper estimate
    with pytest.raises(KeyError):
        quantity(SPEC, PLAN, "beauty", "sort")


def test_the_terminal_shows_twenty_classes_and_how_many_more() -> None:
    plan = planned(specs.random_spec(0, classes=23))
    table = plan.tables()[1]
    assert len(table.shown) == 21
    assert table.shown[-1][0] == "... and 3 more"
    assert [row[0] for row in table.rows] == list(plan.names)
    assert plan.of_class(22).admitted == plan.admitted[22]


def test_the_document_says_what_the_class_plans_say() -> None:
    """Both are written out by hand, once as objects and once as JSON."""
    for plan in (PLAN, planned(SPEC, relax=True)):
        for index, found in enumerate(plan.document()["classes"].values()):
            assert found == plain(plan.of_class(index))
            assert list(found) == list(plain(plan.of_class(index)))


def test_one_solve_works_the_estimates_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    for name in ("lower", "upper"):
        told = getattr(mapreduce, name)
        monkeypatch.setattr(mapreduce, name, lambda *given, n=name, f=told: calls.append(n) or f(*given))
    spec = specs.reference()
    said = tuple(  # so that the price of a bound is not asked for, a solve of its own
        one if one.coefficients or one.guarantee else replace(one, guarantee="average") for one in spec.facts.classes
    )
    found = mrdsl.solve(replace(spec, facts=replace(spec.facts, classes=said)), solver="direct")
    assert found.plan is not None
    assert sorted(calls) == ["lower", "upper"]
    np.testing.assert_array_equal(found.plan.map_slots, PLAN.map_slots)
