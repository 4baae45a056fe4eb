"""What the capacity family is asked, each answered by a module of its own that is loaded when it is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path
    from typing import Any

    from pyomo.environ import ConcreteModel

    from mrdsl.contracts.family import ArrayForm, SolveModel
    from mrdsl.contracts.operated import Operated
    from mrdsl.contracts.study import Bench
    from mrdsl.core.diagnostics import Diagnostic
    from mrdsl.core.result import Limits, Plan, Result, Table
    from mrdsl.exchange.entries import Target
    from mrdsl.exchange.targets.deployment import Deployment
    from mrdsl.families.capacity.plan import CapacityPlan
    from mrdsl.reporting.report import Shown
    from mrdsl.simulation.settings import Settings
    from mrdsl.spec.spec import Spec


def choose(spec: Spec, relax: bool, formulation: str | None) -> str:
    """Who solves it where nobody was named."""
    from mrdsl.families.capacity.choice import choose as answer

    return answer(spec, relax, formulation)


def measure(spec: Spec, plan: CapacityPlan) -> float | None:
    """The goal's value of a plan."""
    from mrdsl.families.capacity.quantities import measure as answer

    return answer(spec, plan)


def quantity(spec: Spec, plan: CapacityPlan, name: str, argument: str) -> float:
    """A quantity that ``subject to`` compares."""
    from mrdsl.families.capacity.quantities import quantity as answer

    return answer(spec, plan, name, argument)


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


def verify(spec: Spec, plan: CapacityPlan, relax: bool) -> Iterable[Diagnostic]:
    """Every promise that a plan breaks."""
    from mrdsl.families.capacity.verify import verify as answer

    return answer(spec, plan, relax)


def why(spec: Spec, result: Result) -> tuple[Table | str, ...]:
    """What ``mrdsl why`` prints."""
    from mrdsl.families.capacity.why import why as answer

    return answer(spec, result)


def report(spec: Spec, result: Result) -> Shown:
    """What ``mrdsl report`` says and draws."""
    from mrdsl.families.capacity.report import report as answer

    return answer(spec, result)


def simulate_plan(spec: Spec, plan: CapacityPlan, settings: Settings) -> tuple[CapacityPlan, tuple[Diagnostic, ...]]:
    """The plan with what ``mrdsl simulate`` observed of it."""
    from mrdsl.families.capacity.simulate import simulate_plan as answer

    return answer(spec, plan, settings)


def shown_again(spec: Spec, plan: CapacityPlan, processes: int) -> CapacityPlan | None:
    """The plan with what the runs of its own evidence show now."""
    from mrdsl.families.capacity.shown_again import shown_again as answer

    return answer(spec, plan, processes)


def study_cases(output: Path, bench: Bench, **options: Any) -> Iterable[Table]:
    """The study ``capacity-cases``."""
    from mrdsl.families.capacity.studies.cases import cases

    return cases(output, bench, **options)


def study_reservations(output: Path, bench: Bench, **options: Any) -> Iterable[Table]:
    """The study ``reservations``."""
    from mrdsl.families.capacity.studies.reservations import reservations

    return reservations(output, bench, **options)


def study_honesty(output: Path, bench: Bench, **options: Any) -> Iterable[Table]:
    """The study ``capacity-honesty``."""
    from mrdsl.families.capacity.studies.promised import honesty

    return honesty(output, bench, **options)


def study_saving(output: Path, bench: Bench, **options: Any) -> Iterable[Table]:
    """The study ``capacity-saving``."""
    from mrdsl.families.capacity.studies.promised import saving

    return saving(output, bench, **options)


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


def decode_p2(spec: Spec, model: ConcreteModel, relax: bool) -> CapacityPlan:
    """The plan in a solved model of ``P2``."""
    from mrdsl.families.capacity.models.linear import decode

    return decode(spec, model, relax)


def direct(spec: Spec, relax: bool, limits: Limits) -> Result | None:
    """A plan and a bound of ``P2`` by closed forms."""
    from mrdsl.families.capacity.methods.direct import direct as answer

    return answer(spec, relax, limits)


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


def decode_p1(spec: Spec, model: ConcreteModel, relax: bool) -> CapacityPlan:
    """The plan in a solved model of ``P1``."""
    from mrdsl.families.capacity.models.nonlinear import decode

    return decode(spec, model, relax)


def build_p0(spec: Spec, relax: bool) -> ConcreteModel:
    """The Pyomo model of ``P0``."""
    from mrdsl.families.capacity.models.nonlinear import build_p0 as answer
    from mrdsl.families.capacity.promises import refuse_promises

    refuse_promises(spec, "P0")
    return answer(spec, relax)


def decode_p0(spec: Spec, model: ConcreteModel, relax: bool) -> CapacityPlan:
    """The plan in a solved model of ``P0``."""
    from mrdsl.families.capacity.models.nonlinear import decode

    return decode(spec, model, relax)


def build_p0_cone(spec: Spec, relax: bool) -> ConcreteModel:
    """The Pyomo model of ``P0-cone``."""
    from mrdsl.families.capacity.models.nonlinear import build_cone
    from mrdsl.families.capacity.promises import refuse_promises

    refuse_promises(spec, "P0-cone")
    return build_cone(spec, relax)


def decode_p0_cone(spec: Spec, model: ConcreteModel, relax: bool) -> CapacityPlan:
    """The plan in a solved model of ``P0-cone``."""
    from mrdsl.families.capacity.models.nonlinear import decode

    return decode(spec, model, relax)


def plans() -> tuple[type[Plan], ...]:
    """The classes of its plans."""
    from mrdsl.families.capacity.plan import CapacityPlan

    return (CapacityPlan,)


def operated(spec: Spec, plan: CapacityPlan) -> Operated:
    """What somebody who runs a plan sets."""
    from mrdsl.families.capacity.operated import operated as answer

    return answer(spec, plan)


def targets() -> tuple[Target, ...]:
    """What plans are exported to."""
    from mrdsl.exchange.registry import TARGETS

    return TARGETS


def deployments(spec: Spec, plan: CapacityPlan) -> tuple[Deployment, ...]:
    """The clusters that a plan comes to."""
    from mrdsl.families.capacity.deployment import deployments as answer

    return answer(spec, plan)
