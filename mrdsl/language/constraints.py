"""``subject to { ... }``: comparisons of the plan's quantities, with their dimensions checked."""

from __future__ import annotations

from typing import Any

from mrdsl.core import units
from mrdsl.core.suggestions import did_you_mean
from mrdsl.language import tree
from mrdsl.language.formatting import inline_text
from mrdsl.language.plan_expressions import PlanExpressions
from mrdsl.language.scope import MistakeError, Scope
from mrdsl.spec.expression import Constant
from mrdsl.spec.spec import Constraint


def resolve_constraints(block: tree.Block, builder: PlanExpressions) -> tuple[Constraint, ...]:
    """The constraints of one ``subject to`` block; wrong ones are reported and left out."""
    constraints = []
    for statement in block.statements or ():
        try:
            constraints.append(_constraint(statement, builder))
        except MistakeError as mistake:
            builder.scope.report.add(mistake.diagnostic)
    return tuple(constraints)


def _constraint(statement: Any, builder: PlanExpressions) -> Constraint:
    scope = builder.scope
    left_node, comparison, right_node = _sides(statement, scope)
    left, left_dimension = builder.build(left_node)
    right, right_dimension = builder.build(right_node)
    if not (units.fits(left_dimension, right_dimension) or units.fits(right_dimension, left_dimension)):
        raise scope.mistake(
            "wrong-unit",
            f"cannot compare {units.describe(left_dimension)} with {units.describe(right_dimension)}",
            statement,
            "both sides are of one kind",
        )
    if isinstance(left, Constant) and isinstance(right, Constant):
        raise scope.mistake(
            "wrong-statement",
            "this comparison names no quantity of the plan",
            statement,
            did_you_mean("", (*builder.known, *builder.own), "quantities: "),
        )
    return Constraint(left, comparison, right, inline_text(statement), scope.span(statement))


def _sides(statement: Any, scope: Scope) -> tuple[Any, str, Any]:
    match statement:
        case tree.Comparison(left, operator, right):
            return left, "=" if operator == "==" else operator, right
        case tree.Assignment((word,), value) if not isinstance(value, tree.Interval):
            return tree.Name(word), "=", value
        case _:
            raise scope.mistake(
                "wrong-statement",
                "`subject to` holds comparisons",
                tree.first_token(statement),
                f"write `cost <= 100 {scope.report.currency or units.DEFAULT_CURRENCY}`",
            )
