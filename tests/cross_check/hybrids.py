"""A hybrid cloud from its facts alone: what no run can cost less than, and what (12) to (15) of paper 004 allow."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array

from mrdsl.families.hybrid.facts import Control, HybridFacts, Queue
from mrdsl.families.hybrid.plan import HybridPlan
from mrdsl.families.hybrid.workload import arrivals_of
from mrdsl.spec.spec import Spec

NEAR = 1e-9
REJECTS = "never-outsource"
"""The policy that rejects whatever it has no room for."""


def all_outside(spec: Spec) -> float:
    """What it costs a slot to send every task outside: a plan, whatever is asked."""
    came = arrivals_of(spec.facts, spec.seed or 0).sum(axis=0)
    prices = [queue.outsourcing for queue in spec.facts.queues]
    return float(np.dot(came, prices)) / spec.facts.horizon


def offline(spec: Spec) -> float:
    """The least cost a slot, by linear programming over work and not over tasks.

    Columns: what is done for a queue in each slot, and what of each slot's arrivals is served. Work that arrives from
    slot a to slot b - delay must be done after a and by b: a condition for every pair a, b. What arrives within its
    delay of the horizon may still wait and costs nothing; (12) lets a queue fall short of its acceptance by K_max.
    """
    facts: HybridFacts = spec.facts
    came, end = arrivals_of(facts, spec.seed or 0), facts.horizon
    rows: list[tuple[dict[int, float], float]] = []
    width, prices, most = 0, [], []
    busy: dict[tuple[str, int], dict[int, float]] = {}
    saved = 0.0
    for index, queue in enumerate(facts.queues):
        due = [slot for slot in range(end) if slot + queue.delay < end]
        served = {slot: width + i for i, slot in enumerate(due)}
        done = {slot: width + len(due) + slot for slot in range(end)}
        turned_away = width + len(due) + end
        width = turned_away + 1
        prices += [-queue.outsourcing] * len(due) + [0.0] * end + [-queue.outsourcing]
        allowed = (1 - _control(facts).acceptance) * came[:, index].sum() + _most_debt(facts, queue)
        total = float(came[due, index].sum()) if due else 0.0
        most += [float(came[slot, index]) for slot in due] + [inf] * end + [min(total, allowed)]
        saved += queue.outsourcing * total
        rows.append(({**dict.fromkeys(served.values(), 1.0), turned_away: 1.0}, total))
        for first in due:
            for last in due[due.index(first) :]:
                work = {served[slot]: float(queue.size) for slot in range(first, last + 1)}
                work.update({done[slot]: -1.0 for slot in range(first + 1, last + queue.delay + 1)})
                rows.append((work, 0.0))
        for slot, column in done.items():
            busy.setdefault((queue.vm, slot), {})[column] = 1.0
    vms = {vm.name: float(vm.available) for vm in facts.vms}
    rows += [(columns, vms[vm]) for (vm, _), columns in busy.items()]
    return (saved + _least(prices, rows, most)) / end


def _least(prices: list[float], rows: list[tuple[dict[int, float], float]], most: list[float]) -> float:
    places = [(i, column, value) for i, (row, _) in enumerate(rows) for column, value in row.items()]
    at, columns, values = zip(*places, strict=True)
    matrix = coo_array((values, (at, columns)), shape=(len(rows), len(prices))).tocsr()
    found = linprog(prices, matrix, [limit for _, limit in rows], bounds=[(0.0, high) for high in most])
    assert found.status == 0, found.message
    return float(found.fun)


def broken(spec: Spec, policy: str, plan: HybridPlan) -> Iterator[str]:
    """What of a run contradicts its facts, or the bounds that its policy has, computed anew."""
    facts: HybridFacts = spec.facts
    came = arrivals_of(facts, spec.seed or 0).sum(axis=0)
    cost = 0.0
    for queue, submitted in zip(facts.queues, came.tolist(), strict=True):
        run = plan.queues[queue.name]
        if run.submitted != submitted or run.admitted + run.outsourced + run.rejected != submitted:
            yield f"{queue.name}: {submitted} tasks came, and {run} is said of them"
        if run.worst_delay > queue.delay:
            yield f"{queue.name}: a task took {run.worst_delay} slots of {queue.delay}"
        if policy == "controller":
            yield from (f"{queue.name}: {said}" for said in _beyond_its_bounds(facts, queue, plan))
        elif policy != REJECTS and run.rejected > (1 - _control(facts).acceptance) * submitted + NEAR:
            yield f"{queue.name}: {run.rejected} of {submitted} tasks are turned away"
        beta = _control(facts).preemption_weight * next(v.preemption_cost for v in facts.vms if v.name == queue.vm)
        cost += (run.outsourced + run.outsourced_after) * queue.outsourcing + beta * run.preemptions
    if abs(cost / facts.horizon - plan.cost.average) > NEAR * max(1.0, cost):
        yield f"it costs {cost / facts.horizon!r}, not {plan.cost.average!r}"


def _beyond_its_bounds(facts: HybridFacts, queue: Queue, plan: HybridPlan) -> Iterator[str]:
    """(12), (13) in units of work, and (5) over so many tasks."""
    run, control = plan.queues[queue.name], _control(facts)
    weighed = control.V * queue.outsourcing
    backlog = weighed + (control.acceptance + queue.size) * queue.arrivals_max
    if run.debt_max > _most_debt(facts, queue) + NEAR:
        yield f"K reached {run.debt_max}, (12) allows {_most_debt(facts, queue)}"
    if run.backlog_max > backlog + NEAR:
        yield f"Q reached {run.backlog_max}, (13) allows {backlog}"
    if run.rejected > (1 - control.acceptance) * run.submitted + _most_debt(facts, queue) + NEAR:
        yield f"{run.rejected} of {run.submitted} tasks are turned away"


def _most_debt(facts: HybridFacts, queue: Queue) -> float:
    """K_max of (12)."""
    control = _control(facts)
    return control.V * queue.outsourcing + control.acceptance * queue.arrivals_max


def _control(facts: HybridFacts) -> Control:
    assert facts.control is not None, "every spec that is drawn has one"
    return facts.control
