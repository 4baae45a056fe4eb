"""Expressions to values: numbers in SI with their dimension, checked at every operation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any

from mrdsl.core import units
from mrdsl.core.diagnostics import Related, did_you_mean, is_printable, nearest, shortened
from mrdsl.core.rounding import ceiling, floor
from mrdsl.core.units import NUMBER, Dimension
from mrdsl.language import tree
from mrdsl.language.scope import MistakeError, OutOfRangeError, Scope, Value, Word
from mrdsl.language.tree import Token
from mrdsl.spec.declared import DISTRIBUTIONS, LARGEST, LARGEST_REASON, LARGEST_WHOLE, LISTS, WHOLE_REASON, problem_of
from mrdsl.spec.schema import Distribution

FUNCTIONS = ("min", "max", "ceil", "floor", "round", "sum")


def require_printable(token: Token, scope: Scope) -> None:
    """Raise MistakeError if a quoted text contains a control character."""
    if token.type == "STRING" and not is_printable(tree.word_text(token)):
        raise scope.mistake("control-character", f"the text {token} holds a control character", token, "leave it out")


def evaluate(node: Any, scope: Scope) -> Value:
    """Return the value of an expression. Raises MistakeError with the diagnostic."""
    match node:
        case tree.Number(token, unit):
            return _number(token, unit, scope)
        case tree.Name(token):
            return _name(token, node, scope)
        case tree.Group(_, inner, _):
            return evaluate(inner, scope)
        case tree.Signed(sign, operand):
            value = _arithmetic(evaluate(operand, scope), operand, scope)
            return value if sign == "+" else Value(-value.number, value.dimension)
        case tree.Sum(parts):
            return _sum(parts, scope)
        case tree.Product(parts):
            return _product(parts, scope)
        case tree.Call():
            return _call(node, scope)
        case tree.List():
            raise scope.mistake("wrong-value", "a list is not allowed here", node, "write a single value")
        case tree.Clock(token):
            raise scope.mistake(
                "wrong-value", f"the clock time {token} is not allowed here", node, "write a number with its unit"
            )
        case tree.Text(token):
            raise scope.mistake(
                "wrong-value", f"the text {token} is not allowed here", node, "write a number with its unit"
            )
        case _:
            raise scope.mistake("wrong-value", "a range is not allowed here", node, "write a single value")


def fixed_value(node: Any, scope: Scope, what: str) -> Value:
    """Return the value of an expression that is one number. Raises MistakeError if ``what`` is random."""
    value = evaluate(node, scope)
    if not isinstance(value.number, float):
        raise scope.mistake("random-value", f"{what} cannot be random", node, "write a fixed value")
    return value


def _number(token: Token, unit_token: Token | None, scope: Scope) -> Value:
    number = float(token)
    if not isfinite(number):
        raise scope.mistake("number-too-large", f"`{token}` is too large for a number", token, "write a smaller number")
    if number > LARGEST_WHOLE - 1 and token.replace("_", "").isdigit() and int(token) > LARGEST_WHOLE:
        message, hint = f"`{token}` is not what is calculated with: {WHOLE_REASON}", f"write it as `{number:g}`"
        raise scope.mistake("number-too-large", message, token, hint)
    if unit_token is None:
        return finite(Value(number, NUMBER), token, scope)
    unit = units.UNITS.get(unit_token)
    if unit is None:
        raise _unknown_unit(unit_token, scope)
    if unit.dimension == units.MONEY:
        note_currency(unit, unit_token, scope)
    return finite(Value(units.scaled(number, unit.factor), unit.dimension), token, scope)


def note_currency(unit: units.Unit, token: Token, scope: Scope) -> None:
    """Keep the spec to one currency; raises MistakeError at the second."""
    report = scope.report
    if not unit.currency:
        return
    if not report.currency:
        report.currency, report.currency_span = unit.currency, scope.span(token)
    elif report.currency != unit.currency:
        raise scope.mistake(
            "mixed-currencies",
            f"`{unit.currency}` here, but the spec counts in {report.currency}",
            token,
            f"write all money in one currency, such as {report.currency}",
            Related(f"{report.currency} is used here", report.currency_span),
        )


def _unknown_unit(token: Token, scope: Scope) -> MistakeError:
    if token in scope.parameter_names:
        return scope.mistake("unknown-unit", f"`{token}` is a param, not a unit", token, f"write `* {token}`")
    meant = units.OTHER_NAMES.get(str(token))
    hint = f"did you mean `{meant}`?" if meant else did_you_mean(token, units.UNITS, "")
    return scope.mistake("unknown-unit", f"unknown unit `{token}`", token, hint)


def _name(token: Token, node: Any, scope: Scope) -> Value:
    if token in scope.parameter_names:
        value = scope.parameter(token)
        if value is None:
            raise MistakeError(None)
        if isinstance(value.number, Word):
            raise _is_a_word(token, value.number, scope)
        return value
    if scope.base is not None and token == scope.base[0]:
        return scope.base[1]
    if token in units.UNITS:
        raise scope.mistake(
            "unit-without-number", f"the unit `{token}` has no number", node, "write its number before it"
        )
    if token in units.OTHER_NAMES and nearest(token, scope.parameter_names) is None:
        raise _unknown_unit(token, scope)
    raise scope.mistake(
        "unknown-name",
        f"unknown name `{token}`",
        node,
        did_you_mean(token, scope.parameter_names, "params: ") or f"define it: `param {token} = ...`",
    )


def _is_a_word(token: Token, word: Word, scope: Scope) -> MistakeError:
    near = nearest(word.text, [name for name in scope.parameter_names if name != token])
    return scope.mistake(
        "wrong-value",
        f"the param `{token}` is the word `{shortened(word.text)}`, but a number is required here",
        token,
        f"did you mean `param {token} = {near}`?" if near else f"define it as a number: `param {token} = ...`",
        Related(f"`{token}` is defined here", word.span),
    )


def _arithmetic(value: Value, node: Any, scope: Scope) -> Value:
    if isinstance(value.number, Distribution):
        raise scope.mistake(
            "random-in-expression",
            f"`{value.number.name}(...)` cannot be part of an expression here",
            node,
            "put the whole expression into the distribution's parameters",
        )
    return value


def _sum(parts: tuple[Any, ...], scope: Scope) -> Value:
    total = _arithmetic(evaluate(parts[0], scope), parts[0], scope)
    for sign, operand in zip(parts[1::2], parts[2::2], strict=True):
        value = _arithmetic(evaluate(operand, scope), operand, scope)
        if value.dimension != total.dimension:
            verb = "add" if sign == "+" else "subtract"
            raise scope.mistake(
                "wrong-unit",
                f"cannot {verb} {units.describe(value.dimension)} "
                f"{'to' if sign == '+' else 'from'} {units.describe(total.dimension)}",
                operand,
                "both sides of a sum must have the same dimension",
            )
        total = Value(total.number + value.number if sign == "+" else total.number - value.number, total.dimension)
    return finite(total, parts[0], scope)


def _product(parts: tuple[Any, ...], scope: Scope) -> Value:
    """Numbers bind their units first: in ``10 USD / 2 USD/h`` the hour belongs to the second price."""
    operands, signs = _bind_units(parts, scope)
    total = _arithmetic(operands[0][0], operands[0][1], scope)
    for sign, (value, node) in zip(signs, operands[1:], strict=True):
        value = _arithmetic(value, node, scope)
        if sign == "*":
            product = Value(total.number * value.number, units.multiply(total.dimension, value.dimension))
            total = finite(product, parts[0], scope)
            continue
        if not _all_nonzero(value.number):
            raise scope.mistake("division-by-zero", "this divides by zero", node, "the divisor must not be 0")
        total = Value(total.number / value.number, units.divide(total.dimension, value.dimension))
    return finite(total, parts[0], scope)


def _bind_units(parts: tuple[Any, ...], scope: Scope) -> tuple[list[tuple[Value, Any]], list[str]]:
    operands: list[tuple[Value, Any]] = [(evaluate(parts[0], scope), parts[0])]
    signs: list[str] = []
    for sign, node in zip(parts[1::2], parts[2::2], strict=True):
        unit = units.UNITS.get(node.token) if isinstance(node, tree.Name) else None
        if unit is None or node.token in scope.parameter_names:
            operands.append((evaluate(node, scope), node))
            signs.append(str(sign))
            continue
        note_currency(unit, node.token, scope)
        value, quantity = operands[-1]
        value = _arithmetic(value, quantity, scope)
        operands[-1] = (bound(value, str(sign), unit), quantity)
    return operands, signs


def bound(value: Value, sign: str, unit: units.Unit) -> Value:
    """Return a number in a unit, or by one: ``2 * h``, ``2 / h``."""
    if sign == "*":
        return Value(units.scaled(value.number, unit.factor), units.multiply(value.dimension, unit.dimension))
    return Value(units.unscaled(value.number, unit.factor), units.divide(value.dimension, unit.dimension))


def _all_nonzero(number: Any) -> bool:
    return bool((number != 0).all()) if hasattr(number, "all") else number != 0


def finite(value: Value, node: Any, scope: Scope) -> Value:
    """Return the value, of a size that is calculated with. Raises MistakeError for any other."""
    number = value.number
    if isinstance(number, float):
        small = abs(number) <= LARGEST
    else:
        small = not hasattr(number, "dtype") or bool((abs(number) <= LARGEST).all())
    if not small:
        message = f"this is too large for a number: {LARGEST_REASON}"
        raise scope.mistake("number-too-large", message, node, "write smaller numbers")
    return value


def _call(node: tree.Call, scope: Scope) -> Value:
    name = str(node.function)
    if name in DISTRIBUTIONS:
        return _random(node, name, scope)
    if name not in FUNCTIONS:
        raise scope.mistake(
            "unknown-function",
            f"unknown function `{name}`",
            node.function,
            did_you_mean(name, (*FUNCTIONS, *DISTRIBUTIONS), "functions: "),
        )
    arguments = node.arguments
    if len(arguments) == 1 and isinstance(arguments[0], tree.List) and name in ("min", "max", "sum"):
        arguments = arguments[0].items
    if not arguments or (name in ("ceil", "floor", "round") and len(arguments) != 1):
        wanted = "one argument" if name in ("ceil", "floor", "round") else "at least one argument"
        raise scope.mistake("wrong-arguments", f"`{name}` takes {wanted}", node, f"such as `{name}(2.5)`")
    values = [_arithmetic(evaluate(argument, scope), argument, scope) for argument in arguments]
    _one_kind(name, values, arguments, scope)
    dimension = _rounded_dimension(name, values[0], arguments[0], scope)
    return finite(Value(_apply(name, [value.number for value in values]), dimension), node, scope)


def _one_kind(name: str, values: list[Value], arguments: tuple[Any, ...], scope: Scope) -> None:
    for value, argument in zip(values[1:], arguments[1:], strict=True):
        if value.dimension != values[0].dimension:
            raise scope.mistake(
                "wrong-unit",
                f"`{name}` of {units.describe(values[0].dimension)} and {units.describe(value.dimension)}",
                argument,
                "all arguments must have the same dimension",
            )


def _rounded_dimension(name: str, value: Value, node: Any, scope: Scope) -> Dimension:
    if name in ("ceil", "floor", "round") and value.dimension != NUMBER and not units.is_count(value.dimension):
        raise scope.mistake(
            "wrong-unit",
            f"`{name}` of {units.describe(value.dimension)}: only numbers are rounded",
            node,
            f"divide by a unit first: `{name}(x / 1 h) * 1 h`",
        )
    return value.dimension


def _apply(name: str, numbers: list[Any]) -> Any:
    if any(hasattr(number, "dtype") for number in numbers):
        import numpy as np

        arrays: dict[str, Callable[[list[Any]], Any]] = {
            "min": lambda all_: np.minimum.reduce(np.broadcast_arrays(*all_)),
            "max": lambda all_: np.maximum.reduce(np.broadcast_arrays(*all_)),
            "sum": sum,
            "ceil": lambda all_: ceiling(all_[0]),
            "floor": lambda all_: floor(all_[0]),
            "round": lambda all_: np.round(all_[0]),
        }
        return arrays[name](numbers)
    scalars: Mapping[str, Callable[[list[float]], float]] = {
        "min": min,
        "max": max,
        "sum": sum,
        "ceil": lambda all_: ceiling(all_[0]),
        "floor": lambda all_: floor(all_[0]),
        "round": lambda all_: float(round(all_[0])),
    }
    return scalars[name](numbers)


def _random(node: tree.Call, name: str, scope: Scope) -> Value:
    wanted = DISTRIBUTIONS[name]
    if len(node.arguments) != wanted:
        raise scope.mistake(
            "wrong-arguments",
            f"`{name}` takes {wanted} argument{'s' if wanted > 1 else ''}, not {len(node.arguments)}",
            node,
            RANDOM_EXAMPLES[name],
        )
    fixed = Scope(scope.report, scope.parameter, scope.parameter_names)
    arguments = [_argument(argument, fixed) for argument in node.arguments]
    dimension = _check_random(node, name, arguments, scope)
    parameters = tuple(number for number, _ in arguments)
    if scope.draws is None:
        return Value(Distribution(name, parameters), dimension)
    if scope.draws.seed < 0:
        raise scope.mistake(
            "missing-seed",
            f"`{name}(...)` draws random values, but the spec has no seed",
            node,
            "add a line `seed = 42` at the top level",
        )
    try:
        drawn = scope.draws.draw(name, parameters)
    except OutOfRangeError:
        raise scope.mistake(
            "distribution-out-of-range",
            f"`{name}(...)` rarely falls within the item's limits",
            node,
            "move its mean into the limits",
        ) from None
    value = Value(drawn if scope.draws.count > 1 or drawn.size != 1 else float(drawn[0]), dimension)
    return finite(value, node, scope)


RANDOM_EXAMPLES = {
    "uniform": "`uniform(1, 3)`: from, to",
    "uniform_int": "`uniform_int(70, 700)`: from, to",
    "normal": "`normal(30 s, 5 s)`: mean, standard deviation",
    "exponential": "`exponential(10 s)`: mean",
    "poisson": "`poisson(22)`: mean",
    "choice": "`choice([1, 2, 4])`",
    "mixture": "`mixture([0.7, 0.3], [1 s, 5 s], [0.1 s, 1 s])`: weights, means, standard deviations",
}


def _argument(node: Any, scope: Scope) -> tuple[Any, Dimension]:
    if not isinstance(node, tree.List):
        value = _arithmetic(evaluate(node, scope), node, scope)
        return value.number, value.dimension
    if not node.items:
        raise scope.mistake("wrong-arguments", "this list is empty", node, "write at least one value")
    values = [_arithmetic(evaluate(item, scope), item, scope) for item in node.items]
    _one_kind("a list", values, node.items, scope)
    return tuple(value.number for value in values), values[0].dimension


def _check_random(node: tree.Call, name: str, arguments: list[tuple[Any, Dimension]], scope: Scope) -> Dimension:
    lists = [isinstance(number, tuple) for number, _ in arguments]
    if any(is_list != (name in LISTS) for is_list in lists):
        raise scope.mistake(
            "wrong-arguments", f"the arguments of `{name}` do not match its form", node, RANDOM_EXAMPLES[name]
        )
    same = arguments[1:] if name == "mixture" else arguments
    for argument, (_, dimension) in zip(node.arguments[-len(same) :], same, strict=True):
        if dimension != same[0][1]:
            raise scope.mistake(
                "wrong-unit",
                f"`{name}` of {units.describe(same[0][1])} and {units.describe(dimension)}",
                argument,
                "its values must have the same dimension",
            )
    numbers = [number for number, _ in arguments]
    problem = problem_of(name, numbers)
    if problem:
        raise scope.mistake("wrong-arguments", f"`{name}`: {problem}", node, RANDOM_EXAMPLES[name])
    return same[0][1]
