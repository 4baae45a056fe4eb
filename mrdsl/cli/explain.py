"""``mrdsl explain``: what a diagnostic's code means, offline."""

from __future__ import annotations

import click

from mrdsl.core.catalogue import codes, page


@click.command()
@click.argument("code", required=False)
def explain(code: str | None) -> None:
    """Say what CODE means, with a bad and a good spec; without CODE, list all codes."""
    if code is not None:
        click.echo(page(code), nl=False)
        return
    for name, meaning in codes().items():
        click.echo(f"{name}: {meaning}")
