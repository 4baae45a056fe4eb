"""``direct`` over many periods: commitments from groups of alike periods, then each period for these commitments.

The cost of a relaxed period is convex in its numbers of jobs and in the commitments. So the periods of a group cost at
least as much as its mean, as often: the relaxation over means bounds the cost of all plans. If prices change, each
group has the least prices of its periods, at which no plan costs more. The relaxation also has the numbers of
VMs to commit to. For these, the periods are independent: each is solved among the types that its relaxation uses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mrdsl.contracts.pipeline import Draft
from mrdsl.core.diagnostics import MrdslError, error
from mrdsl.core.linear_program import Array, LinearProgram
from mrdsl.core.result import Limits, Result, Termination
from mrdsl.core.rounding import ceiling
from mrdsl.core.watching import LateError, look, stopped_by
from mrdsl.families.capacity.lanes import SpareSlots
from mrdsl.families.capacity.market import Floats
from mrdsl.families.capacity.methods.period_blocks import among, rounded, with_commitments, without_solver
from mrdsl.families.capacity.periods.comparisons import of_sums
from mrdsl.families.capacity.periods.demand import (
    Committable,
    Contract,
    Prices,
    commitments_of,
    periods_of,
    prices_of,
)
from mrdsl.families.capacity.periods.packing import finished
from mrdsl.families.capacity.periods.plan import plan_of_periods
from mrdsl.families.capacity.periods.program import Alike, Block, alike_blocks, joined
from mrdsl.families.capacity.periods.table import horizon_of, prices_by_period
from mrdsl.solving import registry
from mrdsl.solving.processes import is_kept
from mrdsl.solving.programs import Optimum, UnsolvedError, optima, optimum
from mrdsl.spec.spec import Spec

GROUPS = 120
"""Groups of periods."""
BATCH = 400
"""Periods that one request to the solver has."""
GAP = 1e-3
"""The relative gap of one period."""


def plan_periods(draft: Draft) -> Draft:
    """Plan a spec with a demand; a spec of one period is left to the steps that follow.

    After a Ctrl-C or the time limit, the periods that are left get a plan without a solver.

    Raises MrdslError if classes share no VMs, have containers, or have ``types = one``.
    """
    spec = draft.spec
    if spec.facts.demand is None:
        return draft
    alike = None if draft.relax else alike_blocks(spec, False)
    if alike is None:
        what = "a relaxation over periods" if draft.relax else "periods of containers, whole machines or `types = one`"
        hint = "solve with --solver highs"
        raise MrdslError([error("unable-solver", f"direct does not solve {what}", spec.facts.demand.span, hint)])
    if of_sums(spec):
        what = "direct plans each period alone, and this comparison joins all periods"
        raise MrdslError([error("unable-solver", what, of_sums(spec)[0].span, "solve with --solver highs")])
    registry.require(registry.find(registry.EMBEDDED))
    limits = replace(draft.limits, time=draft.seconds_left())
    bound, counts, ended = None, dict.fromkeys(commitments_of(spec.facts), 0.0), None
    try:
        found = _bounded(spec, alike, commitments_of(spec.facts), limits)
        if found is None:
            return replace(draft, termination=Termination.INFEASIBLE)
        bound, counts = found
    except UnsolvedError:
        if not draft.is_late():
            return replace(draft, termination=Termination.COMPLETED)
        ended = Termination.TIME_LIMIT
    except KeyboardInterrupt:
        ended = _interrupted()
    for up in (False, True):  # comparisons such as `share(reserved) >= 20%` can need more than the nearest number
        committed = _whole_counts(spec, counts, up)
        solved, ended = _each_solved(draft, alike, committed, ended)
        if solved is not None or ended is not None:
            break
    if solved is None:
        return replace(draft, bound=bound, termination=ended or draft.termination)
    masters = [block.program.fixed for block, _ in solved]
    plan = plan_of_periods(spec, committed, tuple(block.decode(point) for block, point in solved))
    without = None
    try:
        without = _bounded(spec, alike, {}, limits) if ended is None else None
    except UnsolvedError:
        pass
    except KeyboardInterrupt:
        ended = _interrupted()
    plan = replace(plan, without=np.nan if without is None else without[0], at_least=True)
    fixed = float(periods_of(spec).weights @ np.array(masters))
    result = Result(ended or Termination.COMPLETED, plan=plan, value=plan.total, bound=bound, fixed=fixed)
    try:
        done = finished(spec, False, draft.limits, result)
    except KeyboardInterrupt:
        with stopped_by(None):
            done = finished(spec, False, draft.limits, replace(result, termination=_interrupted()))
    return replace(
        draft,
        plan=done.plan,
        value=done.value,
        bound=done.bound,
        fixed=done.fixed,
        termination=done.termination,
        diagnostics=(*draft.diagnostics, *done.diagnostics),
    )


def _whole_counts(spec: Spec, counts: Mapping[Contract, float], up: bool) -> dict[Contract, float]:
    """Return the nearest whole numbers of VMs to commit to, or the next larger ones."""
    terms = commitments_of(spec.facts)
    return {
        key: count if not terms[key].whole else float(ceiling(count) if up else np.floor(count + 0.5))
        for key, count in counts.items()
    }


def _interrupted() -> Termination:
    """Return the termination after a Ctrl-C, or raise KeyboardInterrupt if the best plan so far is not wanted."""
    if not is_kept():
        raise KeyboardInterrupt
    return Termination.INTERRUPTED


def _each_solved(
    draft: Draft, alike: Alike, committed: Mapping[Contract, float], ended: Termination | None
) -> tuple[list[tuple[Block, Array]] | None, Termination | None]:
    """Return the blocks of all periods and their solutions, None if one has none; and what ended the search early."""
    found: list[tuple[Block, Array]] = []
    for part in _batches(len(periods_of(draft.spec).low)):
        limits, solved = replace(draft.limits, time=draft.seconds_left()), None
        try:
            if ended is None and not draft.is_late():
                solved = _solved(draft.spec, alike, part, committed, limits)
        except LateError:
            ended = Termination.TIME_LIMIT
        except KeyboardInterrupt:
            ended = _interrupted()
        if solved is None and ended is None and draft.is_late():
            ended = Termination.TIME_LIMIT
        if solved is None and ended is not None:
            solved = without_solver(draft.spec, alike, part, committed)
        if solved is None:
            return None, ended
        found += solved
    return found, ended


def _batches(count: int) -> list[range]:
    return [range(start, min(start + BATCH, count)) for start in range(0, count, BATCH)]


def groups_of(spec: Spec, most: int = GROUPS) -> tuple[Floats, Floats, Floats, list[Prices]]:
    """Return the mean least and expected jobs of groups of alike periods, the weights of the groups, and prices.

    A group has periods of nearly the same jobs and prices: the group with the largest spread is halved at its mean
    until there are enough. Its prices are the least of its periods.
    """
    periods, by_period = periods_of(spec), prices_by_period(spec)
    weights, expected = periods.weights, periods.expected
    prices = np.array([each[periods.first] for each in by_period.values()]).reshape(len(by_period), len(weights)).T
    jobs = np.hstack([expected, prices])
    size = np.concatenate([np.maximum(expected.max(axis=0), 1.0), np.maximum(prices.max(axis=0), 1e-12)])
    groups: list[NDArray[np.int64]] = [np.arange(len(jobs))]
    spreads = [_spread(jobs[groups[0]] / size)]
    while len(groups) < min(most, len(jobs)):
        widest = max(range(len(groups)), key=lambda number: spreads[number][0])
        if spreads[widest][0] <= 0.0:
            break
        mine = groups[widest]
        along = jobs[mine, spreads[widest][1]]
        left = along <= along.mean()
        groups[widest], new = mine[left], mine[~left]
        groups.append(new)
        spreads[widest], added = (_spread(jobs[each] / size) for each in (groups[widest], new))
        spreads.append(added)
    heavy = np.array([weights[each].sum() for each in groups])
    means = [
        np.array([weights[each] @ values[each] / weights[each].sum() for each in groups])
        for values in (periods.low, expected)
    ]
    least: list[Prices] = []
    for each in groups:
        least.append(dict(zip(by_period, prices[each].min(axis=0).tolist(), strict=True)))
    return means[0], means[1], heavy, least


def _spread(jobs: Floats) -> tuple[float, int]:
    """Return the largest sum of squared distances from the mean of a class, and the class."""
    total = ((jobs - jobs.mean(axis=0)) ** 2).sum(axis=0)
    index = int(total.argmax())
    return float(total[index]), index


def _bounded(
    spec: Spec, alike: Alike, terms: Mapping[Contract, Committable], limits: Limits
) -> tuple[float, dict[Contract, float]] | None:
    """Return a bound on the cost of all periods, and the VMs to commit to; None if there is no plan.

    Only ``terms`` can be committed to.
    """
    low, expected, weights, prices = groups_of(spec)
    every = commitments_of(spec.facts)
    blocks = [_relaxed(_held(alike.block(*jobs), every, terms)) for jobs in zip(low, expected, prices, strict=True)]
    program, _ = joined(blocks, weights, {key: every[key] for key in terms}, horizon_of(spec), True)
    found = optimum(program, limits)
    if found is None:
        return None
    return found.value, dict(zip(terms, np.maximum(found.values[: len(terms)], 0.0).tolist(), strict=True))


def _relaxed(block: Block) -> Block:
    return replace(block, program=_in_fractions(block.program))


def _in_fractions(program: LinearProgram) -> LinearProgram:
    return replace(program, integer=np.zeros_like(program.integer))


def _held(block: Block, every: Mapping[Contract, Committable], terms: Mapping[Contract, Committable]) -> Block:
    """Return the block without committed VMs of other contracts."""
    if len(every) == len(terms):
        return block
    upper = block.program.upper.copy()
    unused = [column for key in every if key not in terms for column, _ in block.links.get(key, ())]
    upper[unused] = 0.0
    return replace(block, program=replace(block.program, upper=upper))


def _solved(
    spec: Spec, alike: Alike, numbers: range, committed: Mapping[Contract, float], limits: Limits
) -> list[tuple[Block, Array]] | None:
    """Return the blocks of periods with given commitments, and their whole solutions; None if one has none.

    The objective of each contains the cost of the commitments, so that gaps are relative to the whole cost.
    """
    periods, terms = periods_of(spec), commitments_of(spec.facts)
    limits = replace(limits, gap=limits.gap or GAP)
    paid = spec.facts.period * sum(terms[key].price * count for key, count in committed.items())
    blocks = [
        with_commitments(alike.block(periods.low[n], periods.expected[n], prices_of(spec, n)), committed, paid)
        for n in numbers
    ]
    relaxed = optima([_in_fractions(block.program) for block in blocks], limits)
    pairs = alike.written.pairs
    more_slots = SpareSlots(pairs.mix) if len(pairs.spare) else None
    points = [
        rounded(alike, block.program, found, limits.gap or GAP, more_slots) if isinstance(found, Optimum) else None
        for block, found in zip(blocks, relaxed, strict=True)
    ]
    left = [number for number, point in enumerate(points) if point is None]
    few = [among(alike, blocks[number].program, relaxed[number]) for number in left]
    for number, found in zip(left, optima(few, limits), strict=True):
        best = found if isinstance(found, Optimum) else _whole(blocks[number].program, limits)
        points[number] = None if best is None else best.values
    solved = [(block, point) for block, point in zip(blocks, points, strict=True) if point is not None]
    return solved if len(solved) == len(blocks) else None


def _whole(program: LinearProgram, limits: Limits) -> Optimum | None:
    look()
    try:
        return optimum(program, limits)
    except UnsolvedError:
        return None
