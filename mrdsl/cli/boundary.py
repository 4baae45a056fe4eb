"""The boundary at which every failure becomes a message and an exit code, without a traceback."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from dataclasses import replace
from itertools import pairwise

import click

from mrdsl.cli.outputs import OutputLostError, say, take_every_character, terminal_width, write_no_more
from mrdsl.core import ctrl_c
from mrdsl.core.diagnostics import Diagnostic, MrdslError, Severity, error, printable
from mrdsl.core.tables import wrapped
from mrdsl.reporting.diagnostics import as_json, as_text, colour, plain

PLAN, NO_PLAN_EXISTS, WRONG_INPUT, SOLVER_FAILED, STOPPED, TO_DO, BROKEN, UNDECIDED = range(8)

COMPLETION = "_MRDSL_COMPLETE"
"""Variable with which the script of `mrdsl completion` asks for the possible next words."""
PRINTED: ContextVar[bool] = ContextVar("PRINTED", default=False)
"""True once the command has printed its JSON object: a later interruption prints no second one."""


class StoppedError(BaseException):
    """Ctrl-C in a command of many solves: unlike KeyboardInterrupt, no single solve makes a result of it."""


def open_closed_streams() -> None:
    """Put the null device in place of a closed standard input, output or error (``mrdsl solve SPEC >&-``).

    Otherwise the next opened file takes its number, and gets the text for the terminal.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "w" if number else "r", encoding="utf-8", closefd=False))  # noqa: SIM115


def _line_on_a_terminal() -> AbstractContextManager[None]:
    """Show what the command does in the ``with`` block if standard error is a terminal."""
    if not sys.stderr.isatty():
        return nullcontext()
    from mrdsl.cli.progress import status_line

    return status_line()


def run(command: click.Command) -> int:
    """Run the command line and give its exit code."""
    open_closed_streams()
    take_every_character()
    PRINTED.set(False)
    try:
        ctrl_c.ready()
        with _line_on_a_terminal():
            code = command.main(prog_name="mrdsl", standalone_mode=False)
        return code if isinstance(code, int) else PLAN
    except MrdslError as failure:
        print_cause(failure)
        return _failed(failure.diagnostics, failure.exit_code)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as mistake:
        return _failed([_mistaken(mistake)], WRONG_INPUT)
    except (KeyboardInterrupt, StoppedError, click.Abort):
        say("interrupted", err=True)
        return _told([], STOPPED, "interrupted")
    except BrokenPipeError:
        write_no_more(sys.stdout)
        return PLAN
    except SystemExit as stop:
        if COMPLETION in os.environ and isinstance(stop.code, int):
            return stop.code
        if isinstance(stop.__context__, OSError):  # click's own, if the reader of a pipe has left
            write_no_more(sys.stdout)
            return PLAN
        return _failed([_unexpected(stop)], SOLVER_FAILED)
    except OutputLostError as failure:
        return _lost(failure)
    except (FileNotFoundError, FileExistsError, PermissionError, IsADirectoryError, NotADirectoryError) as failure:
        if failure.filename is None:  # no file of the user: a semaphore in /dev/shm, for example
            return _failed([_refused(failure)], SOLVER_FAILED)
        hint = "write to an existing, writable folder"
        return _failed(
            [error("unwritable-file", f"cannot access `{failure.filename}`: {failure.strerror}", None, hint)],
            WRONG_INPUT,
        )
    except (OSError, MemoryError, RecursionError) as failure:
        return _failed([_refused(failure)], SOLVER_FAILED)
    except Exception as failure:
        if os.environ.get("MRDSL_DEBUG"):
            raise
        return _failed([_unexpected(failure)], SOLVER_FAILED)


def print_cause(failure: MrdslError) -> None:
    """Print the traceback of the exception that caused an error, such as a plug-in's, if MRDSL_DEBUG is set."""
    if os.environ.get("MRDSL_DEBUG") and failure.__cause__ is not None:
        import traceback

        traceback.print_exception(failure.__cause__)


def _unexpected(failure: BaseException) -> Diagnostic:
    """Return the diagnostic of an unknown failure: a plug-in's, or mrdsl's own."""
    hint = "this is a bug in mrdsl, not in your spec; run again with MRDSL_DEBUG=1 and report the output"
    return _of_a_plugin(failure) or error("internal", f"{type(failure).__name__}: {failure}", None, hint)


def _of_a_plugin(failure: BaseException) -> Diagnostic | None:
    """Return the diagnostic of a failure in a plug-in's code outside its hooks, such as the tables of a plan."""
    from mrdsl import families
    from mrdsl.core.plugins import fault_of_a_plugin
    from mrdsl.solving import registry

    try:
        return fault_of_a_plugin(failure, (families.ENTRY_POINTS, registry.ENTRY_POINTS))
    except MrdslError:
        return None


def _mistaken(mistake: click.ClickException) -> Diagnostic:
    """Return the diagnostic of an error of the command-line parser."""
    context = getattr(mistake, "ctx", None)
    hint = f"`{context.command_path} --help` lists the options" if context is not None else ""
    if isinstance(mistake, click.NoSuchOption):
        near = ", ".join(f"`{each}`" for each in sorted(mistake.possibilities or ())[:5])
        hint = f"did you mean {near}?" if near else hint
        return error("wrong-option", f"unknown option `{mistake.option_name}`", None, hint)
    named = mistake.param if isinstance(mistake, click.BadParameter) else None
    if named is None:
        message = mistake.format_message().rstrip(".").replace("'", "`")
        return error("wrong-option", message[:1].lower() + message[1:], None, hint)
    name = named.opts[0] if isinstance(named, click.Option) else named.human_readable_name
    if isinstance(mistake, click.MissingParameter):
        command = context.info_name if context is not None else "the command"
        return error("wrong-option", f"`{command}` requires `{name}`", None, hint)
    return error("wrong-option", f"`{name}`: {mistake.message}", None, hint)


def _refused(failure: Exception) -> Diagnostic:
    """Return the diagnostic of an error of the system, at the file or the command."""
    named = str(failure.filename) if isinstance(failure, OSError) and failure.filename is not None else ""
    place = named or " ".join(["mrdsl", *sys.argv[1:3]])
    what = {MemoryError: "there is not enough memory", RecursionError: "the input is nested too deeply"}
    message = what.get(type(failure)) or getattr(failure, "strerror", None) or str(failure) or type(failure).__name__
    return replace(error("system-refuses", message), path=place)


def _failed(diagnostics: Iterable[Diagnostic], code: int) -> int:
    """Return the diagnostics in the form that was asked for."""
    if PRINTED.get() or not _wants_json(sys.argv):
        print_diagnostics(diagnostics, {})
    return _told(diagnostics, code)


def _told(diagnostics: Iterable[Diagnostic], code: int, termination: str | None = None) -> int:
    """Print the JSON object of a failure if JSON was requested, and return the exit code."""
    try:
        _print_document(tuple(diagnostics), termination)
    except OutputLostError as failure:
        _lost(failure)
    return code


def _lost(failure: OutputLostError) -> int:
    """Told in words, whatever form was asked for: there is no other place for it."""
    hint = "free some space or write elsewhere, then run the same command again"
    message = f"standard output cannot be written: {failure}"
    print_diagnostics([error("system-refuses", message, None, hint)], {})
    return SOLVER_FAILED


def _print_document(diagnostics: tuple[Diagnostic, ...], termination: str | None) -> None:
    if PRINTED.get():
        return
    if "--json" in sys.argv:
        from mrdsl.reporting.document import failure_document, to_json

        document = failure_document(diagnostics, {})
        say(to_json({**document, "termination": termination or document["termination"]}), nl=False)
    elif _wants_json(sys.argv):
        say(as_json(list(diagnostics)))


def _wants_json(arguments: list[str]) -> bool:
    return "--json" in arguments or "--format=json" in arguments or ("--format", "json") in pairwise(arguments)


def print_briefly(diagnostics: Iterable[Diagnostic], texts: Mapping[str, str], command: str) -> None:
    """Print errors in full, and the code and places of each warning in one line: ``command`` prints them in full."""
    print_diagnostics([found for found in diagnostics if found.severity is Severity.ERROR], texts)
    places: dict[str, list[str]] = {}
    for found in diagnostics:
        if found.severity is not Severity.ERROR:
            places.setdefault(f"{found.severity}[{found.code}]", []).append(found.place)
    for code, at in places.items():
        where = ", ".join(place for place in at[:MOST_PLACES] if place) + (", ..." if len(at) > MOST_PLACES else "")
        line = f"{code}{' at ' if where else ''}{printable(where)}: `{command}` prints the whole message"
        say(wrapped(line, terminal_width(sys.stderr), 2), err=True)


MOST_PLACES = 3


def print_diagnostics(diagnostics: object, texts: object) -> None:
    """Diagnostics on standard error, in colour on a terminal."""
    style = colour if sys.stderr.isatty() and "NO_COLOR" not in os.environ else plain
    say(as_text(diagnostics, texts, style, terminal_width(sys.stderr)), err=True, nl=False)  # type: ignore[arg-type]


def diagnostics_exit_code(diagnostics: Iterable[Diagnostic]) -> int:
    """2 for a mistake, 1 for a promise that no plan can keep, 0 otherwise."""
    errors = [d for d in diagnostics if d.severity is Severity.ERROR]
    if not errors:
        return PLAN
    return NO_PLAN_EXISTS if all(d.impossible for d in errors) else WRONG_INPUT
