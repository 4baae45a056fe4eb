"""The pages that say what each diagnostic means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mrdsl.core.diagnostics import MrdslError, error
from mrdsl.core.resources import resource
from mrdsl.core.suggestions import did_you_mean


def codes() -> Mapping[str, str]:
    """Every code with the sentence that its page begins with."""
    return {code: _first_line(file.read_text(encoding="utf-8")) for code, file in _pages().items()}


def page(code: str) -> str:
    """What a code means, with a bad and a good spec, as Markdown. Raises MrdslError ``unknown-code``."""
    known = _pages()
    if code not in known:
        hint = did_you_mean(code, known, "codes: ")
        raise MrdslError([error("unknown-code", f"there is no diagnostic `{code}`", None, hint)])
    text: str = known[code].read_text(encoding="utf-8")
    return text


def _pages() -> dict[str, Any]:
    return {path.stem: path for path in sorted(resource("grammar/diagnostics").glob("*.md"))}


def _first_line(text: str) -> str:
    return next(line for line in text.splitlines()[1:] if line.strip())
