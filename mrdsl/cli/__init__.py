"""The command line: thin commands over the Python API, in modules that are loaded on use.

Such a module imports only the declarations of its options; the rest is imported when it runs, so that help is fast.
"""

from __future__ import annotations

import gc
import sys
from typing import Any

import click

from mrdsl.core import ctrl_c
from mrdsl.core.lazy import named
from mrdsl.core.version import __version__

COMMANDS = {
    "check": "specs",
    "new": "extending",
    "fmt": "specs",
    "explain": "specs",
    "show": "export",
    "lsp": "specs",
    "completion": "specs",
    "solve": "solve",
    "report": "plans",
    "simulate": "solve",
    "why": "plans",
    "verify": "plans",
    "compare": "compare",
    "diff": "compare",
    "export": "export",
    "compile": "export",
    "read": "export",
    "profile": "profile",
    "predict": "profile",
    "solvers": "extending",
    "schema": "plans",
    "sweep": "compare",
    "study": "compare",
    "experiment": "compare",
    "check-plugin": "extending",
}
"""Module of each command, which is the function of its name."""


class Commands(click.Group):
    """A group whose commands are imported when they are called or asked for their help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = named(f"mrdsl.cli.{COMMANDS[cmd_name]}", cmd_name.replace("-", "_"))
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and args[0] not in COMMANDS and not args[0].startswith("-") and not ctx.resilient_parsing:
            from mrdsl.core.diagnostics import did_you_mean

            ctx.fail(f"unknown command `{args[0]}`; {did_you_mean(args[0], COMMANDS, 'commands: ')}")
        return super().resolve_command(ctx, args)


@click.group(
    cls=Commands,
    invoke_without_command=True,
    subcommand_metavar="COMMAND [ARGS]...",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="mrdsl")
@click.pass_context
def cli(context: click.Context) -> int | None:
    """Find the cheapest cluster that meets the deadlines of MapReduce and Spark jobs, with a proven bound."""
    if context.invoked_subcommand is not None:
        return None
    from mrdsl.cli.boundary import WRONG_INPUT
    from mrdsl.cli.outputs import say

    say(context.get_help(), err=True)
    return WRONG_INPUT


def main() -> None:
    """The entry point: whatever happens, one clear message and a documented exit code."""
    gc.set_threshold(20_000)  # modules and specs, which are most of what a command makes, are not garbage
    from mrdsl.cli.boundary import STOPPED, run

    try:
        code = run(cli)
    except KeyboardInterrupt:  # a second one, while the first was being told
        code = STOPPED
    ctrl_c.over()
    sys.exit(code)
