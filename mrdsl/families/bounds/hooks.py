"""What the bounds family is asked, each answered by a module of its own that is loaded when it is asked."""

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
    from mrdsl.families.bounds.plan import BoundsPlan
    from mrdsl.reporting.report import Shown
    from mrdsl.simulation.settings import Settings
    from mrdsl.spec.spec import Spec


def report(spec: Spec, result: Result) -> Shown:
    """What ``mrdsl report`` says and draws."""
    from mrdsl.families.bounds.report import report as answer

    return answer(spec, result)


def choose(spec: Spec, relax: bool, formulation: str | None) -> str:
    """Who solves it where nobody was named."""
    from mrdsl.families.bounds.choice import choose as answer

    return answer(spec, relax, formulation)


def measure(spec: Spec, plan: BoundsPlan) -> float | None:
    """The goal's value of a plan."""
    from mrdsl.families.bounds.verify import measure as answer

    return answer(spec, plan)


def quantity(spec: Spec, plan: BoundsPlan, name: str, argument: str) -> float:
    """A quantity that ``subject to`` compares."""
    from mrdsl.families.bounds.verify import quantity as answer

    return answer(spec, plan, name, argument)


def simulate_plan(spec: Spec, plan: BoundsPlan, settings: Settings) -> tuple[BoundsPlan, tuple[Diagnostic, ...]]:
    """The plan with what ``mrdsl simulate`` observed of it."""
    from mrdsl.families.bounds.simulate import simulate_plan as answer

    return answer(spec, plan, settings)


def verify(spec: Spec, plan: BoundsPlan, relax: bool) -> Iterable[Diagnostic]:
    """Every promise that a plan breaks."""
    from mrdsl.families.bounds.verify import verify as answer

    return answer(spec, plan, relax)


def build_slots(spec: Spec, relax: bool) -> ConcreteModel:
    """The Pyomo model of ``slots``."""
    from mrdsl.families.bounds.models.slots import build

    return build(spec, relax)


def decode_slots(spec: Spec, model: ConcreteModel, relax: bool) -> BoundsPlan:
    """The plan in a solved model of ``slots``."""
    from mrdsl.families.bounds.models.slots import decode

    return decode(spec, model, relax)


def study_profiles(output: Path, bench: Bench, **options: Any) -> Iterable[Table]:
    """The study ``bounds-profiles``."""
    from mrdsl.families.bounds.studies.profiles import profiles

    return profiles(output, bench, **options)


def study_tables(output: Path, bench: Bench, **options: Any) -> Iterable[Table]:
    """The study ``bounds-tables``."""
    from mrdsl.families.bounds.studies.tables import tables

    return tables(output, bench, **options)


def study_accuracy(output: Path, bench: Bench, **options: Any) -> Iterable[Table]:
    """The study ``bounds-accuracy``."""
    from mrdsl.families.bounds.studies.accuracy import accuracy

    return accuracy(output, **options)


def plans() -> tuple[type[Plan], ...]:
    """The classes of its plans."""
    from mrdsl.families.bounds.plan import BoundsPlan

    return (BoundsPlan,)


def operated(spec: Spec, plan: BoundsPlan) -> Operated:
    """What somebody who runs a plan sets."""
    from mrdsl.families.bounds.operated import operated as answer

    return answer(spec, plan)
