"""What the hybrid family is asked, each answered by a module of its own that is loaded when it is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path
    from typing import Any

    from mrdsl.contracts.operated import Operated
    from mrdsl.contracts.study import Bench
    from mrdsl.core.diagnostics import Diagnostic
    from mrdsl.core.result import Plan, Result, Table
    from mrdsl.families.hybrid.plan import HybridPlan
    from mrdsl.reporting.report import Shown
    from mrdsl.spec.spec import Spec


def report(spec: Spec, result: Result) -> Shown:
    """What ``mrdsl report`` says and draws."""
    from mrdsl.families.hybrid.report import report as answer

    return answer(spec, result)


def choose(spec: Spec, relax: bool, formulation: str | None) -> str:
    """Who solves it where nobody was named."""
    from mrdsl.families.hybrid.verify import choose as answer

    return answer(spec, relax, formulation)


def measure(spec: Spec, plan: HybridPlan) -> float | None:
    """The goal's value of a plan."""
    from mrdsl.families.hybrid.verify import measure as answer

    return answer(spec, plan)


def simulate(spec: Spec, runs: int, seed: int | None, jobs: int | None) -> Result:
    """What ``mrdsl simulate`` runs."""
    from mrdsl.families.hybrid.simulate import simulate as answer

    return answer(spec, runs, seed, jobs)


def verify(spec: Spec, plan: HybridPlan, relax: bool) -> Iterable[Diagnostic]:
    """Every promise that a plan breaks."""
    from mrdsl.families.hybrid.verify import verify as answer

    return answer(spec, plan, relax)


def why(spec: Spec, result: Result) -> tuple[Table | str, ...]:
    """What ``mrdsl why`` prints."""
    from mrdsl.families.hybrid.why import why as answer

    return answer(spec, result)


def study_bridge(output: Path, bench: Bench, **options: Any) -> Iterable[Table]:
    """The study ``hybrid-bridge``."""
    from mrdsl.families.hybrid.studies.bridge import bridge

    return bridge(output, bench, **options)


def study_regimes(output: Path, bench: Bench, **options: Any) -> Iterable[Table]:
    """The study ``hybrid-regimes``."""
    from mrdsl.families.hybrid.studies.regimes import regimes

    return regimes(output, bench, **options)


def plans() -> tuple[type[Plan], ...]:
    """The classes of its plans."""
    from mrdsl.families.hybrid.plan import HybridPlan
    from mrdsl.families.hybrid.simulate import SimulatedHybrid

    return (
        HybridPlan,
        SimulatedHybrid,
    )


def operated(spec: Spec, plan: HybridPlan) -> Operated:
    """What somebody who runs a plan sets."""
    from mrdsl.families.hybrid.operated import operated as answer

    return answer(spec, plan)
