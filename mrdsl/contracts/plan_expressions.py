"""Expressions over a plan: objectives, `let` and comparisons, their dimensions and quantities."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import inf, nan
from typing import TYPE_CHECKING, Any

from mrdsl.contracts.family import Family, Formulation, GoalKind, QuantityKind, kind_words
from mrdsl.core import budgets, units
from mrdsl.core.diagnostics import described, one_error
from mrdsl.core.lazy import kept
from mrdsl.core.units import Dimension
from mrdsl.spec.columns import names_of
from mrdsl.spec.declared import Mistake, python_number_mistake
from mrdsl.spec.expression import (
    OPERATORS,
    Constant,
    Expression,
    Operation,
    PlanQuantity,
    evaluate,
    is_within,
    quantities_in,
    terms_of,
    value_of,
)
from mrdsl.spec.schema import Item
from mrdsl.spec.spec import Aim, Goal, Let, Spec
from mrdsl.spec.validation import name_mistake

if TYPE_CHECKING:
    from mrdsl.core.result import Table


def aim_of(spec: Spec) -> Aim | None:
    """Return the user-defined objective of a spec as models see it.

    Args:
        spec: The spec.

    Returns:
        The objective, or None if the spec has an objective of its family.
    """
    return next((each for each in spec.constraints if isinstance(each, Aim)), None)


def put_in_place(model: Any, aim: Aim) -> None:
    """Replace the objective of a model by a user-defined one.

    Args:
        model: Pyomo model with `plan_quantities`.
        aim: The objective.

    Raises:
        ValueError: If the model does not have a quantity of the objective.
    """
    import pyomo.core as pyo

    value = evaluate(aim.left, offered_by(getattr(model, "plan_quantities", {})))
    if not isinstance(value, int | float) and not hasattr(value, "is_expression_type"):
        raise ValueError("a share of the VMs is a quotient, so it cannot be part of a linear objective")
    for own in list(model.component_data_objects(pyo.Objective, active=True)):
        own.deactivate()
    model.fixed_part = 0.0
    model.own_goal = pyo.Objective(expr=value, sense=pyo.maximize if aim.maximizes else pyo.minimize)


def offered_by(offered: Any) -> Callable[[str, str], Any]:
    """Return a function that looks up quantities of a model.

    Args:
        offered: Expressions by name and argument.

    Returns:
        Function of name and argument, which raises ValueError for an unknown quantity.
    """

    def quantity(name: str, argument: str) -> Any:
        try:
            return offered[(name, argument)]
        except KeyError:
            shown = f"{name}({argument})" if argument else name
            raise ValueError(f"this formulation does not support {shown} in `subject to` or as an objective") from None

    return quantity


def worth(spec: Spec, quantity: Callable[[str, str], float], otherwise: float) -> float:
    """Evaluate the user-defined objective of a spec.

    Args:
        spec: The spec.
        quantity: Function that returns a quantity of the plan by name and argument.
        otherwise: Value if the spec has no user-defined objective.

    Returns:
        Value of the objective in its SI unit.
    """
    aim = aim_of(spec)
    return otherwise if aim is None else value_of(aim.left, quantity)


SECOND = ", "
"""Between the two arguments of a quantity."""


def arguments_of(kind: QuantityKind, facts: Any) -> dict[str, None]:
    """List the valid arguments of a quantity.

    Args:
        kind: The quantity.
        facts: The facts of the spec.

    Returns:
        The arguments in order, those with a second one last, such as `spot, m5`.
    """
    first, second = (
        (*words, *(map(str, names_of(getattr(facts, field, ()))) if field else ()))
        for words, field in ((kind.words, kind.over), (kind.per_words, kind.per))
    )
    return dict.fromkeys((*first, *(f"{one}{SECOND}{other}" for one in first for other in second)))


def is_own(goal: Goal | None) -> bool:
    """Return True if an objective is user-defined.

    Args:
        goal: The objective, or None.

    Returns:
        True for an expression.
    """
    return goal is not None and goal.expression is not None


def serving(family: Family, goal: Goal) -> Family:
    """Adapt a family to a user-defined objective: its models and measures use it.

    Args:
        family: The family.
        goal: The objective.

    Returns:
        The adapted family.
    """
    value = goal.expression
    assert value is not None
    quantity = family.quantity
    able = [each for each in family.formulations if each.other_goals]
    posed = [_posing(each, family) for each in able]
    unable = [_refusing(each, family, able) for each in family.formulations if not each.other_goals]
    choose, first = family.choose, able[0] if able else None
    return replace(
        family,
        goals=(GoalKind(goal.sense, goal.quantity, goal.unit, "a user-defined objective"),),
        formulations=(*posed, *unable),
        measure=None if quantity is None else lambda spec, plan: _value(value, quantity, spec, plan),
        why=None if quantity is None else lambda spec, result: _why(goal, spec, quantity, result.plan),
        choose=None if choose is None else lambda spec, *how: choose(_posed(spec, family, first), *how),
    )


def _value(expression: Any, quantity: Callable[..., float], spec: Spec, plan: Any) -> float:
    return value_of(expression, partial(quantity, spec, plan))


def _why(goal: Goal, spec: Spec, quantity: Callable[..., float], plan: Any) -> tuple[Table, ...]:
    """Return the contribution of each quantity of the plan to the objective, without texts for the family's own
    objective.
    """
    return () if plan is None else (_terms(goal, spec, quantity, plan),)


def _terms(goal: Goal, spec: Spec, quantity: Callable[..., float], plan: Any) -> Table:
    from mrdsl.core.result import Table

    assert goal.expression is not None
    form = terms_of(goal.expression)
    rows: list[tuple[str, float | None, float]] = [
        (f"{name}({argument})" if argument else name, value, factor * value)
        for (name, argument), factor in form.factors.items()
        for value in (quantity(spec, plan, name, argument),)
    ]
    rows += [("a fixed part", None, form.constant)] if form.constant else []
    adds = f"adds [{goal.unit}]" if goal.unit else "adds"
    return Table(f"Parts of {goal.quantity}", ("quantity", "the plan has, in SI", adds), rows)


def _posed(spec: Spec, family: Family, formulation: Formulation | None) -> Spec:
    """Return the spec as the formulation's model sees it, one for all that asks."""
    if formulation is None or not is_own(spec.goal):
        return spec
    return kept(spec, f"_posed_{formulation.name}", lambda: _with_aim(spec, family, formulation))


def _with_aim(spec: Spec, family: Family, formulation: Formulation) -> Spec:
    goal = spec.goal
    assert goal is not None
    assert goal.expression is not None
    kind = next(kind for kind in family.goals if kind.quantity == formulation.other_goals)
    comparison, limit = ("<=", inf) if goal.sense == "minimize" else (">=", -inf)
    aim = Aim(goal.expression, comparison, Constant(limit), f"{goal.sense} {goal.quantity}", goal.span)
    return replace(spec, goal=Goal(kind.sense, kind.quantity), constraints=(*spec.constraints, aim))


def _posing(formulation: Formulation, family: Family) -> Formulation:
    """Return the formulation with hooks for the user-defined objective, without those for only the family's
    objective.
    """

    def of(hook: Callable[..., Any] | None) -> Any:
        return None if hook is None else lambda spec, *rest: hook(_posed(spec, family, formulation), *rest)

    def built(build: Callable[..., Any] | None) -> Any:
        return None if build is None else lambda spec, relax: _built(build, _posed(spec, family, formulation), relax)

    return replace(
        formulation,
        needs=of(formulation.needs),
        build=built(formulation.build),
        decode=of(formulation.decode),
        run=of(formulation.run),
        refine=of(formulation.refine),
        compiled=built(formulation.compiled),
        arrays=None,
        known=None,
    )


def _built(build: Callable[..., Any], spec: Spec, relax: bool) -> Any:
    model, aim = build(spec, relax), aim_of(spec)
    assert aim is not None
    try:
        put_in_place(model, aim)
    except ValueError as cause:
        raise one_error("unable-solver", str(cause), aim.span) from None
    return model


def _refusing(formulation: Formulation, family: Family, able: list[Formulation]) -> Formulation:
    """Return the formulation with hooks that give the reason why it does not support the objective."""

    def refuse(spec: Spec, *_: Any) -> Any:
        message = f"formulation {formulation.name} does not support user-defined objectives"
        names = ", ".join(each.name for each in able)
        hint = f"use the formulation {names}" if able else "use an objective of the family"
        raise one_error("unable-solver", message, getattr(spec.goal, "span", None), hint)

    return replace(
        formulation,
        build=refuse if formulation.build is not None else None,
        run=refuse if formulation.run is not None else None,
        compiled=refuse if formulation.compiled is not None else None,
        arrays=None,
        known=None,
    )


class MixedDimensionsError(ValueError):
    """A sum of two different dimensions, `first` and `second`."""

    def __init__(self, first: Dimension, second: Dimension) -> None:
        self.first, self.second = first, second
        super().__init__(f"cannot add {units.describe(second)} to {units.describe(first)}")


def dimension_of(expression: Expression, kinds: Mapping[str, Dimension]) -> Dimension | None:
    """Compute the dimension of an expression.

    Args:
        expression: The expression.
        kinds: Dimension of each quantity.

    Returns:
        The dimension; None if a constant without a unit leaves it open.

    Raises:
        MixedDimensionsError: If different dimensions are added.
    """
    match expression:
        case PlanQuantity(name):
            return kinds.get(name)
        case Operation("neg", (inner,)):
            return dimension_of(inner, kinds)
        case Operation("*" | "/" as operator, (first, *others)):
            total = dimension_of(first, kinds)
            for operand in others:
                other = dimension_of(operand, kinds)
                if total is None or other is None:
                    total = None
                else:
                    total = units.multiply(total, other) if operator == "*" else units.divide(total, other)
            return total
        case Operation(_, operands):
            return _common([dimension_of(operand, kinds) for operand in operands])
        case Constant(_, unit):
            return None if unit is None else units.dimension_of(unit)
    return None


def with_plain_constants(expression: Expression) -> Expression:
    """Convert each constant without a unit to a plain number.

    Args:
        expression: The expression.

    Returns:
        The converted expression.
    """
    match expression:
        case Constant(value, None):
            return Constant(value, "")
        case Operation(operator, operands):
            return Operation(operator, tuple(map(with_plain_constants, operands)))
    return expression


def _common(found: list[Dimension | None]) -> Dimension | None:
    """Return the one dimension of the known ones; a plain number is a count if it is added to one."""
    known = [each for each in found if each is not None]
    largest = next((each for each in known if each != units.NUMBER), units.NUMBER)
    for each in known:
        if not units.fits(each, largest):
            raise MixedDimensionsError(largest, each)
    return largest if known else None


_NUMBER = Item("quantity", "a number")
LINEAR = ("minimize", "maximize")
"""The senses that a goal of one's own may have."""


def let_mistake(
    let: Any, quantities: Mapping[str, QuantityKind], family: Family, before: Sequence[str]
) -> Mistake | None:
    """Find the error in a user-defined quantity.

    Args:
        let: The quantity.
        quantities: Quantities of the family by name.
        family: The family.
        before: Names of the user-defined quantities above it.

    Returns:
        The first error, or None.
    """
    if not isinstance(let, Let):
        hint = "give Let(name, expression, unit)"
        return Mistake("wrong-value", f"{described(let)} is not a user-defined quantity", hint)
    wrong = name_mistake("let", let.name) or expression_mistake(let.expression, quantities, family)
    if wrong is not None:
        return wrong
    if not let.name.isidentifier() or let.name in quantities or let.name in before or let.name in units.UNITS:
        return Mistake("reserved-name", f"the name `{let.name}` is already in use", "choose another name")
    if not quantities_in(let.expression):
        return Mistake("wrong-statement", f"`{let.name}` does not use any quantity of the plan", "remove it")
    return _unit_mistake(let.expression, let.unit, quantities)


def own_goal_mistake(goal: Goal, family: Family) -> Mistake | None:
    """Find the error in a user-defined objective.

    Args:
        goal: The objective.
        family: The family.

    Returns:
        The first error, or None.
    """
    assert goal.expression is not None
    quantities = {quantity.name: quantity for quantity in family.quantities}
    if goal.sense not in LINEAR:
        message = f"an objective cannot have the sense `{goal.sense}`"
        return Mistake("unknown-goal", message, "use minimize or maximize")
    wrong = expression_mistake(goal.expression, quantities, family)
    if wrong is not None:
        return wrong
    try:
        terms_of(goal.expression)
    except ValueError as reason:
        hint = "an objective is a sum of quantities multiplied by numbers"
        return Mistake("wrong-statement", f"the objective is not linear: {reason}", hint)
    return _unit_mistake(goal.expression, goal.unit, quantities)


def _unit_mistake(expression: Expression, unit: Any, quantities: Mapping[str, QuantityKind]) -> Mistake | None:
    said = units.dimension_of(unit) if isinstance(unit, str) else None
    if said is None:
        return _no_unit(unit)
    try:
        found = dimension_of(expression, {name: units.KINDS[kind.kind].dimension for name, kind in quantities.items()})
    except MixedDimensionsError as mixed:
        return Mistake("wrong-unit", str(mixed), "both sides of a sum must have the same dimension")
    if found is not None and found != said:
        message = f"its unit is `{unit}`, {units.describe(said)}, but it comes to {units.describe(found)}"
        return Mistake("wrong-unit", message, f"use the unit `{units.si_unit(found, units.DEFAULT_CURRENCY)}`")
    return None


def _no_unit(unit: Any) -> Mistake:
    return Mistake(
        "unknown-unit", f"{described(unit)} is not an SI unit", 'give one such as "USD", "s", "J" or "USD/kg"'
    )


def expression_mistake(
    expression: Expression | Any, quantities: Mapping[str, QuantityKind], family: Family
) -> Mistake | None:
    """Find the error in an expression over a plan.

    Args:
        expression: The expression.
        quantities: Quantities of the family by name.
        family: The family.

    Returns:
        The first error, or None.
    """
    if not is_within(expression, budgets.EXPRESSION_PARTS, budgets.EXPRESSION_DEPTH):
        parts, depth = budgets.EXPRESSION_PARTS, budgets.EXPRESSION_DEPTH
        message = f"an expression has more than {parts} parts, or more than {depth} operations inside one another"
        return Mistake("too-large", message, "give + and * all their operands at once")
    return _part_mistake(expression, quantities, family)


def _is_zero(divisor: Expression) -> bool:
    """Return True if a divisor names no quantity and is 0."""
    return not quantities_in(divisor) and not value_of(divisor, lambda name, argument: nan)


def _part_mistake(
    expression: Expression | Any, quantities: Mapping[str, QuantityKind], family: Family
) -> Mistake | None:
    match expression:
        case Constant(value, unit):
            known = unit is None or (isinstance(unit, str) and units.dimension_of(unit) is not None)
            return python_number_mistake("a constant", _NUMBER, value) if known else _no_unit(unit)
        case PlanQuantity(str() as name, str() as argument):
            if name not in quantities:
                hint = "quantities: " + (", ".join(quantities) or "none")
                return Mistake("unknown-name", f"{kind_words(family.name)} plan has no quantity `{name}`", hint)
            kind = quantities[name]
            if kind.needs_argument if not argument else not kind.takes_argument:
                wanted = "takes one name" if kind.needs_argument else "takes no argument"
                return Mistake("wrong-arguments", f"`{name}` {wanted}", "see the family's page")
            return None
        case Operation(str() as operator, tuple() | list() as operands):
            if operator not in OPERATORS or not operands or (operator == "neg" and len(operands) > 1):
                message = f"{described(operator)} does not take {len(operands)} operands"
                return Mistake("wrong-value", message, "give one of + - * / min max and its operands, or neg and one")
            wrong = next((m for one in operands if (m := _part_mistake(one, quantities, family))), None)
            if wrong is None and operator == "/" and any(map(_is_zero, operands[1:])):
                return Mistake("division-by-zero", "an expression divides by zero", "the divisor must not be 0")
            return wrong
        case _:
            return Mistake(
                "wrong-value",
                f"{described(expression)} is not an expression",
                "give Constant, PlanQuantity or Operation",
            )
