"""``mrdsl compare``: two plans side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mrdsl.cli import options as shared
from mrdsl.cli.boundary import print_diagnostics
from mrdsl.cli.check import exit_code as diagnostics_exit_code
from mrdsl.cli.inputs import load_spec
from mrdsl.cli.outputs import Outputs
from mrdsl.cli.solve import exit_code
from mrdsl.core.diagnostics import MrdslError, error
from mrdsl.core.result import Result


@click.command()
@click.argument("first", type=click.Path(path_type=Path))
@click.argument("second", type=click.Path(path_type=Path))
@shared.overrides
@shared.method_options
@shared.as_json
@shared.json_file
@shared.force
def compare(first: Path, second: Path, as_json: bool, output: Path | None, force: bool, **options: Any) -> int:
    """Solve the specs FIRST and SECOND and show where their plans differ."""
    from mrdsl.reporting.comparison import compare as put_beside
    from mrdsl.reporting.document import to_json
    from mrdsl.reporting.text import print_tables, status_text

    outputs = Outputs({"-o": output}, force, as_json)
    outputs.check(first, second, options["data"])
    results = [_solve(path, options, outputs) for path in (first, second)]
    try:
        comparison = put_beside(results[0], results[1], _names(first, second))
    except ValueError as problem:
        raise MrdslError([error("different-problems", str(problem), None, "compare plans of one kind")]) from None
    if outputs.to_standard_output is None:
        outputs.write("-o", to_json(comparison.document()))
    if as_json or outputs.to_standard_output is not None:
        click.echo(to_json(comparison.document()), nl=False)
    else:
        click.echo(print_tables(comparison.tables()))
        for name, result in zip(comparison.names, results, strict=True):
            click.echo(f"{name}: {status_text(result)}", nl=False)
        if comparison.equal:
            click.echo(f"{comparison.equal} numbers are the same in both plans")
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
