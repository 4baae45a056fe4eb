"""``require { peak >= 0.5, peak <= 2 }``: comparisons of params that must hold, whoever gave the params."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from math import isclose
from typing import Any

from mrdsl.core import units
from mrdsl.core.diagnostics import Related, error
from mrdsl.language import tree
from mrdsl.language.evaluate import fixed_value
from mrdsl.language.formatting import inline_text
from mrdsl.language.parameters import Parameters
from mrdsl.language.scope import MistakeError, Scope, Value

WORD = "require"
_EQUAL_TO = 1e-9
_HOLDS: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": lambda left, right: isclose(left, right, rel_tol=_EQUAL_TO),
}


def is_requirement(statement: Any) -> bool:
    """Whether a statement of the top level is a ``require { ... }`` block."""
    return isinstance(statement, tree.Block) and str(statement.words[0]) == WORD


def check_requirements(blocks: Iterable[tree.Block], parameters: Parameters, scope: Scope) -> None:
    """Reports every comparison that does not hold or cannot be made; a broken param has been reported before."""
    for block in blocks:
        _check_header(block, scope)
        for statement in block.statements or ():
            try:
                _check(statement, parameters, scope)
            except MistakeError as mistake:
                scope.report.add(mistake.diagnostic)


def _check_header(block: tree.Block, scope: Scope) -> None:
    extra = [part for part in (*block.words[1:], block.indexed, *block.more, block.call) if part is not None]
    if extra or block.statements is None:
        scope.report.add(
            error(
                "unexpected-name" if extra else "wrong-statement",
                f"`{WORD}` has no name" if extra else f"`{WORD}` says nothing",
                scope.span(extra[0] if extra else block.words[0]),
                f"write `{WORD} {{ peak <= 2 }}`",
            )
        )


def _check(statement: Any, parameters: Parameters, scope: Scope) -> None:
    if not isinstance(statement, tree.Comparison):
        raise scope.mistake(
            "wrong-statement",
            "`require` holds comparisons",
            tree.first_token(statement),
            "write `peak <= 2`, with `<=`, `>=` or `==`",
        )
    left, right = (fixed_value(side, scope, "a requirement") for side in (statement.left, statement.right))
    if not (units.fits(left.dimension, right.dimension) or units.fits(right.dimension, left.dimension)):
        raise scope.mistake(
            "wrong-unit",
            f"cannot compare {units.describe(left.dimension)} with {units.describe(right.dimension)}",
            statement,
            "both sides are of one kind",
        )
    if _HOLDS[statement.operator](left.number, right.number):
        return
    mentioned = {str(token) for token in tree.names_in(statement)}
    names = [name for name in parameters.names if name in mentioned]
    values = [(name, parameters.value(name)) for name in names]
    shown = [f"`{name}` is {_shown(value, scope)}" for name, value in values if value is not None]
    scope.report.add(
        error(
            "requirement-not-met",
            f"`{inline_text(statement)}` does not hold" + (": " + ", ".join(shown) if shown else ""),
            scope.span(statement),
            f"give `{names[0]}` a value with which it holds" if names else "compare a param",
            *(Related(f"`{name}` is defined here", scope.span(parameters.statement(name))) for name in names),
        )
    )


def _shown(value: Value, scope: Scope) -> str:
    kind = next((name for name, kind in units.KINDS.items() if kind.dimension == value.dimension), None)
    if kind is None:
        return f"{value.number:g} (SI)"
    return units.show(float(value.number), kind, scope.report.currency or units.DEFAULT_CURRENCY)
