"""What the makespan family is asked, each answered by a module of its own that is loaded when it is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path
    from typing import Any

    from pyomo.environ import ConcreteModel

    from mrdsl.contracts.operated import Operated
    from mrdsl.contracts.study import Bench
    from mrdsl.core.diagnostics import Diagnostic
    from mrdsl.core.result import Plan, Result, Table
    from mrdsl.families.makespan.plan import MakespanPlan
    from mrdsl.reporting.report import Shown
    from mrdsl.simulation.settings import Settings
    from mrdsl.spec.spec import Spec


def report(spec: Spec, result: Result) -> Shown:
    """What ``mrdsl report`` says and draws."""
    from mrdsl.families.makespan.report import report as answer

    return answer(spec, result)


def choose(spec: Spec, relax: bool, formulation: str | None) -> str:
    """Who solves it where nobody was named."""
    from mrdsl.families.makespan.choice import choose as answer

    return answer(spec, relax, formulation)


def measure(spec: Spec, plan: MakespanPlan) -> float | None:
    """The goal's value of a plan."""
    from mrdsl.families.makespan.verify import measure as answer

    return answer(spec, plan)


def quantity(spec: Spec, plan: MakespanPlan, name: str, argument: str) -> float:
    """A quantity that ``subject to`` compares."""
    from mrdsl.families.makespan.verify import quantity as answer

    return answer(spec, plan, name, argument)


def verify(spec: Spec, plan: MakespanPlan, relax: bool) -> Iterable[Diagnostic]:
    """Every promise that a plan breaks."""
    from mrdsl.families.makespan.verify import verify as answer

    return answer(spec, plan, relax)


def why(spec: Spec, result: Result) -> tuple[Table | str, ...]:
    """What ``mrdsl why`` prints."""
    from mrdsl.families.makespan.why import why as answer

    return answer(spec, result)


def build_time_indexed(spec: Spec, relax: bool) -> ConcreteModel:
    """The Pyomo model of ``time-indexed``."""
    from mrdsl.families.makespan.models.formulations import build

    return build(spec, relax)


def decode_time_indexed(spec: Spec, model: ConcreteModel, relax: bool) -> MakespanPlan:
    """The plan in a solved model of ``time-indexed``."""
    from mrdsl.families.makespan.models.formulations import decode

    return decode(spec, model, relax)


def study_production(output: Path, bench: Bench, **options: Any) -> Iterable[Table]:
    """The study ``makespan-production``."""
    from mrdsl.families.makespan.studies.production import production

    return production(output, **options)


def plans() -> tuple[type[Plan], ...]:
    """The classes of its plans."""
    from mrdsl.families.makespan.plan import MakespanPlan

    return (MakespanPlan,)


def operated(spec: Spec, plan: MakespanPlan) -> Operated:
    """What somebody who runs a plan sets."""
    from mrdsl.families.makespan.operated import operated as answer

    return answer(spec, plan)


def simulate_plan(spec: Spec, plan: MakespanPlan, settings: Settings) -> tuple[MakespanPlan, Iterable[Diagnostic]]:
    """The plan with what independent runs showed."""
    from mrdsl.families.makespan.simulate import simulate_plan as answer

    return answer(spec, plan, settings)
