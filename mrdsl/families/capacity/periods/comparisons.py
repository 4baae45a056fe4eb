"""`subject to` over several periods: comparisons in each period, and those of sums over all periods."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product

from mrdsl.contracts.plan_expressions import SECOND
from mrdsl.core.diagnostics import Diagnostic, error
from mrdsl.core.linear_program import Entries
from mrdsl.families.capacity.constraints import class_bounds_of
from mrdsl.families.capacity.facts import LARGEST, CapacityFacts
from mrdsl.spec.columns import column, names_of
from mrdsl.spec.expression import Linear, quantities_in, terms_of
from mrdsl.spec.spec import Constraint, Spec, pieces

SUMS = ("cost", "admitted")
"""Quantities that are sums over all periods."""

Columns = Mapping[int, float]
"""Factors by column."""
Row = tuple[Entries, float]
"""Columns and factors, whose sum is at most a number."""


def _mentioned(constraint: Constraint) -> set[str]:
    return {each.name for side in (constraint.left, constraint.right) for each in quantities_in(side)}


def of_sums(spec: Spec) -> tuple[Constraint, ...]:
    """Return the comparisons of sums over all periods."""
    return tuple(each for each in spec.constraints if not _mentioned(each).isdisjoint(SUMS))


def of_each_period(spec: Spec) -> tuple[Constraint, ...]:
    """Return the comparisons that hold in each period."""
    return tuple(each for each in spec.constraints if _mentioned(each).isdisjoint(SUMS))


def check_comparisons(spec: Spec) -> Iterator[Diagnostic]:
    """Yield comparisons that do not apply to several periods, or have no linear form."""
    others = class_bounds_of(spec).others
    for each in spec.constraints:
        names = _mentioned(each)
        text = f"`{each.text or each.comparison}`"
        if "on_time" in names:
            hint = "write `guarantee = upper` in the class, or remove `demand`"
            yield error("several-periods", f"{text} requires a spec of one period, without `demand`", each.span, hint)
        elif "completion" in names and each in others:
            hint = "write completion(CLASS) <= TIME"
            yield error("several-periods", f"{text} is not a limit of one class in each period", each.span, hint)
        elif names & set(SUMS) and names - set(SUMS):
            message = f"{text} compares a sum over all periods with {min(names - set(SUMS))}, which differs by period"
            hint = "compare `cost` and `admitted` with numbers, and limit each period in another comparison"
            yield error("several-periods", message, each.span, hint)
        elif reason := _not_linear(each):
            hint = "compare sums of quantities, or shares with numbers"
            yield error("several-periods", f"{text} has no linear form: {reason}", each.span, hint)


def _not_linear(constraint: Constraint) -> str:
    """Return the reason why a comparison has no linear form, or an empty text."""
    try:
        forms = list(_at_most_zero([constraint]))
    except ValueError as problem:
        return str(problem)
    for form in forms:
        names = {name for (name, _), factor in form.factors.items() if factor}
        if "share" in names and len(names) > 1:
            return "it adds shares to other quantities"
    return ""


def _at_most_zero(constraints: Iterable[Constraint]) -> Iterator[Linear]:
    """Yield linear functions of quantities that are at most 0 if the comparisons hold."""
    for each in constraints:
        for left, right, comparison in pieces(each):
            form = terms_of(left) - terms_of(right)
            if comparison != ">=":
                yield form
            if comparison != "<=":
                yield -form


def rows_of_period(spec: Spec, offers: Mapping[tuple[str, str, str], int]) -> list[Row]:
    """Return the rows of the comparisons in each period.

    Args:
        spec: The spec, of one period or of several.
        offers: The columns of VMs, by type, way of buying and contract.
    """
    own = class_bounds_of(spec).others
    facts: CapacityFacts = spec.facts
    cores = dict(zip(names_of(facts.vms), column(facts.vms, "cores", missing=0.0).tolist(), strict=True))
    every = dict.fromkeys(offers.values(), 1.0)

    def choices(name: str, argument: str) -> list[Columns]:
        """Return the columns of a quantity; of the largest of all types, those of each type."""
        if name == "vms":
            return [{at: 1.0 for (vm, _, _), at in offers.items() if argument in ("", vm)}]
        way, _, chosen = argument.partition(SECOND)
        by_type = defaultdict[str, dict[int, float]](dict)
        for (vm, how, _), at in offers.items():
            if how == way and chosen in ("", LARGEST, vm):
                by_type[vm if chosen == LARGEST else ""][at] = cores[vm] if name == "cores" else 1.0
        return list(by_type.values()) or [{}]

    rows = []
    for form in _at_most_zero(each for each in of_each_period(spec) if each in own):
        of_shares = any(name == "share" for name, _ in form.factors)
        for chosen in product(*(choices(*key) for key in form.factors)):
            parts = list(zip(form.factors.values(), chosen, strict=True))
            if of_shares:  # sum of parts - limit * all VMs <= 0
                parts.append((form.constant, every))
            rows.append(_row(parts, 0.0 if of_shares else -form.constant))
    return rows


def rows_of_sums(spec: Spec, sums: Mapping[tuple[str, str], tuple[Columns, float]]) -> list[Row]:
    """Return the rows of the comparisons of sums.

    Args:
        spec: The spec.
        sums: The columns and the constant part of each quantity.
    """
    rows = []
    for form in _at_most_zero(of_sums(spec)):
        parts = [(factor, sums[key][0]) for key, factor in form.factors.items()]
        constant = form.constant + sum(factor * sums[key][1] for key, factor in form.factors.items())
        rows.append(_row(parts, -constant))
    return rows


def _row(parts: Sequence[tuple[float, Columns]], most: float) -> Row:
    total = defaultdict[int, float](float)
    for factor, columns in parts:
        for at, each in columns.items():
            total[at] += factor * each
    entries = tuple((at, value) for at, value in total.items() if value)
    return (entries, most) if entries or most >= 0.0 else (((0, 1.0),), most)  # which no column from 0 keeps
