"""``mrdsl explain``: the meaning of a diagnostic code, offline."""

from __future__ import annotations

import sys

import click

from mrdsl.cli.outputs import say_wrapped, terminal_width
from mrdsl.core.resources import codes, page
from mrdsl.core.wrapping import unfolded


@click.command()
@click.argument("code", required=False)
def explain(code: str | None) -> None:
    """Explain CODE, with a bad and a good spec; without CODE, list all codes."""
    if code is not None:
        text, width = page(code), terminal_width(sys.stdout)
        say_wrapped((text if width is None else unfolded(text)).rstrip("\n"), 0)
        return
    for name, meaning in codes().items():
        say_wrapped(f"{name}: {meaning}")
