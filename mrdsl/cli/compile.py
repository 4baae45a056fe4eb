"""``mrdsl compile``: the model of a spec as a file for any solver."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mrdsl.cli.boundary import PLAN
from mrdsl.cli.check import exit_code as diagnostics_exit_code
from mrdsl.cli.inputs import OutputFile, load_spec, spec_options
from mrdsl.diagnostics import MrdslError


@click.command(name="compile")
@spec_options
@click.option("--formulation", metavar="P", help="Which formulation of the problem to write.")
@click.option("--relax", is_flag=True, help="Let whole numbers be fractions.")
@click.option("-o", "--output", type=OutputFile(), required=True,
              help="The file to write: .lp, .mps, .nl or .gms. NAME.names.json beside it maps names to lines.")
def compile_command(formulation: str | None, relax: bool, output: Path, **options: Any) -> int:
    """Write the model of the spec in FILE, for any solver."""
    from mrdsl.solving.compile import write_model
    from mrdsl.solving.run import compile_model

    loaded = load_spec(options["file"], options["defines"], options["data"], options["seed"], options["allow_outside"])
    if loaded.spec is None:
        raise MrdslError(loaded.diagnostics, diagnostics_exit_code(loaded.diagnostics))
    for path in write_model(compile_model(loaded.spec, formulation, relax), output, loaded.spec):
        click.echo(str(path))
    return PLAN
