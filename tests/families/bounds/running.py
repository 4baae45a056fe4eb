"""A bounds spec run as `mrdsl simulate` runs it, without a solver in between."""

from __future__ import annotations

from mrdsl.families.bounds.formulas import plan_of
from mrdsl.families.bounds.plan import BoundsPlan
from mrdsl.families.bounds.simulate import simulate_plan
from mrdsl.simulation.settings import Settings
from mrdsl.spec.spec import Spec


def observed(spec: Spec, runs: int, seed: int, jobs: int | None) -> BoundsPlan:
    """The plan by formula with what was seen of it."""
    return simulate_plan(spec, plan_of(spec), Settings(runs, seed, jobs))[0]
