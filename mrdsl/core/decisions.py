"""Decisions that users pass by name to the functions that build plans."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import wraps
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.arguments import checked
from mrdsl.core.diagnostics import Diagnostic, MrdslError, described, did_you_mean, error, number_of

Function = TypeVar("Function", bound=Callable[..., Any])


def plan_builder(problem: str) -> Callable[[Function], Function]:
    """Return a decorator for the function that builds the plans of a family from a spec and decisions.

    The function then raises MrdslError ``wrong-value`` for arguments of another type, and for specs of other families.
    """

    def decorate(function: Function) -> Function:
        @wraps(function)
        def build(spec: Any, *decisions: Any, **options: Any) -> Any:
            if getattr(spec, "problem", problem) != problem:
                message = f"the spec must be of problem `{problem}`, got `{spec.problem}`"
                hint = f"use `mrdsl.families.{spec.problem}.own_plans.plan_with`"
                raise MrdslError([wrong(message, hint)])
            return typed(spec, *decisions, **options)

        typed = checked(function)
        return build  # type: ignore[return-value]

    return decorate


def place_among(name: str, names: Sequence[str], what: str) -> int:
    """Return the index of a name. Raises MrdslError ``unknown-name`` if it is not among the names."""
    if name not in names:
        raise MrdslError([_unknown(name, names, what)])
    return names.index(name)


def numbers_by_name(
    given: Mapping[str, Any], names: Iterable[str], what: str, decision: str, width: int = 1
) -> NDArray[np.float64]:
    """Return the numbers of each name, in the order of the names.

    Args:
        given: A number, or a sequence of ``width`` numbers, by name. One number stands for all ``width``.
        names: All names. Each must have a value.
        what: What a name denotes, such as ``class``.
        decision: What the numbers are, such as ``slots``.
        width: Numbers of each name.

    Returns:
        The numbers, shape (names, width).

    Raises:
        MrdslError: ``unknown-name``, ``missing-item`` for a name without a value, or ``wrong-value`` for a wrong number
            of values, or for a value that is not a finite number, at least 0; all mistakes together.
    """
    names = [str(name) for name in names]
    complete(given, names, what, decision)
    mistakes = [each for name in names for each in _mistakes(given[name], f"{what} `{name}`", decision, width)]
    if mistakes:
        raise MrdslError(mistakes)
    rows = [np.broadcast_to(np.asarray(given[name], dtype=np.float64), width) for name in names]
    return np.array(rows).reshape(len(names), width)


def complete(given: Mapping[str, Any], names: Sequence[str], what: str, decision: str) -> None:
    """Raise MrdslError, ``unknown-name`` or ``missing-item``, unless each name and no other has a value."""
    known, mistakes = set(names), []
    mistakes += [_unknown(str(name), names, what) for name in given if name not in known]
    for name in names:
        if name not in given:
            message = f"{what} `{name}` has no {decision}"
            mistakes.append(error("missing-item", message, None, f"add `{name}` to the {decision}"))
    if mistakes:
        raise MrdslError(mistakes)


def wrong(message: str, hint: str = "") -> Diagnostic:
    """Return the diagnostic of a decision that is not valid."""
    return error("wrong-value", message, None, hint)


def _mistakes(value: Any, where: str, decision: str, width: int) -> Iterator[Diagnostic]:
    try:
        numbers = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        yield wrong(f"{decision} of {where} must be numbers, got {described(value)}")
        return
    if numbers.ndim > 1 or (numbers.ndim == 1 and len(numbers) != width):
        got = "a table" if numbers.ndim > 1 else number_of(len(numbers), "value")
        yield wrong(f"{decision} of {where} must have {number_of(width, 'value')}, got {got}")
        return
    bad = numbers[~(np.isfinite(numbers) & (numbers >= 0.0))]
    if bad.size:
        yield wrong(f"{decision} of {where} must be finite and at least 0, got {bad.flat[0]:g}")


def _unknown(name: str, names: Sequence[str], what: str) -> Diagnostic:
    return error("unknown-name", f"there is no {what} `{name}`", None, did_you_mean(name, names))
