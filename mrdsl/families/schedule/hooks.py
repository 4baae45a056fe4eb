"""What the schedule family is asked, each answered by a module of its own that is loaded when it is asked."""

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
    from mrdsl.exchange.entries import Target
    from mrdsl.exchange.targets.deployment import Deployment
    from mrdsl.families.schedule.plan import SchedulePlan
    from mrdsl.reporting.report import Shown
    from mrdsl.spec.spec import Spec


def report(spec: Spec, result: Result) -> Shown:
    """What ``mrdsl report`` says and draws."""
    from mrdsl.families.schedule.report import report as answer

    return answer(spec, result)


def choose(spec: Spec, relax: bool, formulation: str | None) -> str:
    """Who solves it where nobody was named."""
    from mrdsl.families.schedule.choice import choose as answer

    return answer(spec, relax, formulation)


def measure(spec: Spec, plan: SchedulePlan) -> float | None:
    """The goal's value of a plan."""
    from mrdsl.families.schedule.verify import measure as answer

    return answer(spec, plan)


def simulate(spec: Spec, runs: int, seed: int | None, jobs: int | None) -> Result:
    """What ``mrdsl simulate`` runs."""
    from mrdsl.families.schedule.simulate import simulate as answer

    return answer(spec, runs, seed, jobs)


def verify(spec: Spec, plan: SchedulePlan, relax: bool) -> Iterable[Diagnostic]:
    """Every promise that a plan breaks."""
    from mrdsl.families.schedule.verify import verify as answer

    return answer(spec, plan, relax)


def why(spec: Spec, result: Result) -> tuple[Table | str, ...]:
    """What ``mrdsl why`` prints."""
    from mrdsl.families.schedule.why import why as answer

    return answer(spec, result)


def build_offline(spec: Spec, relax: bool) -> ConcreteModel:
    """The Pyomo model of ``offline``."""
    from mrdsl.families.schedule.models.offline import build

    return build(spec, relax)


def decode_offline(spec: Spec, model: ConcreteModel, relax: bool) -> SchedulePlan:
    """The plan in a solved model of ``offline``."""
    from mrdsl.families.schedule.models.offline import decode

    return decode(spec, model, relax)


def study_tables(output: Path, bench: Bench, **options: Any) -> Iterable[Table]:
    """The study ``schedule-tables``."""
    from mrdsl.families.schedule.studies.tables import tables

    return tables(output, bench, **options)


def study_promise(output: Path, bench: Bench, **options: Any) -> Iterable[Table]:
    """The study ``schedule-promise``."""
    from mrdsl.families.schedule.studies.tables import promise

    return promise(output, bench, **options)


def study_gap(output: Path, bench: Bench, **options: Any) -> Iterable[Table]:
    """The study ``schedule-gap``."""
    from mrdsl.families.schedule.studies.optimality_gap import gaps

    return gaps(output, bench, **options)


def study_run(output: Path, bench: Bench, **options: Any) -> Iterable[Table]:
    """The study ``schedule-run``."""
    from mrdsl.families.schedule.studies.tables import one_run

    return one_run(output, bench, **options)


def plans() -> tuple[type[Plan], ...]:
    """The classes of its plans."""
    from mrdsl.families.schedule.plan import SchedulePlan
    from mrdsl.families.schedule.simulate import SimulatedSchedule

    return (SchedulePlan, SimulatedSchedule)


def operated(spec: Spec, plan: SchedulePlan) -> Operated:
    """What somebody who runs a plan sets."""
    from mrdsl.families.schedule.operated import operated as answer

    return answer(spec, plan)


def targets() -> tuple[Target, ...]:
    """What plans are exported to."""
    from mrdsl.exchange.registry import SLS

    return (SLS,)


def deployments(spec: Spec, plan: SchedulePlan) -> tuple[Deployment, ...]:
    """The clusters that a plan comes to."""
    from mrdsl.families.schedule.deployment import deployments as answer

    return answer(spec, plan)
