"""``mrdsl explain``: the meaning of a diagnostic code, offline."""

from __future__ import annotations

import click

from mrdsl.cli.outputs import say
from mrdsl.core.resources import codes, page


@click.command()
@click.argument("code", required=False)
def explain(code: str | None) -> None:
    """Explain CODE, with a bad and a good spec; without CODE, list all codes."""
    if code is not None:
        say(page(code), nl=False)
        return
    for name, meaning in codes().items():
        say(f"{name}: {meaning}")
