"""``mrdsl fmt``: the canonical form of specs."""

from __future__ import annotations

import difflib
import sys
from pathlib import Path

import click

from mrdsl.cli.boundary import PLAN, WRONG_INPUT, print_diagnostics
from mrdsl.cli.inputs import STANDARD_INPUT, STANDARD_INPUT_NAME
from mrdsl.cli.printing import say, say_file
from mrdsl.cli.spec_files import specs_below
from mrdsl.core.diagnostics import error
from mrdsl.core.source import Span
from mrdsl.exchange.text import decode


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, allow_dash=True))
@click.option("--check", "only_check", is_flag=True, help="Change nothing; exit 1 where a file would change.")
@click.option("--diff", is_flag=True, help="Change nothing; print what would change.")
def fmt(files: tuple[Path, ...], only_check: bool, diff: bool) -> int:
    """Rewrite FILES in the canonical form; `-` reads standard input and prints."""
    codes = [_format_one(path, only_check, diff) for path in specs_below(files)]
    return max(codes, default=PLAN)


def _format_one(path: Path, only_check: bool, diff: bool) -> int:
    from mrdsl.language.formatting import format_text

    shown = STANDARD_INPUT_NAME if path == STANDARD_INPUT else str(path)
    data = sys.stdin.buffer.read() if path == STANDARD_INPUT else _bytes(path)
    text, problem = decode(data) if data is not None else (None, "there is no such file")
    if text is None:
        print_diagnostics(
            [error("unreadable-file", f"`{shown}` cannot be read: {problem}", Span(shown, 1, 1, 1, 1))], {}
        )
        return WRONG_INPUT
    made, problems = format_text(text, shown)
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


def _bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
