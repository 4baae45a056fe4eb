"""``mrdsl why``: the explanation of a plan, or of the reasons why there is none."""

from __future__ import annotations

from typing import Any

import click

from mrdsl.cli import options as shared
from mrdsl.cli.boundary import print_briefly
from mrdsl.cli.check import exit_code as diagnostics_exit_code
from mrdsl.cli.inputs import open_input, solve_command
from mrdsl.cli.outputs import say_tables
from mrdsl.cli.solve import exit_code
from mrdsl.core.diagnostics import MrdslError
from mrdsl.core.result import Limits, Termination


@click.command()
@shared.spec_options
@shared.method_options
@shared.time_limit
@click.option(
    "--sensitivity/--no-sensitivity",
    cls=shared.Renamed,
    former=("--worth",),
    default=True,
    help="Measure the effect of moving each constraint by one step.",
)
def why(
    solver: str, formulation: str | None, relax: bool, time_limit: float | None, sensitivity: bool, **options: Any
) -> int:
    """Explain the plan for the spec in FILE; if it has none, show the conflict and how to resolve it.

    FILE may be a saved plan; it is not solved again.

    --time-limit covers both the solve and the explanation; without it, the explanation takes at most 30 s. The first
    Ctrl-C ends the solve and explains its best plan so far; the second ends the command.
    """
    from mrdsl.explaining.why import why as run
    from mrdsl.solving.processes import kept

    opened = open_input(options["file"], options)
    loaded = opened.loaded
    if loaded.spec is None:
        raise MrdslError(loaded.diagnostics, diagnostics_exit_code(loaded.diagnostics))
    with kept():
        explained = run(opened.plan or loaded.spec, solver, formulation, relax, Limits(time=time_limit), sensitivity)
    result = explained.result
    told_below = {"no-plan"} if result.termination is Termination.INFEASIBLE else set()
    print_briefly([d for d in result.diagnostics if d.code not in told_below], loaded.texts, solve_command(options))
    say_tables(explained.parts)
    return exit_code(result)
