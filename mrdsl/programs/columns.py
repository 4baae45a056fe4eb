"""The relaxation of a rental program by prices: a bound on every plan, and the columns that matter.

**Theorem.** Take any prices of resources by lane, of types, quotas, data, parts on spot and comparisons, none below 0.
Let an offer cost its price and those of its rows, less the prices of the resources of its lane. Let a job cost what its
slots take at the prices of its lane, and its row of the part on spot. If no offer of unlimited number costs less than
0, every plan costs at least the sum of

- the constant, the resources of masters, and the least data, less the limits of all other rows, at their prices,
- for each offer of limited number that costs less than 0, that cost times its number,
- for each class, the least of ``(cost of its cheapest job - worth + prices of comparisons) n`` over its jobs ``n``.

**Proof.** Add to the cost of a plan each row's left side less its limit, times its price: the plan keeps the rows, so
this adds nothing above 0. Sum by column. Each job costs at least the cheapest one of its class, and each number of VMs
at least the least value of its offer. QED (Geoffrion 1974, *Lagrangean relaxation for integer programming*). Other
constraints, as packing or one type for a class, only remove plans.

If a class may have a part on spot, its firm jobs can hold slots beyond a pair. A slot whose price is below 0 then
counts as often as a job can hold it: a linear function of the slots of a job is least at an end. Such a class has a
firm job if it has jobs, which is a row too.

The prices are the duals of a linear program over some columns, and columns that cost less than the program pays for
their class are added (Gilmore and Gomory 1961, *A linear programming approach to the cutting-stock problem*).
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from mrdsl.core.rounding import ROUNDING, SAME_SUM
from mrdsl.programs.rent import Column, Master
from mrdsl.programs.renting import Floats, Places, Renting
from mrdsl.solving.backends.growing import Solved

FIRST, MORE = 6, 4
"""Lanes in which each class begins, and new ones of a class in a round."""
ROUNDS, NEAR = 60, 2e-5
"""Most rounds, and the relative distance of the bound from the program at which they end."""
PRICED = 1e-12
"""A lane whose resources cost less in all has no price of its own in the program."""


@dataclass(frozen=True)
class Relaxation:
    """The bound at the best prices, and the cost of a job there.

    Attributes:
        bound: What every plan costs at least.
        value: The optimum in fractions of the program over its columns.
        costs: Least cost of one job, (lanes, classes).
        resources: Prices of resources by lane, (resources, lanes).
        of_classes: The cost of the cheapest job of each class.
        of_spot: Price of the part on spot of each class, and what a firm job saves, (2, classes).
        lacking: Jobs that lack in the program's optimum.
    """

    bound: float
    value: float
    costs: Floats
    resources: Floats
    of_classes: Floats
    of_spot: Floats
    lacking: float


def relaxed(master: Master, gap: float = NEAR, until: float | None = None) -> Relaxation:
    """Add columns until the bound meets the program, or until there is no more time."""
    first_columns(master)
    none = np.zeros(len(master.program.costs)), np.zeros(len(master.program.row_lower))
    best = bounded(master, Solved(np.inf, *none, none[0]))
    for _ in range(ROUNDS):
        solved = master.program.relaxed(None if until is None else until - time.monotonic())
        if solved is None:
            break
        found = bounded(master, solved)
        if found.bound > best.bound:
            best = found
        best = replace(best, value=found.value, lacking=found.lacking)
        if found.value - best.bound <= gap * abs(best.bound) + ROUNDING:
            break
        if not master.add_jobs(_cheaper(master, found, solved)):
            break
    return best


def lacks(renting: Renting, until: float | None = None) -> float:
    """Return a bound on the jobs that lack in every plan, at no cost of VMs: above 0 if there is no plan."""
    free = np.zeros(len(renting.prices))
    without_costs = replace(renting, prices=free, worth=np.zeros(len(renting.low)), constant=0.0)
    return relaxed(Master(without_costs), until=until).bound


def first_columns(master: Master) -> None:
    """Add the jobs of each class in its cheapest lanes, on the pairs that take least at some weights."""
    renting = master.renting
    cheapest = np.full(len(renting.kind), np.inf)
    np.minimum.at(cheapest, renting.offer_lane, renting.prices)
    of_kind = np.full(len(renting.lane_of_kind), np.inf)
    np.minimum.at(of_kind, renting.kind, cheapest)
    with np.errstate(invalid="ignore"):
        costs = np.where(np.isfinite(renting.least), np.maximum(of_kind, PRICED)[:, None] * renting.least, np.inf)
    costs = (
        costs.max(axis=0)[renting.kind]
        * (np.maximum(cheapest, PRICED) / np.maximum(of_kind, PRICED)[renting.kind])[:, None]
    )
    costs = np.where(renting.possible & (renting.high > 0.0), costs, np.inf)
    master.add_jobs(
        (lane, index, pair)
        for lane, index in _cheapest_lanes(costs, FIRST)
        for pair in best_pairs(master, lane, index, renting.weights).tolist()
    )


def best_pairs(master: Master, lane: int, index: int, weights: Floats) -> Places:
    """Return the pairs of a class that take least at some weights of resources, (weights, resources)."""
    takes = master.renting.choices_of(int(master.renting.kind[lane]), index).takes
    return np.unique((takes @ weights.T).argmin(axis=0))


def _cheapest_lanes(costs: Floats, most: int) -> list[tuple[int, int]]:
    """Return lanes and classes: those of each class that cost least, of finite costs."""
    most = min(most, len(costs))
    lanes = np.argpartition(costs, most - 1, axis=0)[:most]
    there = np.isfinite(np.take_along_axis(costs, lanes, axis=0))
    places, classes = np.nonzero(there)
    return list(zip(lanes[places, classes].tolist(), classes.tolist(), strict=True))


def bounded(master: Master, solved: Solved) -> Relaxation:
    """Return the bound at the duals of a solution."""
    renting = master.renting
    above, below = np.maximum(solved.duals, 0.0), np.maximum(-solved.duals, 0.0)
    of_types = np.zeros(len(renting.available))
    of_types[renting.limited_types] = below[master.type_row]
    of_quotas, of_rows, of_data = below[master.quota_row], below[master.comparison_row], above[master.stored_row]
    lane = renting.offer_lane
    offers = renting.prices + of_types[renting.vm_of_lane[lane]] + (of_quotas @ renting.cores)[lane]
    jobs = np.zeros(len(renting.low))
    constant = renting.constant - float(below[master.type_row] @ renting.available[renting.limited_types])
    constant -= float(of_quotas @ renting.core_limits)
    for price, each in zip(of_rows.tolist(), renting.comparisons, strict=True):
        offers, jobs, constant = offers + price * each.vms, jobs + price * each.jobs, constant - price * each.most
    for price in of_data.tolist():
        offers, constant = offers - price * renting.stored[lane], constant + price * renting.stored_least
    of_spot = np.zeros((2, len(renting.low)))
    of_spot[0, renting.spots.limited] = below[master.spot_row]
    of_spot[1, renting.spots.limited] = above[master.firm_row]
    constant += float(of_spot[1] @ renting.has_firm_jobs)
    jobs = jobs + of_spot[1] * renting.firm_jobs_of_one
    resources = _prices_of_lanes(master, below[master.lane_rows], offers, above[master.class_row])
    total = resources.sum(axis=0)
    left = offers - total[lane]
    constant += float(total @ renting.masters) + float(
        (np.minimum(left, 0.0) * np.where(left < 0.0, master.upper, 0.0)).sum()
    )
    costs = costs_of_jobs(master, resources, of_spot)
    least = costs.min(axis=0, initial=np.inf)
    of_job = np.where(np.isfinite(least), least, 0.0) + jobs - renting.worth
    bound = constant + float(np.where(of_job > 0.0, renting.low, renting.high) @ of_job)
    value = solved.value + renting.constant
    return Relaxation(bound, value, costs, resources, least, of_spot, float(solved.point[master.short].sum()))


def _prices_of_lanes(master: Master, duals: Floats, offers: Floats, of_classes: Floats) -> Floats:
    """Return prices of resources by lane, (resources, lanes), near the duals: together the price of a VM.

    No offer of unlimited number then costs less than 0. Lanes without prices have the weights at which the jobs are
    worth least on a VM, at prices of classes.
    """
    renting = master.renting
    lane, endless = renting.offer_lane, ~np.isfinite(master.upper)
    least, unlimited = np.full(len(renting.kind), np.inf), np.full(len(renting.kind), np.inf)
    np.minimum.at(least, lane, offers)
    np.minimum.at(unlimited, lane[endless], offers[endless])
    total = duals.sum(axis=0)
    aim = np.maximum(np.minimum(np.maximum(total, least), unlimited), 0.0) * (1.0 - SAME_SUM)
    with np.errstate(divide="ignore", invalid="ignore"):
        worth = np.where(np.isfinite(renting.least), of_classes / np.maximum(renting.least, PRICED), 0.0).max(axis=2)
        scaled = duals * np.where(total > PRICED, aim / np.where(total > PRICED, total, 1.0), 0.0)
    best: Floats = renting.weights[worth.argmin(axis=0)][renting.kind].T
    return np.where(total > PRICED, scaled, best * aim)


def costs_of_jobs(master: Master, resources: Floats, of_spot: Floats) -> Floats:
    """Return the least cost of one job of each class in each lane at prices, infinite where it cannot run."""
    renting = master.renting
    total = resources.sum(axis=0)
    costs = np.full(renting.possible.shape, np.inf)
    weights = resources / np.where(total > 0.0, total, 1.0)
    for kind in np.unique(renting.kind).tolist():
        lanes = np.flatnonzero(renting.kind == kind)
        if len(renting.weights) == 1:
            least = np.where(renting.possible[lanes[0]], renting.least[0, kind], 0.0)
            costs[lanes] = total[lanes, None] * least
            continue
        table = master.table(kind)
        if not len(table.classes):
            continue
        some, back = np.unique(weights[:, lanes], axis=1, return_inverse=True)
        each = np.minimum.reduceat(table.takes @ some, table.starts, axis=0) * table.near[:, None]
        costs[np.ix_(lanes, table.classes)] = total[lanes, None] * each[:, back.ravel()].T
    costs = np.where(renting.possible, costs, np.inf)
    for index in renting.spots.limited.tolist():
        lanes = np.flatnonzero(renting.possible[:, index])
        for kind in np.unique(renting.kind[lanes]).tolist():
            mine = lanes[renting.kind[lanes] == kind]
            costs[mine, index] = limited_costs(master, mine, index, resources[:, mine], of_spot[:, index]).min(axis=0)
    return costs


def limited_costs(master: Master, lanes: Places, index: int, resources: Floats, of_spot: Floats) -> Floats:
    """Return the least cost of a job on each of its pairs in lanes of a kind, (pairs, lanes).

    A part of the class may be on spot: firm jobs hold slots beyond their pair if these cost less than 0.
    """
    renting, spots, lane = master.renting, master.renting.spots, int(lanes[0])
    choices = renting.choices_of(int(renting.kind[lane]), index)
    part = float(renting.spot[lane]) - float(spots.share[index])
    slots = spots.parts[lane, :, :, index] @ resources + (part * of_spot[0] * spots.vm_time[lane, :, index])[:, None]
    held = choices.pairs * choices.near
    if renting.spot[lane]:
        return np.asarray(held @ slots)
    return np.asarray(held @ slots + spots.more(lane, index, held) @ np.minimum(slots, 0.0) - of_spot[1])


def _cheaper(master: Master, found: Relaxation, solved: Solved) -> list[Column]:
    """Return jobs that cost less than the program pays for them, the cheapest of each class."""
    paid = solved.duals[master.class_row]
    small = ROUNDING * max(1.0, float(np.abs(paid).max(initial=0.0)))
    costs = np.where(found.costs < paid - small, found.costs - paid, np.inf)
    return [(lane, index, _best_pair(master, found, lane, index)) for lane, index in _cheapest_lanes(costs, MORE)]


def _best_pair(master: Master, found: Relaxation, lane: int, index: int) -> int:
    return int(pair_costs(master, found, lane, index).argmin())


def pair_costs(master: Master, found: Relaxation, lane: int, index: int) -> Floats:
    """Return the least cost of a job of a class in a lane on each of its pairs."""
    renting = master.renting
    if index in renting.spots.limited:
        return limited_costs(master, np.array([lane]), index, found.resources[:, [lane]], found.of_spot[:, index])[:, 0]
    choices = renting.choices_of(int(renting.kind[lane]), index)
    return np.asarray((choices.takes @ found.resources[:, lane]) * choices.near)
