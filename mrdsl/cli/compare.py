"""``mrdsl compare``: two plans side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mrdsl.cli.boundary import print_diagnostics
from mrdsl.cli.check import exit_code as diagnostics_exit_code
from mrdsl.cli.inputs import load_spec, solver_folder
from mrdsl.cli.outputs import OutputFile, Outputs, force_option
from mrdsl.cli.solve import exit_code
from mrdsl.core.diagnostics import MrdslError, error
from mrdsl.core.result import Result


@click.command()
@click.argument("first", type=click.Path(path_type=Path))
@click.argument("second", type=click.Path(path_type=Path))
@click.option("-D", "defines", multiple=True, metavar="NAME=VALUE", help="Override a param, in both specs.")
@click.option("--data", type=click.Path(path_type=Path), help="Override params from a TOML or JSON file.")
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), help="Override both seeds.")
@click.option("--allow-outside", is_flag=True, help="Let the specs read files outside their folders.")
@click.option("--solver", default="auto", show_default=True, help="A solver or a pipeline; see `mrdsl solvers`.")
@solver_folder
@click.option("--formulation", metavar="P", help="Which formulation of the problem to solve.")
@click.option("--relax", is_flag=True, help="Let whole numbers be fractions.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
@click.option("-o", "--output", type=OutputFile(), help="Write the JSON object to a file; - prints it.")
@force_option
def compare(first: Path, second: Path, as_json: bool, output: Path | None, force: bool, **options: Any) -> int:
    """Solve the specs FIRST and SECOND and show where their plans differ."""
    from mrdsl.reporting.comparison import compare as put_beside
    from mrdsl.reporting.document import to_json
    from mrdsl.reporting.text import print_tables, status_text

    outputs = Outputs({"-o": output}, force, as_json)
    outputs.check(first, second, options["data"])
    results = [_solve(path, options, outputs) for path in (first, second)]
    try:
        found = put_beside(results[0], results[1], _names(first, second))
    except ValueError as problem:
        raise MrdslError([error("different-problems", str(problem), None, "compare plans of one kind")]) from None
    if outputs.to_standard_output is None:
        outputs.write("-o", to_json(found.document()))
    if as_json or outputs.to_standard_output is not None:
        click.echo(to_json(found.document()), nl=False)
    else:
        click.echo(print_tables(found.tables()))
        for name, result in zip(found.names, results, strict=True):
            click.echo(f"{name}: {status_text(result)}", nl=False)
        if found.equal:
            click.echo(f"{found.equal} numbers are the same in both plans")
    return max(exit_code(result) for result in results)


def _solve(path: Path, options: dict[str, Any], outputs: Outputs) -> Result:
    from mrdsl.planning.solve_spec import solve as run

    loaded = load_spec(path, options["defines"], options["data"], options["seed"], options["allow_outside"])
    outputs.check(*loaded.files)
    if loaded.spec is None:
        raise MrdslError(loaded.diagnostics, diagnostics_exit_code(loaded.diagnostics))
    result = run(loaded.spec, options["solver"], options["formulation"], options["relax"])
    print_diagnostics(result.diagnostics, loaded.texts)
    return result


def _names(first: Path, second: Path) -> tuple[str, str]:
    """The files' names, as short as tells them apart."""
    return (first.stem, second.stem) if first.stem != second.stem else (str(first), str(second))
