"""Uses of a plan that take the plan of one period."""

from __future__ import annotations

from typing import NoReturn

from mrdsl.core.diagnostics import MrdslError, Span, error
from mrdsl.exchange.targets.deployment import TargetError
from mrdsl.families.capacity.periods.plan import PeriodsPlan
from mrdsl.simulation.settings import Settings
from mrdsl.spec.spec import Spec

HINT = "remove `demand`, and write the `jobs` of one period and `available` and `prepaid = yes` for committed VMs"


def simulate_plan(spec: Spec, plan: PeriodsPlan, settings: Settings) -> NoReturn:
    """Raise MrdslError: runs simulate the jobs of one period."""
    raise MrdslError([error("several-periods", "a plan over several periods cannot be simulated", _place(spec), HINT)])


def repeat_runs(spec: Spec, plan: PeriodsPlan, processes: int) -> None:
    """Return None: a plan over several periods has no runs."""


def today(spec: Spec, plan: PeriodsPlan) -> NoReturn:
    """Raise MrdslError: an observed cluster is compared with the plan of one period."""
    raise MrdslError([error("several-periods", "`observed` requires a spec of one period", _place(spec), HINT)])


def deployments(spec: Spec, plan: PeriodsPlan) -> NoReturn:
    """Raise TargetError: a cluster is that of one period."""
    raise TargetError("the plan has a cluster for each period, not one cluster", HINT)


def _place(spec: Spec) -> Span | None:
    place: Span | None = spec.facts.demand.span
    return place
