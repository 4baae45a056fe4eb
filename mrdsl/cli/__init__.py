"""The command line: thin commands over the Python API, each in a module of its own that is loaded when called."""

from __future__ import annotations

import sys
from typing import Any

import click

from mrdsl.problems.family import load
from mrdsl.version import __version__

COMMANDS = {
    "check": "mrdsl.cli.check:check",
    "new": "mrdsl.cli.new:new",
    "fmt": "mrdsl.cli.fmt:fmt",
    "explain": "mrdsl.cli.explain:explain",
    "show": "mrdsl.cli.show:show",
    "lsp": "mrdsl.cli.lsp:lsp",
    "solve": "mrdsl.cli.solve:solve",
    "simulate": "mrdsl.cli.simulate:simulate",
    "why": "mrdsl.cli.why:why",
    "compare": "mrdsl.cli.compare:compare",
    "export": "mrdsl.cli.export:export",
    "compile": "mrdsl.cli.compile:compile_command",
    "read": "mrdsl.cli.read:read",
    "solvers": "mrdsl.cli.solvers:solvers",
    "sweep": "mrdsl.cli.sweep:sweep",
    "experiment": "mrdsl.cli.experiment:experiment",
}


class Commands(click.Group):
    """A group whose commands are imported when they are called or asked for their help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        reference = COMMANDS.get(cmd_name)
        return load(reference) if reference is not None else None

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from mrdsl.language.suggest import did_you_mean

            ctx.fail(f"there is no command '{args[0]}'; {did_you_mean(args[0], COMMANDS, 'commands: ')}")
        return super().resolve_command(ctx, args)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="mrdsl")
def cli() -> None:
    """Declare jobs, machines and promises; get the cheapest cluster that keeps them, with a proof."""


def main() -> None:
    """The entry point: whatever happens, one clear message and a documented exit code."""
    from mrdsl.cli.boundary import run

    sys.exit(run(cli))
