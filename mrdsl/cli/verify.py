"""``mrdsl verify``: what may be believed of a saved plan."""

from __future__ import annotations

from pathlib import Path

import click

from mrdsl.cli import options as shared
from mrdsl.cli.boundary import WRONG_INPUT, print_diagnostics
from mrdsl.cli.inputs import STANDARD_INPUT, STANDARD_INPUT_NAME, standard_input
from mrdsl.cli.printing import say
from mrdsl.cli.solve import exit_code
from mrdsl.core.diagnostics import MrdslError, error
from mrdsl.core.regular_files import is_json_object


@click.command()
@shared.file_argument
@click.option("--again", is_flag=True, help="Make the runs that it tells of once more, and compare.")
@shared.processes
@shared.as_json
def verify(file: Path, again: bool, processes: int | None, as_json: bool) -> int:
    """Check the saved plan in FILE against the spec in it, and tell which files behind it have changed since.

    Exit code 2 where it breaks a promise, is worth something else than it says, or its runs show something else; else
    that of the command that wrote it.
    """
    from mrdsl.planning.opening import read_file
    from mrdsl.planning.saved_plans import read_saved
    from mrdsl.planning.verified_plans import document, run_again, tables
    from mrdsl.planning.verified_plans import verify as check
    from mrdsl.reporting.document import to_json
    from mrdsl.reporting.text import print_tables

    if file.is_file() and not is_json_object(file):
        hint = f"`mrdsl solve {file} -o plan.json` makes one"
        raise MrdslError([error("malformed-plan", f"`{file}` is no saved plan", None, hint)])
    saved = read_saved(standard_input(), STANDARD_INPUT_NAME) if file == STANDARD_INPUT else read_file(file)
    if processes is not None and not again:
        message = "`--processes` says how `--again` makes the runs, which is not asked for"
        raise MrdslError([error("wrong-option", message, None, "add --again")])
    verified = run_again(saved, check(saved), processes or 1) if again else check(saved)
    if as_json:
        say(to_json(document(verified, saved)), nl=False)
    else:
        say(print_tables(tables(verified, saved)), nl=False)
        spec = saved.result.spec
        print_diagnostics(verified.found, {spec.file: spec.text} if spec.text else {})
    return exit_code(verified.result) if verified.kept else WRONG_INPUT
