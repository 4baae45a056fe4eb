"""Formulations of capacity that refuse promises about runs, or plan in fractions, before they build."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyomo.environ import ConcreteModel

    from mrdsl.contracts.family import ArrayForm, SolveModel
    from mrdsl.core.result import Limits, Result
    from mrdsl.spec.spec import Spec


def compile_p2(spec: Spec, relax: bool) -> ConcreteModel:
    """The Pyomo model of ``P2`` with what VMs hold, where slots are whole."""
    from mrdsl.families.capacity.models.linear import build
    from mrdsl.families.capacity.models.patterns import ALL
    from mrdsl.families.capacity.promises import refuse_promises

    refuse_promises(spec, "P2")
    return build(spec, relax, ALL)


def pack(spec: Spec, relax: bool, limits: Limits, result: Result, solve: SolveModel | None) -> Result:
    """The result of ``P2`` with its whole slots packed on VMs."""
    from mrdsl.families.capacity.packed_plans import with_packing

    return result if relax else with_packing(spec, result, limits, solve)


def build_p2(spec: Spec, relax: bool) -> ConcreteModel:
    """The Pyomo model of ``P2``."""
    from mrdsl.families.capacity.models.linear import build
    from mrdsl.families.capacity.promises import refuse_promises

    refuse_promises(spec, "P2")
    return build(spec, relax)


def arrays_p2(spec: Spec, relax: bool) -> ArrayForm | None:
    """``P2`` in arrays, None where it has more than the plain form."""
    from mrdsl.families.capacity.models import mixed_arrays, plain_arrays
    from mrdsl.families.capacity.promises import refuse_promises
    from mrdsl.families.capacity.shape import is_plain

    refuse_promises(spec, "P2")
    return plain_arrays.arrays(spec, relax) if is_plain(spec.facts) else mixed_arrays.arrays(spec, relax)


def direct_in_fractions(spec: Spec, relax: bool, limits: Limits) -> Result | None:
    """The same of slots in fractions, whatever holds where the spec does not say."""
    from mrdsl.families.capacity.facts import NO
    from mrdsl.families.capacity.methods.direct import direct as answer
    from mrdsl.families.capacity.wholeness import as_planned

    return answer(as_planned(spec, NO), relax, limits)


def build_p1(spec: Spec, relax: bool) -> ConcreteModel:
    """The Pyomo model of ``P1``."""
    from mrdsl.families.capacity.models.nonlinear import build_p1 as answer
    from mrdsl.families.capacity.promises import refuse_promises

    refuse_promises(spec, "P1")
    return answer(spec, relax)


def build_p0(spec: Spec, relax: bool) -> ConcreteModel:
    """The Pyomo model of ``P0``."""
    from mrdsl.families.capacity.models.nonlinear import build_p0 as answer
    from mrdsl.families.capacity.promises import refuse_promises

    refuse_promises(spec, "P0")
    return answer(spec, relax)


def build_p0_cone(spec: Spec, relax: bool) -> ConcreteModel:
    """The Pyomo model of ``P0-cone``."""
    from mrdsl.families.capacity.models.nonlinear import build_cone
    from mrdsl.families.capacity.promises import refuse_promises

    refuse_promises(spec, "P0-cone")
    return build_cone(spec, relax)
