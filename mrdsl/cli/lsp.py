"""``mrdsl lsp``: a language server over standard input and output, on the same functions as the command line."""

from __future__ import annotations

import sys

import click

from mrdsl.core.diagnostics import MrdslError, error


@click.command()
def lsp() -> None:
    """Serve editors: diagnostics, hover, completion, definitions, rename, formatting (extra `lsp`)."""
    try:
        from mrdsl.editor.server import serve
    except ModuleNotFoundError as missing:
        raise MrdslError(
            [error("missing-extra", f"the language server needs {missing.name}", None, 'pip install "pygls>=2.0"')], 3
        ) from None
    serve(sys.stdin.buffer, sys.stdout.buffer)
