"""``mrdsl check``: mistakes in specs, without solving them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mrdsl.cli import options as shared
from mrdsl.cli.boundary import NO_PLAN_EXISTS, PLAN, WRONG_INPUT
from mrdsl.cli.inputs import STANDARD_INPUT, STANDARD_INPUT_NAME, parameters, specs_below, standard_input
from mrdsl.cli.outputs import say, terminal_width
from mrdsl.core.diagnostics import Diagnostic, Severity, number_of
from mrdsl.core.reading import is_json_object
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
    return exit_code(diagnostics)


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


def exit_code(diagnostics: Iterable[Diagnostic]) -> int:
    """2 for a mistake, 1 for a promise that no plan can keep, 0 otherwise."""
    errors = [d for d in diagnostics if d.severity is Severity.ERROR]
    if not errors:
        return PLAN
    return NO_PLAN_EXISTS if all(d.impossible for d in errors) else WRONG_INPUT


def _summary(count: int, diagnostics: list[Diagnostic]) -> str:
    errors = sum(d.severity is Severity.ERROR for d in diagnostics)
    warnings = sum(d.severity is Severity.WARNING for d in diagnostics)
    files = f"{number_of(count, 'file')} checked"
    if not errors and not warnings:
        return f"{files}: no problems"
    return f"{files}: {number_of(errors, 'error')}, {number_of(warnings, 'warning')}"
