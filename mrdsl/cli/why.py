"""``mrdsl why``: what a plan means, or why there is none."""

from __future__ import annotations

from typing import Any

import click

from mrdsl.cli import options as shared
from mrdsl.cli.boundary import print_diagnostics
from mrdsl.cli.check import exit_code as diagnostics_exit_code
from mrdsl.cli.inputs import open_input
from mrdsl.cli.printing import say
from mrdsl.cli.solve import exit_code
from mrdsl.core.diagnostics import MrdslError
from mrdsl.core.result import Limits, Termination


@click.command()
@shared.spec_options
@shared.method_options
@shared.time_limit
@click.option("--worth/--no-worth", default=True, help="Measure what each promise is worth by moving it a step.")
def why(
    solver: str, formulation: str | None, relax: bool, time_limit: float | None, worth: bool, **options: Any
) -> int:
    """Explain the plan for the spec in FILE, or why it has none and what would have to give way.

    FILE may be a saved plan, which is not made again.

    --time-limit holds for the solve and the reasons together; without it reasons are sought for 30 s. Ctrl-C ends the
    solve with its best plan so far, if any, for which reasons are then sought; it ends these, and the command, without
    any.
    """
    from mrdsl.explaining.why import why as run
    from mrdsl.solving.interruption import kept

    opened = open_input(options["file"], options)
    loaded = opened.loaded
    if loaded.spec is None:
        raise MrdslError(loaded.diagnostics, diagnostics_exit_code(loaded.diagnostics))
    with kept():
        explained = run(opened.plan or loaded.spec, solver, formulation, relax, Limits(time=time_limit), worth)
    result = explained.result
    told_below = {"no-plan"} if result.termination is Termination.INFEASIBLE else set()
    print_diagnostics([d for d in result.diagnostics if d.code not in told_below], loaded.texts)
    say(str(explained), nl=False)
    return exit_code(result)
