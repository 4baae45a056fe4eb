"""``why`` says what Theorem 4.3 says, and what it says can be checked by changing the spec and solving again."""

from dataclasses import replace

import pytest

from mrdsl.core.result import Limits, Result, Table
from mrdsl.families.capacity.instance import instance_of
from mrdsl.families.capacity.why import marginal_price, why, worth_of_one_more, worths
from mrdsl.planning.solve_spec import solve
from mrdsl.spec import Spec
from mrdsl.spec.spec import Spec as Whole
from tests.families.capacity import capacity_specs as specs


def solved(spec: Spec, relax: bool = False) -> Result:
    return solve(spec, solver="direct", relax=relax, limits=Limits(gap=0.0))


def with_penalty(spec: Spec, index: int, penalty: float) -> Whole:
    classes = list(spec.facts.classes)
    classes[index] = replace(classes[index], penalty=penalty)
    return replace(spec, facts=replace(spec.facts, classes=tuple(classes)))


@pytest.mark.parametrize("seed", range(15))
def test_penalties_beyond_the_thresholds_decide_alone(seed: int) -> None:
    """Theorem 4.3 c) and d), on the relaxation: above in_full_above all jobs, below least_below the least."""
    spec = specs.random_spec(seed, classes=4)
    plan = solved(spec, relax=True).plan
    instance = instance_of(spec)
    for index, worth in enumerate(worths(instance, plan, marginal_price(spec))):
        high = solved(with_penalty(spec, index, worth.in_full_above * 1.001), relax=True).plan
        low = solved(with_penalty(spec, index, worth.least_below * 0.999), relax=True).plan
        assert high.admitted[index] == pytest.approx(instance.expected[index])
        assert low.admitted[index] == pytest.approx(instance.low[index])


@pytest.mark.parametrize("seed", range(15))
def test_the_break_even_penalty_is_where_admission_changes(seed: int) -> None:
    """In the relaxation a class whose penalty passes break-even gains jobs, or has none to gain."""
    spec = specs.random_spec(seed, classes=4)
    plan = solved(spec, relax=True).plan
    instance = instance_of(spec)
    for index, worth in enumerate(worths(instance, plan, marginal_price(spec))):
        if instance.penalty[index] > worth.break_even * 1.001:
            assert plan.admitted[index] == pytest.approx(instance.expected[index])
        if instance.penalty[index] < worth.break_even * 0.999:
            assert plan.admitted[index] == pytest.approx(instance.low[index])


@pytest.mark.parametrize("seed", range(10))
def test_one_more_reserved_vm_is_worth_what_solving_again_by_another_solver_says(seed: int) -> None:
    spec = specs.random_spec(seed, classes=3)
    vm = spec.facts.vms[0]
    more = replace(vm, reserved=replace(vm.reserved, available=vm.reserved.available + 1))
    costs = [
        solve(s, solver="highs", limits=Limits(gap=0.0)).objective.value
        for s in (spec, replace(spec, facts=replace(spec.facts, vms=(more,))))
    ]
    assert worth_of_one_more(spec) == pytest.approx(costs[0] - costs[1], abs=1e-6)


def test_the_reference_spec_reads_well() -> None:
    """By hand: sort brings 2.50 USD / 16.3 VMs = 0.153 USD per VM, between 0.121 (reserved) and 0.192 (on demand)."""
    spec = specs.reference()
    table, reservations, _ = why(spec, solved(spec))
    assert isinstance(table, Table)
    assert [row[0] for row in table.rows] == ["twitter", "sort", "reporting"]
    assert [row[2] for row in table.rows] == ["in full", "at its least", "in full"]
    assert "reserved ones are taken by dearer jobs" in table.rows[1][-1]
    assert "One more would save 0.071 USD per hour" in reservations  # 0.192 - 0.121


def test_reservations_that_do_not_bind_and_none_at_all() -> None:
    spec = specs.reference()
    plenty = specs.capacity(spec.facts.classes, available=5000)
    assert "do not bind" in why(plenty, solved(plenty))[1]
    none = specs.capacity(spec.facts.classes, reserved=None)
    assert "No VMs are reserved" in why(none, solved(none))[1]
    dear = specs.capacity(spec.facts.classes, reserved=0.192)
    assert "cost no less" in why(dear, solved(dear))[1]


def test_many_classes_are_cut_after_twenty() -> None:
    spec = specs.random_spec(1, classes=25)
    table = why(spec, solved(spec))[0]
    assert len(table.rows) == 25
    assert len(table.shown) == 21
    assert table.shown[-1][0] == "... and 5 more"
