"""``mrdsl fmt``: the canonical form of specs."""

from __future__ import annotations

import difflib
import sys
from pathlib import Path

import click

from mrdsl.cli.boundary import PLAN, WRONG_INPUT, print_diagnostics
from mrdsl.cli.inputs import STANDARD_INPUT, STANDARD_INPUT_NAME, specs_below
from mrdsl.cli.outputs import say, say_file
from mrdsl.core import budgets
from mrdsl.core.diagnostics import Span, error
from mrdsl.core.reading import UnreadableError, read_bytes
from mrdsl.exchange.text import decode


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
