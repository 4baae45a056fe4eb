"""``mrdsl why``: what a plan means, or why there is none."""

from __future__ import annotations

from typing import Any

import click

from mrdsl.cli.boundary import print_diagnostics
from mrdsl.cli.check import exit_code as diagnostics_exit_code
from mrdsl.cli.inputs import load_spec, spec_options
from mrdsl.cli.solve import exit_code
from mrdsl.diagnostics import MrdslError, error
from mrdsl.problems import family as find_family
from mrdsl.problems.family import load


@click.command()
@spec_options
@click.option("--solver", default="auto", show_default=True, help="A solver or a pipeline; see `mrdsl solvers`.")
def why(solver: str, **options: Any) -> int:
    """Explain the plan for the spec in FILE, or why it has none."""
    from mrdsl.reporting.text import print_tables
    from mrdsl.solving.run import solve as run

    loaded = load_spec(options["file"], options["defines"], options["data"], options["seed"], options["allow_outside"])
    if loaded.spec is None:
        raise MrdslError(loaded.diagnostics, diagnostics_exit_code(loaded.diagnostics))
    result = run(loaded.spec, solver)
    family = find_family(loaded.spec.problem)
    assert family is not None
    print_diagnostics(result.diagnostics, loaded.texts)
    if not family.why:
        raise MrdslError(
            [
                error(
                    "no-explanation",
                    f"a {family.name} problem has no explanation yet",
                    loaded.spec.span,
                    "`mrdsl solve` shows the plan",
                )
            ]
        )
    click.echo(print_tables(load(family.why)(loaded.spec, result)), nl=False)
    return exit_code(result)
