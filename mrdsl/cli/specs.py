"""Commands on the text of specs, `check`, `fmt` and `explain`, and of what helps to type: `lsp` and `completion`."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mrdsl.cli import options as shared
from mrdsl.cli.boundary import COMPLETION, PLAN, WRONG_INPUT, diagnostics_exit_code, print_diagnostics
from mrdsl.cli.options import STANDARD_INPUT, STANDARD_INPUT_NAME, parameters, specs_below, standard_input
from mrdsl.cli.outputs import say, say_file, say_wrapped, terminal_width
from mrdsl.core import budgets
from mrdsl.core.diagnostics import Diagnostic, Severity, Span, error, number_of, one_error
from mrdsl.core.reading import UnreadableError, is_json_object, read_bytes
from mrdsl.core.resources import codes, page
from mrdsl.core.tables import unfolded
from mrdsl.exchange.text import decode
from mrdsl.reporting.diagnostics import as_github, as_json, as_sarif, as_text, colour, plain

if TYPE_CHECKING:
    from mrdsl.language.resolving import Loaded


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@shared.params
@click.option(
    "--format", "form", type=click.Choice(["text", "json", "github", "sarif"]), default="text", show_default=True
)
@shared.allow_outside
@shared.solver_folder
def check(files: tuple[Path, ...], form: str, allow_outside: bool, **options: Any) -> int:
    """Report every mistake in FILES, specs or saved plans; a folder means all .mrspec files below it, and
    `-` the standard input.

    A file without a problem that another of them imports is checked as a part of that one.
    """
    values = parameters(options)
    paths = list(specs_below(files))
    specs = _without_parts({path: _loaded(path, values, allow_outside) for path in paths})
    diagnostics = list(dict.fromkeys(diagnostic for loaded in specs for diagnostic in loaded.diagnostics))
    texts = {shown: text for loaded in specs for shown, text in loaded.texts.items()}
    if form == "json":
        say(as_json(diagnostics))
    elif form == "sarif":
        say(as_sarif(diagnostics))
    elif form == "github":
        say(as_github(diagnostics), nl=False)
    else:
        style = colour if sys.stdout.isatty() and "NO_COLOR" not in os.environ else plain
        say(as_text(diagnostics, texts, style, terminal_width(sys.stdout)), nl=False)
        say(_summary(len(paths), diagnostics), err=True)
    return diagnostics_exit_code(diagnostics)


def _loaded(path: Path, values: Mapping[str, Any], outside: bool) -> Loaded:
    """Return a spec, or a saved plan as far as it is one of the spec in it."""
    from mrdsl.language.loading import load_file, load_text
    from mrdsl.language.resolving import Loaded

    if path == STANDARD_INPUT:
        text = standard_input()
        if not text.lstrip().startswith("{"):
            return load_text(text, values, name=STANDARD_INPUT_NAME, outside=outside)
        from mrdsl.planning.verified_plans import open_text

        return Loaded(None, open_text(text, STANDARD_INPUT_NAME).found, {})
    if values or not is_json_object(path):
        return load_file(path, values, outside=outside)
    from mrdsl.api import check

    return Loaded(None, check(path), {})


def _without_parts(loaded: Mapping[Path, Loaded]) -> list[Loaded]:
    """Return the loaded files without those that have no problem and are imported by others of them."""
    imported = {path for one in loaded.values() for path in one.files}
    return [one for path, one in loaded.items() if not (_states_no_problem(one) and path.resolve() in imported)]


def _states_no_problem(loaded: Loaded) -> bool:
    return any(diagnostic.code == "missing-problem" for diagnostic in loaded.diagnostics)


def _summary(count: int, diagnostics: list[Diagnostic]) -> str:
    errors = sum(d.severity is Severity.ERROR for d in diagnostics)
    warnings = sum(d.severity is Severity.WARNING for d in diagnostics)
    files = f"{number_of(count, 'file')} checked"
    if not errors and not warnings:
        return f"{files}: no problems"
    return f"{files}: {number_of(errors, 'error')}, {number_of(warnings, 'warning')}"


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, allow_dash=True))
@click.option("--check", "only_check", is_flag=True, help="Write no file; exit 1 if one would change.")
@click.option("--diff", is_flag=True, help="Write no file; print the differences.")
@click.option("--upgrade", is_flag=True, help="Replace the words of earlier releases by those of today.")
def fmt(files: tuple[Path, ...], only_check: bool, diff: bool, upgrade: bool) -> int:
    """Rewrite FILES in the canonical form; `-` reads standard input and prints."""
    codes = [_format_one(path, only_check, diff, upgrade) for path in list(specs_below(files))]
    return max(codes, default=PLAN)


def _format_one(path: Path, only_check: bool, diff: bool, upgrade: bool) -> int:
    from mrdsl.language.formatting import format_text

    shown = STANDARD_INPUT_NAME if path == STANDARD_INPUT else str(path)
    try:
        data = sys.stdin.buffer.read() if path == STANDARD_INPUT else read_bytes(path, budgets.DOCUMENT_BYTES)
        text, problem = decode(data)
    except UnreadableError as refused:
        data, text, problem = b"", None, str(refused)
    if text is None:
        print_diagnostics(
            [error("unreadable-file", f"`{shown}` cannot be read: {problem}", Span(shown, 1, 1, 1, 1))], {}
        )
        return WRONG_INPUT
    made, problems = format_text(_upgraded(text, shown, path) if upgrade else text, shown)
    if made is None:
        print_diagnostics(problems, {shown: text})
        return WRONG_INPUT
    changed = data != made.encode()
    if diff and changed:
        import difflib

        before, after = text.splitlines(keepends=True), made.splitlines(keepends=True)
        say_file("".join(difflib.unified_diff(before, after, shown, f"{shown} (formatted)")))
    elif only_check and changed:
        say(f"{shown} is not in the canonical form", err=True)
    if only_check or diff:
        return int(changed)
    if path == STANDARD_INPUT:
        say_file(made)
    elif changed:
        from mrdsl.core.writer import write_text

        write_text(path, made, force=True)
        say(f"formatted {shown}", err=True)
    return PLAN


def _upgraded(text: str, shown: str, path: Path) -> str:
    from mrdsl.language.loading import upgraded

    return upgraded(text, shown, Path.cwd() if path == STANDARD_INPUT else path.parent)


@click.command()
def lsp() -> None:
    """Serve editors: diagnostics, hover, completion, definitions, rename, formatting (extra `lsp`)."""
    try:
        from mrdsl.editor.server import serve
    except ModuleNotFoundError as missing:
        raise one_error(
            "missing-extra", f"the language server needs {missing.name}", None, 'pip install "pygls>=2.0"', exit_code=3
        ) from None
    serve(sys.stdin.buffer, sys.stdout.buffer)


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the script by which a SHELL completes commands, options and files at Tab.

    For bash or zsh, add `eval "$(mrdsl completion bash)"` to `~/.bashrc`, or the same with zsh to `~/.zshrc`. For
    fish, write the script to `~/.config/fish/completions/mrdsl.fish`.
    """
    from click.shell_completion import ShellComplete, get_completion_class

    from mrdsl.cli import cli

    kind = get_completion_class(shell) or ShellComplete
    say(ShellComplete.source(kind(cli, {}, "mrdsl", COMPLETION)), nl=False)


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
