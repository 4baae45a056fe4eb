"""``mrdsl schema``: the form of saved plans."""

from __future__ import annotations

from pathlib import Path

import click

from mrdsl.cli import options as shared
from mrdsl.cli.output_file import OutputFile
from mrdsl.cli.outputs import Outputs
from mrdsl.cli.printing import say
from mrdsl.core.diagnostics import MrdslError, error
from mrdsl.core.output_names import STANDARD_OUTPUT
from mrdsl.core.suggestions import did_you_mean


@click.command()
@click.argument("kind", required=False)
@click.option("-o", "--output", type=OutputFile(), default="-", show_default=True, help="The file to write.")
@shared.force
def schema(kind: str | None, output: Path, force: bool) -> None:
    """Print the JSON Schema of saved plans, of the family KIND or of all."""
    from mrdsl.families import family_names
    from mrdsl.planning.plan_schema import plan_schema
    from mrdsl.reporting.document import to_json

    outputs = Outputs({"-o": output}, force)
    outputs.check()
    if kind is not None and kind not in family_names():
        hint = did_you_mean(kind, family_names(), "there are: ")
        raise MrdslError([error("unknown-problem", f"there is no problem kind `{kind}`", None, hint)])
    text = to_json(plan_schema(None if kind is None else (kind,)))
    if output == STANDARD_OUTPUT:
        say(text, nl=False)
    else:
        outputs.write("-o", text)
