"""`mrdsl experiment`: a pointer to the new place of the reproductions of the papers, for one release."""

from __future__ import annotations

import click

from mrdsl.core.diagnostics import MrdslError, error


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def experiment(words: tuple[str, ...]) -> None:
    """Removed: run `python -m studies NAME` in a checkout."""
    command = " ".join(("python -m studies", *words))
    message = "`mrdsl experiment` was removed: the papers' reproductions are now scripts in the repository"
    raise MrdslError([error("unknown-experiment", message, None, f"run `{command}` in a checkout of mrdsl")])
