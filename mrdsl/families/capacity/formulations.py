"""Formulations of capacity, and the solver or heuristic that a spec is solved by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mrdsl.families.capacity.constraints import class_bounds_of, is_about_runs, refuse_promises, serves
from mrdsl.families.capacity.facts import MACHINES, NO
from mrdsl.families.capacity.forms import as_planned, is_plain, wholeness_of
from mrdsl.families.capacity.market import market_of
from mrdsl.formulas.pairs import has_vectors

if TYPE_CHECKING:
    from pyomo.environ import ConcreteModel

    from mrdsl.contracts.family import ArrayForm, SolveModel
    from mrdsl.core.result import Limits, Plan, Result
    from mrdsl.spec.spec import Spec

LARGE = 2_000
"""From this number of classes, ``direct`` is far faster than a solver, and within one in a million of the optimum."""
LARGE_OF_A_CATALOGUE = 250
"""The same for pairs of classes and lanes if a spec has many VM types, or classes share no VMs.

Whole VMs of many sizes, or of each class, are hard to prove.
"""

NODES = 1_000
"""Branch-and-bound nodes after which HiGHS rarely improves the plan of a spec with many pairs of classes and lanes."""


def build_p2(spec: Spec, relax: bool) -> ConcreteModel:
    """Build the Pyomo model of ``P2``."""
    if spec.facts.demand is not None:
        from mrdsl.families.capacity.periods.program import model_of_periods

        return model_of_periods(spec, relax)
    from mrdsl.families.capacity.models.linear import build

    refuse_promises(spec, "P2")
    return build(spec, relax)


def decode_p2(spec: Spec, model: ConcreteModel, relax: bool) -> Plan:
    """Return the plan of a solution of ``P2``."""
    if spec.facts.demand is not None:
        from mrdsl.families.capacity.periods.program import decode_model

        return decode_model(spec, model, relax)
    from mrdsl.families.capacity.models.linear import decode

    return decode(spec, model, relax)


def compile_p2(spec: Spec, relax: bool) -> ConcreteModel:
    """Build the Pyomo model of ``P2`` with what VMs hold if slots are whole and all classes run together."""
    if spec.facts.demand is not None:
        return build_p2(spec, relax)
    from mrdsl.families.capacity.models.linear import build
    from mrdsl.families.capacity.models.patterns import ALL

    refuse_promises(spec, "P2")
    return build(spec, relax, "" if len(spec.facts.never_together) else ALL)


def arrays_p2(spec: Spec, relax: bool) -> ArrayForm | None:
    """Write ``P2`` in arrays; None if it has more than the plain form."""
    if spec.facts.demand is not None:
        from mrdsl.families.capacity.periods.program import arrays_of_periods

        return arrays_of_periods(spec, relax)
    from mrdsl.families.capacity.models import arrays

    refuse_promises(spec, "P2")
    return (arrays.plain_arrays if is_plain(spec.facts) else arrays.mixed_arrays)(spec, relax)


def pack(spec: Spec, relax: bool, limits: Limits, result: Result, solve: SolveModel | None) -> Result:
    """Pack the whole slots of a result of ``P2`` on VMs."""
    if spec.facts.demand is not None:
        from mrdsl.families.capacity.periods.packing import finished

        return finished(spec, relax, limits, result)
    from mrdsl.families.capacity.packed_plans import with_packing

    return result if relax else with_packing(spec, result, limits, solve)


def direct(spec: Spec, relax: bool, limits: Limits) -> Result | None:
    """Solve a spec of one period by ``direct``; a large one with other comparisons or data by the rental program."""
    from mrdsl.families.capacity.methods import direct as method

    if spec.facts.demand is not None or is_about_runs(spec):
        return None
    found = method.direct(spec, relax, limits)
    if found is not None or relax or nodes_of_large(spec, relax) is None:
        return found
    return method.with_comparisons(spec, limits)


def direct_in_fractions(spec: Spec, relax: bool, limits: Limits) -> Result | None:
    """Solve a spec by ``direct`` with slots in fractions, as P0, P1 and P0-cone have them."""
    return direct(as_planned(spec, NO), relax, limits)


def nodes_of_large(spec: Spec, relax: bool) -> int | None:
    """Return the nodes that HiGHS searches for a spec of one period with many pairs of classes and lanes."""
    if relax or spec.facts.demand is not None or is_plain(spec.facts):
        return None
    from mrdsl.families.capacity.lanes import lanes_to_solve

    pairs = len(spec.facts.classes) * lanes_to_solve(spec)[0]
    return NODES if pairs >= LARGE_OF_A_CATALOGUE else None


def choose(spec: Spec, relax: bool, formulation: str | None) -> str:
    """Choose the solver of a spec.

    ``calibrated`` serves service levels of runs, HiGHS serves P2, and SCIP serves the nonlinear forms. ``direct``
    serves specs that it solves exactly (the relaxation) or far faster. With several VM types, or VMs that classes do
    not share, the number of classes times lanes decides.
    """
    if spec.facts.demand is not None and formulation is None:
        from mrdsl.families.capacity.periods.program import is_large

        return "direct" if not relax and is_large(spec) else "highs"
    if formulation is not None:
        return "highs" if formulation.lower() == "p2" else "scip"
    if is_about_runs(spec):
        return "calibrated"
    if wholeness_of(spec.facts) == MACHINES:
        many = len(spec.facts.classes) * len(market_of(spec.facts).lanes) >= LARGE_OF_A_CATALOGUE
        return "direct" if (many or relax) and serves(spec) else "highs"
    if not is_plain(spec.facts):
        from mrdsl.families.capacity.lanes import lanes_to_solve

        lanes, pruned = lanes_to_solve(spec)
        few = len(spec.facts.classes) * lanes < (LARGE_OF_A_CATALOGUE if pruned else LARGE)
        exact = relax and not has_vectors(spec.facts)
        return "highs" if not serves(spec) or (few and not exact) else "direct"
    if class_bounds_of(spec).others:
        return "highs"
    return "direct" if relax or len(spec.facts.classes) >= LARGE else "highs"
