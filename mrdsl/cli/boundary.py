"""Where every failure becomes a message and an exit code; no traceback passes."""

from __future__ import annotations

import os
import sys

import click

from mrdsl.diagnostics import MrdslError
from mrdsl.language.rendering import as_text, colour, plain

PLAN, NO_PLAN_EXISTS, WRONG_INPUT, SOLVER_FAILED, STOPPED = 0, 1, 2, 3, 4


def run(command: click.Command) -> int:
    """Runs the command line and gives its exit code."""
    try:
        code = command.main(prog_name="mrdsl", standalone_mode=False)
        return code if isinstance(code, int) else PLAN
    except MrdslError as failure:
        print_diagnostics(failure.diagnostics, {})
        return failure.exit_code
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.UsageError as mistake:
        mistake.show()
        return WRONG_INPUT
    except click.ClickException as mistake:
        mistake.show()
        return WRONG_INPUT
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted", err=True)
        return STOPPED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PLAN
    except (OSError, MemoryError, RecursionError) as failure:
        click.echo(f"error: {failure or type(failure).__name__}", err=True)
        return SOLVER_FAILED
    except Exception as failure:
        if os.environ.get("MRDSL_DEBUG"):
            raise
        click.echo(
            f"error[internal]: {type(failure).__name__}: {failure}\n"
            "  hint: this is a fault of mrdsl, not of the spec; run again with MRDSL_DEBUG=1 and report what it prints",
            err=True,
        )
        return SOLVER_FAILED


def print_diagnostics(diagnostics: object, texts: object) -> None:
    """Diagnostics on standard error, in colour on a terminal."""
    style = colour if sys.stderr.isatty() and "NO_COLOR" not in os.environ else plain
    click.echo(as_text(diagnostics, texts, style), err=True, nl=False)  # type: ignore[arg-type]
