"""Plans of single periods for given commitments: near a relaxed solution, or without a solver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.linear_program import Array, LinearProgram
from mrdsl.core.rounding import FEASIBILITY, ceiling
from mrdsl.families.capacity.lanes import SpareSlots
from mrdsl.families.capacity.models.arrays import Pairs
from mrdsl.families.capacity.periods.demand import Contract, periods_of, prices_of
from mrdsl.families.capacity.periods.program import Alike, Block
from mrdsl.solving.programs import Optimum, UnsolvedError
from mrdsl.spec.spec import Spec

DEAR = 1e300
"""The price of lanes without VMs that are not limited."""


def with_commitments(block: Block, committed: Mapping[Contract, float], paid: float) -> Block:
    """Return the block with these commitments, which cost ``paid`` in the period."""
    rows = [(entries, committed[key]) for key, entries in block.links.items() if key in committed]
    held = block.extended(np.zeros(0), [row for row in rows if len(row[0]) > 1 or row[0][0][1] != 1.0], {})
    upper = held.program.upper.copy()
    for entries, most in rows:
        if len(entries) == 1 and entries[0][1] == 1.0:
            upper[entries[0][0]] = most
    return replace(held, program=replace(held.program, upper=upper, offset=held.program.offset + paid))


def rounded(
    alike: Alike, program: LinearProgram, found: Optimum, gap: float, more_slots: SpareSlots | None
) -> Array | None:
    """Return whole jobs near a relaxed solution on the VMs that they take; None if they cost more than the gap.

    Of the jobs of each class in several lanes, those with the largest fractions are rounded up. If a part of the class
    may be spot, firm jobs are rounded up first in a second try, and firm jobs get the slots that the share requires.
    """
    pairs = alike.written.pairs
    part = found.values[pairs.first : pairs.first_spare]
    left = np.floor(part + FEASIBILITY) - part
    spot = pairs.mix.market.spot[pairs.of_lane]
    orders = [np.argsort(left, kind="stable")]
    if more_slots is not None:
        orders.append(np.lexsort((left, spot)))
    points = [_bought(alike, program, _rounded_jobs(pairs, part, order), more_slots) for order in orders]
    best = min((each for each in points if each is not None), key=program.objective, default=None)
    if best is None or program.objective(best) > found.value + gap * abs(found.value):
        return None
    return best if program.violation(best)[0] <= FEASIBILITY else None


def _rounded_jobs(pairs: Pairs, part: Array, order: NDArray[np.int64]) -> Array:
    """Return whole jobs of each pair; the first of each class in an order are rounded up to the class's jobs."""
    jobs = np.floor(part + FEASIBILITY)
    missing = np.rint(np.bincount(pairs.of_class, part - jobs, minlength=len(pairs.mix))).astype(np.int64)
    for index in np.flatnonzero(missing > 0).tolist():
        jobs[order[pairs.of_class[order] == index][: missing[index]]] += 1.0
    return jobs


def _bought(alike: Alike, program: LinearProgram, jobs: Array, more_slots: SpareSlots | None) -> Array | None:
    """Return the jobs, the slots that shares on spot require beside them, and the cheapest VMs for both.

    Return None if no number of slots is enough.
    """
    pairs, market = alike.written.pairs, alike.written.pairs.mix.market
    more = np.zeros(len(program.costs) - pairs.first_spare)
    taken = np.bincount(pairs.of_lane, pairs.gamma * jobs, minlength=len(market.lanes)) + market.masters_of_lane
    if more_slots is not None:
        placed = np.zeros_like(pairs.mix.gamma)
        placed[pairs.of_lane, pairs.of_class] = jobs
        for index in more_slots.entries:
            counted = more_slots.counts(index, placed[:, index])
            if counted is None:
                return None
            more[counted[0]] = counted[1]
        parts = pairs.spare.part * more[: len(pairs.spare)]
        taken = taken + np.bincount(pairs.spare.of_lane, parts, minlength=len(market.lanes))
    lacking = ceiling(taken)
    bought = np.zeros(pairs.first)
    for offer in np.argsort(program.costs[: pairs.first], kind="stable").tolist():
        lane = market.lane_of_offer[offer]
        bought[offer] = min(lacking[lane], program.upper[offer])
        lacking[lane] -= bought[offer]
    return np.concatenate([bought, jobs, more])


def among(alike: Alike, program: LinearProgram, found: Optimum | UnsolvedError | None) -> LinearProgram:
    """Return the program with jobs only in the lanes that its relaxation uses."""
    if not isinstance(found, Optimum):
        return program
    pairs, upper = alike.written.pairs, program.upper.copy()
    unused = pairs.first + np.flatnonzero(found.values[pairs.first : pairs.first_spare] <= FEASIBILITY)
    upper[unused] = 0.0
    return replace(program, upper=upper)


def without_solver(
    spec: Spec, alike: Alike, numbers: range, committed: Mapping[Contract, float]
) -> list[tuple[Block, Array]] | None:
    """Return the blocks of periods with each class in its cheapest lane; None if that breaks a limit in one.

    A class has its expected jobs there if they are worth their VMs, and otherwise its least jobs. A class of which a
    part may be on spot is on firm VMs.
    """
    periods, pairs = periods_of(spec), alike.written.pairs
    market, firm_only = pairs.mix.market, pairs.mix.spot_share[pairs.of_class] < 1.0
    allowed = ~(firm_only & market.spot[pairs.of_lane])
    found = []
    for n in numbers:
        block = with_commitments(alike.block(periods.low[n], periods.expected[n], prices_of(spec, n)), committed, 0.0)
        program = block.program
        unlimited = np.isinf(program.upper[: pairs.first])
        prices = np.full(len(market.lanes), DEAR)
        np.minimum.at(prices, market.lane_of_offer[unlimited], program.costs[: pairs.first][unlimited])
        costs = np.where(allowed, pairs.gamma * prices[pairs.of_lane], np.inf)
        tries = []
        for worth in (pairs.mix.worth, np.full(len(pairs.mix), -np.inf)):
            jobs = np.zeros(len(costs))
            for index in range(len(pairs.mix)):
                mine = np.flatnonzero(pairs.of_class == index)
                if len(mine):
                    best = mine[int(costs[mine].argmin())]
                    pays = costs[best] <= worth[index]
                    jobs[best] = periods.expected[n, index] if pays else periods.low[n, index]
            tries.append(_bought(alike, program, jobs, None))
        kept = [each for each in tries if each is not None and program.violation(each)[0] <= FEASIBILITY]
        if not kept:
            return None
        found.append((block, min(kept, key=program.objective)))
    return found
