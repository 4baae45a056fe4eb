"""The values nearest to an equality's at which a spec has a plan: one that is smaller, and one that is larger."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from math import isfinite

from mrdsl.explaining.oracle import Oracle
from mrdsl.explaining.promises import FARTHEST, Line, moved
from mrdsl.explaining.repair import Change, change_of
from mrdsl.explaining.space import boundary
from mrdsl.families.diagnosis import find_family
from mrdsl.spec.expression import Constant, Expression, value_of
from mrdsl.spec.spec import Constraint, Spec


def is_equality(spec: Spec, line: Line) -> bool:
    """Whether a promise says that something of the plan equals a number."""
    if line.constraint is None or spec.constraints[line.constraint].comparison != "=":
        return False
    each = spec.constraints[line.constraint]
    return isinstance(each.left, Constant) or isinstance(each.right, Constant)


def nearest_met(spec: Spec, line: Line, oracle: Oracle) -> Iterator[Change]:
    """The nearest value below and above, where there is one: what a plan has in the least range that has a plan.

    Ranges grow until one has a plan and are halved again, so each value is the nearest to within 1 % of the change.
    Each is verified by solving the spec with it in place of the equality's.
    """
    assert line.constraint is not None
    each = spec.constraints[line.constraint]
    body = each.right if isinstance(each.left, Constant) else each.left
    scale = abs(line.value) or 1.0
    for direction, most in ((-1, 1.0 if line.value > 0.0 else FARTHEST), (1, FARTHEST)):
        within = partial(_within, spec, line, body, direction * scale)
        edge = boundary(partial(_has_plan, oracle, within), most)
        best = None if edge is None else oracle.best(within(edge[1]))
        measure = find_family(spec).quantity
        if best is None or best.plan is None or measure is None:
            continue
        found = value_of(body, partial(measure, spec, best.plan))
        for value in (float(f"{found:.6g}"), found) if isfinite(found) else ():
            if value != line.value and oracle.has_plan(moved(spec, {line: value})):
                yield change_of(spec, line, value)
                break


def _has_plan(oracle: Oracle, within: Callable[[float], Spec], by: float) -> bool:
    return oracle.has_plan(within(by))


def _within(spec: Spec, line: Line, body: Expression, reach: float, by: float) -> Spec:
    """The spec with the equality as a range, from its value to one that is ``by`` times ``reach`` away."""
    ends = sorted((line.value, line.value + reach * by))
    rows = (Constraint(body, ">=", Constant(ends[0])), Constraint(body, "<=", Constant(ends[1])))
    others = [each for at, each in enumerate(spec.constraints) if at != line.constraint]
    return replace(spec, constraints=(*others, *rows))
