"""Specs built in Python meet the schema's limits with the codes of the text, and paths in place of lines."""

from __future__ import annotations

from dataclasses import replace
from math import inf, nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mrdsl
from mrdsl.families import family
from mrdsl.families.capacity.facts import CapacityFacts, JobClass, VmType
from mrdsl.families.schedule.facts import Spot
from mrdsl.spec import Columns, Goal, Method
from mrdsl.spec.blocks import Coefficients, MapPhase, OnDemand, Reserved, Slots, Stage
from mrdsl.spec.blocks import Spot as SpotVms
from mrdsl.spec.expression import Constant, Operation, PlanQuantity
from mrdsl.spec.schema import Distribution, Range, declarations
from mrdsl.spec.spec import Constraint, Spec
from mrdsl.spec.validation import validate

MODELS = sorted((Path(__file__).resolve().parents[2] / "models").glob("*/*.mrspec"))
SORT = JobClass(
    name="sort",
    coefficients=Coefficients(A=5400.0, B=1250.0, C=95.0),
    slots=Slots(map=4, reduce=2),
    jobs=Range(4.0, 6.0),
    deadline=600.0,
    penalty=20.0,
)
VM = VmType(name="m5", on_demand=OnDemand(price=0.192 / 3600.0))
RIGHT = Spec(problem="capacity", facts=CapacityFacts(vms=(VM,), classes=(SORT, replace(SORT, name="count"))))


def with_class(**changes: Any) -> Spec:
    """The right spec with its second class changed."""
    return replace(RIGHT, facts=replace(RIGHT.facts, classes=(SORT, replace(SORT, **{"name": "count", **changes}))))


def with_vm(**changes: Any) -> Spec:
    return replace(RIGHT, facts=replace(RIGHT.facts, vms=(replace(VM, **changes),)))


def with_sum(left: Any, comparison: str = "<=") -> Spec:
    return replace(RIGHT, constraints=(Constraint(left, comparison, Constant(1.0)),))


PAIR: Any = np.array(["<=", ">="])
WRONG = {
    "no slots": (with_class(slots=Slots(map=0, reduce=1)), "out-of-range", "classes[1].slots.map"),
    "slots left out": (with_class(slots=None), "missing-block", "classes[1].slots"),
    "slots of a float": (with_class(slots=Slots(map=2.0, reduce=1)), "not-whole", "classes[1].slots.map"),
    "slots of a share": (with_class(slots=Slots(map=2.5, reduce=1)), "not-whole", "classes[1].slots.map"),
    "slots beyond 2^53": (with_class(slots=Slots(map=2**53 + 1, reduce=1)), "number-too-large", "classes[1].slots.map"),
    "a number of 400 digits": (with_class(deadline=10**400), "number-too-large", "classes[1].deadline"),
    "a bool": (with_class(slots=Slots(map=True, reduce=1)), "wrong-value", "classes[1].slots.map"),
    "no such word": (with_class(guarantee="foo"), "unknown-choice", "classes[1].guarantee"),
    "a price of NaN": (with_vm(on_demand=OnDemand(price=nan)), "not-a-number", "vms[0].on_demand.price"),
    "a price as a word": (with_vm(on_demand=OnDemand(price="dear")), "unknown-name", "vms[0].on_demand.price"),
    "a price without a time": (with_vm(on_demand=OnDemand(price="0.2 USD")), "wrong-unit", "vms[0].on_demand.price"),
    "a deadline of NaN": (with_class(deadline=nan), "not-a-number", "classes[1].deadline"),
    "an endless deadline": (with_class(deadline=inf), "number-too-large", "classes[1].deadline"),
    "a penalty of NaN": (with_class(penalty=nan), "not-a-number", "classes[1].penalty"),
    "an endless penalty": (with_class(penalty=inf), "number-too-large", "classes[1].penalty"),
    "a penalty below nothing": (with_class(penalty=-1.0), "out-of-range", "classes[1].penalty"),
    "a penalty left out": (with_class(penalty=None), "missing-item", "classes[1].penalty"),
    "jobs in reverse": (with_class(jobs=Range(6.0, 4.0)), "reversed-range", "classes[1].jobs"),
    "jobs of NaN": (with_class(jobs=Range(nan, 4.0)), "not-a-number", "classes[1].jobs"),
    "jobs without a range": (with_class(jobs=6), "wrong-value", "classes[1].jobs"),
    "one name twice": (with_class(name="sort"), "duplicate", "classes[1].name"),
    "no name": (with_class(name=""), "missing-name", "classes[1].name"),
    "a name that rings": (with_class(name="a\x07"), "control-character", "classes[1].name"),
    "a name read backwards": (with_class(name="a\u202e"), "control-character", "classes[1].name"),
    "a name that is none": (with_class(name=7), "wrong-value", "classes[1].name"),
    "no VM": (replace(RIGHT, facts=replace(RIGHT.facts, vms=())), "missing-block", "vms"),
    "VMs that are none": (replace(RIGHT, facts=replace(RIGHT.facts, vms=7)), "wrong-value", "vms"),
    "a VM that is none": (replace(RIGHT, facts=replace(RIGHT.facts, vms=("m5",))), "wrong-value", "vms[0]"),
    "no facts": (replace(RIGHT, facts=None), "wrong-value", "facts"),
    "no such problem": (replace(RIGHT, problem="capcity"), "unknown-problem", "problem"),
    "no such goal": (replace(RIGHT, goal=Goal("maximize", "cost")), "unknown-goal", "goal"),
    "a title that rings": (replace(RIGHT, title="\x1b]52;c;YQ==\x07"), "control-character", "title"),
    "a seed below nothing": (replace(RIGHT, seed=-1), "out-of-range", "seed"),
    "no such currency": (replace(RIGHT, currency="XYZ"), "unknown-unit", "currency"),
    "no such quantity": (with_sum(PlanQuantity("vmss")), "unknown-name", "constraints[0]"),
    "no such member": (with_sum(PlanQuantity("admitted", "nosuch")), "unknown-name", "constraints[0]"),
    "a comparison with NaN": (with_sum(Constant(nan)), "not-a-number", "constraints[0]"),
    "an array as a side": (with_sum(PAIR), "wrong-value", "constraints[0]"),
    "an array as a comparison": (with_sum(PlanQuantity("cost"), PAIR), "wrong-statement", "constraints[0]"),
    "an array as a name": (with_sum(PlanQuantity("admitted", PAIR)), "wrong-value", "constraints[0]"),
    "an array as an operator": (with_sum(Operation(PAIR, ())), "wrong-value", "constraints[0]"),
    "an array as operands": (with_sum(Operation("+", PAIR)), "wrong-value", "constraints[0]"),
    "an array as definitions": (replace(RIGHT, lets=PAIR), "wrong-value", "lets"),
    "an array as the method": (replace(RIGHT, method=PAIR), "wrong-value", "method"),
    "an array as the currency": (replace(RIGHT, currency=PAIR), "unknown-unit", "currency"),
    "no such comparison": (with_sum(PlanQuantity("cost"), "<"), "wrong-statement", "constraints[0]"),
    "no time": (
        replace(RIGHT, method=Method("highs", {"time_limit": nan})),
        "not-a-number",
        "method.options['time_limit']",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_spec_that_breaks_the_schema_is_refused_with_its_path(name: str) -> None:
    spec, code, path = WRONG[name]
    found = mrdsl.check(spec)
    assert [(d.code, d.path) for d in found] == [(code, path)]
    with pytest.raises(mrdsl.MrdslError) as refused:
        mrdsl.solve(spec)
    assert refused.value.diagnostics[0].code == code
    assert str(refused.value).startswith(f"{path}: error[{code}]: ")
    with pytest.raises(mrdsl.MrdslError):
        _ = mrdsl.compile(spec).model


def test_a_right_spec_built_in_python_is_solved() -> None:
    assert mrdsl.check(RIGHT) == ()
    text = """
    problem capacity
    vm m5 { on_demand { price = 0.192 USD/h } }
    class sort {
      coefficients { A = 5400 s, B = 1250 s, C = 95 s }
      slots { map = 4, reduce = 2 }, jobs = 4..6, deadline = 10 min, penalty = 20 USD
    }
    class count extends sort {}
    minimize cost
    """
    assert mrdsl.solve(RIGHT).objective.value == pytest.approx(mrdsl.solve(mrdsl.loads(text)).objective.value)


@pytest.mark.parametrize("path", MODELS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_what_is_read_from_a_text_keeps_the_schema(path: Path) -> None:
    spec = mrdsl.load(path)
    facts = replace(spec.facts)
    assert validate(facts, family(spec.problem).facts, spec.currency) == ()  # type: ignore[union-attr]


def test_columns_are_held_against_the_schema_too() -> None:
    values = {"on_demand.price": np.array([1.0, nan, 1.0])}
    vms = Columns(VmType, ["a", "b", "c"], values)
    facts = replace(RIGHT.facts, vms=vms)
    found = validate(facts, CapacityFacts)
    assert [(d.code, d.path) for d in found] == [("not-a-number", "vms[1].on_demand.price")]


def test_a_distribution_has_parameters_that_make_sense() -> None:
    def codes(distribution: Any) -> list[str]:
        return [d.code for d in validate(Spot(price=distribution), Spot)]

    assert codes(Distribution("uniform", (1.0, 3.0))) == []
    assert codes(Distribution("uniform", (3.0, 1.0))) == ["wrong-arguments"]
    assert codes(Distribution("uniform", (1.0,))) == ["wrong-arguments"]
    assert codes(Distribution("uniform", (nan, 1.0))) == ["not-a-number"]
    assert codes(Distribution("gamma", (1.0,))) == ["unknown-function"]
    assert codes(Distribution("choice", ((),))) == ["wrong-arguments"]


def test_facts_are_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    facts = replace(RIGHT.facts)
    assert validate(facts, CapacityFacts) == ()
    monkeypatch.setattr("mrdsl.spec.validation._node", lambda *_: pytest.fail("looked at again"))
    assert validate(facts, CapacityFacts) == ()


def test_every_declared_form_is_known_to_the_validator() -> None:
    forms = {"quantity", "range", "distribution", "choice", "path", "text", "name", "names", "list"}
    assert {d.form for d in declarations(JobClass).values() if hasattr(d, "form")} <= forms


LIMITS = {
    "time": [-1.0, nan, inf, "2 min", True],
    "gap": [-0.1, nan, inf],
    "nodes": [-1, 1.5],
    "threads": [0, -1, 10**6, 2.5],
    "seed": [-1, "x"],
}


@pytest.mark.parametrize(("key", "value"), [(key, value) for key, values in LIMITS.items() for value in values])
def test_a_limit_that_is_none_is_refused(key: str, value: Any) -> None:
    with pytest.raises(mrdsl.MrdslError) as refused:
        mrdsl.solve(RIGHT, limits=mrdsl.Limits(**{key: value}))
    assert refused.value.diagnostics[0].path == f"limits.{key}"


@pytest.mark.parametrize(
    "given",
    [
        {"jobs": 0},
        {"jobs": 1},
        {"runs": 0},
        {"runs": 2.5},
        {"runs": -3},
        {"seed": -1},
        {"seed": 2**32},
        {"jobs": 10**12},
        {"jobs": nan},
    ],
)
def test_a_simulation_is_asked_for_in_numbers_that_can_be(given: dict[str, Any]) -> None:
    spec = mrdsl.load(next(path for path in MODELS if path.parent.name == "bounds"))
    with pytest.raises(mrdsl.MrdslError) as refused:
        mrdsl.simulate(spec, **given)
    assert refused.value.diagnostics[0].path == next(iter(given))


def codes(spec: Spec) -> list[tuple[str, str]]:
    return [(each.code, each.path) for each in mrdsl.check(spec)]


@pytest.mark.parametrize("block", ["on_demand", "reserved", "spot"])
@pytest.mark.parametrize(
    ("hourly", "cores", "told"),
    [
        (150.0, None, False),
        (150.1, None, True),
        (407.0, 1920.0, False),
        (500.0, 1920.0, False),
        (500.1, 1920.0, True),
        (5.0, 1.0, False),
        (5.01, 1.0, True),
    ],
)
def test_a_price_above_any_on_sale_is_a_warning(block: str, hourly: float, cores: float | None, told: bool) -> None:
    price = hourly / 3600.0
    given = {
        "on_demand": OnDemand(price=price),
        "reserved": Reserved(price=price, available=3),
        "spot": SpotVms(price=price, interruptions=0.0),
    }
    vm = VmType(**{"name": "m5", "cores": cores, "on_demand": OnDemand(price=0.0), block: given[block]})
    found = codes(replace(RIGHT, facts=replace(RIGHT.facts, vms=(vm,))))
    assert (("implausible-price", f"vms[0].{block}.price") in found) == told


def test_a_price_per_hour_that_was_given_as_a_number_is_a_warning() -> None:
    assert ("implausible-price", "vms[0].on_demand.price") in codes(with_vm(on_demand=OnDemand(price=0.192)))
    assert not [code for code, _ in codes(RIGHT) if code == "implausible-price"]


@pytest.mark.parametrize("price", [0.096, 0.192])
def test_so_it_is_of_any_family_that_rents(price: float) -> None:
    for name in ("joint", "schedule", "energy", "timetable"):
        spec = mrdsl.load(next(path for path in MODELS if path.parent.name == name))
        assert "implausible-price" not in [code for code, _ in codes(spec)]
        facts = spec.facts
        if name == "joint":
            dear = replace(facts, cluster=replace(facts.cluster, vm_cost=price))
        else:
            dear = replace(facts, vms=(replace(facts.vms[0], on_demand=OnDemand(price=price)), *facts.vms[1:]))
        assert "implausible-price" in [code for code, _ in codes(replace(spec, facts=dear))], name


@pytest.mark.parametrize(("currency", "told"), [("JPY", False), ("USD", True), ("EUR", True), ("INR", False)])
def test_a_price_of_1500_an_hour_is_dear_in_dollars_alone(currency: str, told: bool) -> None:
    spec = replace(with_vm(on_demand=OnDemand(price=1500.0 / 3600.0)), currency=currency)
    assert ("implausible-price" in [code for code, _ in codes(spec)]) == told


@pytest.mark.parametrize("many", [1, 500])
@pytest.mark.parametrize(
    ("average", "longest", "told"), [(1.0, 99.0, False), (1.0, 100.0, True), (0.03, 40.0, True), (30.0, 30.0, False)]
)
def test_a_longest_time_of_100_averages_is_a_warning(average: float, longest: float, told: bool, many: int) -> None:
    phase = MapPhase(tasks=1000, avg=average, max=longest)
    one = JobClass(name="a", map=phase, slots=SORT.slots, jobs=SORT.jobs, deadline=1e6, penalty=20.0)
    classes = tuple(replace(one, name=f"a{number}") for number in range(many))
    found = [code for code, _ in codes(replace(RIGHT, facts=replace(RIGHT.facts, classes=classes)))]
    assert ("max-far-above-avg" in found) == told


def test_a_longest_time_of_a_stage_of_100_averages_is_a_warning() -> None:
    stages = (Stage(name="s", tasks=1000, avg=0.03, max=40.0), Stage(name="t", tasks=1000, avg=1.0, max=9.0))
    found = codes(with_class(coefficients=None, stages=stages, slots=Slots(map=4, reduce=2, task=2), deadline=1e6))
    assert [path for code, path in found if code == "max-far-above-avg"] == ["classes[1].stages[0].max"]
