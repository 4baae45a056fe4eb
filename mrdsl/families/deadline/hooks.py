"""What the deadline family is asked, each answered by a module of its own that is loaded when it is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyomo.environ import ConcreteModel

    from mrdsl.contracts.family import SolveModel
    from mrdsl.contracts.operated import Operated
    from mrdsl.core.diagnostics import Diagnostic
    from mrdsl.core.result import Limits, Plan, Result
    from mrdsl.families.deadline.plan import DeadlinePlan
    from mrdsl.reporting.report import Shown
    from mrdsl.simulation.settings import Settings
    from mrdsl.spec.spec import Spec


def report(spec: Spec, result: Result) -> Shown:
    """What ``mrdsl report`` says and draws."""
    from mrdsl.families.deadline.report import report as answer

    return answer(spec, result)


def choose(spec: Spec, relax: bool, formulation: str | None) -> str:
    """Who solves it where nobody was named."""
    from mrdsl.families.deadline.choice import choose as answer

    return answer(spec, relax, formulation)


def measure(spec: Spec, plan: DeadlinePlan) -> float | None:
    """The goal's value of a plan."""
    from mrdsl.families.deadline.verify import measure as answer

    return answer(spec, plan)


def quantity(spec: Spec, plan: DeadlinePlan, name: str, argument: str) -> float:
    """A quantity that ``subject to`` compares."""
    from mrdsl.families.deadline.verify import quantity as answer

    return answer(spec, plan, name, argument)


def verify(spec: Spec, plan: DeadlinePlan, relax: bool) -> Iterable[Diagnostic]:
    """Every promise that a plan breaks."""
    from mrdsl.families.deadline.verify import verify as answer

    return answer(spec, plan, relax)


def build_potentials(spec: Spec, relax: bool) -> ConcreteModel:
    """The Pyomo model of ``potentials``."""
    from mrdsl.families.deadline.models.potentials import build

    return build(spec, relax)


def decode_potentials(spec: Spec, model: ConcreteModel, relax: bool) -> DeadlinePlan:
    """The plan in a solved model of ``potentials``."""
    from mrdsl.families.deadline.models.potentials import decode

    return decode(spec, model, relax)


def run_tangents(spec: Spec, relax: bool, limits: Limits, solve: SolveModel) -> Result:
    """Builds, solves and decodes ``tangents``."""
    from mrdsl.families.deadline.models.tangents import run

    return run(spec, relax, limits, solve)


def plans() -> tuple[type[Plan], ...]:
    """The classes of its plans."""
    from mrdsl.families.deadline.plan import DeadlinePlan

    return (DeadlinePlan,)


def operated(spec: Spec, plan: DeadlinePlan) -> Operated:
    """What somebody who runs a plan sets."""
    from mrdsl.families.deadline.operated import operated as answer

    return answer(spec, plan)


def simulate_plan(spec: Spec, plan: DeadlinePlan, settings: Settings) -> tuple[DeadlinePlan, Iterable[Diagnostic]]:
    """The plan with what independent runs showed."""
    from mrdsl.families.deadline.simulate import simulate_plan as answer

    return answer(spec, plan, settings)
