"""What ``let`` and goals of one's own mean, also where a name is a unit and a quantity of the plan."""

from __future__ import annotations

from dataclasses import replace

import pytest

import mrdsl
from mrdsl.spec.expression import Constant, Expression, Operation, PlanQuantity
from mrdsl.spec.linear import terms_of

HEAD = """\
problem capacity
vm m5 { on_demand { price = 0.2 USD/h } }
class sort {
  coefficients { A = 5400 s, B = 1250 s, C = 95 s }
  slots { map = 4, reduce = 2 }
  jobs = 2..6
  deadline = 10 min
  penalty = 4 USD
}
param fee = 5 USD/vm
"""
VMS = PlanQuantity("vms")


@pytest.mark.parametrize(
    ("written", "factor", "unit"),
    [
        ("5 USD/vms * vms", 5.0, "USD"),
        ("5 USD / 2 vms * vms", 2.5, "USD"),
        ("fee * vms", 5.0, "USD"),
        ("vms * fee", 5.0, "USD"),
        ("3 * vms", 3.0, "vms"),
        ("vms / 4", 0.25, "vms"),
        ("-(vms - 3 * vms)", 2.0, "vms"),
        ("vms * 15 min", 900.0, "s*vm"),
        ("vms * 5 USD/vms", 5.0, "USD"),
        ("3 * vms * 5 USD/vms / 2", 7.5, "USD"),
        ("vms / 2 vms/h", 1800.0, "s"),
        ("vms / 4 / h", 900.0, "s*vm"),
        ("vms * h / h", 1.0, "vms"),
    ],
)
def test_a_name_that_is_a_unit_too_is_the_quantity_but_behind_numbers_and_a_slash(
    written: str, factor: float, unit: str
) -> None:
    (let,) = mrdsl.loads(HEAD + f"let x = {written}\n").lets
    assert let.unit == unit
    assert terms_of(let.expression).factors == {("vms", ""): factor}


@pytest.mark.parametrize(
    "asked",
    [
        "let z = vms * 15 min\nsubject to { z <= 10 vm*h }",
        "subject to { 3 job*h/vm >= 2 h * admitted(sort) / vms }",
        "let z = 4 USD / (vms)\nlet y = cost * 4 / (vms)",
        "let z = vms + 2\nsubject to { 2 - vms + admitted(sort) * 1 vm/job <= 7 }",
        "let z = max(2, vms) + min(3 - vms, 4)",
    ],
)
def test_counts_come_back_from_their_text(asked: str) -> None:
    spec = mrdsl.loads(f"{HEAD}{asked}\n")
    again = mrdsl.loads(mrdsl.dumps(spec))
    assert again.lets == spec.lets
    assert again.constraints == spec.constraints


def test_a_plain_number_that_was_added_to_a_count_in_python_comes_back() -> None:
    some = Operation("+", (VMS, Constant(2.0)))
    spec = replace(mrdsl.loads(HEAD), lets=(mrdsl.Let("x", some, "vms"),))
    assert mrdsl.loads(mrdsl.dumps(spec)).lets[0].expression == some


NUMBERS = ["5 USD/vms", "2 h/USD", "0.5 USD/h", "4", "30 min * vm", "3 /vms/h", "fee", "(2 h)", "-5 /vms"]


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("quantity", ["vms", "cost", "admitted(sort)", "(cost - 2 USD)", "3 * vms"])
def test_a_number_and_its_units_stand_on_either_side(number: str, quantity: str) -> None:
    """Semantics 7: a product is the same mirrored, and a quotient is by the number with its units."""

    def read(written: str) -> tuple[mrdsl.Let, dict[tuple[str, str], float]]:
        (let,) = mrdsl.loads(HEAD + f"let x = {written}\n").lets
        return let, dict(terms_of(let.expression).factors)

    (left, lefts), (right, rights) = read(f"{number} * {quantity}"), read(f"{quantity} * {number}")
    assert left.unit == right.unit
    assert lefts == pytest.approx(rights)
    (bare, quotients), (grouped, expected) = read(f"{quantity} / {number}"), read(f"{quantity} / ({number})")
    if " * " not in number:
        assert bare.unit == grouped.unit
        assert quotients == pytest.approx(expected)


def test_a_price_divides_in_a_comparison() -> None:
    (constraint,) = mrdsl.loads(HEAD + "subject to { cost / 2 USD/h <= 100 h }\n").constraints
    assert terms_of(constraint.left).factors == {("cost", ""): 1800.0}


@pytest.mark.parametrize(
    ("written", "code"),
    [("cost / 2 USD * EUR", "mixed-currencies"), ("1e80 * 1e80 * cost", "number-too-large")],
)
def test_numbers_in_products_are_held_to_what_numbers_are_held_to(written: str, code: str) -> None:
    with pytest.raises(mrdsl.MrdslError) as refused:
        mrdsl.loads(HEAD + f"let x = {written}\n")
    assert [d.code for d in refused.value.diagnostics] == [code]


@pytest.mark.parametrize(
    "line",
    ["subject to { cost <= uniform(1 USD, 2 USD) }", "let x = uniform(1, 2) * cost", "minimize uniform(1, 2) * cost"],
)
@pytest.mark.parametrize("seed", ["", "seed = 4\n"])
def test_what_is_asked_of_plans_is_not_random(line: str, seed: str) -> None:
    with pytest.raises(mrdsl.MrdslError) as refused:
        mrdsl.loads(f"{HEAD}{seed}{line}\n")
    assert [d.code for d in refused.value.diagnostics] == ["random-value"]


@pytest.mark.parametrize("goal", ["maximize admitted(sort)", "minimize cost + 5 USD/job * admitted(sort)"])
def test_nothing_is_said_of_names_where_the_facts_are_unusable(goal: str) -> None:
    text = HEAD.replace("vm m5 { on_demand { price = 0.2 USD/h } }\n", "")
    with pytest.raises(mrdsl.MrdslError) as refused:
        mrdsl.loads(f"{text}{goal}\n")
    assert [d.code for d in refused.value.diagnostics] == ["missing-block"]


def test_cost_by_vms_is_a_quotient_of_two_quantities() -> None:
    (let,) = mrdsl.loads(HEAD + "let each = cost / vms\n").lets
    assert let.expression == Operation("/", (PlanQuantity("cost"), VMS))
    assert let.unit == "USD/vm"


def test_terms_that_are_added_are_one_sum() -> None:
    many = " + ".join(["vms"] * 3000)
    (let,) = mrdsl.loads(HEAD + f"let all = {many}\nsubject to {{ {many} <= 3e5 }}\n").lets
    assert isinstance(let.expression, Operation)
    assert len(let.expression.operands) == 3000


def test_a_param_changes_what_is_asked_without_reading_the_text_again() -> None:
    compiled = mrdsl.compile(mrdsl.loads(HEAD + "let x = cost + fee * vms\nminimize x\n"))
    before = compiled.solve().value
    after = compiled.update(fee="7 USD/vm").solve()
    assert compiled.spec == mrdsl.loads(HEAD + "let x = cost + fee * vms\nminimize x\n", {"fee": "7 USD/vm"})
    assert before is not None
    assert after.value is not None
    assert after.value > before


@pytest.mark.parametrize(
    ("let", "code"),
    [
        (mrdsl.Let("x", Operation("+", (PlanQuantity("cost"), PlanQuantity("vms"))), "USD"), "wrong-unit"),
        (mrdsl.Let("x", PlanQuantity("cost"), "s"), "wrong-unit"),
        (mrdsl.Let("x", PlanQuantity("cost"), "dollars"), "unknown-unit"),
        (mrdsl.Let("x", PlanQuantity("price"), "USD"), "unknown-name"),
        (mrdsl.Let("x", PlanQuantity("admitted", "nobody"), "jobs"), "unknown-name"),
        (mrdsl.Let("vms", PlanQuantity("cost"), "USD"), "reserved-name"),
        (mrdsl.Let("x y", PlanQuantity("cost"), "USD"), "reserved-name"),
        (mrdsl.Let("x", Constant(3.0), "USD"), "wrong-statement"),
        (mrdsl.Let("x", Operation("*", (Constant(3.0, "furlongs"), VMS)), "vms"), "unknown-unit"),
        (mrdsl.Let("x", Constant(float("nan")), "USD"), "not-a-number"),
        (mrdsl.Let("x", Operation("^", (PlanQuantity("cost"), VMS)), "USD"), "wrong-value"),
        (mrdsl.Let("x", Operation("+", ()), "USD"), "wrong-value"),
        (mrdsl.Let("x", Operation("neg", (VMS, VMS)), "vms"), "wrong-value"),
        ("cost", "wrong-value"),
    ],
)
def test_what_was_built_in_python_is_held_to_the_same(let: mrdsl.Let, code: str) -> None:
    spec = replace(mrdsl.loads(HEAD), lets=(let,))
    found = mrdsl.check(spec)
    assert [d.code for d in found] == [code]
    assert found[0].path == "lets[0]"


def test_an_expression_too_deep_to_be_walked_is_told() -> None:
    deep: Expression = PlanQuantity("cost")
    for _ in range(5000):
        deep = Operation("neg", (deep,))
    found = mrdsl.check(replace(mrdsl.loads(HEAD), lets=(mrdsl.Let("x", deep, "USD"),)))
    assert [d.code for d in found] == ["too-large"]


def test_a_goal_built_in_python_is_solved() -> None:
    sum_of_both = Operation("+", (PlanQuantity("cost"), Operation("*", (Constant(5.0), VMS))))
    spec = replace(mrdsl.loads(HEAD), goal=mrdsl.Goal("minimize", "dear", expression=sum_of_both, unit="USD"))
    written = mrdsl.loads(HEAD + "let dear = cost + 5 USD/vm * vms\nminimize dear\n")
    assert mrdsl.solve(spec).value == mrdsl.solve(written).value


GOALS = [
    "minimize cost + 5 USD/vm * vms",
    "minimize fee * vms + cost",
    "minimize 3 * cost",
    "minimize cost * 2 - 0.5 * cost + fee * vms",
    "maximize 2 * admitted(sort) - 0.1 job/vm * vms",
    "maximize admitted(sort)",
    "minimize vms",
    "minimize x",
    "minimize x + 4 USD",
]


@pytest.mark.parametrize("goal", GOALS)
def test_a_goal_is_written_out_or_named_and_formatted(goal: str) -> None:
    text = HEAD + f"let x = cost + fee * vms\n{goal}\n"
    spec = mrdsl.loads(text)
    assert spec.goal is not None
    assert spec.goal.expression is not None
    assert f"{spec.goal.sense} {spec.goal.quantity}" == goal
    formatted = mrdsl.fmt(text.replace("* ", "*").replace(" +", "   +"))
    assert goal in formatted.splitlines()
    again = mrdsl.loads(mrdsl.dumps(spec))
    assert again.goal is not None
    assert (again.goal.expression, again.goal.unit, again.lets) == (spec.goal.expression, spec.goal.unit, spec.lets)


def test_the_same_goal_in_other_words_has_the_same_optimum() -> None:
    texts = ("minimize cost + fee * vms", "let x = cost + fee * vms\nminimize x", "minimize vms * fee + cost")
    values = {mrdsl.solve(mrdsl.loads(HEAD + text + "\n")).value for text in texts}
    assert len(values) == 1


def test_params_in_a_goal_are_followed() -> None:
    compiled = mrdsl.compile(mrdsl.loads(HEAD + "minimize cost + fee * vms\n"))
    compiled.update(fee="7 USD/vm")
    assert compiled.spec == mrdsl.loads(HEAD + "minimize cost + fee * vms\n", {"fee": "7 USD/vm"})
