"""P2 of several VM types in arrays is P2: the arrays of the Pyomo model, and the point of a plan is that plan."""

from dataclasses import fields, replace

import numpy as np
import pytest

from mrdsl.core.linear_program import LinearProgram
from mrdsl.core.result import Limits
from mrdsl.families.capacity.instance import mix_of
from mrdsl.families.capacity.methods.direct import direct
from mrdsl.families.capacity.models import arrays
from mrdsl.families.capacity.models.linear import build
from mrdsl.planning.solve_spec import solve
from mrdsl.solving.arrays import linear_program
from mrdsl.spec import Spec
from tests.families.capacity import type_specs


def drawn(seed: int) -> Spec:
    return replace(type_specs.varied_types(seed), constraints=())


@pytest.mark.parametrize("relax", [False, True])
@pytest.mark.parametrize("seed", [510, *range(540, 552)])
def test_the_arrays_are_those_of_the_model(seed: int, relax: bool) -> None:
    spec = drawn(seed)
    form, built = arrays.mixed_arrays(spec, relax), build(spec, relax)
    model = linear_program(built)
    if mix_of(spec).sizes is not None or not mix_of(spec).market.prices.all():
        assert form is None
        return
    assert form is not None
    assert model is not None
    for field in fields(LinearProgram):
        mine, theirs = getattr(form.program, field.name), getattr(model[0], field.name)
        if isinstance(theirs, np.ndarray):
            assert mine.dtype == theirs.dtype, field.name
            assert np.array_equal(mine, theirs), field.name
        else:
            assert mine == theirs, field.name
    names = [str(row.name).replace("'", "") for row in model[1].constraints]
    assert [form.row_name(row) for row in range(len(names))] == names


@pytest.mark.parametrize("seed", [540, 541, 542, 549, 551])
def test_the_point_of_a_plan_is_a_solution_worth_the_plan(seed: int) -> None:
    spec = drawn(seed)
    form, known = arrays.mixed_arrays(spec, False), direct(spec, False)
    assert form is not None
    assert form.point is not None
    assert known is not None
    if known.plan is None:
        pytest.skip("nothing to plan")
    point = form.point(known.plan)
    assert point is not None
    assert form.program.violation(point)[0] <= 1e-9
    assert form.program.objective(point) == pytest.approx(known.value)
    again = form.decode(point)
    assert again.total == pytest.approx(known.value)
    assert again.admitted.tolist() == known.plan.admitted.tolist()


def test_a_coefficient_of_nothing_and_comparisons_are_left_to_the_model() -> None:
    spec = drawn(540)
    free = tuple(replace(each, penalty=0.0) for each in spec.facts.classes)
    assert arrays.mixed_arrays(replace(spec, facts=replace(spec.facts, classes=free)), False) is None
    compared = type_specs.varied_types(542)
    assert compared.constraints
    assert arrays.mixed_arrays(compared, False) is None


def test_a_solve_begins_where_direct_ended() -> None:
    """Within the gap that direct came to, HiGHS has nothing left to look for: the plan is direct's."""
    spec = type_specs.random_types(1, classes=12, types=4)
    known = direct(spec, False)
    assert known is not None
    gap = (known.value - known.bound) / known.value
    found = solve(spec, solver="highs", limits=Limits(gap=2.0 * gap))
    assert found.value <= known.value * (1 + 1e-9)
    assert found.objective.gap <= 2.0 * gap
