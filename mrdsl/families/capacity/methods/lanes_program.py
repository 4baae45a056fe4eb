"""Whole jobs and VMs on a few lanes by one integer program: what single moves of jobs do not find.

The lanes are some of those that there are, so that the program is small; its optimum is no bound for all of them.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.linear_program import LinearProgram
from mrdsl.families.capacity.market import Floats
from mrdsl.families.capacity.methods.lane_prices import Task
from mrdsl.families.capacity.mix import Mix, of_lanes
from mrdsl.families.capacity.models.mixed_arrays import program_of

Flags = NDArray[np.bool_]
MOST_PAIRS = 600
"""Pairs of lanes and classes of a program: with more, whole VMs and jobs matter little beside all of them."""
GAP, NODES = 5e-3, 20
"""How near to the optimum on the lanes is near enough, and how many nodes are looked at: but for a time limit no clock
decides."""
LEAST_TIME = 0.01


def is_small(task: Task, lanes: Flags) -> bool:
    """Whether a program of these lanes is looked at."""
    return int(task.mix.possible[lanes].sum()) <= MOST_PAIRS


def improved(
    task: Task, jobs: Floats, pairs: Flags, until: float | None = None, nodes: int = NODES
) -> tuple[Floats, float]:
    """Find whole jobs on some pairs of lanes and classes, the cheapest, and what such jobs cost at the least.

    ``jobs`` themselves, which run there, where none are found. A class that stays on one type stays on the one where it
    is, unless all pairs are there. Where a part of a class may be on spot, jobs on other slots may cost less: no bound
    is known. What is found ``until`` then, on the monotonic clock.
    """
    mix, used = task.mix, np.flatnonzero(pairs.any(axis=1) | (task.market.masters_of_lane > 0.0))
    part = _part(task, jobs, pairs, used)
    if bool((~part.possible.any(axis=0) & (task.low > 0.0)).any()):
        return jobs, -np.inf
    written = program_of(part, relax=False)
    found, bound = _solved(written.program, until, nodes)
    other_slots = bool((mix.possible & mix.market.spot[:, None] & (mix.spot_share < 1.0)).any())
    if other_slots or (task.same_type and bool((mix.together & ~part.together).any())):
        bound = -np.inf
    if found is None:
        return jobs, bound
    columns = written.pairs
    better = np.zeros_like(jobs)
    better[used[columns.of_lane], columns.of_class] = np.rint(found[columns.first : columns.first + len(columns.gamma)])
    over = any(task.spare.vms(index, better[:, index]) is None for index in task.spare.entries)
    return jobs if over else better, bound


def _part(task: Task, jobs: Floats, pairs: Flags, used: NDArray[np.int64]) -> Mix:
    """The mix on some pairs, with the bounds of the task; classes that stay on one type may run on theirs alone."""
    mix, market = task.mix, task.market
    gamma = np.where(pairs, mix.gamma, np.inf)
    together = mix.together & (task.same_type and bool((pairs == mix.possible).all()))
    if task.same_type and mix.together.any() and not together.any():
        mine = np.zeros((len(market.names), len(mix)), dtype=bool)
        np.logical_or.at(mine, market.vm_of_lane, jobs > 0.0)
        gamma = np.where(mine[market.vm_of_lane] | ~mix.together, gamma, np.inf)
    bounds = replace(market, available=task.available)
    return of_lanes(replace(mix, market=bounds, gamma=gamma, low=task.low, expected=task.high, together=together), used)


def _solved(program: LinearProgram, until: float | None, nodes: int) -> tuple[Floats | None, float]:
    """Values of the columns, None where there are none, and a bound. The gap is of the whole goal, its constant part
    included."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array

    shape = len(program.row_lower), len(program.costs) + 1
    rows = csr_array((program.coefficients, program.columns, program.starts), shape=shape)
    time_limit = {} if until is None else {"time_limit": max(until - time.monotonic(), LEAST_TIME)}
    found = milp(
        np.append(program.costs, 1.0),
        constraints=LinearConstraint(rows, program.row_lower, program.row_upper),
        integrality=np.append(program.integer, False).astype(int),
        bounds=Bounds(np.append(program.lower, program.offset), np.append(program.upper, program.offset)),
        options={"mip_rel_gap": GAP, "node_limit": nodes, **time_limit},
    )
    bound = -np.inf if found.mip_dual_bound is None else float(found.mip_dual_bound)
    return None if found.x is None else np.asarray(found.x), bound
