"""P2 over all periods in one linear program: a block for each plan, and the commitments that join them.

A block is P2 of one period, in which committed VMs cost nothing. It may use as many as are committed. A commitment is
paid in all periods. So for given commitments the blocks are independent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mrdsl.contracts.family import ArrayForm
from mrdsl.core.linear_program import Array, LinearProgram
from mrdsl.families.capacity.facts import MACHINES
from mrdsl.families.capacity.forms import as_solved
from mrdsl.families.capacity.lanes import solved_mix
from mrdsl.families.capacity.market import RESERVED
from mrdsl.families.capacity.models.arrays import decoded, program_of
from mrdsl.families.capacity.periods.demand import (
    Contract,
    commitments_of,
    horizon_of,
    periods_of,
    spec_of_period,
)
from mrdsl.families.capacity.periods.plan import PeriodsPlan
from mrdsl.families.capacity.periods.plan_building import plan_of_periods
from mrdsl.families.capacity.plan import CapacityPlan
from mrdsl.spec.spec import Spec

if TYPE_CHECKING:
    from pyomo.environ import ConcreteModel


@dataclass(frozen=True)
class Block:
    """P2 of one period: its program, the columns of committed VMs, and the plan at a point."""

    program: LinearProgram
    columns: dict[Contract, int]
    decode: Callable[[Array], CapacityPlan]


def block_of(spec: Spec, relax: bool) -> Block:
    """Return P2 of the spec of one period."""
    mix = solved_mix(spec)
    columns = {(vm, term): n for n, (vm, way, term) in enumerate(mix.market.ways) if way == RESERVED}
    if mix.wholeness != MACHINES and mix.sizes is None:
        found = program_of(mix, relax)
        return Block(found.program, columns, partial(decoded, found.pairs, relax))
    from mrdsl.families.capacity.models.linear import build_lanes, decode_lanes
    from mrdsl.solving.arrays import linear_program, load_values

    model = build_lanes(spec, relax)
    written = linear_program(model)
    assert written is not None
    program, names = written
    places = {id(variable): place for place, variable in enumerate(names.variables)}
    offers = list(model.vms.values())

    def decode(point: Array) -> CapacityPlan:
        load_values(names.variables, point)
        return decode_lanes(spec, model, relax)

    # a variable without a cost and a row is not in the program
    at = {key: places[id(offers[n])] for key, n in columns.items() if id(offers[n]) in places}
    return Block(program, at, decode)


def arrays_of_periods(spec: Spec, relax: bool) -> ArrayForm:
    """Return P2 over all periods. Columns are the commitments, then the blocks."""
    spec = as_solved(spec, relax)
    periods, horizon = periods_of(spec), horizon_of(spec)
    terms = commitments_of(spec.facts)
    blocks = [block_of(spec_of_period(spec, number), relax) for number in range(len(periods.low))]
    sizes = [len(terms), *(len(block.program.costs) for block in blocks)]
    first = np.cumsum(sizes)
    prices = np.array([term.price * horizon for term in terms.values()])
    most = np.array([float(term.available) for term in terms.values()])
    links = [
        (k, int(first[number]) + block.columns[key])
        for number, block in enumerate(blocks)
        for k, key in enumerate(terms)
        if key in block.columns
    ]
    weights = periods.weights.tolist()
    programs = [block.program for block in blocks]
    row_sizes = [np.diff(program.starts) for program in programs]
    count, linked = len(terms), len(links)
    program = LinearProgram(
        costs=_joined([prices, *(w * each.costs for w, each in zip(weights, programs, strict=True))]),
        offset=sum(w * each.offset for w, each in zip(weights, programs, strict=True)),
        maximize=False,
        lower=_joined([np.zeros(count), *(each.lower for each in programs)]),
        upper=_joined([most, *(each.upper for each in programs)]),
        integer=np.concatenate([np.full(count, not relax), *(each.integer for each in programs)]),
        starts=np.concatenate([[0], np.cumsum(np.concatenate([*row_sizes, np.full(linked, 2)]))]).astype(np.int64),
        columns=np.concatenate(
            [
                *(each.columns + first[number] for number, each in enumerate(programs)),
                np.array([(column, k) for k, column in links], dtype=np.int64).reshape(-1),
            ]
        ).astype(np.int64),
        coefficients=_joined([*(each.coefficients for each in programs), np.tile([1.0, -1.0], linked)]),
        row_lower=_joined([*(each.row_lower for each in programs), np.full(linked, -np.inf)]),
        row_upper=_joined([*(each.row_upper for each in programs), np.zeros(linked)]),
        fixed=sum(w * each.fixed for w, each in zip(weights, programs, strict=True)),
    )
    rows = sum(len(each.row_lower) for each in programs)
    return ArrayForm(
        program,
        lambda row: f"row {row} of a period" if row < rows else f"committed[{links[row - rows]}]",
        partial(_decoded, spec, tuple(terms), blocks, first, relax),
    )


def _joined(parts: list[Any]) -> NDArray[np.float64]:
    return np.concatenate([np.asarray(part, dtype=np.float64) for part in parts])


def _decoded(
    spec: Spec, terms: tuple[Contract, ...], blocks: list[Block], first: NDArray[np.int64], relax: bool, point: Array
) -> PeriodsPlan:
    committed, *parts = np.split(point, first[:-1])
    counts = np.maximum(committed, 0.0)
    if not relax:
        counts = np.rint(counts)
    plans = tuple(block.decode(part) for block, part in zip(blocks, parts, strict=True))
    return plan_of_periods(spec, dict(zip(terms, counts.tolist(), strict=True)), plans)


def model_of_periods(spec: Spec, relax: bool) -> ConcreteModel:
    """Return P2 over all periods as a Pyomo model; ``x`` has the columns of :func:`arrays_of_periods`."""
    from mrdsl.solving.arrays import of_program

    model = of_program(arrays_of_periods(spec, relax).program)
    model.name = "capacity_P2_periods"
    return model


def decode_model(spec: Spec, model: Any, relax: bool) -> PeriodsPlan:
    """Return the plan of a solution of :func:`model_of_periods`."""
    values = np.array([float(each.value or 0.0) for each in model.x.values()])
    plan: Any = arrays_of_periods(spec, relax).decode(values)
    assert isinstance(plan, PeriodsPlan)
    return plan
