"""What ``subject to`` asks of single classes, read as bounds, and what remains for a solver."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mrdsl.contracts.own_goals import Aim
from mrdsl.core.diagnostics import MrdslError, error
from mrdsl.spec.comparisons import Bound, bounds_in
from mrdsl.spec.expression import quantities_in
from mrdsl.spec.spec import Constraint, Spec

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from mrdsl.core.source import Span
    from mrdsl.families.capacity.facts import JobClass


@dataclass(frozen=True)
class ClassBounds:
    """The comparisons of ``subject to``: ``bounds`` on single classes, and the ``others``."""

    bounds: tuple[Bound, ...]
    others: tuple[Constraint, ...]

    def tighten(
        self, names: Sequence[str], quantity: str, values: NDArray[np.float64], *, at_most: bool
    ) -> NDArray[np.float64]:
        """``values``, one per class, tightened by the bounds on ``quantity`` from above or from below."""
        comparisons = ("<=", "=") if at_most else (">=", "=")
        bounds = [b for b in self.bounds if b.quantity == quantity and b.comparison in comparisons]
        if not bounds:
            return values
        places = {name: index for index, name in enumerate(names)}
        tightened = values.copy()
        for bound in bounds:
            index = places[bound.name]
            tightened[index] = (min if at_most else max)(float(tightened[index]), bound.value)
        return tightened


def class_bounds_of(spec: Spec) -> ClassBounds:
    """Splits ``subject to``: bounds on ``admitted(c)`` and upper bounds on ``completion(c)`` are of a class's own."""
    bounds: list[Bound] = []
    others: list[Constraint] = []
    for constraint in spec.constraints:
        parts = bounds_in(constraint)
        known = [bound for bound in parts if bound is not None and _is_own(bound)]
        if len(known) == len(parts) and not isinstance(constraint, Aim):
            bounds.extend(known)
        else:
            others.append(constraint)
    return ClassBounds(tuple(bounds), tuple(others))


def limit_of_time(spec: Spec, node: JobClass, limit: float) -> tuple[Span | None, str]:
    """The line that limits the time of a class to ``limit``, and how it begins: the deadline, or what is tighter."""
    if limit != node.deadline:
        for constraint in spec.constraints:
            for bound in class_bounds_of(replace(spec, constraints=(constraint,))).bounds:
                if (bound.quantity, bound.name, bound.value) == ("completion", node.name, limit):
                    return constraint.span, f"completion({node.name}) <="
    return node.span_of("deadline"), "deadline ="


def quotas_in(constraints: Sequence[Constraint]) -> tuple[dict[str, float], tuple[Constraint, ...]]:
    """The comparisons that bound the VMs of one type from above, as its quota; and the others."""
    quotas: dict[str, float] = {}
    others: list[Constraint] = []
    for constraint in constraints:
        found = bounds_in(constraint)
        known = [bound for bound in found if bound is not None and _is_quota(bound)]
        if len(known) < len(found) or isinstance(constraint, Aim):
            others.append(constraint)
            continue
        for bound in known:
            quotas[bound.name] = min(bound.value, quotas.get(bound.name, bound.value))
    return quotas, tuple(others)


def refuse_completion(spec: Spec, formulation: str) -> None:
    """Refuses comparisons that need completion times as variables; only P0 and P1 have those.

    Raises MrdslError with one diagnostic per comparison.
    """
    refusals = [
        error(
            "needs-formulation",
            f"{formulation} fixes completion times by Theorem 4.1 and cannot compare them freely",
            constraint.span,
            "write completion(CLASS) <= TIME, or solve with --formulation P0 --solver scip",
        )
        for constraint in _on_completion(spec)
    ]
    if refusals:
        raise MrdslError(refusals)


def compares_completion(spec: Spec) -> bool:
    """Whether ``subject to`` asks more of completion times than a tighter deadline of one class."""
    return bool(_on_completion(spec))


def _on_completion(spec: Spec) -> list[Constraint]:
    return [
        constraint
        for constraint in class_bounds_of(spec).others
        if any(
            quantity.name == "completion"
            for quantity in (*quantities_in(constraint.left), *quantities_in(constraint.right))
        )
    ]


def _is_own(bound: Bound) -> bool:
    return bound.quantity == "admitted" or (bound.quantity == "completion" and bound.comparison == "<=")


def _is_quota(bound: Bound) -> bool:
    return bound.quantity == "vms" and bool(bound.name) and bound.comparison == "<="
