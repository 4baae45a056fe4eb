"""The command line: thin commands over the Python API, each in a module of its own that is loaded when called.

Such a module imports what declares its options; what it does it imports when it runs, so that help comes at once.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Mapping
from typing import Any

import click

from mrdsl.core.version import __version__


def _check() -> click.Command:
    from mrdsl.cli.check import check

    return check


def _new() -> click.Command:
    from mrdsl.cli.new import new

    return new


def _check_plugin() -> click.Command:
    from mrdsl.cli.check_plugin import check_plugin

    return check_plugin


def _fmt() -> click.Command:
    from mrdsl.cli.fmt import fmt

    return fmt


def _explain() -> click.Command:
    from mrdsl.cli.explain import explain

    return explain


def _show() -> click.Command:
    from mrdsl.cli.show import show

    return show


def _lsp() -> click.Command:
    from mrdsl.cli.lsp import lsp

    return lsp


def _solve() -> click.Command:
    from mrdsl.cli.solve import solve

    return solve


def _report() -> click.Command:
    from mrdsl.cli.report import report

    return report


def _simulate() -> click.Command:
    from mrdsl.cli.simulate import simulate

    return simulate


def _why() -> click.Command:
    from mrdsl.cli.why import why

    return why


def _verify() -> click.Command:
    from mrdsl.cli.verify import verify

    return verify


def _compare() -> click.Command:
    from mrdsl.cli.compare import compare

    return compare


def _diff() -> click.Command:
    from mrdsl.cli.diff import diff

    return diff


def _export() -> click.Command:
    from mrdsl.cli.export import export

    return export


def _compile() -> click.Command:
    from mrdsl.cli.compile import compile_command

    return compile_command


def _profile() -> click.Command:
    from mrdsl.cli.profile import profile

    return profile


def _read() -> click.Command:
    from mrdsl.cli.read import read

    return read


def _solvers() -> click.Command:
    from mrdsl.cli.solvers import solvers

    return solvers


def _schema() -> click.Command:
    from mrdsl.cli.schema import schema

    return schema


def _sweep() -> click.Command:
    from mrdsl.cli.sweep import sweep

    return sweep


def _study() -> click.Command:
    from mrdsl.cli.study import study

    return study


def _experiment() -> click.Command:
    from mrdsl.cli.experiment import experiment

    return experiment


COMMANDS: Mapping[str, Callable[[], click.Command]] = {
    "check": _check,
    "new": _new,
    "fmt": _fmt,
    "explain": _explain,
    "show": _show,
    "lsp": _lsp,
    "solve": _solve,
    "report": _report,
    "simulate": _simulate,
    "why": _why,
    "verify": _verify,
    "compare": _compare,
    "diff": _diff,
    "export": _export,
    "compile": _compile,
    "read": _read,
    "profile": _profile,
    "solvers": _solvers,
    "schema": _schema,
    "sweep": _sweep,
    "study": _study,
    "experiment": _experiment,
    "check-plugin": _check_plugin,
}


class Commands(click.Group):
    """A group whose commands are imported when they are called or asked for their help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        command = COMMANDS.get(cmd_name)
        if command is None:
            return None
        gc.disable()  # modules are no garbage
        try:
            return command()
        finally:
            gc.enable()

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from mrdsl.core.suggestions import did_you_mean

            ctx.fail(f"there is no command `{args[0]}`; {did_you_mean(args[0], COMMANDS, 'commands: ')}")
        return super().resolve_command(ctx, args)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="mrdsl")
def cli() -> None:
    """Declare jobs, machines and promises; get the cheapest cluster that keeps them, with a proof."""


def main() -> None:
    """The entry point: whatever happens, one clear message and a documented exit code."""
    from mrdsl.cli.boundary import run

    sys.exit(run(cli))
