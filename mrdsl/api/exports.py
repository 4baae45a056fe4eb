"""Plans as the configuration of other systems."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from mrdsl.api.arguments import checked
from mrdsl.api.plans import solve
from mrdsl.core.result import Result

if TYPE_CHECKING:
    from mrdsl.exchange.targets.deployment import Exported
    from mrdsl.spec.spec import Spec


@checked
def export(
    plan: Spec | Result,
    target: str,
    *,
    vms: Mapping[str, str] | None = None,
    master: str = "",
    fleets: bool = False,
    cores: float | None = None,
    memory: float | None = None,
) -> Exported:
    """A plan as a target's files: ``files`` are texts by name, ``notes`` say what of the plan they do not.

    ``plan`` is a spec, which is solved, or a result. ``vms`` says what its VM types are called where they are rented,
    ``master`` the type of the machine that runs no tasks; ``fleets`` lets EMR choose among the plan's types; ``cores``
    and ``memory`` (bytes) are what tasks may use of a VM that says neither. Raises MrdslError as :func:`solve` does,
    ``unknown-form`` where the family's plans have no such form, ``target-refuses`` where the target would refuse it,
    ``nothing-to-export`` where there is no plan.
    """
    from mrdsl.core.diagnostics import MrdslError, error
    from mrdsl.exchange.targets.deployment import Wishes
    from mrdsl.planning.exporting import writer_of

    spec = plan.spec if isinstance(plan, Result) else plan
    write = writer_of(spec, target)
    result = plan if isinstance(plan, Result) else solve(plan)
    if result.plan is None:
        message = f"there is no plan to write as {target}: {result.termination}"
        raise MrdslError([*result.diagnostics, error("nothing-to-export", message, spec.span, "`mrdsl.why` says why")])
    return write(spec, result.plan, Wishes(master, vms or {}, cores, memory, fleets))
