"""`mrdsl compile` writes the model of a spec for any solver; `mrdsl read` turns its solution into a checked plan."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from mrdsl.cli import options as shared
from mrdsl.cli.boundary import PLAN, diagnostics_exit_code
from mrdsl.cli.inputs import load_spec
from mrdsl.cli.outputs import OutputFile, Outputs, say
from mrdsl.cli.solve import show, write_files
from mrdsl.core.diagnostics import MrdslError, in_order
from mrdsl.exchange.registry import MODELS, SOLUTIONS, endings, names
from mrdsl.exchange.registry import names as names_of


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


@click.command()
@shared.spec_options
@click.option("--solution", type=click.Path(path_type=Path), required=True, help="The solver's solution file.")
@click.option(
    "--format",
    "form",
    type=click.Choice(names_of(SOLUTIONS)),
    help="Format of the solution file; default: detected from its contents.",
)
@shared.model_options
@click.option(
    "--names", type=click.Path(path_type=Path), help="The model's names.json; without it, no bound is claimed."
)
@click.option(
    "--gap", callback=shared.share, metavar="G", help="Relative gap that the solver proved, such as 0 or 0.01%."
)
@click.option("--bound", type=float, help="Bound that the solver proved, in the unit of the objective.")
@shared.as_json
@shared.json_file
@shared.force
def read(
    solution: Path,
    form: str | None,
    formulation: str | None,
    relax: bool,
    names: Path | None,
    gap: float | None,
    bound: float | None,
    as_json: bool,
    output: Path | None,
    force: bool,
    **options: Any,
) -> int:
    """Turn a solution of the compiled model of FILE into its plan, checked like any other."""
    from mrdsl.planning.solver_files import Proof, read_solution

    outputs = Outputs({"-o": output}, force, as_json)
    outputs.check(options["file"], options["data"], solution, names)
    loaded = load_spec(options)
    outputs.check(*loaded.files)
    if loaded.spec is None:
        raise MrdslError(loaded.diagnostics, diagnostics_exit_code(loaded.diagnostics))
    result = read_solution(loaded.spec, solution, form, formulation, relax, Proof(names, gap, bound))
    result = replace(result, diagnostics=tuple(in_order((*loaded.diagnostics, *result.diagnostics))))
    show(result, loaded, outputs, False)
    return write_files(result, outputs, {})
