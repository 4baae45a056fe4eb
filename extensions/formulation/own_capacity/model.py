"""own-capacity: a formulation of capacity as a Pyomo model, and its plan."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyomo.environ as pyo
from mrdsl.contracts.pipeline import Draft
from mrdsl.core.result import Termination
from mrdsl.families.capacity.forms import as_solved
from mrdsl.families.capacity.instance import Mix
from mrdsl.families.capacity.lanes import solved_mix
from mrdsl.families.capacity.own_plans import lane_names, plan_with
from pyomo.contrib.appsi.solvers import Highs


def build(mix: Mix, relax: bool) -> pyo.ConcreteModel:
    """The jobs of each class in each lane, and the VMs of each offer, at the least cost.

    A lane is a VM type, or its spot VMs. An offer is a way of buying VMs for a lane.
    """
    model, market = pyo.ConcreteModel(), mix.market
    whole = pyo.NonNegativeReals if relax else pyo.NonNegativeIntegers
    pairs = [(int(lane), int(job)) for lane, job in zip(*mix.possible.nonzero(), strict=True)]
    model.jobs = pyo.Var(pairs, domain=whole)
    model.vms = pyo.Var(
        range(len(market.offers)),
        domain=whole,
        bounds=lambda _, at: (0, market.offers[at].available if np.isfinite(market.offers[at].available) else None),
    )

    def admitted(job: int) -> Any:
        return sum(model.jobs[pair] for pair in pairs if pair[1] == job)

    def vm_time(job: int, lanes: Any) -> Any:
        return sum(mix.gamma[pair] * model.jobs[pair] for pair in pairs if pair[1] == job and lanes[pair[0]])

    model.limits = pyo.Constraint(
        range(len(mix)),
        rule=lambda _, job: (
            pyo.inequality(mix.low[job], admitted(job), mix.expected[job])
            if mix.possible[:, job].any()
            else pyo.Constraint.Skip
        ),
    )
    model.room = pyo.Constraint(
        range(len(market.lanes)),
        rule=lambda _, lane: (
            sum(mix.gamma[pair] * model.jobs[pair] for pair in pairs if pair[0] == lane) + market.masters_of_lane[lane]
            <= sum(model.vms[at] for at, offer in enumerate(market.offers) if offer.lane == lane)
        ),
    )
    model.spot = pyo.Constraint(
        [job for job in range(len(mix)) if mix.spot_share[job] < 1.0 and mix.possible[market.spot, job].any()],
        rule=lambda _, job: (
            vm_time(job, market.spot) <= mix.spot_share[job] * vm_time(job, np.full(len(market.lanes), True))
        ),
    )
    model.cost = pyo.Objective(
        expr=sum(offer.price * model.vms[at] for at, offer in enumerate(market.offers))
        + sum(mix.penalty[job] * (mix.expected[job] - admitted(job)) for job in range(len(mix)))
    )
    return model


def solve(draft: Draft, gap: float = 1e-6) -> Draft:
    """Solve the model, and return its plan.

    The draft gets no bound: claim one only if no plan of the spec can be better than the model says.
    """
    spec = as_solved(draft.spec, draft.relax)
    mix = solved_mix(spec)
    model = build(mix, draft.relax)
    solver = Highs()
    solver.highs_options = {"mip_rel_gap": gap}
    solver.config.load_solution = False
    solver.config.time_limit = draft.seconds_left()
    found = solver.solve(model)
    if found.best_feasible_objective is None:
        late = found.termination_condition.name == "maxTimeLimit"
        return replace(draft, termination=Termination.TIME_LIMIT if late else Termination.INFEASIBLE)
    found.solution_loader.load_vars()
    lanes, jobs = lane_names(mix), {name: {} for name in mix.names}
    for (lane, job), variable in model.jobs.items():
        jobs[mix.names[job]][lanes[lane]] = max(variable.value or 0.0, 0.0)
    plan = plan_with(draft.spec, jobs, relax=draft.relax)
    return replace(draft, plan=plan, value=plan.total)
