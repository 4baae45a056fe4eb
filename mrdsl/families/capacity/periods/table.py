"""The demand of a capacity spec as it is written: a table, a typical day, or the same in each period."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.diagnostics import Diagnostic
from mrdsl.core.lazy import kept
from mrdsl.core.rounding import ceiling
from mrdsl.exchange.demand import COLUMN, PERCENT, PRICE, Wanted, columns_of, read_demand, unscaled_columns
from mrdsl.families.capacity.facts import CapacityFacts, VmType
from mrdsl.formulas.workloads import typical_demand
from mrdsl.simulation.sampling import stream
from mrdsl.spec.columns import column, names_of
from mrdsl.spec.rented import BIMODAL
from mrdsl.spec.spec import Spec

Floats = NDArray[np.float64]
FACTOR, WEIGHT = "factor", "weight"
"""Columns of the table: the part of `jobs` of every class without a column, and how often the row occurs."""
PRICED = ON_DEMAND, SPOT, FEE = ("on_demand", "spot", "fee")
"""Second words of columns of prices, such as ``m5 spot``. A fee in percent is that of the period's price on demand."""


@dataclass(frozen=True)
class Written:
    """A table of the demand; NaN without a column.

    Attributes:
        jobs: Jobs, shape (periods, classes).
        factor: Part of `jobs`, shape (periods, 1).
        weight: How often a row occurs, shape (periods,).
        prices: Prices on demand and on spot, and fees, by column [money/s].
    """

    jobs: Floats
    factor: Floats
    weight: Floats
    prices: Mapping[str, Floats]


def prices_by_period(spec: Spec) -> Mapping[tuple[str, str], Floats]:
    """Return the prices and fees that the table has, by VM type and second word, each of the shape (periods,)."""
    return kept(spec, "prices by period", lambda: _prices_by_period(spec))


def _prices_by_period(spec: Spec) -> Mapping[tuple[str, str], Floats]:
    demand = spec.facts.demand
    if demand is None or demand.from_ is None:
        return {}
    prices = read_table(spec)[0].prices
    return {(vm, way): prices[f"{vm} {way}"] for vm, way in _priced(spec.facts) if f"{vm} {way}" in prices}


def mean_prices(spec: Spec) -> dict[str, float]:
    """Return the mean price on demand over all periods of each type that has a column of it [money/s]."""
    priced = {vm: prices for (vm, way), prices in prices_by_period(spec).items() if way == ON_DEMAND}
    if not priced:
        return {}
    weights = np.nan_to_num(read_table(spec)[0].weight, nan=1.0)
    return {vm: float(prices @ weights / weights.sum()) for vm, prices in priced.items() if weights.sum() > 0.0}


def _priced(facts: CapacityFacts) -> list[tuple[str, str]]:
    return [(name, way) for name in names_of(facts.vms) for way in PRICED]


def with_prices_of(spec: Spec, period: int) -> Spec:
    """Return the spec with the prices of a period, counted from 0, in its VM types."""
    prices = prices_by_period(spec)
    if not prices:
        return spec

    def of(vm: VmType) -> VmType:
        now = {way: float(prices[vm.name, way][period]) for way in PRICED if (vm.name, way) in prices}
        if ON_DEMAND in now:
            vm = replace(vm, on_demand=replace(vm.on_demand, price=now[ON_DEMAND]))
        if FEE in now:
            vm = replace(vm, fee=now[FEE])
        return vm if vm.spot is None or SPOT not in now else replace(vm, spot=replace(vm.spot, price=now[SPOT]))

    return replace(spec, facts=replace(spec.facts, vms=tuple(of(vm) for vm in spec.facts.vms)))


def demand_of(spec: Spec) -> tuple[Floats, Floats, Floats]:
    """Return the least and the expected jobs, both (periods, classes), and the weights of the periods.

    Jobs are whole, and both ends are rounded up, so that no part of a job is left out.
    """
    return kept(spec, "demand", lambda: _demand_of(spec))


def _demand_of(spec: Spec) -> tuple[Floats, Floats, Floats]:
    facts: CapacityFacts = spec.facts
    demand = facts.demand
    assert demand is not None
    low, high = column(facts.classes, "jobs.low"), column(facts.classes, "jobs.high")
    weight = np.ones(demand.periods)
    if demand.from_ is not None:
        table, _ = read_table(spec)
        expected = np.where(np.isnan(table.jobs), high * np.nan_to_num(table.factor, nan=1.0), table.jobs)
        weight = np.where(np.isnan(table.weight), 1.0, table.weight)
    elif demand.day == BIMODAL:
        draw = stream(spec.seed or 0, "bimodal day")
        units, zero = [each.name for each in facts.classes], np.zeros(len(high))
        expected = high * typical_demand(draw, units, zero, demand.periods, facts.period, demand.noise)
    else:
        expected = np.tile(high, (demand.periods, 1))
    share = low / high if demand.floor is None else np.full(len(high), demand.floor)
    return ceiling(expected * share), ceiling(expected), weight


def read_table(spec: Spec) -> tuple[Written, tuple[Diagnostic, ...]]:
    """Return the table and its errors."""
    facts: CapacityFacts = spec.facts
    demand = facts.demand
    assert demand is not None
    source = demand.from_
    assert source is not None
    names = {node.name for node in facts.classes}
    shown = str(Path(spec.file).parent / source.written)
    beside = [Wanted(COLUMN, "" if name in names else name, None, optional=True) for name in (FACTOR, WEIGHT)]
    units = columns_of(source, shown)
    ways = {f"{vm} {way}": way for vm, way in _priced(facts)}
    priced = sorted(ways.keys() & units.keys() - names)
    currency = spec.currency
    beside += [Wanted(PRICE, each, None, optional=True, currency=currency, share=ways[each] == FEE) for each in priced]
    classes = len(facts.classes)

    def read(optional: bool) -> tuple[Written, tuple[Diagnostic, ...]]:
        wanted = [Wanted("class", node.name, node.span, optional) for node in facts.classes]
        table, told = read_demand(source, [*wanted, *beside], demand.periods, demand.span_of("periods"), shown)
        prices = dict(zip(priced, table[:, classes + 2 :].T, strict=True))
        for vm in facts.vms:
            if (units.get(f"{vm.name} {FEE}") or "").strip() == PERCENT and f"{vm.name} {FEE}" in prices:
                prices[f"{vm.name} {FEE}"] *= prices.get(f"{vm.name} {ON_DEMAND}", vm.on_demand.price)
        told += tuple(unscaled_columns(source, [*wanted, *beside], spec.given, shown))
        return Written(table[:, :classes], table[:, classes : classes + 1], table[:, classes + 1], prices), told

    table, told = read(optional=True)
    return (table, told) if not np.isnan(table.factor).all() else read(optional=False)


def horizon_of(spec: Spec) -> float:
    """Return the time of all periods together [s]."""
    facts: CapacityFacts = spec.facts
    return float(facts.period * demand_of(spec)[2].sum())
