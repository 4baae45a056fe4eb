"""The command line's own help, a section for each command."""

from __future__ import annotations

from collections.abc import Iterator

import click

from mrdsl.cli import cli


def pages() -> Iterator[tuple[str, str]]:
    """One page of all commands."""
    context = click.Context(cli, info_name="mrdsl", terminal_width=100)
    parts = ["# Commands", _help(context)]
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        if command is not None and not command.hidden:
            parts += [f"## {name}", _help(click.Context(command, info_name=name, parent=context, terminal_width=100))]
    yield "commands.md", "\n\n".join([*parts, ""])


def _help(context: click.Context) -> str:
    return f"```text\n{context.get_help()}\n```"
