"""Plans from numbers of jobs, for formulations and heuristics that are not part of mrdsl."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real

import numpy as np

from mrdsl.core.decisions import place_among, plan_builder, wrong
from mrdsl.core.diagnostics import MrdslError, one_error
from mrdsl.core.rounding import FEASIBILITY, ceiling
from mrdsl.families.capacity.facts import NO
from mrdsl.families.capacity.forms import as_solved, is_plain
from mrdsl.families.capacity.instance import Mix, instance_of
from mrdsl.families.capacity.lanes import SpareSlots, solved_mix
from mrdsl.families.capacity.market import ON_DEMAND, Floats
from mrdsl.families.capacity.packed_plans import as_packed
from mrdsl.families.capacity.plan import CapacityPlan, plan_of
from mrdsl.families.capacity.plan_building import mix_plan_of, taken_vms
from mrdsl.spec.spec import Spec

SPOT = " spot"
"""Ending of the name of a VM type for its spot VMs."""


@plan_builder("capacity")
def plan_with(spec: Spec, admitted: Mapping[str, float | Mapping[str, float]], *, relax: bool = False) -> CapacityPlan:
    """Return the plan that admits these jobs, each with its fewest slots, on the cheapest VMs that hold them.

    Args:
        spec: The spec.
        admitted: Jobs by class. A class on several VM types has its jobs by type, ``"m5"``, or ``"m5 spot"`` for spot
            VMs; a plain number is all its jobs on the first type that can run them. Other classes admit no job.
        relax: Keep fractions of jobs and VMs, as in a relaxation.

    Returns:
        The plan. mrdsl checks it against the spec when a method returns it.

    Raises:
        MrdslError: `unknown-name` if there is no such class or type, or if the class cannot run on the type;
            `wrong-value` for a negative number of jobs.
    """
    solved = as_solved(spec, relax)
    mix = solved_mix(solved)
    jobs = np.zeros_like(mix.gamma)
    for name, given in admitted.items():
        column = place_among(name, [str(each) for each in mix.names], "class")
        lanes = given if isinstance(given, Mapping) else {_first_lane(mix, column): given}
        for lane, count in lanes.items():
            row = place_among(lane, lane_names(mix), f"VM type for class `{name}`")
            if count and not mix.possible[row, column]:
                raise one_error("unknown-name", f"class `{name}` cannot run on `{lane}`")
            if not isinstance(count, Real) or not 0.0 <= float(count) < np.inf:
                raise MrdslError([wrong(f"jobs of class `{name}` must be finite and at least 0, got {count}")])
            jobs[row, column] = count
    if not relax:
        jobs = np.rint(jobs)
    spare = SpareSlots(mix).of_all(jobs)
    needed = taken_vms(mix, jobs, spare)
    bought = mix.market.buy(needed if relax else np.asarray(ceiling(needed * (1.0 - FEASIBILITY))))
    plan = _plan(solved, mix, jobs, bought, relax)
    return plan if relax or plan.wholeness == NO else as_packed(solved, plan) or plan


def lane_names(mix: Mix) -> list[str]:
    """Return the names of the ways to run jobs: each VM type, and its spot VMs, in the order of ``mix.gamma``."""
    market = mix.market
    return [f"{market.names[lane.vm]}{SPOT if lane.spot else ''}" for lane in market.lanes]


def _plan(spec: Spec, mix: Mix, jobs: Floats, bought: Floats, relax: bool) -> CapacityPlan:
    if not is_plain(spec.facts):
        return mix_plan_of(mix, bought, jobs, relax)
    firm = float(bought[[offer.way == ON_DEMAND for offer in mix.market.offers]].sum())
    return plan_of(instance_of(spec), (firm, float(bought.sum()) - firm), jobs.sum(axis=0), relax)


def _first_lane(mix: Mix, column: int) -> str:
    possible = np.flatnonzero(mix.possible[:, column])
    return lane_names(mix)[int(possible[0]) if len(possible) else 0]
