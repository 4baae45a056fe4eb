"""``mrdsl compile``: the model of a spec as a file for any solver."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mrdsl.cli import options as shared
from mrdsl.cli.boundary import PLAN
from mrdsl.cli.check import exit_code as diagnostics_exit_code
from mrdsl.cli.inputs import load_spec
from mrdsl.cli.outputs import OutputFile, Outputs, say
from mrdsl.core.diagnostics import MrdslError
from mrdsl.exchange.registry import MODELS, endings, names


@click.command(name="compile")
@shared.spec_options
@shared.model_options
@click.option(
    "-o",
    "--output",
    type=OutputFile(),
    required=True,
    help=f"Output file, {', '.join(endings(MODELS))}; FILE.names.json maps its names to lines of the spec. - prints "
    "the model alone.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(names(MODELS)),
    help="Output format (default: from the file extension).",
)
@shared.force
def compile(formulation: str | None, relax: bool, output: Path, form: str | None, force: bool, **options: Any) -> int:
    """Write the model of the spec in FILE, for any solver."""
    from mrdsl.planning.solve_spec import compile_model
    from mrdsl.planning.solver_files import paths_of, write_model

    outputs = Outputs({path.name: path for path in paths_of(output, form)}, force)
    outputs.check(options["file"], options["data"])
    loaded = load_spec(options)
    outputs.check(*loaded.files)
    if loaded.spec is None:
        raise MrdslError(loaded.diagnostics, diagnostics_exit_code(loaded.diagnostics))
    model = compile_model(loaded.spec, formulation, relax)
    for path in write_model(model, output, loaded.spec, form=form, force=force):
        say(str(path), err=outputs.to_standard_output is not None)
    return PLAN
