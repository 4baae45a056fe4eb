"""Text that came from elsewhere, made safe to show: control characters never reach a terminal, a table or a picture."""

from __future__ import annotations

import re

_HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f"  # C0, DEL, C1: escapes that a terminal obeys
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # marks and overrides that reorder what is read
    "\u2028\u2029\ufeff\ufff9-\ufffb"  # line ends of their own, invisible marks
    "\ufffe\uffff\ud800-\udfff]"  # what is no character
)
_HIDDEN_IN_JSON = re.compile(_HIDDEN.pattern.replace("\x00-\x1f", ""))
_SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


def is_printable(text: str) -> bool:
    """Whether a text is free of control characters and of marks that change the order of reading."""
    return _HIDDEN.search(text) is None


def printable(text: str) -> str:
    r"""The text with each such character as its escape: ``\x1b``, ``\u202e``; all else as it is."""
    return _HIDDEN.sub(_escape, text) if _HIDDEN.search(text) else text


def json_printable(text: str) -> str:
    """A JSON text with what a terminal would obey as JSON's own escapes; its line breaks stay."""
    return _HIDDEN_IN_JSON.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def shortened(text: str, length: int = 60) -> str:
    """The text, in short where it is long: its beginning, three dots, and how long it is."""
    return text if len(text) <= length else f"{text[: length - 3]}... ({len(text)} characters)"


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    code = ord(character)
    return _SHORT.get(character) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")
