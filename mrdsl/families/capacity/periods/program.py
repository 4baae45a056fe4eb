"""P2 over all periods in one linear program: a block for each plan, and the commitments that join them.

A block is P2 of one period, in which committed VMs cost nothing. It may use as many as are committed. A commitment is
paid in all periods. So for given commitments the blocks are independent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mrdsl.contracts.family import ArrayForm
from mrdsl.core.lazy import kept
from mrdsl.core.linear_program import Array, LinearProgram
from mrdsl.core.watching import look
from mrdsl.families.capacity.facts import MACHINES, CapacityFacts
from mrdsl.families.capacity.forms import as_solved
from mrdsl.families.capacity.instance import Mix, mix_of
from mrdsl.families.capacity.lanes import solved_mix
from mrdsl.families.capacity.market import ON_DEMAND, RESERVED, SPOT, Floats, Market
from mrdsl.families.capacity.models.arrays import Pairs, Written, decoded, program_of
from mrdsl.families.capacity.periods.comparisons import of_sums, rows_of_period, rows_of_sums
from mrdsl.families.capacity.periods.demand import (
    Committable,
    Contract,
    Covered,
    Prices,
    commitments_of,
    covered_types,
    periods_of,
    prices_of,
    spec_of_period,
)
from mrdsl.families.capacity.periods.plan import PeriodsPlan, plan_of_periods
from mrdsl.families.capacity.periods.table import FEE, horizon_of
from mrdsl.families.capacity.plan import CapacityPlan
from mrdsl.model.market import added_price
from mrdsl.spec.columns import words
from mrdsl.spec.schema import Range
from mrdsl.spec.spec import Spec

if TYPE_CHECKING:
    from pyomo.environ import ConcreteModel


DISK = "disk"
Links = tuple[tuple[int, float], ...]
"""Columns and coefficients, whose sum is at most what is committed."""
Offers = Mapping[tuple[str, str, str], int]
"""The columns of VMs, by type, way of buying and contract."""


@dataclass(frozen=True)
class Block:
    """P2 of one period.

    Attributes:
        program: The program.
        offers: The columns of VMs, by type, way of buying and contract.
        links: The columns that use each commitment.
        jobs: The columns of the jobs of each class.
        decode: Returns the plan at a point.
    """

    program: LinearProgram
    offers: Offers
    links: Mapping[Contract, Links]
    jobs: Mapping[str, Sequence[int]]
    decode: Callable[[Array], CapacityPlan]

    def extended(self, costs: Floats, rows: Sequence[tuple[Links, float]], links: Mapping[Contract, Links]) -> Block:
        """Return the block with more columns, of at least 0, and rows: sums of columns that are at most a number."""
        own, decode = len(self.program.costs), self.decode
        wider = self.program.with_columns(costs).with_rows(rows)
        return replace(self, program=wider, links={**self.links, **links}, decode=lambda point: decode(point[:own]))

    def compared(self, spec: Spec) -> Block:
        """Return the block with the comparisons that hold in each period."""
        rows = rows_of_period(spec, self.offers) if spec.constraints else []
        return replace(self, program=self.program.with_rows(rows)) if rows else self

    def with_savings(self, covered: Sequence[Covered]) -> Block:
        """Return the block with columns for the VMs on demand that savings plans pay for."""
        mine = [each for each in covered if (each.vm, ON_DEMAND, "") in self.offers]
        if not mine:
            return self
        first, links = len(self.program.costs), dict[Contract, Links]()
        for number, each in enumerate(mine):
            links["", each.plan] = (*links.get(("", each.plan), ()), (first + number, each.discounted))
        rows = [
            (
                (
                    *((first + n, 1.0) for n, each in enumerate(mine) if each.vm == vm),
                    (self.offers[vm, ON_DEMAND, ""], -1.0),
                ),
                0.0,
            )
            for vm in dict.fromkeys(each.vm for each in mine)
        ]
        return self.extended(np.array([-each.price for each in mine]), rows, links)


def _block(program: LinearProgram, offers: Offers, jobs: Mapping[str, Sequence[int]], decode: Any) -> Block:
    links = {(vm, term): ((column, 1.0),) for (vm, way, term), column in offers.items() if way == RESERVED}
    return Block(program, offers, links, jobs, decode)


def _jobs_of(pairs: Pairs) -> dict[str, Sequence[int]]:
    return {
        name: (pairs.first + np.flatnonzero(pairs.of_class == index)).tolist()
        for index, name in enumerate(pairs.mix.names)
    }


@dataclass(frozen=True)
class Alike:
    """P2 of one period, of which the blocks of all periods are copies with other numbers of jobs and other prices."""

    spec: Spec
    written: Written
    admitted: NDArray[np.int64]
    relax: bool

    @property
    def facts(self) -> CapacityFacts:
        """The facts of the spec."""
        facts: CapacityFacts = self.spec.facts
        return facts

    @cached_property
    def jobs(self) -> dict[str, Sequence[int]]:
        """The columns of the jobs of each class."""
        return _jobs_of(self.written.pairs)

    def block(self, low: Floats, expected: Floats, prices: Prices) -> Block:
        """Return the block for prices and numbers of jobs, which may be fractions."""
        pairs, program = self.written.pairs, self.written.program
        market = self._market(prices)
        mix = replace(pairs.mix, low=low, expected=expected, market=market)
        if len(mix.own):
            shown = self._shown(tuple((expected > 1.0).tolist()))
            mix = replace(mix, own=shown.own, pairs=replace(mix.pairs, estimates=shown.pairs.estimates))
        costs = program.costs
        if prices:
            costs = np.concatenate([market.prices, costs[len(market.offers) :]])
        ends, upper = [pairs.first, pairs.first_spare, pairs.first_used], program.upper.copy()
        upper[ends[0] : ends[1]] = expected[pairs.of_class]
        upper[ends[1] : ends[2]] = pairs.spare.most * expected[pairs.spare.of_class]
        row_lower, row_upper = program.row_lower.copy(), program.row_upper.copy()
        row_lower[self.admitted], row_upper[self.admitted] = low, expected
        changed = replace(
            program,
            costs=costs,
            offset=float(mix.penalty @ expected),
            upper=upper,
            row_lower=row_lower,
            row_upper=row_upper,
            fixed=market.of_masters if prices else program.fixed,
        )
        offers = {way: number for number, way in enumerate(mix.market.ways)}
        decode = partial(decoded, replace(pairs, mix=mix), self.relax)
        block = _block(changed, offers, self.jobs, decode)
        return block.with_savings(covered_types(self.facts, prices)).compared(self.spec)

    def _shown(self, several: tuple[bool, ...]) -> Mix:
        """Return the mix with the bounds of classes of ``several`` jobs at most, and of others."""
        first = spec_of_period(self.spec, 0)
        jobs = [Range(0.0, 2.0 if each else 1.0) for each in several]
        classes = tuple(replace(node, jobs=each) for node, each in zip(first.facts.classes, jobs, strict=True))
        return kept(
            self.facts, f"shown {several}", lambda: mix_of(replace(first, facts=replace(first.facts, classes=classes)))
        )

    def _market(self, prices: Prices) -> Market:
        market = self.written.pairs.mix.market
        if not prices:
            return market
        offers = []
        for offer, (vm, way, _) in zip(market.offers, market.ways, strict=True):
            price, fee = prices.get((vm, way)), prices.get((vm, FEE))
            if price is not None or fee is not None:
                price = self._own[vm, way] if price is None else price
                fee = self._own[vm, FEE] if fee is None else fee
                offer = replace(offer, price=(price + fee + self._own[vm, DISK]) * self.facts.period)
            offers.append(offer)
        return replace(market, offers=tuple(offers))

    @cached_property
    def _own(self) -> dict[tuple[str, str], float]:
        """The prices of the spec by VM type: each way of renting, where contracts are paid already, fee and disk."""
        found = {}
        for vm in self.facts.vms:
            found[vm.name, ON_DEMAND], found[vm.name, RESERVED] = vm.on_demand.price, 0.0
            found[vm.name, SPOT] = vm.spot.price if vm.spot is not None else 0.0
            found[vm.name, FEE], found[vm.name, DISK] = vm.fee, added_price(vm) - vm.fee
        return found


def alike_blocks(spec: Spec, relax: bool, bound: bool = False) -> Alike | None:
    """Return the block that all periods share; None if it differs by more than the numbers of jobs and prices.

    With prices of periods no lane is left out: another one may be cheaper in each.
    """
    first = spec_of_period(spec, 0)
    mix = mix_of(first) if prices_of(spec, 0) else solved_mix(first)
    if mix.wholeness == MACHINES or mix.sizes is not None or mix.together.any():
        return None
    several = periods_of(spec).expected > 1.0
    bound_by = np.isin(words(first.facts.classes, "guarantee"), ("average", "upper")) & (mix.stages == 0)
    if len(mix.own) and (bound_by & several.any(axis=0) & ~several.all(axis=0)).any():
        return None  # one job and several ones have other bounds
    mix = replace(mix, expected=periods_of(spec).expected.max(axis=0))  # slots beyond the fewest grow with the jobs
    written = program_of(mix, relax, bound)
    rows = [number for number, name in enumerate(written.names) if name.startswith("admitted[")]
    return Alike(spec, written, np.array(rows, dtype=np.int64), relax)


def block_of(spec: Spec, relax: bool, bound: bool = False) -> Block:
    """Return P2 of the spec of one period, without savings plans."""
    mix = solved_mix(spec)
    numbers = {way: number for number, way in enumerate(mix.market.ways)}
    if mix.wholeness != MACHINES and mix.sizes is None:
        found = program_of(mix, relax, bound)
        return _block(found.program, numbers, _jobs_of(found.pairs), partial(decoded, found.pairs, relax))
    from mrdsl.families.capacity.models.linear import build_lanes, decode_lanes
    from mrdsl.families.capacity.models.patterns import BOUND
    from mrdsl.solving.arrays import linear_program, load_values

    model = build_lanes(spec, relax, BOUND if bound else "")
    written = linear_program(model)
    assert written is not None
    program, names = written
    places = {id(variable): place for place, variable in enumerate(names.variables)}
    offers = list(model.vms.values())

    def decode(point: Array) -> CapacityPlan:
        load_values(names.variables, point)
        return decode_lanes(spec, model, relax)

    # a variable without a cost and a row is not in the program
    at = {way: places[id(offers[n])] for way, n in numbers.items() if id(offers[n]) in places}
    jobs: dict[str, list[int]] = {name: [] for name in mix.names}
    for (name, *_), variable in model.jobs.items():
        if id(variable) in places:
            jobs[name].append(places[id(variable)])
    return _block(program, at, jobs, decode)


def blocks_of(spec: Spec, relax: bool, bound: bool = False) -> list[Block]:
    """Return the blocks of all different periods."""
    periods, alike = periods_of(spec), alike_blocks(spec, relax, bound)
    priced = [(number, prices_of(spec, number)) for number in range(len(periods.low))]
    if alike is None:
        blocks = []
        for number, prices in priced:
            look()
            block = block_of(spec_of_period(spec, number), relax, bound)
            blocks.append(block.with_savings(covered_types(spec.facts, prices)).compared(spec))
        return blocks
    return [alike.block(periods.low[number], periods.expected[number], prices) for number, prices in priced]


LARGE = 10_000
"""From this number of columns, the periods are planned one by one for commitments of groups of periods."""


def is_large(spec: Spec) -> bool:
    """Return True if P2 over all periods is too large for a solver, its blocks differ only in numbers of jobs, and no
    comparison joins them.
    """
    if of_sums(spec):
        return False
    alike = alike_blocks(spec, False)
    return alike is not None and len(periods_of(spec).low) * len(alike.written.program.costs) > LARGE


def arrays_of_periods(spec: Spec, relax: bool, bound: bool = False) -> ArrayForm:
    """Return P2 over all periods, or its ``bound`` on plans of any slots: the commitments, then the blocks."""
    spec = as_solved(spec, relax)
    terms, blocks = commitments_of(spec.facts), blocks_of(spec, relax, bound)
    weights = periods_of(spec).weights
    program, first = joined(blocks, weights, terms, horizon_of(spec), relax)
    if of_sums(spec):
        program = program.with_rows(rows_of_sums(spec, _sums(spec, program, first, blocks, weights)))
    return ArrayForm(program, lambda row: f"row {row}", partial(_decoded, spec, tuple(terms), blocks, first, relax))


def joined(
    blocks: Sequence[Block], weights: Floats, terms: Mapping[Contract, Committable], horizon: float, relax: bool
) -> tuple[LinearProgram, NDArray[np.int64]]:
    """Return the program of all blocks, joined by the commitments, and the first column of each block.

    Args:
        blocks: P2 of each period.
        weights: How often each occurs, shape (blocks,).
        terms: The contracts that can be committed.
        horizon: The time that commitments are paid for [s].
        relax: Numbers of committed VMs may be fractions.
    """
    count, programs = len(terms), [block.program for block in blocks]
    first = np.cumsum([count, *(len(program.costs) for program in programs)])
    links = [
        [*((int(first[number]) + column, factor) for column, factor in block.links[key]), (k, -1.0)]
        for number, block in enumerate(blocks)
        for k, key in enumerate(terms)
        if key in block.links
    ]
    entries = [entry for row in links for entry in row]
    prices = np.array([term.price * horizon for term in terms.values()])
    most = np.array([term.available for term in terms.values()])
    scaled = list(zip(weights.tolist(), programs, strict=True))
    sizes = [*(np.diff(program.starts) for program in programs), np.array([len(row) for row in links], dtype=np.int64)]
    whole = np.array([term.whole and not relax for term in terms.values()], dtype=bool)
    program = LinearProgram(
        costs=_of([prices, *(weight * each.costs for weight, each in scaled)]),
        offset=sum(weight * each.offset for weight, each in scaled),
        maximize=False,
        lower=_of([np.zeros(count), *(each.lower for each in programs)]),
        upper=_of([most, *(each.upper for each in programs)]),
        integer=np.concatenate([whole, *(each.integer for each in programs)]),
        starts=np.concatenate([[0], np.cumsum(np.concatenate(sizes))]).astype(np.int64),
        columns=np.concatenate(
            [
                *(each.columns + first[number] for number, each in enumerate(programs)),
                np.array([column for column, _ in entries], dtype=np.int64),
            ]
        ).astype(np.int64),
        coefficients=_of([*(each.coefficients for each in programs), np.array([factor for _, factor in entries])]),
        row_lower=_of([*(each.row_lower for each in programs), np.full(len(links), -np.inf)]),
        row_upper=_of([*(each.row_upper for each in programs), np.zeros(len(links))]),
        fixed=sum(weight * each.fixed for weight, each in scaled),
    )
    return program, first


def _sums(
    spec: Spec, program: LinearProgram, first: NDArray[np.int64], blocks: Sequence[Block], weights: Floats
) -> dict[tuple[str, str], tuple[dict[int, float], float]]:
    """Return the columns of `cost`, `cost(TYPE)` and `admitted(c)` over all periods, and their constant parts."""
    of_types: dict[str, dict[int, float]] = {vm.name: {} for vm in spec.facts.vms}
    of_classes: dict[str, dict[int, float]] = {name: {} for name in blocks[0].jobs}
    for number, (vm, _) in enumerate(commitments_of(spec.facts)):
        if vm:
            of_types[vm][number] = float(program.costs[number])
    for start, block, weight in zip(first.tolist(), blocks, weights.tolist(), strict=False):
        for (vm, _, _), column in block.offers.items():
            of_types[vm][start + column] = float(program.costs[start + column])
        for name, columns in block.jobs.items():
            of_classes[name].update((start + column, weight) for column in columns)
    sums = {("cost", name): (columns, 0.0) for name, columns in of_types.items()}
    sums.update({("admitted", name): (columns, 0.0) for name, columns in of_classes.items()})
    return {**sums, ("cost", ""): (dict(enumerate(program.costs.tolist())), float(program.offset))}


def _of(parts: list[Any]) -> Floats:
    return np.concatenate([np.asarray(part, dtype=np.float64) for part in parts])


def _decoded(
    spec: Spec, terms: tuple[Contract, ...], blocks: list[Block], first: NDArray[np.int64], relax: bool, point: Array
) -> PeriodsPlan:
    committed, *parts = np.split(point, first[:-1])
    counts = np.maximum(committed, 0.0)
    if not relax:
        whole = np.array([term.whole for term in commitments_of(spec.facts).values()], dtype=bool)
        counts = np.where(whole, np.rint(counts), counts)
    plans = tuple(block.decode(part) for block, part in zip(blocks, parts, strict=True))
    return plan_of_periods(spec, dict(zip(terms, counts.tolist(), strict=True)), plans)


def model_of_periods(spec: Spec, relax: bool) -> ConcreteModel:
    """Return P2 over all periods as a Pyomo model; ``x`` has the columns of :func:`arrays_of_periods`."""
    from mrdsl.solving.arrays import of_program

    model = of_program(arrays_of_periods(spec, relax).program)
    model.name = "capacity_P2_periods"
    model.has_comparisons = True
    return model


def decode_model(spec: Spec, model: Any, relax: bool) -> PeriodsPlan:
    """Return the plan of a solution of :func:`model_of_periods`."""
    values = np.array([float(each.value or 0.0) for each in model.x.values()])
    plan: Any = arrays_of_periods(spec, relax).decode(values)
    assert isinstance(plan, PeriodsPlan)
    return plan
