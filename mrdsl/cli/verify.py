"""``mrdsl verify``: verification of a saved plan."""

from __future__ import annotations

from pathlib import Path

import click

from mrdsl.cli import options as shared
from mrdsl.cli.boundary import WRONG_INPUT, print_diagnostics
from mrdsl.cli.inputs import STANDARD_INPUT, STANDARD_INPUT_NAME, standard_input
from mrdsl.cli.outputs import say, say_tables
from mrdsl.cli.solve import exit_code
from mrdsl.core.diagnostics import MrdslError, error
from mrdsl.core.reading import is_json_object


@click.command()
@shared.file_argument
@click.option(
    "--rerun",
    cls=shared.Renamed,
    former=("--again",),
    is_flag=True,
    help="Repeat the simulation that the plan reports, and compare.",
)
@shared.processes
@shared.as_json
def verify(file: Path, rerun: bool, processes: int | None, as_json: bool) -> int:
    """Check the saved plan in FILE against its spec, and list the input files that have changed since.

    Exit code 2 if the plan violates a constraint, or if its value or its runs differ from the claims of the file;
    otherwise the exit code of the command that wrote it.
    """
    from mrdsl.planning.saved_plans import read_saved
    from mrdsl.planning.verified_plans import document, read_file, run_again, tables
    from mrdsl.planning.verified_plans import verify as check
    from mrdsl.reporting.document import to_json

    if file.is_file() and not is_json_object(file):
        hint = f"save a plan first: `mrdsl solve {file} -o plan.json`"
        message = f"`verify` needs a saved plan (JSON), and `{file}` is not one"
        raise MrdslError([error("malformed-plan", message, None, hint)])
    saved = read_saved(standard_input(), STANDARD_INPUT_NAME) if file == STANDARD_INPUT else read_file(file)
    if processes is not None and not rerun:
        hint = "add `--rerun` to repeat the simulation, or remove `--processes`"
        raise MrdslError([error("wrong-option", "`--processes` requires `--rerun`", None, hint)])
    verified = run_again(saved, check(saved), processes or 1) if rerun else check(saved)
    if as_json:
        say(to_json(document(verified, saved)), nl=False)
    else:
        say_tables(tables(verified, saved))
        spec = saved.result.spec
        print_diagnostics(verified.found, {spec.file: spec.text} if spec.text else {})
    return exit_code(verified.result) if verified.kept else WRONG_INPUT
