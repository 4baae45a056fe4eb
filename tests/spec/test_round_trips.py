"""Specs come back from their text, from JSON and from pickles: whatever the schema allows, in every family."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

import mrdsl
from mrdsl.contracts.family import Family
from mrdsl.core import units
from mrdsl.families import SHIPPED, family
from mrdsl.families.diagnosis import schema_mistakes
from mrdsl.language.loading import load_text
from mrdsl.language.parsing import parse
from mrdsl.language.printing import print_spec
from mrdsl.language.resolving import resolve
from mrdsl.spec import Constraint, Goal, Let, Spec
from mrdsl.spec.columns import names_of
from mrdsl.spec.expression import Constant, Expression, Operation, PlanQuantity
from tests.language.test_printing import ROOT, SMALL, nodes

FEW = settings(
    phases=(Phase.explicit, Phase.generate),
    max_examples=10,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
VMS, JOBS = units.KINDS["vms"].dimension, units.KINDS["jobs"].dimension
COUNTED = [VMS, JOBS, units.multiply(VMS, units.TIME), units.divide(JOBS, VMS)]
FACTORS = st.sampled_from([2.0, 0.25, -3.0, 1 / 3, 1e-7])


def quantities(found: Family, facts: Any) -> list[PlanQuantity]:
    """Those that plans of these facts have."""
    plain = [PlanQuantity(kind.name) for kind in found.quantities if not kind.needs_argument]
    asked = [
        PlanQuantity(kind.name, name)
        for kind in found.quantities
        for name in (*kind.words, *names_of(getattr(facts, kind.over or "_", ())))[:2]
    ]
    return [*plain, *asked]


@st.composite
def terms(draw: st.DrawFn, offered: list[PlanQuantity], found: Family, dimension: units.Dimension) -> Expression:
    """A quantity brought to a dimension by a price, with its unit as in a text, or bare as a program may give it."""
    quantity = draw(st.sampled_from(offered))
    kind = next(each for each in found.quantities if each.name == quantity.name)
    price = units.divide(dimension, units.KINDS[kind.kind].dimension)
    unit = units.si_unit(price, "USD") if draw(st.booleans()) else None
    factor = Constant(draw(FACTORS), unit)
    match draw(st.integers(0, 4)):
        case 0:
            return Operation("*", (factor, quantity))
        case 1:
            return Operation("*", (quantity, factor))
        case 2:
            return Operation("neg", (Operation("*", (factor, quantity)),))
        case 3:
            inverse = units.multiply(dimension, units.KINDS[kind.kind].dimension)
            return Operation("/", (Constant(draw(FACTORS), units.si_unit(inverse, "USD")), quantity))
    return Operation("/", (Operation("*", (factor, quantity)), Constant(4.0, "")))


@st.composite
def sums(draw: st.DrawFn, offered: list[PlanQuantity], found: Family, dimension: units.Dimension) -> Expression:
    """Terms of one dimension, added and subtracted in turn, perhaps with a fixed part."""
    total = draw(terms(offered, found, dimension))
    for sign in draw(st.sampled_from([(), ("+",), ("-",), ("+", "-"), ("-", "+")])):
        more = [draw(terms(offered, found, dimension)) for _ in range(draw(st.integers(1, 2)))]
        total = Operation(sign, (total, *more))
    if draw(st.booleans()):
        total = Operation("+", (total, Constant(3.0, units.si_unit(dimension, "USD") if draw(st.booleans()) else None)))
    return total


@st.composite
def specs(draw: st.DrawFn, kind: str) -> Spec:
    """A spec of a family with whatever may be asked of its plans."""
    found = family(kind)
    assert found is not None
    facts = draw(nodes(found.facts))
    spec = Spec(problem=kind, facts=facts, title='a "title"', seed=draw(st.none() | st.integers(0, 9)))
    offered = quantities(found, facts)
    if not offered:
        return spec
    dimension = draw(st.sampled_from([units.MONEY, units.TIME, units.NUMBER, units.MASS, *COUNTED]))
    unit = units.si_unit(dimension, "USD")
    lets = (Let("first", draw(sums(offered, found, dimension)), unit),)
    if draw(st.booleans()):
        more = Operation("+", (lets[0].expression, draw(terms(offered, found, dimension))))
        lets = (*lets, Let("second", more, unit))
    limit = Constant(7.5, unit)  # of a comparison of bare constants alone nobody knows the kind
    asked = draw(sums(offered, found, dimension))
    constraints = (
        Constraint(asked, "<=", limit),
        Constraint(Operation("max", (asked, lets[0].expression)), "<=", limit),
    )
    goal = Goal("minimize", "first", expression=lets[0].expression, unit=unit)
    takes = any(each.other_goals for each in found.formulations)
    return replace(spec, lets=lets, constraints=constraints, goal=goal if takes else None)


@pytest.mark.parametrize("kind", SHIPPED)
def test_specs_and_what_they_ask_of_plans_come_back(kind: str) -> None:
    @FEW
    @given(specs(kind))
    def check(spec: Spec) -> None:
        found = family(kind)
        assert found is not None
        assume(not schema_mistakes(spec, found))
        text = print_spec(spec)
        document, problems = parse(text, "printed")
        assert not problems, text
        resolved = resolve(document, ROOT, None, {})
        assert resolved.spec is not None, f"{text}\n{resolved.diagnostics}"
        again = resolved.spec
        assert (again.goal, again.lets, again.constraints) == (spec.goal, spec.lets, spec.constraints), text
        assert replace(again, currency=spec.currency) == spec
        assert pickle.loads(pickle.dumps(spec)) == spec
        assert Spec.from_json(spec.to_json()) == spec

    check()


REFERENCES = [path for path in SMALL if path.stem == "reference"]


@pytest.mark.parametrize("path", REFERENCES, ids=lambda path: path.parent.name)
def test_shipped_models_come_back_from_their_text(path: Path) -> None:
    spec = mrdsl.load(path)
    again = load_text(spec.to_mrspec(), folder=path.parent).spec
    assert again is not None
    assert replace(again, parameters=spec.parameters) == spec


def test_a_spec_that_is_wrong_has_no_text() -> None:
    spec = mrdsl.load(ROOT / "models/capacity/quickstart.mrspec")
    with pytest.raises(mrdsl.MrdslError, match="period"):
        replace(spec, facts=replace(spec.facts, period=-1.0)).to_mrspec()
