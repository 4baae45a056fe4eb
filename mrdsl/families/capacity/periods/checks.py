"""Checks of the demand of a capacity spec: its table, its weights, and parts of a spec that require one period."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

import numpy as np

from mrdsl.contracts.plan_expressions import is_own
from mrdsl.core.diagnostics import Diagnostic, did_you_mean, error, has_errors, warning
from mrdsl.families.capacity.constraints import percentiles_of
from mrdsl.families.capacity.facts import CapacityFacts
from mrdsl.families.capacity.periods.comparisons import check_comparisons
from mrdsl.families.capacity.periods.demand import periods_of, rented, spec_of_period, types_of
from mrdsl.families.capacity.periods.table import FACTOR, SPOT, WEIGHT, Written, demand_of, read_table
from mrdsl.families.capacity.type_checks import find_impossible_types
from mrdsl.spec.rented import check_demand
from mrdsl.spec.spec import Spec

MOST_PERIODS = 110_000
"""Periods of a plan: a year of five minutes has 105,120."""
MOST_CELLS = 2_000_000
"""Periods times classes of a plan."""
MOST_LOOKED_AT = 50
"""Different periods whose shortages of VMs are found without a solver."""


def check_periods(spec: Spec, sound: bool) -> Iterator[Diagnostic]:
    """Yield parts of the spec that require one period, and mistakes of the demand, and of its table if all is sound."""
    facts: CapacityFacts = spec.facts
    demand = facts.demand
    assert demand is not None
    found = [*check_demand(demand, spec.seed), *_too_many(facts), *_of_one_period(spec)]
    yield from found
    if has_errors(found) or not sound:
        return
    if demand.from_ is not None:
        table, told = read_table(spec)
        yield from told
        if has_errors(told):
            return
        yield from _weights(facts, table.weight)
        yield from _prices(facts, table)
    if not demand_of(spec)[1].any():
        yield warning(
            "unused",
            "no class has jobs in any period",
            demand.span,
            f"check the columns of the table, such as `{FACTOR}`",
        )


def check_savings(facts: CapacityFacts) -> Iterator[Diagnostic]:
    """Yield mistakes of savings plans: without a demand, of unknown types, in conflict with others, without effect."""
    types = [vm.name for vm in facts.vms]
    for node in facts.savings_plans:
        if facts.demand is None:
            yield error(
                "missing-block",
                f"savings plan {node.name} requires the demand for which it is paid",
                node.span,
                'add `demand { periods = 24, from = "day.csv" }`',
            )
        named = [(name, node.span_of("types")) for name in node.types] + [(each.name, each.span) for each in node.on]
        for name, place in named:
            if name not in types:
                yield error("unknown-name", f"unknown VM type `{name}`", place, did_you_mean(name, types, "VM types: "))
        for on in node.on:
            if node.types and on.name in types and on.name not in node.types:
                yield warning(
                    "unused",
                    f"`on {on.name}` has no effect: savings plan {node.name} is for other types",
                    on.span,
                    f"add `{on.name}` to `types`, or remove it",
                )
        if node.available == 0.0:
            hint = "write the most money per time to commit, or leave `available` out for any amount"
            message = f"savings plan {node.name} has no effect: it may commit no money"
            yield warning("unused", message, node.span_of("available"), hint)
        if node.discount == 0.0 and not any(each.discount for each in node.on):
            yield warning(
                "reserved-not-cheaper",
                f"savings plan {node.name} has no discount: it does not pay",
                node.span_of("discount"),
                "write its discount, such as `discount = 28%`",
            )
    yield from _overlapping(facts)


def _overlapping(facts: CapacityFacts) -> Iterator[Diagnostic]:
    """Yield savings plans that share VM types in a way that makes the bill depend on more than their money.

    The narrower of two plans pays first. That order is the cheapest one if all its types are those of the wider plan,
    which has one discount for them, and a discount that is not larger.
    """
    plans = sorted(facts.savings_plans, key=lambda each: len(types_of(facts, each)))
    for first, second in combinations(plans, 2):
        mine, theirs = types_of(facts, first), types_of(facts, second)
        shared = [name for name in mine if name in theirs]
        rates = [{on.name: on.discount for on in each.on} for each in (first, second)]
        offs = [
            [own.get(name, each.discount) for name in shared] for own, each in zip(rates, (first, second), strict=True)
        ]
        if not shared:
            continue
        if len(shared) < len(mine):
            what = (
                f"savings plans {first.name} and {second.name} share VM type {shared[0]}, and each has other types too"
            )
            hint = "list all types of one of them in the other, or every type in one of them"
        elif len(set(offs[1])) > 1 or min(offs[0]) < offs[1][0]:
            what = f"savings plan {second.name} pays after {first.name} for {shared[0]}, and its discounts are "
            what += "larger" if min(offs[0]) < max(offs[1]) else f"not the same on the types of {first.name}"
            hint = f"write one discount of {second.name} for the types of {first.name}, at most {100 * min(offs[0]):g}%"
        else:
            continue
        yield error("duplicate", what, second.span_of("types"), hint)


def _too_many(facts: CapacityFacts) -> Iterator[Diagnostic]:
    assert facts.demand is not None
    classes = len(facts.classes)
    most = max(1, min(MOST_PERIODS, MOST_CELLS // max(1, classes)))
    if facts.demand.periods > most:
        yield error(
            "too-many-periods",
            f"{facts.demand.periods} periods of {classes} classes are more than the {most} that a plan may have",
            facts.demand.span_of("periods"),
            f"plan typical periods, and add a column `{WEIGHT}` with how often each occurs",
        )


def _of_one_period(spec: Spec) -> Iterator[Diagnostic]:
    """Yield an error for each part of the spec that has no meaning over several periods."""
    facts: CapacityFacts = spec.facts

    def refused(what: str, place: object, hint: str) -> Diagnostic:
        return error("several-periods", f"{what} requires a spec of one period, without `demand`", place, hint)  # type: ignore[arg-type]

    if facts.observed is not None:
        yield refused("`observed`", facts.observed.span, "remove `observed`, or remove `demand`")
    yield from check_comparisons(spec)
    for index in percentiles_of(facts):
        place = facts.classes[index].span_of("guarantee")
        yield refused("a guarantee of runs", place, "write `guarantee = upper`, or remove `demand`")
    if is_own(spec.goal):
        hint = "write `minimize cost`, and the price of using a VM in its `fee`"
        yield refused("a user-defined objective", spec.goal and spec.goal.span, hint)


def _weights(facts: CapacityFacts, weight: np.ndarray) -> Iterator[Diagnostic]:
    assert facts.demand is not None
    if (weight == 0.0).any():
        row = int(np.argmax(weight == 0.0))
        yield error(
            "out-of-range",
            f"the weight of period {row + 1} is 0, so it never occurs",
            facts.demand.span_of("from_"),
            "remove the row, or write how often it occurs",
        )


def _prices(facts: CapacityFacts, table: Written) -> Iterator[Diagnostic]:
    """Yield columns of spot prices of VM types that are not on spot."""
    assert facts.demand is not None
    for vm in facts.vms:
        if vm.spot is None and f"{vm.name} {SPOT}" in table.prices:
            yield error(
                "missing-block",
                f"the table has spot prices of vm {vm.name}, which has no `spot`",
                facts.demand.span_of("from_"),
                f"add spot {{ price = ..., interruptions = ... }} to vm {vm.name}, or remove the column",
            )


def find_impossible_periods(spec: Spec) -> Iterator[Diagnostic]:
    """Yield deadlines that no slots meet, and shortages of VMs in a period, each once."""
    periods = periods_of(spec)
    seen: set[tuple[str, object]] = set()
    if len(periods.low) <= MOST_LOOKED_AT:
        specs = [spec_of_period(spec, number) for number in range(len(periods.low))]
    else:
        specs = [_with_least(spec, periods.low[int(periods.low.sum(axis=1).argmax())])]
        specs.append(_with_least(spec, periods.low.max(axis=0), alone=True))
    for each in specs:
        for told in find_impossible_types(each):
            if (told.code, told.span) not in seen:
                seen.add((told.code, told.span))
                yield told


def _with_least(spec: Spec, low: np.ndarray, alone: bool = False) -> Spec:
    """Return the spec of one period with these least jobs; ``alone``: at most one of each class."""
    base = rented(spec)
    least = np.minimum(low, 1.0) if alone else low
    classes = tuple(
        replace(node, jobs=replace(node.jobs, low=float(few), high=max(float(few), 1.0)))
        for node, few in zip(base.facts.classes, least, strict=True)
    )
    return replace(base, facts=replace(base.facts, classes=classes))
