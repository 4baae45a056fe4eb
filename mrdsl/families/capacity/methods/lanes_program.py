"""Whole jobs and VMs on a few lanes by one integer program: what single moves of jobs do not find.

The lanes are some of those that there are, so that the program is small; its optimum is no bound for all of them.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.linear_program import LinearProgram
from mrdsl.core.tolerances import ROUNDING
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


def improved(task: Task, jobs: Floats, lanes: Flags, until: float | None = None) -> Floats:
    """Whole jobs on some lanes, the cheapest that are found; ``jobs`` itself, which run there, where there are none.

    A class that stays on one type stays on the one where it is. What is found ``until`` then, on the monotonic clock.
    """
    mix, used = task.mix, np.flatnonzero(lanes | (task.market.masters_of_lane > 0.0))
    written = program_of(_part(task, jobs, used), relax=False)
    found = _solved(written.program, until)
    if found is None:
        return jobs
    pairs = written.pairs
    better = np.zeros_like(jobs)
    better[used[pairs.of_lane], pairs.of_class] = np.rint(found[pairs.first : pairs.first + len(pairs.gamma)])
    vms = np.where(mix.possible, mix.gamma, 0.0) * better
    total = vms.sum(axis=0)
    over = vms[mix.market.spot].sum(axis=0) > mix.spot_share * total + ROUNDING * np.maximum(1.0, total)
    return jobs if over.any() else better


def _part(task: Task, jobs: Floats, used: NDArray[np.int64]) -> Mix:
    """The mix on some lanes, with the bounds of the task; classes that stay on one type may run on theirs alone."""
    mix, market = task.mix, task.market
    gamma = mix.gamma
    if task.same_type and mix.together.any():
        mine = np.zeros((len(market.names), len(mix)), dtype=bool)
        np.logical_or.at(mine, market.vm_of_lane, jobs > 0.0)
        gamma = np.where(mine[market.vm_of_lane] | ~mix.together, gamma, np.inf)
    bounds = replace(market, available=task.available)
    free = np.zeros_like(mix.together)
    return of_lanes(replace(mix, market=bounds, gamma=gamma, low=task.low, expected=task.high, together=free), used)


def _solved(program: LinearProgram, until: float | None) -> Floats | None:
    """Values of the columns; None where there are none. The gap is of the whole goal, its constant part included."""
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
        options={"mip_rel_gap": GAP, "node_limit": NODES, **time_limit},
    )
    return None if found.x is None else np.asarray(found.x)
