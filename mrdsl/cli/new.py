"""``mrdsl new``: a commented spec to start from."""

from __future__ import annotations

from pathlib import Path

import click

from mrdsl.cli.outputs import OutputFile, Outputs, force_option
from mrdsl.core.diagnostics import MrdslError, error
from mrdsl.core.resources import resource
from mrdsl.core.suggestions import did_you_mean
from mrdsl.families import SHIPPED, family


@click.command()
@click.argument("kind", metavar="FAMILY", required=False)
@click.option("-o", "--output", type=OutputFile(), help="Write to a file; - prints it.")
@force_option
def new(kind: str | None, output: Path | None, force: bool) -> None:
    """Print a commented spec of a problem FAMILY to start from; without FAMILY, list them."""
    if kind is None:
        for name in SHIPPED:
            found = family(name)
            click.echo(f"{name}: {found.summary if found is not None else ''}")
        return
    if kind not in SHIPPED:
        raise MrdslError(
            [
                error(
                    "unknown-problem",
                    f"there is no problem kind `{kind}`",
                    None,
                    did_you_mean(kind, SHIPPED, "kinds: "),
                )
            ]
        )
    outputs = Outputs({"-o": output}, force)
    outputs.check()
    text = resource(f"models/{kind}/reference.mrspec").read_text(encoding="utf-8")
    if output is None:
        click.echo(text, nl=False)
    outputs.write("-o", text)
