"""What the joint family is asked, each answered by a module of its own that is loaded when it is asked."""

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
    from mrdsl.core.result import Limits, Plan, Result, Table
    from mrdsl.exchange.entries import Target
    from mrdsl.exchange.targets.deployment import Deployment
    from mrdsl.families.joint.plan import JointPlan
    from mrdsl.reporting.report import Shown
    from mrdsl.simulation.settings import Settings
    from mrdsl.spec.spec import Spec


def report(spec: Spec, result: Result) -> Shown:
    """What ``mrdsl report`` says and draws."""
    from mrdsl.families.joint.report import report as answer

    return answer(spec, result)


def choose(spec: Spec, relax: bool, formulation: str | None) -> str:
    """Who solves it where nobody was named."""
    from mrdsl.families.joint.choice import choose as answer

    return answer(spec, relax, formulation)


def measure(spec: Spec, plan: JointPlan) -> float | None:
    """The goal's value of a plan."""
    from mrdsl.families.joint.verify import measure as answer

    return answer(spec, plan)


def quantity(spec: Spec, plan: JointPlan, name: str, argument: str) -> float:
    """A quantity that ``subject to`` compares."""
    from mrdsl.families.joint.quantities import quantity as answer

    return answer(spec, plan, name, argument)


def verify(spec: Spec, plan: JointPlan, relax: bool) -> Iterable[Diagnostic]:
    """Every promise that a plan breaks."""
    from mrdsl.families.joint.verify import verify as answer

    return answer(spec, plan, relax)


def simulate_plan(spec: Spec, plan: JointPlan, settings: Settings) -> tuple[JointPlan, tuple[Diagnostic, ...]]:
    """The plan with what ``mrdsl simulate`` observed of it."""
    from mrdsl.families.joint.simulate import simulate_plan as answer

    return answer(spec, plan, settings)


def why(spec: Spec, result: Result) -> tuple[Table | str, ...]:
    """What ``mrdsl why`` prints."""
    from mrdsl.families.joint.why import why as answer

    return answer(spec, result)


def build_p2(spec: Spec, relax: bool) -> ConcreteModel:
    """The Pyomo model of ``P2``."""
    from mrdsl.families.joint.models.formulations import build_p2 as answer

    return answer(spec, relax)


def decode_p2(spec: Spec, model: ConcreteModel, relax: bool) -> JointPlan:
    """The plan in a solved model of ``P2``."""
    from mrdsl.families.joint.models.formulations import decode_p2 as answer

    return answer(spec, model, relax)


def run_p2(spec: Spec, relax: bool, limits: Limits, solve: SolveModel) -> Result:
    """Builds, solves and decodes ``P2``."""
    from mrdsl.families.joint.models.formulations import run_p2 as answer

    return answer(spec, relax, limits, solve)


def run_p2_rounded(spec: Spec, relax: bool, limits: Limits, solve: SolveModel) -> Result:
    """Builds, solves and decodes ``P2-rounded``."""
    from mrdsl.families.joint.models.formulations import run_rounded

    return run_rounded(spec, relax, limits, solve)


def build_p0(spec: Spec, relax: bool) -> ConcreteModel:
    """The Pyomo model of ``P0``."""
    from mrdsl.families.joint.models.nonlinear import build_p0 as answer

    return answer(spec, relax)


def decode_p0(spec: Spec, model: ConcreteModel, relax: bool) -> JointPlan:
    """The plan in a solved model of ``P0``."""
    from mrdsl.families.joint.models.nonlinear import decode_p0 as answer

    return answer(spec, model, relax)


def run_p0(spec: Spec, relax: bool, limits: Limits, solve: SolveModel) -> Result:
    """Builds, solves and decodes ``P0``."""
    from mrdsl.families.joint.models.nonlinear import run_p0 as answer

    return answer(spec, relax, limits, solve)


def build_p1(spec: Spec, relax: bool) -> ConcreteModel:
    """The Pyomo model of ``P1``."""
    from mrdsl.families.joint.models.nonlinear import build_p1 as answer

    return answer(spec, relax)


def decode_p1(spec: Spec, model: ConcreteModel, relax: bool) -> JointPlan:
    """The plan in a solved model of ``P1``."""
    from mrdsl.families.joint.models.nonlinear import decode_p1 as answer

    return answer(spec, model, relax)


def run_p1(spec: Spec, relax: bool, limits: Limits, solve: SolveModel) -> Result:
    """Builds, solves and decodes ``P1``."""
    from mrdsl.families.joint.models.nonlinear import run_p1 as answer

    return answer(spec, relax, limits, solve)


def targets() -> tuple[Target, ...]:
    """What plans are exported to."""
    from mrdsl.exchange.registry import KUBERNETES, SLS, SPARK, YARN

    return YARN, SPARK, KUBERNETES, SLS


def deployments(spec: Spec, plan: JointPlan) -> tuple[Deployment, ...]:
    """The clusters that a plan comes to."""
    from mrdsl.families.joint.deployment import deployments as answer

    return answer(spec, plan)


def study_joint(output: Path, bench: Bench, **options: Any) -> Iterable[Table]:
    """The study ``joint``."""
    from mrdsl.families.joint.studies.tables import everything

    return everything(output, **options)


def study_sizes(output: Path, bench: Bench, **options: Any) -> Iterable[Table]:
    """The study ``joint-sizes``."""
    from mrdsl.families.joint.studies.tables import sizes

    return sizes(output, **options)


def study_hours(output: Path, bench: Bench, **options: Any) -> Iterable[Table]:
    """The study ``joint-hours``."""
    from mrdsl.families.joint.studies.tables import hours

    return hours(output, **options)


def study_integrality(output: Path, bench: Bench, **options: Any) -> Iterable[Table]:
    """The study ``joint-integrality``."""
    from mrdsl.families.joint.studies.tables import integrality

    return integrality(output, **options)


def study_instances(output: Path, bench: Bench, **options: Any) -> Iterable[Table]:
    """The study ``joint-instances``."""
    from mrdsl.families.joint.studies.instance_specs import write_instances

    return write_instances(output, bench, **options)


def plans() -> tuple[type[Plan], ...]:
    """The classes of its plans."""
    from mrdsl.families.joint.plan import JointPlan

    return (JointPlan,)


def operated(spec: Spec, plan: JointPlan) -> Operated:
    """What somebody who runs a plan sets."""
    from mrdsl.families.joint.operated import operated as answer

    return answer(spec, plan)
