"""What the energy family is asked, each answered by a module of its own that is loaded when it is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path
    from typing import Any

    from pyomo.environ import ConcreteModel

    from mrdsl.contracts.family import SolveModel
    from mrdsl.contracts.operated import Operated
    from mrdsl.contracts.study import Bench
    from mrdsl.core.diagnostics import Diagnostic
    from mrdsl.core.result import Plan, Result, Table
    from mrdsl.exchange.entries import Target
    from mrdsl.exchange.targets.deployment import Deployment
    from mrdsl.families.energy.plan import EnergyPlan
    from mrdsl.reporting.report import Shown
    from mrdsl.simulation.settings import Settings
    from mrdsl.spec.spec import Spec


def report(spec: Spec, result: Result) -> Shown:
    """What ``mrdsl report`` says and draws."""
    from mrdsl.families.energy.report import report as answer

    return answer(spec, result)


def choose(spec: Spec, relax: bool, formulation: str | None) -> str:
    """Who solves it where nobody was named."""
    from mrdsl.families.energy.choice import choose as answer

    return answer(spec, relax, formulation)


def infeasible(spec: Spec, solve: SolveModel) -> Iterable[Diagnostic]:
    """What it means that there is no plan."""
    from mrdsl.families.energy.exclusions import exclusions

    return exclusions(spec, solve)


def measure(spec: Spec, plan: EnergyPlan) -> float | None:
    """The goal's value of a plan."""
    from mrdsl.families.energy.verify import measure as answer

    return answer(spec, plan)


def quantity(spec: Spec, plan: EnergyPlan, name: str, argument: str) -> float:
    """A quantity that ``subject to`` compares."""
    from mrdsl.families.energy.verify import quantity as answer

    return answer(spec, plan, name, argument)


def verify(spec: Spec, plan: EnergyPlan, relax: bool) -> Iterable[Diagnostic]:
    """Every promise that a plan breaks."""
    from mrdsl.families.energy.verify import verify as answer

    return answer(spec, plan, relax)


def why(spec: Spec, result: Result) -> tuple[Table | str, ...]:
    """What ``mrdsl why`` prints."""
    from mrdsl.families.energy.why import why as answer

    return answer(spec, result)


def build_counted(spec: Spec, relax: bool) -> ConcreteModel:
    """The Pyomo model of ``counted``."""
    from mrdsl.families.energy.models.counted import build

    return build(spec, relax)


def decode_counted(spec: Spec, model: ConcreteModel, relax: bool) -> EnergyPlan:
    """The plan in a solved model of ``counted``."""
    from mrdsl.families.energy.models.counted import decode

    return decode(spec, model, relax)


def build_per_task(spec: Spec, relax: bool) -> ConcreteModel:
    """The Pyomo model of ``per_task``."""
    from mrdsl.families.energy.models.per_task import build

    return build(spec, relax)


def decode_per_task(spec: Spec, model: ConcreteModel, relax: bool) -> EnergyPlan:
    """The plan in a solved model of ``per_task``."""
    from mrdsl.families.energy.models.per_task import decode

    return decode(spec, model, relax)


def study_comparison(output: Path, bench: Bench, **options: Any) -> Iterable[Table]:
    """The study ``energy-comparison``."""
    from mrdsl.families.energy.studies.comparison import compare

    return compare(output, bench, **options)


def study_random(output: Path, bench: Bench, **options: Any) -> Iterable[Table]:
    """The study ``energy-random``."""
    from mrdsl.families.energy.studies.random_plans import random_plans

    return random_plans(output, bench, **options)


def plans() -> tuple[type[Plan], ...]:
    """The classes of its plans."""
    from mrdsl.families.energy.plan import EnergyPlan

    return (EnergyPlan,)


def operated(spec: Spec, plan: EnergyPlan) -> Operated:
    """What somebody who runs a plan sets."""
    from mrdsl.families.energy.operated import operated as answer

    return answer(spec, plan)


def targets() -> tuple[Target, ...]:
    """What plans are exported to."""
    from mrdsl.exchange.registry import DATAPROC, EMR

    return EMR, DATAPROC


def deployments(spec: Spec, plan: EnergyPlan) -> tuple[Deployment, ...]:
    """The clusters that a plan comes to."""
    from mrdsl.families.energy.deployment import deployments as answer

    return answer(spec, plan)


def simulate_plan(spec: Spec, plan: EnergyPlan, settings: Settings) -> tuple[EnergyPlan, Iterable[Diagnostic]]:
    """The plan with what independent runs showed."""
    from mrdsl.families.energy.simulate import simulate_plan as answer

    return answer(spec, plan, settings)
