"""``mrdsl new``: a commented spec to start from."""

from __future__ import annotations

from pathlib import Path

import click

from mrdsl.cli import options as shared
from mrdsl.cli.output_file import OutputFile
from mrdsl.cli.outputs import Outputs
from mrdsl.core.diagnostics import MrdslError, error
from mrdsl.core.suggestions import did_you_mean
from mrdsl.families import family_names, reference_text, summary


@click.command()
@click.argument("kind", metavar="FAMILY", required=False)
@click.option("-o", "--output", type=OutputFile(), help="Write to a file; - prints it.")
@shared.force
def new(kind: str | None, output: Path | None, force: bool) -> None:
    """Print a commented spec of a problem FAMILY to start from; without FAMILY, list them."""
    if kind is None:
        for name in family_names():
            click.echo(f"{name}: {summary(name)}")
        return
    text = reference_text(kind)
    if text is None:
        names = family_names()
        raise MrdslError(
            [
                error(
                    "unknown-problem",
                    f"there is no problem kind `{kind}`"
                    if kind not in names
                    else f"`{kind}` has no spec to start from",
                    None,
                    did_you_mean(kind, [name for name in names if name != kind], "kinds: "),
                )
            ]
        )
    outputs = Outputs({"-o": output}, force)
    outputs.check()
    if output is None:
        click.echo(text, nl=False)
    outputs.write("-o", text)
