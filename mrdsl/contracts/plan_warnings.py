"""Warnings of plans: deadlines met only on average, and whole slots that need more VMs than the plan has.

Theorem 4.1 gives slots as fractions, whose VMs add up to the rented ones. A cluster has whole slots.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mrdsl.contracts.plan_expressions import is_own
from mrdsl.core.diagnostics import Diagnostic, Span, number_of, warning
from mrdsl.core.rounding import FEASIBILITY, ROUNDING, SAME_SUM, begun, ceiling
from mrdsl.core.units import show
from mrdsl.spec.columns import Columns, Joined, column, parts_of, words
from mrdsl.spec.spec import Spec

Floats = NDArray[np.float64]

UNPRICED = "also meets it by the upper estimate"
IMPOSSIBLE = "cannot be met by any cluster"


def soft_deadline_warnings(
    spec: Spec, upper: Floats, price: Callable[[NDArray[np.bool_]], str], by: str = "average"
) -> Iterator[Diagnostic]:
    """Warn if classes without `guarantee` meet their deadline by the default but not by the upper estimate.

    Args:
        spec: The spec.
        upper: Upper estimate of each class on the slots of the plan [s], shape (classes,).
        price: Function that describes the cost of a plan in which the upper estimates of these classes, shape
            (classes,), meet the deadlines. It is not called for a user-defined objective.
        by: The estimate that classes guarantee by default.

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
        f"by the {by} estimate jobs of class {node.name} meet their deadline{more}, "
        f"but by the upper estimate they take {show(float(upper[index]), 'time')}",
        node.span_of("deadline"),
        f"`guarantee = upper` {said}; write `guarantee = {by}` to accept it",
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


def hosting_vms(map_slots: Floats, reduce_slots: Floats, map_per_vm: Floats, reduce_per_vm: Floats) -> Floats:
    """Compute the VMs that whole slots need: the slots of each kind rounded up, then their VMs.

    Args:
        map_slots: Map slots, shape (..., classes).
        reduce_slots: Reduce slots, shape (..., classes).
        map_per_vm: Map slots of one VM, shape (classes,).
        reduce_per_vm: Reduce slots of one VM, shape (classes,).

    Returns:
        VMs, shape (..., classes).
    """
    return begun(begun(map_slots) / map_per_vm) + begun(begun(reduce_slots) / reduce_per_vm)


def hosting_warnings(names: Sequence[str], needed: Floats, held: Floats, span: Span | None) -> tuple[Diagnostic, ...]:
    """Warn if whole slots of a class need more VMs than a plan has for it.

    Args:
        names: Names of the classes.
        needed: VMs for whole slots, shape (..., classes).
        held: VMs of the plan, shape (..., classes).
        span: Location of the warning.

    Returns:
        One warning with the number of cases and the worst one, or nothing.
    """
    short = needed - held
    over = np.argwhere(short > ROUNDING * np.maximum(1.0, held))
    if not len(over):
        return ()
    worst = max(over.tolist(), key=lambda cell: short[tuple(cell)])
    where = f"of class {names[worst[-1]]}" + ("" if short.ndim == 1 else f" in period {worst[0]}")
    cells = "classes" if short.ndim == 1 else "classes and periods"
    return (
        _warning(
            f"{where}, the worst of {len(over)} out of {short.size} {cells},",
            float(needed[tuple(worst)]),
            float(held[tuple(worst)]),
            span,
            "the plan counts slots in fractions: add the missing VMs to these classes",
        ),
    )


def sharing_warnings(
    needed: float, held: float, most: float | None, span: Span | None, instead: str
) -> tuple[Diagnostic, ...]:
    """Warn if whole slots of all classes need more VMs than a plan has.

    Args:
        needed: VMs for whole slots.
        held: VMs of the plan.
        most: VMs for the whole slots of all expected jobs; None if the plan has more slots than it needs.
        span: Location of the warning.
        instead: Hint for planning with whole slots.

    Returns:
        One warning, or nothing.
    """
    if needed <= held + ROUNDING * max(1.0, held):
        return ()
    enough, always = _whole(needed), None if most is None else _whole(most)
    vms = number_of(enough, "VM", ".0f")
    hint = f"these jobs need no more than {vms}; extra VMs may admit more jobs or add slots"
    if always == enough:
        hint = f"rent {vms} for them: `subject to {{ vms >= {enough:.0f} }}`"
    elif always is not None:
        hint = (
            f"these jobs need no more than {vms}, which may admit more; for all: `subject to {{ vms >= {always:.0f} }}`"
        )
    return (_warning("of all classes", needed, held, span, f"{hint}; or {instead}"),)


def _whole(vms: float) -> float:
    return float(ceiling(vms))


def _warning(where: str, needed: float, held: float, span: Span | None, hint: str) -> Diagnostic:
    message = f"the whole slots {where} need {number_of(needed, 'VM', '.10g')}, but the plan has {held:.10g}"
    return warning("slots-beyond-vms", message, span, hint)
