"""What mrdsl asks of the family; each hook imports the module that answers it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mrdsl.contracts.family import Needs
from mrdsl.core.diagnostics import Diagnostic
from mrdsl.core.result import Plan, Result, Table
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


def impossible(spec: Spec) -> Iterable[Diagnostic]:
    """What no plan can keep, found without a solver."""
    from MODULE.rules import impossible

    return impossible(spec)


def verify(spec: Spec, plan: StreamPlan, relax: bool) -> Iterable[Diagnostic]:
    """What of the spec a plan breaks."""
    from MODULE.rules import verify

    return verify(spec, plan, relax)


def measure(spec: Spec, plan: StreamPlan) -> float:
    """The goal's value."""
    from MODULE.rules import measure

    return measure(spec, plan)


def quantity(spec: Spec, plan: StreamPlan, name: str, argument: str) -> float:
    """A quantity for `subject to`."""
    from MODULE.rules import quantity

    return quantity(spec, plan, name, argument)


def why(spec: Spec, result: Result) -> tuple[Table | str, ...]:
    """What `mrdsl why` prints of a plan."""
    from MODULE.rules import why

    return why(spec, result)


def simulate_plan(spec: Spec, plan: StreamPlan, settings: Settings) -> tuple[Plan, Iterable[Diagnostic]]:
    """The plan with what runs of it showed."""
    from MODULE.simulate import simulate_plan

    return simulate_plan(spec, plan, settings)


def reference() -> str:
    """The commented spec to start from."""
    return Path(__file__).with_name("reference.mrspec").read_text(encoding="utf-8")


def plans() -> tuple[type[Plan], ...]:
    """The classes of plans, so that saved ones can be read back."""
    from MODULE.plan import StreamPlan

    return (StreamPlan,)
