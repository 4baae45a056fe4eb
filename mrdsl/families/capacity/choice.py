"""What ``--solver auto`` takes for a capacity spec."""

from __future__ import annotations

from mrdsl.families.capacity.class_bounds import class_bounds_of, quotas_in
from mrdsl.families.capacity.facts import MACHINES
from mrdsl.families.capacity.market import market_of
from mrdsl.families.capacity.promises import is_about_runs
from mrdsl.families.capacity.shape import is_plain
from mrdsl.families.capacity.slot_sizes import has_vectors
from mrdsl.families.capacity.wholeness import wholeness_of
from mrdsl.spec.spec import Spec

LARGE = 2_000
"""From so many classes on, ``direct`` is far faster than a solver, and within one in a million of the optimum."""
LARGE_OF_A_CATALOGUE = 250
"""The same of pairs of classes and lanes where a spec has many VM types, or classes share no VMs: whole VMs of many
sizes, or of each class, are hard to prove."""


def choose(spec: Spec, relax: bool, formulation: str | None) -> str:
    """``calibrated`` for promises about runs; else HiGHS for P2; ``direct`` where it is exact (the relaxation) or far
    faster; SCIP for the nonlinear forms.

    With several VM types, or VMs that classes do not share, what counts is classes times the ways that VMs are counted
    on.
    """
    if formulation is not None:
        return "highs" if formulation.lower() == "p2" else "scip"
    if is_about_runs(spec):
        return "calibrated"
    if wholeness_of(spec.facts) == MACHINES:
        from mrdsl.families.capacity.methods.refusals import serves

        many = len(spec.facts.classes) * len(market_of(spec.facts).lanes) >= LARGE_OF_A_CATALOGUE
        return "direct" if (many or relax) and serves(spec) else "highs"
    if not is_plain(spec.facts):
        from mrdsl.families.capacity.dominated_lanes import lanes_to_solve

        lanes, pruned = lanes_to_solve(spec)
        few = len(spec.facts.classes) * lanes < (LARGE_OF_A_CATALOGUE if pruned else LARGE)
        exact = relax and not has_vectors(spec.facts)
        return "highs" if quotas_in(class_bounds_of(spec).others)[1] or (few and not exact) else "direct"
    if class_bounds_of(spec).others:
        return "highs"
    return "direct" if relax or len(spec.facts.classes) >= LARGE else "highs"
