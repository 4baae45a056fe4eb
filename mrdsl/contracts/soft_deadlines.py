"""Deadlines without a `guarantee` that a plan meets only on average, and the cost of a bound."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mrdsl.contracts.plan_expressions import is_own
from mrdsl.core.diagnostics import Diagnostic, number_of, warning
from mrdsl.core.rounding import FEASIBILITY, SAME_SUM
from mrdsl.core.units import show
from mrdsl.spec.columns import Columns, Joined, column, parts_of, words
from mrdsl.spec.spec import Spec

Floats = NDArray[np.float64]

UNPRICED = "also meets it by the upper estimate"
IMPOSSIBLE = "cannot be met by any cluster"


def soft_deadline_warnings(
    spec: Spec, upper: Floats, price: Callable[[NDArray[np.bool_]], str]
) -> Iterator[Diagnostic]:
    """Warn if classes without `guarantee` meet their deadline by the average but not by the upper estimate.

    Args:
        spec: The spec.
        upper: Upper estimate of each class on the slots of the plan [s], shape (classes,).
        price: Function that describes the cost of a plan in which the upper estimates of these classes, shape
            (classes,), meet the deadlines. It is not called for a user-defined objective.

    Yields:
        At most one warning.
    """
    classes: Sequence[Any] = spec.facts.classes
    unsaid = words(classes, "guarantee") == ""
    soft = unsaid & (upper > column(classes, "deadline") * (1 + FEASIBILITY))
    if not soft.any():
        return
    index = int(soft.argmax())
    node, others = classes[index], int(soft.sum()) - 1
    more = f" (and {number_of(others, 'more class')})" if others else ""
    said = UNPRICED if is_own(spec.goal) else price(soft)
    yield warning(
        "soft-deadline",
        f"by the average estimate jobs of class {node.name} meet their deadline{more}, "
        f"but by the upper estimate they take {show(float(upper[index]), 'time')}",
        node.span_of("deadline"),
        f"`guarantee = upper` {said}; write `guarantee = average` to accept it",
    )


def firm(spec: Spec, soft: NDArray[np.bool_]) -> Spec:
    """Require the upper estimate for some classes.

    Args:
        spec: The spec.
        soft: True for each of these classes, shape (classes,).

    Returns:
        The spec with `guarantee = upper` in these classes.
    """
    parts, before = [], 0
    for part in parts_of(spec.facts.classes):
        parts.append(_firm(part, soft[before : before + len(part)]))
        before += len(part)
    return replace(spec, facts=replace(spec.facts, classes=parts[0] if len(parts) == 1 else Joined(parts)))


def _firm(part: Sequence[Any], soft: NDArray[np.bool_]) -> Sequence[Any]:
    if not isinstance(part, Columns):
        return tuple(replace(node, guarantee="upper") if late else node for node, late in zip(part, soft, strict=True))
    said = np.array([word or None for word in words(part, "guarantee").tolist()], dtype=object)
    values = {**part.values, "guarantee": np.where(soft, "upper", said)}
    return Columns(part.node_type, part.names, values, part.span_at, part.group)


def priced(value: float, now: float, currency: str, most: str = "") -> str:
    """Describe the cost of a plan that meets the bound, compared with the present plan.

    Args:
        value: Cost of the plan that meets the bound.
        now: Cost of the present plan.
        currency: Currency of both.
        most: Words before a cost that is not proven.

    Returns:
        Words for a hint.
    """
    if value <= now * (1.0 + SAME_SUM):
        return f"costs no more than these {now:.2f} {currency}"
    if f"{value:.2f}" == f"{now:.2f}":
        return f"would cost {most}{value:.6g} {currency} instead of {now:.6g}"
    return f"would cost {most}{value:.2f} {currency} instead of {now:.2f}"
