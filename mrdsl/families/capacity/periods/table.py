"""The demand of a capacity spec as it is written: a table, a typical day, or the same in each period."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.diagnostics import Diagnostic
from mrdsl.core.lazy import kept
from mrdsl.core.rounding import ceiling
from mrdsl.exchange.demand import COLUMN, Wanted, read_demand
from mrdsl.families.capacity.facts import CapacityFacts
from mrdsl.formulas.workloads import typical_demand
from mrdsl.simulation.sampling import stream
from mrdsl.spec.columns import column
from mrdsl.spec.demand import BIMODAL
from mrdsl.spec.spec import Spec

Floats = NDArray[np.float64]
FACTOR, WEIGHT = "factor", "weight"
"""Columns of the table: the part of `jobs` of every class without a column, and how often the row occurs."""


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
        jobs, factor, written = table[:, :-2], table[:, -2:-1], table[:, -1]
        expected = np.where(np.isnan(jobs), high * np.nan_to_num(factor, nan=1.0), jobs)
        weight = np.where(np.isnan(written), 1.0, written)
    elif demand.day == BIMODAL:
        draw = stream(spec.seed or 0, "bimodal day")
        zero = np.zeros(len(high))
        expected = high * typical_demand(draw, zero, demand.periods, facts.period, demand.noise)
    else:
        expected = np.tile(high, (demand.periods, 1))
    share = low / high if demand.floor is None else np.full(len(high), demand.floor)
    return ceiling(expected * share), ceiling(expected), weight


def read_table(spec: Spec) -> tuple[Floats, tuple[Diagnostic, ...]]:
    """Return the table as (periods, classes and factor and weight), NaN without a column, and its errors."""
    facts: CapacityFacts = spec.facts
    demand = facts.demand
    assert demand is not None
    source = demand.from_
    assert source is not None
    names = {node.name for node in facts.classes}
    shown = str(Path(spec.file).parent / source.written)
    beside = [Wanted(COLUMN, "" if name in names else name, None, optional=True) for name in (FACTOR, WEIGHT)]

    def read(optional: bool) -> tuple[Floats, tuple[Diagnostic, ...]]:
        wanted = [Wanted("class", node.name, node.span, optional) for node in facts.classes]
        return read_demand(source, [*wanted, *beside], demand.periods, demand.span_of("periods"), shown)

    table, told = read(optional=True)
    return (table, told) if not np.isnan(table[:, -2]).all() else read(optional=False)


def horizon_of(spec: Spec) -> float:
    """Return the time of all periods together [s]."""
    facts: CapacityFacts = spec.facts
    return float(facts.period * demand_of(spec)[2].sum())
