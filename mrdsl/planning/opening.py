"""Saved plans on a disk, and what is believed of them."""

from __future__ import annotations

from pathlib import Path

from mrdsl.core import budgets
from mrdsl.core.diagnostics import MrdslError, error
from mrdsl.core.regular_files import UnreadableError, read_bytes
from mrdsl.planning.saved_plans import Saved, read_saved
from mrdsl.planning.verified_plans import Verified, verify


def read_file(file: str | Path) -> Saved:
    """A saved plan as it was written; nothing of it is believed yet. Raises MrdslError."""
    try:
        text = read_bytes(file, budgets.PLAN_BYTES).decode("utf-8-sig")
    except (UnreadableError, UnicodeDecodeError) as problem:
        reason = str(problem) if isinstance(problem, UnreadableError) else "it is no UTF-8 text"
        raise MrdslError([error("unreadable-file", f"`{file}` cannot be read: {reason}")]) from None
    return read_saved(text, str(file))


def open_plan(file: str | Path) -> Verified:
    """A saved plan, held against the spec in it. Raises MrdslError where the file is none."""
    return verify(read_file(file))


def open_text(text: str, name: str) -> Verified:
    """A saved plan that is a text; ``name`` stands for its file in messages. Raises MrdslError where it is none."""
    return verify(read_saved(text, name))
