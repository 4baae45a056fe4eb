"""``mrdsl why``: what a plan means, or why there is none."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import click

from mrdsl.cli import options as shared
from mrdsl.cli.boundary import print_diagnostics
from mrdsl.cli.check import exit_code as diagnostics_exit_code
from mrdsl.cli.inputs import open_input
from mrdsl.cli.printing import say
from mrdsl.cli.solve import exit_code
from mrdsl.core.diagnostics import MrdslError
from mrdsl.core.result import Limits, Result, Table, Termination
from mrdsl.families import family as find_family
from mrdsl.spec.spec import Spec

PATIENCE = 30.0


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

    Reasons are sought for as long as a solve may take, 30 s where no --time-limit is given.
    """
    from mrdsl.planning.solve_spec import solve as run
    from mrdsl.reporting.text import print_tables
    from mrdsl.solving.interruption import kept

    opened = open_input(options["file"], options)
    loaded = opened.loaded
    if loaded.spec is None:
        raise MrdslError(loaded.diagnostics, diagnostics_exit_code(loaded.diagnostics))
    if opened.plan is not None:
        result, formulation, relax = opened.plan, opened.plan.formulation, opened.plan.relaxed
    else:
        with kept():
            result = run(loaded.spec, solver, formulation, relax, Limits(time=time_limit))
    patience = PATIENCE if time_limit is None else time_limit
    method = (solver, formulation, relax)
    if result.termination is Termination.INFEASIBLE:
        say(print_tables(_without_plan(loaded.spec, method, patience)), nl=False)
        print_diagnostics([d for d in result.diagnostics if d.code != "no-plan"], loaded.texts)
    else:
        print_diagnostics(result.diagnostics, loaded.texts)
        say(print_tables(_of_plan(loaded.spec, result, method, worth, patience)), nl=False)
    return exit_code(result)


def _without_plan(spec: Spec, method: tuple[str, str | None, bool], patience: float) -> Iterable[Table | str]:
    from mrdsl.explaining.infeasibility import explain
    from mrdsl.explaining.wording import as_tables

    return tuple(as_tables(spec, explain(spec, *method, seconds=patience)))


def _of_plan(
    spec: Spec, result: Result, method: tuple[str, str | None, bool], worth: bool, patience: float
) -> Iterable[Table | str]:
    from mrdsl.explaining.sensitivity import shadow_prices, steps, table

    family = find_family(spec.problem)
    assert family is not None
    if family.why is not None:
        yield from family.why(spec, result)
    if result.plan is None:
        return
    if method[2] and family.formulations:
        yield shadow_prices(spec, method[1])
    if worth and family.promises and result.objective.value is not None:
        measured = table(spec, result, tuple(steps(spec, result, *method, seconds=patience)))
        yield measured if measured.rows else "Every promise could move a step without any effect on the goal."
