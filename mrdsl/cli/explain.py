"""``mrdsl explain``: what a diagnostic's code means, offline."""

from __future__ import annotations

import click

from mrdsl.core.diagnostics import MrdslError, error
from mrdsl.core.resources import resource
from mrdsl.core.suggestions import did_you_mean


@click.command()
@click.argument("code", required=False)
def explain(code: str | None) -> None:
    """Say what CODE means, with a bad and a good spec; without CODE, list all codes."""
    known = {path.stem: path for path in sorted(resource("grammar/diagnostics").glob("*.md"))}
    if code is None:
        for name, path in known.items():
            lines = path.read_text(encoding="utf-8").splitlines()
            click.echo(f"{name}: {next(line for line in lines[1:] if line.strip())}")
        return
    if code not in known:
        raise MrdslError(
            [error("unknown-code", f"there is no diagnostic `{code}`", None, did_you_mean(code, known, "codes: "))]
        )
    click.echo(known[code].read_text(encoding="utf-8"), nl=False)
