"""What needs Pyomo, numpy or a file; each hook imports the module that answers it when it is called."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mrdsl.contracts.family import Needs
from mrdsl.core.diagnostics import Diagnostic
from mrdsl.core.result import Plan
from mrdsl.spec.spec import Spec

if TYPE_CHECKING:
    from mrdsl.simulation.settings import Settings

    from MODULE.plan import StreamPlan


def needs(spec: Spec, relax: bool) -> Needs:
    """Whole executors make it a mixed-integer program."""
    return Needs("LP" if relax else "MILP")


def build(spec: Spec, relax: bool) -> Any:
    """The Pyomo model."""
    from MODULE.model import build

    return build(spec, relax)


def decode(spec: Spec, model: Any, relax: bool) -> StreamPlan:
    """The plan in a solved model."""
    from MODULE.model import decode

    return decode(spec, model, relax)


def simulate_plan(spec: Spec, plan: StreamPlan, settings: Settings) -> tuple[Plan, Iterable[Diagnostic]]:
    """The plan with what runs of it showed."""
    from MODULE.simulate import simulate_plan

    return simulate_plan(spec, plan, settings)


def reference() -> str:
    """The commented spec to start from."""
    return Path(__file__).with_name("reference.mrspec").read_text(encoding="utf-8")
