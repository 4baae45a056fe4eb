"""P2 in arrays is P2: the arrays of the Pyomo model, the same answer, and no Pyomo on the way."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest

import mrdsl
from mrdsl.core.linear_program import LinearProgram
from mrdsl.core.resources import resource
from mrdsl.families.capacity.models import linear
from mrdsl.families.capacity.models.plain_arrays import arrays
from mrdsl.solving.arrays import linear_program
from mrdsl.spec import Spec
from mrdsl.spec.schema import Range
from tests.command_lines import run_python
from tests.families.capacity.capacity_specs import capacity, random_class, reference


def drawn(seed: int) -> Spec:
    """Up to forty classes of Table 2 with or without reserved VMs, some with one number of jobs, none or thousands."""
    random = np.random.RandomState(seed)
    classes = [random_class(random, f"c{i}") for i in range(int(random.randint(1, 41)))]
    classes = [
        replace(one, jobs=Range(one.jobs.high, one.jobs.high)) if i % 5 == 1 else one for i, one in enumerate(classes)
    ]
    classes = [replace(one, jobs=Range(0.0, 5000.0)) if i % 7 == 1 else one for i, one in enumerate(classes)]
    reserved, available = ((None, 0), (0.121, 0), (0.05, 17))[seed % 3]
    return capacity(classes, reserved=reserved, available=available)


def built(spec: Spec, relax: bool) -> LinearProgram:
    found = linear_program(linear.build(spec, relax))
    assert found is not None
    return found[0]


@pytest.mark.parametrize("relax", [False, True])
@pytest.mark.parametrize("seed", [*range(12), None])
def test_the_arrays_are_those_of_the_model(seed: int | None, relax: bool) -> None:
    spec = reference() if seed is None else drawn(seed)
    form, model = arrays(spec, relax), built(spec, relax)
    assert form is not None
    for field in fields(LinearProgram):
        mine, theirs = getattr(form.program, field.name), getattr(model, field.name)
        if isinstance(theirs, np.ndarray):
            assert mine.dtype == theirs.dtype, field.name
            assert np.array_equal(mine, theirs), field.name
        else:
            assert mine == theirs, field.name


def test_many_classes_have_the_hints_of_the_model() -> None:
    random = np.random.RandomState(3)
    spec = capacity([random_class(random, f"c{i}") for i in range(2001)])
    form = arrays(spec, False)
    assert form is not None
    assert form.program.hints == built(spec, False).hints == {"highs": {"presolve": "off"}}


def test_what_is_more_than_the_plain_form_has_no_arrays() -> None:
    text = (resource("models") / "capacity" / "quickstart.mrspec").read_text(encoding="utf-8")
    plain = mrdsl.loads(text)
    assert arrays(plain, False) is not None
    assert arrays(mrdsl.loads(text + "subject to { vms <= 500 }\n"), False) is None
    first, *others = plain.facts.classes
    free = replace(plain, facts=replace(plain.facts, classes=(replace(first, penalty=0.0), *others)))
    assert arrays(free, False) is None
    (vm,) = plain.facts.vms
    assert arrays(replace(plain, facts=replace(plain.facts, vms=(vm, replace(vm, name="other")))), False) is None
    small = capacity([replace(one, jobs=Range(0.0, 1.0), deadline=1e6) for one in reference().facts.classes[2:]])
    assert arrays(small, False) is None
    assert len(built(small, False).row_lower) > 1
    assert arrays(small, True) is not None


@pytest.mark.parametrize("solver", ["highs", "glpk", "cbc"])
def test_both_ways_give_one_plan(solver: str) -> None:
    """A compiled model goes through Pyomo."""
    for seed in (0, 4):
        spec = drawn(seed)
        short, long = mrdsl.solve(spec, solver), mrdsl.compile(spec).solve(solver)
        assert short.plan.document() == long.plan.document()
        assert (short.objective, short.termination) == (long.objective, long.termination)


def test_nothing_of_pyomo_is_loaded() -> None:
    path = resource("models") / "capacity" / "quickstart.mrspec"
    code = (
        "import sys, mrdsl\n"
        f"result = mrdsl.solve(mrdsl.load({str(path)!r}), 'highs')\n"
        "print(result.termination, result.formulation, 'pyomo' in sys.modules)"
    )
    assert run_python(code).stdout.split() == ["optimal", "P2", "False"]
