"""Names, texts and numbers as a spec has them."""

from __future__ import annotations

import re

_NAME = re.compile(r"[^\W\d]\w*")


def name_text(word: str) -> str:
    """A name as a spec has it: in quotes where it is no word of the grammar."""
    return word if _NAME.fullmatch(word) else quoted(word)


def quoted(text: str) -> str:
    """A text in quotes."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{escaped}"'


def float_text(value: float) -> str:
    """The shortest text that reads back as the same number."""
    return repr(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)
